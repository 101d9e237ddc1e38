"""What people look at: jobs with what blocks them, targets with the drafts that wait, the two sides of a diff."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from draftfs import layout
from draftfs.answers import DraftInfo, DraftLine, JobLine, TargetLine, draft_info
from draftfs.clock import rfc3339
from draftfs.engine import View
from draftfs.engine.files import FileEngine
from draftfs.engine.transaction import FileView
from draftfs.errors import NotFound
from draftfs.paths import covers
from draftfs.records import Content, Draft, DraftRef, Job, Target
from draftfs.repo import Head, TreeEntry
from draftfs.rules import drafts, jobs
from draftfs.rules.reservations import remaining
from draftfs.workspace import Workspace

_NOTHING: Final = os.devnull


@dataclass(frozen=True)
class Sides:
    """Two contents to compare: absolute paths (None: no file), and names to show for them."""

    before: str | None
    after: str | None
    before_name: str
    after_name: str


# ── jobs ──


def job_lines(view: FileView, *, everything: bool) -> tuple[JobLine, ...]:
    """Every job that is not finished, by number; with `everything` the finished ones too."""
    found = list(jobs.open_jobs(view))
    if everything:
        done = (view.get(key) for key in view.under(layout.DONE))
        found += [job for job in done if job is not None]
    return tuple(job_line(view, job) for job in sorted(found, key=lambda job: job.id))


def job_line(view: View, job: Job) -> JobLine:
    """One job with why it cannot be claimed yet, and how long its claim lives on."""
    blocked = (
        tuple(f"job {number}: {state}" for number, state in jobs.blockers(view, job)) if job.state == "open" else ()
    )
    lease = view.get(layout.lease(job.id)) if job.state == "claimed" else None
    left = remaining(view, lease) if lease is not None else None
    return JobLine(job, blocked, left, rfc3339(view.now.wall + left) if left is not None else None)


# ── drafts ──


class Listing:
    """The listing of one root."""

    def __init__(self, engine: FileEngine, workspace: Workspace) -> None:
        self._engine, self._workspace = engine, workspace
        self._repo, self._tree, self._objects = workspace.repo, workspace.tree, workspace.objects

    def targets(self, paths: Sequence[str], *, everything: bool) -> tuple[TargetLine, ...]:
        """Targets at or under `paths` (all, without any) that have undecided drafts or a standing choice; with
        `everything` all drafts that were ever handed in."""

        def look(view: FileView) -> list[tuple[Target, tuple[Draft, ...]]]:
            fold = view.store.fold
            chosen = (
                each
                for each in drafts.waiting(view)
                if not paths or any(covers(path, each[0].path, fold) for path in paths)
            )
            return [(target, _all_drafts(view, target) if everything else waiting) for target, waiting in chosen]

        found, head = self._engine.read(look), self._workspace.head()
        chosen = [target.path for target, _ in found if target.choice is not None]
        entries = self._repo.entries(head.commit, chosen) if head.commit and chosen else {}
        now = self._engine.read(lambda view: view.now.wall)
        lines = (self._target_line(target, waiting, head, entries, now) for target, waiting in found)
        return tuple(sorted((line for line in lines if line is not None), key=lambda line: line.target))

    def _target_line(
        self, target: Target, waiting: Iterable[Draft], head: Head, entries: dict[str, TreeEntry], now: float
    ) -> TargetLine | None:
        choice = target.choice
        stands = choice is not None and self._workspace.stands(target.path, choice, head, entries.get(target.path))
        lines = tuple(self._draft_line(draft, now) for draft in waiting)
        if not stands and not lines:
            return None
        stale = stands and choice is not None and not self._holds(target.path, choice.content)
        return TargetLine(target.path, choice.number if stands and choice is not None else None, stale, lines)

    def _draft_line(self, draft: Draft, now: float) -> DraftLine:
        info = draft_info(draft, shown=self._tree.shows(layout.draft_name(draft)))
        held = self._tree.observe(draft.target).content
        changed = self._lines(draft, held)
        flags = tuple(self._flags(draft, held, binary=changed is None))
        age = max(0.0, now - datetime.fromisoformat(draft.created_at).timestamp())
        added, removed = changed or (None, None)
        return DraftLine(info, age, added, removed, flags)

    def _lines(self, draft: Draft, held: Content | None) -> tuple[int, int] | None:
        before = self._tree.path(draft.target) if held is not None else _NOTHING
        after = self._objects.path(draft.content.sha256) if draft.content is not None else _NOTHING
        if before == after or (held and draft.content and held.sha256 == draft.content.sha256):
            return 0, 0
        return self._repo.lines_changed(before, after)

    def _flags(self, draft: Draft, held: Content | None, *, binary: bool) -> Iterator[str]:
        state = self._tree.file_state(draft)
        if state != "whole":
            yield state
        if not self._holds(draft.target, draft.base) and not self._holds(draft.target, draft.content):
            yield "outdated"
        if held is not None and draft.content is not None and held.mode != draft.content.mode:
            yield "mode"
        if binary:
            yield "binary"
        if draft.state != "waiting":
            yield draft.state

    def _holds(self, target: str, content: Content | None) -> bool:
        """Whether the target holds this content: the same bytes, or the same clean form for git (§5, Same bytes)."""
        seen = self._tree.observe(target)
        if seen.content is None or content is None:
            return seen.kind == "absent" and content is None
        if seen.content.sha256 == content.sha256:
            return True
        path = self._objects.path(content.sha256)
        return self._objects.has(content) and self._repo.same_content(
            target, self._tree.path(target), path, self._tree.top
        )

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


def _all_drafts(view: FileView, target: Target) -> tuple[Draft, ...]:
    key = view.store.fold.key(target.path)
    numbers = (layout.number_of(each) for each in view.under(layout.drafts(key)))
    return tuple(drafts.find(view, DraftRef(target.path, number)) for number in numbers if number is not None)


def waiting_of(view: FileView, number: int) -> tuple[DraftRef, ...]:
    """The drafts of a submitted job that wait for a decision. Raises NotFound `no_draft` without any."""
    refs = tuple(ref for ref in jobs.find(view, number).drafts if drafts.find(view, ref).state == "waiting")
    if not refs:
        raise NotFound(
            "no_draft", f"job {number} has no draft that waits", hint=f"draftfs job show {number}", job=number
        )
    return refs
