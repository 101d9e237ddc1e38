"""Which contents the root's files hold, by the measure of §5 (Same bytes): the same bytes, or the same clean form for git.

All is asked first and answered at once, so that git is started a few times however much there is to compare.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from draftfs import layout
from draftfs.engine import View
from draftfs.engine.files import FileEngine
from draftfs.errors import DraftfsError
from draftfs.git import clean
from draftfs.git.clean import Form
from draftfs.records import Content, Draft
from draftfs.rules import promotion
from draftfs.sighting import Sighting, is_draft
from draftfs.stamps import Stamps
from draftfs.workspace import Workspace


class Comparison:
    """One look at the root of `workspace`, with `stamps` of the same root."""

    def __init__(self, workspace: Workspace, stamps: Stamps) -> None:
        self._workspace, self._stamps = workspace, stamps
        self._linked: dict[str, str | None] = {}
        self._open: dict[tuple[str, str], Content] = {}
        self._same: dict[tuple[str, str], bool] = {}

    def see(self, target: str) -> Sighting:
        """What stands in the target's place. Raises EnvironmentFault where it cannot be read."""
        folder = target.rpartition("/")[0]
        if folder not in self._linked:
            self._linked[folder] = self._workspace.tree.linked_parent(f"{folder}/") if folder else None
        linked = self._linked[folder]
        if linked is not None:
            return Sighting("other", None, f"{linked} is a symlink")
        return self._stamps.look(target)

    def draft_file(self, draft: Draft) -> Literal["whole", "missing", "tampered"]:
        """Whether the draft's file holds what was recorded. Its mode on disk does not count."""
        seen = self._stamps.look(layout.draft_name(draft))
        if seen.kind == "absent" or seen.detail == "one of its parents is a file":
            return "missing"
        return "whole" if is_draft(seen, draft.content) else "tampered"

    def ask(self, target: str, *contents: Content | None) -> None:
        """Have `answer` find out whether the target holds these, where that is not known."""
        held = self.see(target).content
        for content in contents:
            if held is None or content is None or held.sha256 == content.sha256:
                continue
            if (target, content.sha256) not in self._same:
                self._open[target, content.sha256] = content

    def answer(self) -> tuple[str, ...]:
        """Answer all that was asked. Returns the targets whose filter cannot run: their bytes are compared as they are."""
        asked, self._open = self._open, {}
        tree, objects = self._workspace.tree, self._workspace.objects
        known = {key: content for key, content in asked.items() if objects.has(content)}
        files = {target: Form(target, tree.path(target)) for target, _ in known}
        kept = {key: Form(key[0], objects.path(key[1])) for key in known}
        found = clean.forms(tree.top, (*files.values(), *kept.values()))
        for key in asked:
            mine, its = files.get(key[0]), kept.get(key)
            form = found.ids.get(mine) if mine is not None else None
            self._same[key] = form is not None and its is not None and form == found.ids.get(its)
        return found.raw

    def holds(self, target: str, content: Content | None) -> bool:
        """Whether the target holds this content; of one that is not the same bytes, as it was answered."""
        seen = self.see(target)
        if seen.content is None or content is None:
            return seen.kind == "absent" and content is None
        return seen.content.sha256 == content.sha256 or self._same.get((target, content.sha256), False)

    def outdated(self, engine: FileEngine, drafts: Iterable[Draft]) -> frozenset[tuple[str, int]]:
        """Target and number of those of these drafts that promoting refuses, as it would undo somebody's work: the target
        holds neither their base, nor themselves, nor an alternative. Their bases and contents have been asked for."""
        moved = [each for each in drafts if not self._holds_any(each.target, (each.base, each.content))]
        if not moved:
            return frozenset()
        free = engine.read(lambda view: [_acceptable(view, each) for each in moved])
        for draft, contents in zip(moved, free, strict=True):
            self.ask(draft.target, *contents)
        self.answer()
        return frozenset(
            (draft.target, draft.number)
            for draft, contents in zip(moved, free, strict=True)
            if not self._holds_any(draft.target, contents)
        )

    def _holds_any(self, target: str, contents: Iterable[Content | None]) -> bool:
        return any(self.holds(target, each) for each in contents)


def _acceptable(view: View, draft: Draft) -> tuple[Content | None, ...]:
    """What the target may hold; without alternatives where the job's record is damaged."""
    try:
        return promotion.acceptable(view, draft)
    except DraftfsError:
        return draft.base, draft.content
