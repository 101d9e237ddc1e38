from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import Restored
    from draftfs.store import Store


@command(
    "restore",
    "Bring drafts' files back beside their targets",
    synopsis="[DRAFT…]",
    examples=["draftfs restore", "draftfs restore docs/spec.md.draft-0002@ann", "draftfs restore docs/spec.md 2"],
)
@click.argument("drafts", nargs=-1, metavar="DRAFT…")
def run(call: Call, drafts: tuple[str, ...]) -> Answer:
    """Without arguments: every draft that waits or was abandoned, and whose file is gone (`git clean`, `git stash`, `rm`). Named:
    any draft there ever was, also a decided one. The bytes come from the store; nothing that stands there is written over."""
    store = call.store()
    restored = store.restore(store.draft_refs(drafts, recorded=True) if drafts else None)
    lines, warnings = _lines(restored, store, named=bool(drafts)), _words.left_out(restored.damaged)
    return Answer(to_plain(restored), lines, warnings, changed=bool(restored.drafts))


def _lines(restored: Restored, store: Store, *, named: bool) -> Iterator[str]:
    for info in restored.drafts:
        yield f"{_words.draft_file(info, store.repo)} is back"
    for info in restored.there if named else ():
        yield f"{_words.draft_file(info, store.repo)} is there"
    for each in restored.left:
        yield f"{shown(_words.typed(store.repo, each.file))} is not put back: {shown(each.because)}"
    if not (restored.drafts or restored.left or restored.damaged or named):
        yield "nothing is missing"
