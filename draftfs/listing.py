"""What people look at: jobs with what blocks them, targets with the drafts that wait, the two sides of a diff."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from draftfs import layout
from draftfs.answers import DraftInfo, DraftLine, JobLine, Listed, TargetLine, draft_info
from draftfs.clock import rfc3339
from draftfs.engine import View
from draftfs.engine.files import FileEngine
from draftfs.engine.transaction import FileView
from draftfs.errors import Damaged
from draftfs.frozen import frozen
from draftfs.layout import Folder, Key
from draftfs.paths import covers
from draftfs.records import Content, Draft, DraftRef, Job, Target, TreeEntry
from draftfs.repo import Head
from draftfs.rules import drafts, jobs
from draftfs.rules.claims import lease_of
from draftfs.rules.reservations import remaining
from draftfs.workspace import Workspace

T = TypeVar("T")

_NOTHING: Final = os.devnull


@frozen
class Sides:
    """Two contents to compare: absolute paths (None: no file), and names to show for them."""

    before: str | None
    after: str | None
    before_name: str
    after_name: str


# ── jobs ──


def job_lines(view: FileView, *, everything: bool) -> Listed[JobLine]:
    """Every job that is not finished, by number; with `everything` the finished ones too."""
    damaged: list[Damaged] = []
    found = list(jobs.open_jobs(view, damaged))
    for key in view.under(layout.DONE) if everything else ():
        job = _tried(partial(view.get, key), damaged)
        found += [job] if job is not None else []
    lines = [_tolerant_line(view, job, damaged) for job in sorted(found, key=lambda job: job.id)]
    return Listed.of(lines, damaged)


def _tolerant_line(view: View, job: Job, damaged: list[Damaged]) -> JobLine:
    line = _tried(partial(job_line, view, job), damaged)
    return line if line is not None else JobLine(job, ("a damaged record",) if job.state == "open" else (), None, None)


def _tried(look: Callable[[], T | None], damaged: list[Damaged]) -> T | None:
    """What `look` gives; where that is damaged, None and one more in `damaged`."""
    try:
        return look()
    except Damaged as fault:
        damaged.append(fault)
        return None


def job_line(view: View, job: Job) -> JobLine:
    """One job with why it cannot be claimed yet, and how long its claim lives on. Raises Damaged."""
    blocked = (
        tuple(f"job {number}: {state}" for number, state in jobs.blockers(view, job)) if job.state == "open" else ()
    )
    lease = lease_of(view, job) if job.state == "claimed" else None
    left = remaining(view, lease) if lease is not None else None
    return JobLine(job, blocked, left, rfc3339(view.now.wall + left) if left is not None else None)


# ── drafts ──


class _Held:
    """What one target holds, read once for all its drafts."""

    def __init__(self, workspace: Workspace, target: str) -> None:
        self._workspace, self._target = workspace, target
        self._seen = workspace.tree.observe(target)
        self.content = self._seen.content
        self._same: dict[str, bool] = {}

    def holds(self, content: Content | None) -> bool:
        """Whether the target holds this content: the same bytes, or the same clean form for git (§5, Same bytes)."""
        if self.content is None or content is None:
            return self._seen.kind == "absent" and content is None
        if self.content.sha256 == content.sha256:
            return True
        if content.sha256 not in self._same:
            self._same[content.sha256] = self._same_for_git(content)
        return self._same[content.sha256]

    def _same_for_git(self, content: Content) -> bool:
        repo, tree, objects = self._workspace.repo, self._workspace.tree, self._workspace.objects
        if not objects.has(content):
            return False
        return repo.same_content(self._target, tree.path(self._target), objects.path(content.sha256), tree.top)


class Listing:
    """The listing of one root."""

    def __init__(self, engine: FileEngine, workspace: Workspace) -> None:
        self._engine, self._workspace = engine, workspace
        self._repo, self._tree, self._objects = workspace.repo, workspace.tree, workspace.objects

    def targets(self, paths: Sequence[str], *, everything: bool) -> Listed[TargetLine]:
        """Targets at or under `paths` (all, without any, or with "" among them) that have undecided drafts or a standing choice; with
        `everything` all drafts that were ever handed in."""
        damaged: list[Damaged] = []

        def look(view: FileView) -> list[tuple[Target, tuple[Draft, ...]]]:
            damaged.clear()
            fold = view.store.fold
            return [
                (target, _drafts(view, target, damaged, everything=everything))
                for target in _targets(view, damaged)
                if not paths or "" in paths or any(covers(path, target.path, fold) for path in paths)
            ]

        found, head = self._engine.read(look), self._workspace.head()
        chosen = [target.path for target, _ in found if target.choice is not None]
        entries = self._repo.entries(head.commit, chosen) if head.commit and chosen else {}
        now = self._engine.read(lambda view: view.now.wall)
        lines = (self._target_line(target, waiting, head, entries, now) for target, waiting in found)
        shown = sorted((line for line in lines if line is not None), key=lambda line: line.target)
        return Listed.of(shown, damaged)

    def _target_line(
        self, target: Target, waiting: Iterable[Draft], head: Head, entries: dict[str, TreeEntry], now: float
    ) -> TargetLine | None:
        choice, held = target.choice, _Held(self._workspace, target.path)
        stands = choice is not None and self._workspace.stands(target.path, choice, head, entries.get(target.path))
        lines = tuple(self._draft_line(draft, held, now) for draft in waiting)
        if not stands and not lines:
            return None
        stale = stands and choice is not None and not held.holds(choice.content)
        return TargetLine(target.path, choice.number if stands and choice is not None else None, stale, lines)

    def _draft_line(self, draft: Draft, held: _Held, now: float) -> DraftLine:
        info = draft_info(draft, shown=self._tree.shows(layout.draft_name(draft)))
        lost = draft.content is not None and not self._objects.has(draft.content)
        changed = None if lost else self._lines(draft, held.content)
        flags = ["damaged"] if lost else ["binary"] if changed is None else []
        flags += self._flags(draft, held)
        age = max(0.0, now - datetime.fromisoformat(draft.created_at).timestamp())
        added, removed = changed or (None, None)
        return DraftLine(info, age, added, removed, tuple(flags))

    def _lines(self, draft: Draft, held: Content | None) -> tuple[int, int] | None:
        before = self._tree.path(draft.target) if held is not None else _NOTHING
        after = self._objects.path(draft.content.sha256) if draft.content is not None else _NOTHING
        if before == after or (held and draft.content and held.sha256 == draft.content.sha256):
            return 0, 0
        return self._repo.lines_changed(before, after)

    def _flags(self, draft: Draft, held: _Held) -> Iterator[str]:
        state = self._tree.file_state(draft)
        if state != "whole":
            yield state
        undecided = draft.state in ("waiting", "abandoned")
        if undecided and not held.holds(draft.base) and not held.holds(draft.content):
            yield "outdated"
        if held.content is not None and draft.content is not None and held.content.mode != draft.content.mode:
            yield "mode"
        if draft.state != "waiting":
            yield draft.state

    def sides(self, ref: DraftRef, other: DraftRef | None, *, base: bool) -> Sides:
        """A draft against its target, against its base, or (`other`) against another draft. Raises `no_draft`."""
        draft = self._engine.read(lambda view: drafts.find(view, ref))
        after, after_name = self._object(draft.content), layout.draft_name(draft)
        if other is not None:
            second = self._engine.read(lambda view: drafts.find(view, other))
            return Sides(after, self._object(second.content), after_name, layout.draft_name(second))
        if base:
            return Sides(self._object(draft.base), after, f"{draft.target} (base)", after_name)
        held = self._tree.observe(draft.target).content
        return Sides(self._tree.path(draft.target) if held is not None else None, after, draft.target, after_name)

    def _object(self, content: Content | None) -> str | None:
        if content is None:
            return None
        os.close(self._objects.open(content))
        return self._objects.path(content.sha256)

    def with_shown(self, infos: Iterable[DraftInfo]) -> tuple[DraftInfo, ...]:
        """The same drafts, with whether their files are there now."""
        return tuple(replace(info, shown=self._tree.shows(info.file)) for info in infos)


def _targets(view: FileView, damaged: list[Damaged]) -> Iterator[Target]:
    """The record of every target. A folder of drafts without one is damage, too."""
    for folder in view.subfolders(layout.TARGETS.prefix):
        key = Key(f"{folder}/{layout.TARGETS.leaf}", Target)
        target = _tried(partial(view.get, key), damaged)
        if target is not None:
            yield target
        elif key.name not in {fault.details.get("file") for fault in damaged} and any(
            view.under(Folder(folder, Draft))
        ):
            damaged.append(Damaged("damaged", f"{key.name} is missing from the store", file=key.name))


def _drafts(view: FileView, target: Target, damaged: list[Damaged], *, everything: bool) -> tuple[Draft, ...]:
    """The target's undecided drafts, with `everything` all of them, as far as they can be read."""
    numbers = set(target.undecided)
    if everything:
        listed = view.under(layout.drafts(view.store.fold.key(target.path)))
        numbers |= {number for number in map(layout.number_of, listed) if number is not None}
    refs = (DraftRef(target.path, number) for number in sorted(numbers))
    found = (_tried(partial(drafts.find, view, ref), damaged) for ref in refs)
    return tuple(draft for draft in found if draft is not None)
