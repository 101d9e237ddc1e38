from __future__ import annotations

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, command


@command(
    "accept",
    "Accept a submitted job that has no drafts to choose from",
    synopsis="JOB",
    examples=["draftfs job accept 7"],
    writes=True,
)
@click.argument("job", type=Number())
def run(call: Call, job: int) -> Answer:
    """A job with drafts is accepted by promoting them. For people only."""
    accepted = call.store().accept_job(job, receipt=call.receipt)
    return _words.written(accepted, [_words.job_line(accepted.job)])
