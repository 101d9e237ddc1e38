from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.cli._show import local
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import ReceiptInfo


@command(
    "show",
    "Show what was written under a receipt key",
    synopsis="KEY",
    examples=["draftfs receipt show 018f6b2e-8d52-7c3a-9f00-5d2f8e1c4b7a"],
)
@click.argument("key")
def run(call: Call, key: str) -> Answer:
    """Tells whether a call whose answer was lost has happened, and how the claim it was made under stands now. Refused
    requests leave no receipt."""
    found = call.store().receipt(key)
    return Answer({"receipt": to_plain(found)}, _lines(found))


def _lines(found: ReceiptInfo) -> Iterator[str]:
    yield f"{found.operation} by {shown(found.actor)}, {local(found.at)}, position {found.position}"
    if found.job is not None:
        yield f"job {found.job}, epoch {found.epoch}: the claim is {found.standing}"
    yield f"answer: {json.dumps(found.answer, ensure_ascii=True)}"
