from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.cli._show import count
from draftfs.cli._words import written
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import Vouched


@command(
    "admit",
    "Vouch for commits that nothing admits",
    synopsis="RANGE --because TEXT",
    examples=['draftfs admit main..hotfix --because "made on the plane, read by me"'],
    writes=True,
)
@click.argument("range_", metavar="RANGE")
@click.option("--because", required=True, metavar="TEXT", help="Say why; draftfs log shows it.")
def run(call: Call, range_: str, because: str) -> Answer:
    """Takes what draftfs verify RANGE finds, and records your word for it. From then on those changes pass the hooks,
    wherever they are made. For people only."""
    vouched = call.store().admit(range_, because=because, receipt=call.receipt)
    return written(vouched, _lines(vouched))


def _lines(vouched: Vouched) -> Iterator[str]:
    for each in vouched.admitted:
        yield f"admitted {shown(each.path)}" + (f" in {each.commit[:12]}" if each.commit else "")
    yield f"{count(len(vouched.admitted), 'change')} admitted" if vouched.admitted else "there was nothing to admit"
