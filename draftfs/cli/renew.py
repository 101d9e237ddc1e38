from __future__ import annotations

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Duration, command


@command(
    "renew",
    "Keep your claim for longer",
    synopsis="[--ttl DURATION]",
    examples=["draftfs renew", "draftfs renew --ttl 2h"],
    fenced=True,
)
@click.option(
    "--ttl", type=Duration(), metavar="DURATION", help="Hold it this long from now on, not as long as before."
)
def run(call: Call, ttl: int | None, job: int | None) -> Answer:
    """Moves the deadline to now and the ttl; the token stays the same. A claim that has run out cannot be renewed: claim
    again."""
    renewed = call.store().renew(job=job, token=call.token(), ttl=ttl, receipt=call.receipt)
    return _words.written(renewed, [f"job {renewed.claim.job} is yours until {_words.until(renewed.claim)}"])
