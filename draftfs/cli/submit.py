from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command

if TYPE_CHECKING:
    from draftfs.answers import JobChanged


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
    return _words.written(submitted, _lines(submitted))


def _lines(submitted: JobChanged) -> Iterator[str]:
    yield from _words.job_changed(submitted, "for a person to choose from")
    if not submitted.drafts and submitted.job.state == "submitted":
        yield f"without a draft: a person can only say draftfs job accept {submitted.job.id}, or job reject"
