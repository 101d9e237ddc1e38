"""Draft-shaped files in the root that no record has: somebody put them beside a target, to be listed and promoted (§3)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from draftfs import layout
from draftfs.answers import DraftInfo
from draftfs.clock import rfc3339
from draftfs.engine.transaction import FileView
from draftfs.errors import Damaged
from draftfs.layout import DraftName
from draftfs.paths import within
from draftfs.records import Content, DraftRef
from draftfs.rules import drafts
from draftfs.tree import Tree


def folders(tree: Tree, targets: Iterable[str], scopes: Sequence[str]) -> list[str]:
    """The folders of the root where such files are looked for: those of `targets`, which have records; those of the paths
    that somebody named; and where they named a folder all that lies in it, but for other repositories."""
    found = {os.path.dirname(each) for each in (*targets, *(scope for scope in scopes if scope))}
    for scope in scopes:
        top = tree.path(scope) if scope else tree.top
        for where, below, _ in os.walk(top):
            below[:] = [
                each for each in below if not os.path.lexists(os.path.join(where, each, ".git")) and each != ".git"
            ]
            found.add(where.removeprefix(tree.top).lstrip("/"))
    return sorted(found)


def drafts_in(tree: Tree, folder: str) -> list[DraftName]:
    """What the draft-shaped files in a folder of the root say, by root-relative name, sorted. None behind a symlink."""
    if tree.linked_parent(f"{folder}/") is not None:
        return []
    try:
        listed = sorted(os.listdir(tree.path(folder) if folder else tree.top))
    except OSError:
        return []
    parsed = (layout.parse_draft_name(f"{folder}/{each}" if folder else each) for each in listed)
    return [each for each in parsed if each is not None]


def names(
    view: FileView, tree: Tree, where: Iterable[str], scopes: Sequence[str], known: Collection[str] = ()
) -> list[DraftName]:
    """The draft-shaped files in these folders that no record has, of targets at or under `scopes` (all without any, or
    with "" among them). `known` are files of drafts that were read already."""
    fold = view.store.fold
    listed = [name for folder in where for name in drafts_in(tree, folder) if within(scopes, name.target, fold)]
    return unmatched(view, listed, known)


def unmatched(view: FileView, listed: Sequence[DraftName], known: Collection[str] = ()) -> list[DraftName]:
    """Those of `listed` that no record has. A record is only read where two files claim its number; else it is enough that
    it is there."""
    fold = view.store.fold
    claims = Counter((name.target, name.number) for name in listed)
    found = []
    for name in listed:
        if str(name) in known:
            continue
        free = view.raw(layout.draft(fold.key(name.target), name.number).name) is None and not _is_lost(view, name)
        if free or (claims[name.target, name.number] > 1 and _recorded_as(view, name) not in (None, str(name))):
            found.append(name)
    return found


def _is_lost(view: FileView, name: DraftName) -> bool:
    """Whether there must have been a record of this draft: that is damage, and no file that somebody dropped."""
    try:
        return drafts.is_named(view, DraftRef(name.target, name.number))
    except Damaged:
        return True


def _recorded_as(view: FileView, name: DraftName) -> str | None:
    """What the draft with this number is called; None where its record cannot be read."""
    try:
        return layout.draft_name(drafts.find(view, DraftRef(name.target, name.number)))
    except Damaged:
        return None


def infos(tree: Tree, found: Iterable[DraftName]) -> Iterator[tuple[DraftInfo, Content]]:
    """What each file says of itself, and what it holds; a symlink, say, is none."""
    for name in found:
        seen = tree.observe(str(name))
        if seen.content is None:
            continue
        written = os.stat(tree.path(str(name)), follow_symlinks=False).st_mtime
        info = DraftInfo(
            target=name.target,
            number=name.number,
            file=str(name),
            shown=True,
            author=name.author,
            job=None,
            epoch=None,
            delete=name.delete,
            sha256=seen.content.sha256,
            size=seen.content.size,
            mode=seen.content.mode,
            base_sha256=None,
            state="unrecorded",
            note=None,
            because=None,
            created_at=rfc3339(written),
        )
        yield (replace(info, sha256=None, size=None, mode=None) if name.delete else info), seen.content
