from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command, usage
from draftfs.cli._show import count
from draftfs.errors import pasteable
from draftfs.names import shown, shown_command

if TYPE_CHECKING:
    from draftfs.answers import Merged
    from draftfs.store import Store


@command(
    "merge",
    "Merge a draft with what its target holds today, into a new draft",
    synopsis="DRAFT",
    examples=["draftfs merge docs/spec.md.draft-0003@ann", "draftfs merge docs/spec.md 3"],
    writes=True,
)
@click.argument("drafts", nargs=-1, metavar="DRAFT")
def run(call: Call, drafts: tuple[str, ...]) -> Answer:
    """A three-way merge of what the draft's author started from, the draft, and the target of now, by git, for a target that has
    moved on. The result is a new draft of yours over the target of now, and of the same job; the target itself is not touched,
    and the merged draft goes on waiting until one of the two is promoted. What conflicts is marked in the new draft, which
    can then only be promoted with --force. Deletions and binary contents cannot be merged. For people only."""
    if not drafts:
        usage("name the draft to merge", "draftfs ls")
    store = call.store()
    refs = store.draft_refs(drafts, recorded=True)
    if len(refs) > 1:
        usage("merge one draft at a time", "draftfs merge DRAFT")
    merged = store.merge(refs[0], receipt=call.receipt)
    return _words.written(merged, _lines(merged, store))


def _lines(merged: Merged, store: Store) -> Iterator[str]:
    typed = _words.typed(store.repo, merged.merged.target)
    name, target, number = shown(typed), shown_command(pasteable(typed)), merged.merged.number
    if merged.nothing == "unmoved":
        yield f"nothing to merge: {name} still holds what draft {number} was made from"
        yield f"next: draftfs promote -- {target} {number}"
    elif merged.nothing == "contained":
        yield f"nothing to merge: {name} holds all of draft {number} already"
        yield f"next: draftfs reject --because TEXT -- {target} {number}"
    for info in merged.drafts:
        file = shown_command(pasteable(_words.typed(store.repo, info.file)))
        if info.conflicts:
            marked = f"with {count(info.conflicts, 'conflict')} marked in it"
            yield f"{_words.draft_file(info, store.repo)}  merged from draft {number}, {marked}"
            yield f"next: mend a copy and promote that, or draftfs promote --force -- {file}, and mend {name}"
        else:
            yield f"{_words.draft_file(info, store.repo)}  merged from draft {number}, without conflicts"
            yield f"next: draftfs diff -- {file}"
