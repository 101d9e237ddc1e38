from __future__ import annotations

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, command


@command(
    "retry",
    "Grant a job more attempts",
    synopsis="JOB [--attempts N]",
    examples=["draftfs job retry 7", "draftfs job retry 7 --attempts 3"],
    writes=True,
)
@click.argument("job", type=Number())
@click.option("--attempts", type=Number(1), default=1, metavar="N", help="Grant this many, 1 by default.")
def run(call: Call, job: int, attempts: int) -> Answer:
    """A failed job is open again. For people only."""
    retried = call.store().retry_job(job, attempts=attempts, receipt=call.receipt)
    return _words.written(retried, [_words.job_line(retried.job)])
