from __future__ import annotations

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, command


@command(
    "reject",
    "Turn a submitted job down, with all of its drafts",
    synopsis="JOB --because TEXT",
    examples=['draftfs job reject 7 --because "the tests do not run"'],
    writes=True,
)
@click.argument("job", type=Number())
@click.option("--because", required=True, metavar="TEXT", help="Say why; draftfs log and job show tell it.")
def run(call: Call, job: int, because: str) -> Answer:
    """The job is open again, or failed when no attempt is left. For people only."""
    rejected = call.store().reject_job(job, because=because, receipt=call.receipt)
    return _words.written(rejected, _words.job_changed(rejected, "turned down"))
