from __future__ import annotations

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, command


@command(
    "cancel",
    "End a job for good",
    synopsis="JOB [--because TEXT]",
    examples=['draftfs job cancel 7 --because "the feature was dropped"'],
    writes=True,
)
@click.argument("job", type=Number())
@click.option("--because", metavar="TEXT", help="Say why; draftfs log and job show tell it.")
def run(call: Call, job: int, because: str | None) -> Answer:
    """A worker who holds it is fenced: nothing it writes counts any more. For people only."""
    cancelled = call.store().cancel_job(job, because=because, receipt=call.receipt)
    return _words.written(cancelled, _words.job_changed(cancelled, "stay listed, as abandoned"))
