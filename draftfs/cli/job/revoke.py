from __future__ import annotations

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, command


@command(
    "revoke",
    "Take a job from whoever holds it",
    synopsis="JOB --because TEXT",
    examples=['draftfs job revoke 7 --because "no word for two hours"'],
    writes=True,
)
@click.argument("job", type=Number())
@click.option("--because", required=True, metavar="TEXT", help="Say why; draftfs log and job show tell it.")
def run(call: Call, job: int, because: str) -> Answer:
    """Its worker is fenced, and the job is open again, or failed when no attempt is left. For people only."""
    revoked = call.store().revoke_job(job, because=because, receipt=call.receipt)
    return _words.written(revoked, _words.job_changed(revoked, "stay listed, as abandoned"))
