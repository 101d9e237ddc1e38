"""Merging a draft with what its target holds today, into a draft of its own. All of it before the lock (§5, Merge)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from typing import Literal

from draftfs import layout
from draftfs.answers import Merged, draft_info
from draftfs.calls import Calls
from draftfs.codec import to_plain
from draftfs.engine import Transaction, refusing
from draftfs.engine.files import FileEngine
from draftfs.errors import DraftfsError, Refused, pasteable
from draftfs.frozen import frozen
from draftfs.git import merging
from draftfs.names import author_of
from draftfs.records import Actor, Content, Draft, DraftRef
from draftfs.rules import drafts
from draftfs.workspace import Workspace


@frozen
class _Result:
    """What came of a merge; `nothing` says why there is no content."""

    content: Content | None = None
    conflicts: int = 0
    nothing: Literal["unmoved", "contained"] | None = None


class Merger:
    """Merges in one root, by one actor."""

    def __init__(self, engine: FileEngine, workspace: Workspace, calls: Calls, actor: Actor) -> None:
        self._engine, self._workspace, self._calls, self._actor = engine, workspace, calls, actor
        self._author = author_of(actor)

    def merge(self, ref: DraftRef, receipt: str | None) -> Merged:
        """The three-way merge of a draft's base, the draft, and its target as it is, recorded as a new draft over that.

        Raises Refused `cannot_merge` for a deletion, and for what git takes for binary; `not_a_file`; OSError.
        """
        with ExitStack() as stack:
            rule = self._rule(stack, ref)
            return self._calls.write("merge", {"draft": to_plain(ref)}, Merged, rule, receipt)

    def _rule(self, stack: ExitStack, ref: DraftRef) -> Callable[[Transaction, str], Merged]:
        """A refusal is kept for the transaction, where the receipt comes first."""
        try:
            draft = self._engine.read(lambda view: drafts.find(view, ref))
            self._workspace.require_short_name(draft.target, self._author)
            today = self._today(draft)
            result = self._merged(draft, today)
            tree = self._workspace.tree
            shows = result.content is not None and tree.is_writable(draft.target)
            staged = tree.stage_draft(stack, draft.target, result.content) if shows else None
            taken = tree.highest_number(draft.target)
        except DraftfsError as fault:
            return refusing(fault)
        proposal = drafts.Proposal(draft.target, result.content, today, taken, staged)

        def rule(tx: Transaction, _: str) -> Merged:
            if result.nothing is not None:
                return Merged(merged=ref, drafts=(), conflicts=0, nothing=result.nothing)
            made = drafts.merge(tx, ref, proposal, self._actor, self._author, result.conflicts)
            return Merged(merged=ref, drafts=(draft_info(made, shown=False),), conflicts=made.conflicts)

        return rule

    def _today(self, draft: Draft) -> Content | None:
        seen = self._workspace.kept_sighting(draft.target)
        if seen.kind == "other":
            raise Refused(
                "not_a_file",
                f"{draft.target} cannot be merged with: {seen.detail}",
                hint="move that out of the way first",
                target=draft.target,
            )
        return seen.content

    def _merged(self, draft: Draft, today: Content | None) -> _Result:
        if self._same(draft.target, draft.base, today):
            return _Result(nothing="unmoved")
        if self._same(draft.target, draft.content, today):
            return _Result(nothing="contained")
        if draft.content is None:
            raise _cannot(draft, f"{draft.target}, which it proposes to delete, has changed since")
        if today is None:
            raise _cannot(draft, f"{draft.target} has been deleted since it was written")
        return self._three_way(draft, draft.content, today)

    def _three_way(self, draft: Draft, theirs: Content, ours: Content) -> _Result:
        objects = self._workspace.objects
        for content in (theirs, ours, draft.base):
            if content is not None:
                os.close(objects.open(content))
        base = os.devnull if draft.base is None else objects.path(draft.base.sha256)
        files = objects.path(ours.sha256), base, objects.path(theirs.sha256)
        names = draft.target, "what both started from", layout.draft_name(draft)
        with tempfile.TemporaryDirectory() as folder:
            into = f"{folder}/merged"
            conflicts = merging.merge(self._workspace.repo, self._workspace.tree.top, draft.target, files, names, into)
            if conflicts is None:
                raise _cannot(draft, "one of the two is binary")
            turned = draft.base is None or theirs.mode != draft.base.mode
            content = self._workspace.add(into, theirs.mode if turned else ours.mode)
        if content == ours:
            return _Result(nothing="contained")
        return _Result(content, conflicts)

    def _same(self, target: str, a: Content | None, b: Content | None) -> bool:
        """The same bytes, or the same clean form for git (§5, Same bytes)."""
        if a is None or b is None or a.sha256 == b.sha256:
            return a is b or (a is not None and b is not None)
        objects = self._workspace.objects
        paths = objects.path(a.sha256), objects.path(b.sha256)
        return (
            objects.has(a)
            and objects.has(b)
            and self._workspace.repo.same_content(target, *paths, self._workspace.tree.top)
        )


def _cannot(draft: Draft, why: str) -> Refused:
    name = pasteable(layout.draft_name(draft))
    return Refused(
        "cannot_merge",
        f"{layout.draft_name(draft)} cannot be merged: {why}",
        hint=f"draftfs diff -- {name}, then draftfs promote --force -- {name}, or draftfs reject --because TEXT -- {name}",
        target=draft.target,
        number=draft.number,
    )
