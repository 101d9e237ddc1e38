from __future__ import annotations

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command


@command(
    "release",
    "Give your job back",
    synopsis="[--failed] [--note TEXT]",
    examples=["draftfs release", 'draftfs release --failed --note "the build needs a key I lack"'],
    fenced=True,
)
@click.option("--failed", is_flag=True, help="Say that you could not do it: the attempt stays spent.")
@click.option("--note", metavar="TEXT", help="Say why, to people and whoever claims next.")
def run(call: Call, failed: bool, note: str | None, job: int | None) -> Answer:
    """Ends the claim and frees its paths. The attempt comes back, unless it --failed. Drafts handed in under this claim stay
    listed, as abandoned."""
    released = call.store().release(job=job, token=call.token(), failed=failed, note=note, receipt=call.receipt)
    return _words.written(released, _words.job_changed(released, "stay listed, as abandoned"))
