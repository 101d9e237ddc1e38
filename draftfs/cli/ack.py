from __future__ import annotations

import click

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.cli._words import written


@command(
    "ack",
    "Acknowledge what you have read",
    synopsis="HANDLE",
    examples=["draftfs ack ann:1:42"],
    writes=True,
)
@click.argument("handle")
def run(call: Call, handle: str) -> Answer:
    """HANDLE is NAME:GENERATION:POSITION, as draftfs read prints it with every page; any position up to the end of what was
    handed out to you will do. Do it when you are done with the events, not before: what is acknowledged does not come again.
    Doing it twice, or with an older page, changes nothing."""
    acknowledged = call.store().acknowledge(handle, receipt=call.receipt)
    left = acknowledged.handed_out - acknowledged.acknowledged
    lines = [f"acknowledged up to position {acknowledged.acknowledged}"]
    return written(acknowledged, lines + ([f"handed out up to position {acknowledged.handed_out}"] if left else []))
