from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command, usage

if TYPE_CHECKING:
    from draftfs.answers import Rejected
    from draftfs.store import Store


@command(
    "reject",
    "Turn drafts down, with a reason",
    synopsis="DRAFT… --because TEXT",
    examples=['draftfs reject docs/spec.md.draft-0003@ann --because "the second table is made up"'],
    writes=True,
)
@click.argument("drafts", nargs=-1, metavar="DRAFT…")
@click.option("--because", required=True, metavar="TEXT", help="Say why; draftfs log shows it.")
def run(call: Call, drafts: tuple[str, ...], because: str) -> Answer:
    """Names draft files, or one target and a number. All are turned down, or none. Their bytes are kept. For people only."""
    if not drafts:
        usage("name the drafts to turn down", "draftfs ls")
    store = call.store()
    rejected = store.reject(store.draft_refs(drafts, recorded=True), because=because, receipt=call.receipt)
    return _words.written(rejected, _lines(rejected, store))


def _lines(rejected: Rejected, store: Store) -> Iterator[str]:
    for info in rejected.drafts:
        yield f"rejected {_words.draft_file(info, store.repo)}"
    for job in rejected.accepted:
        yield f"job {job} is accepted: nothing of it is left to decide"
