from __future__ import annotations

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command


@command(
    "submit",
    "Hand your job, with its drafts, to a person",
    synopsis="[--note TEXT]",
    examples=["draftfs submit", 'draftfs submit --note "the second table is a guess"'],
    fenced=True,
)
@click.option("--note", metavar="TEXT", help="Tell the person what to look at.")
def run(call: Call, note: str | None, job: int | None) -> Answer:
    """Ends the claim and frees its paths. What you hand in is your latest draft of each file, so draft first."""
    submitted = call.store().submit(job=job, token=call.token(), note=note, receipt=call.receipt)
    return _words.written(submitted, _words.job_changed(submitted, "for a person to choose from"))
