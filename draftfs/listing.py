"""What people look at: jobs with what blocks them, targets with the drafts that wait, the two sides of a diff."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from draftfs import layout, unrecorded
from draftfs.answers import DraftInfo, DraftLine, JobLine, Listed, TargetLine, draft_info
from draftfs.clock import age_of, rfc3339
from draftfs.comparing import Comparison
from draftfs.dropped import only_file, require_file
from draftfs.engine import View
from draftfs.engine.files import FileEngine
from draftfs.engine.transaction import FileView
from draftfs.errors import Damaged, EnvironmentFault, NotFound
from draftfs.frozen import frozen
from draftfs.layout import Folder, Key
from draftfs.paths import within
from draftfs.records import Content, Draft, DraftRef, Job, Target
from draftfs.rules import drafts, jobs
from draftfs.rules.claims import lease_of
from draftfs.rules.reservations import remaining
from draftfs.stamps import Stamps
from draftfs.workspace import Workspace

T = TypeVar("T")
_Side = tuple[str | None, str, str | None]
"""A file (None: none), its name, its mode."""

_NOTHING: Final = os.devnull
_UNDECIDED: Final = ("waiting", "abandoned")


@frozen
class Sides:
    """Two contents to compare: absolute paths (None: no file), and names to show for them. `target` is what both stand for,
    in the checkout `top`; the modes are git's."""

    before: str | None
    after: str | None
    before_name: str
    after_name: str
    target: str
    top: str
    before_mode: str | None
    after_mode: str | None


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


class Listing:
    """The listing of one root."""

    def __init__(self, engine: FileEngine, workspace: Workspace) -> None:
        self._engine, self._workspace = engine, workspace
        self._repo, self._tree, self._objects = workspace.repo, workspace.tree, workspace.objects

    def targets(self, paths: Sequence[str], *, everything: bool) -> Listed[TargetLine]:
        """Targets at or under `paths` (all, without any, or with "" among them) that have undecided drafts or a standing choice; with
        `everything` all drafts that were ever handed in. Files that no record has are listed beside them, and in `paths`."""
        damaged: list[Damaged] = []
        unread: list[EnvironmentFault] = []

        def look(view: FileView) -> list[tuple[Target, tuple[Draft, ...]]]:
            damaged.clear()
            fold = view.store.fold
            return [
                (target, drafts_of(view, target, damaged, everything=everything))
                for target in every_target(view, damaged)
                if within(paths, target.path, fold)
            ]

        stamps = Stamps(self._objects, self._tree.top)
        compared = Comparison(self._workspace, stamps)
        found = [each for each in self._engine.read(look) if _can_be_read(compared, *each, unread)]
        chosen = {target.path: target.choice for target, _ in found if target.choice is not None}
        now = self._engine.read(lambda view: view.now.wall)
        standing = self._workspace.standing_now(chosen, stamps)
        for target, waiting in found:
            asked = [content for draft in waiting for content in (draft.base, draft.content)]
            asked += [chosen[target.path].content] if target.path in standing else []
            compared.ask(target.path, *asked)
        compared.answer()
        undecided = [draft for _, waiting in found for draft in waiting if draft.state in _UNDECIDED]
        outdated = compared.outdated(self._engine, undecided)
        lines = (self._target_line(target, waiting, compared, standing, outdated, now) for target, waiting in found)
        shown = {line.target: line for line in lines if line is not None}
        stamps.save(everything=False)
        for name, dropped in self._unrecorded(found, paths, now, unread).items():
            line = shown.get(name, TargetLine(name, None, False, ()))
            shown[name] = replace(line, drafts=(*line.drafts, *dropped))
        return Listed.of((shown[name] for name in sorted(shown)), (*damaged, *unread))

    def _unrecorded(
        self,
        found: Sequence[tuple[Target, Iterable[Draft]]],
        paths: Sequence[str],
        now: float,
        unread: list[EnvironmentFault],
    ) -> dict[str, list[DraftLine]]:
        """The draft-shaped files that no record has, by target, as far as they can be read."""
        where = unrecorded.folders(self._tree, (target.path for target, _ in found), paths)
        known = {layout.draft_name(draft) for _, each in found for draft in each}
        names = self._engine.read(lambda view: unrecorded.names(view, self._tree, where, paths, known))
        lines: dict[str, list[DraftLine]] = {}
        for name in names:
            try:
                for info, content in unrecorded.infos(self._tree, [name]):
                    lines.setdefault(info.target, []).append(self._dropped_line(info, content, now))
            except EnvironmentFault as fault:
                unread.append(fault)
        return lines

    def _dropped_line(self, info: DraftInfo, content: Content, now: float) -> DraftLine:
        held = self._tree.observe(info.target).content
        after = _NOTHING if info.delete else self._tree.path(info.file)
        changed = self._changed(info.target, held, None if info.delete else content, after)
        flags = ["binary"] if changed is None else []
        flags += ["mode"] if held is not None and not info.delete and held.mode != content.mode else []
        age = age_of(info.created_at, now)
        added, removed = changed or (None, None)
        return DraftLine(info, age, added, removed, (*flags, "unrecorded"))

    def _target_line(
        self,
        target: Target,
        waiting: Iterable[Draft],
        compared: Comparison,
        standing: Collection[str],
        outdated: Collection[tuple[str, int]],
        now: float,
    ) -> TargetLine | None:
        choice = target.choice if target.path in standing else None
        lines = tuple(self._draft_line(draft, compared, outdated, now) for draft in waiting)
        if choice is None:
            return TargetLine(target.path, None, False, lines) if lines else None
        return TargetLine(target.path, choice.number, not compared.holds(target.path, choice.content), lines)

    def _draft_line(
        self, draft: Draft, compared: Comparison, outdated: Collection[tuple[str, int]], now: float
    ) -> DraftLine:
        info = draft_info(draft, shown=self._tree.shows(layout.draft_name(draft)))
        lost = draft.content is not None and not self._objects.has(draft.content)
        changed = None if lost else self._lines(draft, compared.see(draft.target).content)
        flags = ["damaged"] if lost else ["binary"] if changed is None else []
        flags += self._flags(draft, compared, outdated)
        age = age_of(draft.created_at, now)
        added, removed = changed or (None, None)
        return DraftLine(info, age, added, removed, tuple(flags))

    def _lines(self, draft: Draft, held: Content | None) -> tuple[int, int] | None:
        after = self._objects.path(draft.content.sha256) if draft.content is not None else _NOTHING
        return self._changed(draft.target, held, draft.content, after)

    def _changed(
        self, target: str, held: Content | None, content: Content | None, after: str
    ) -> tuple[int, int] | None:
        """Lines added to and removed from the target by the file `after`, with that content; None for binary ones."""
        before = self._tree.path(target) if held is not None else _NOTHING
        if before == after or (held and content and held.sha256 == content.sha256):
            return 0, 0
        return self._repo.lines_changed(before, after)

    def _flags(self, draft: Draft, compared: Comparison, outdated: Collection[tuple[str, int]]) -> Iterator[str]:
        state, held = compared.draft_file(draft), compared.see(draft.target).content
        undecided = draft.state in _UNDECIDED  # decided ones may have been tidied away
        if state == "tampered" or (state == "missing" and undecided):
            yield state
        if (draft.target, draft.number) in outdated:
            yield "outdated"
        if held is not None and draft.content is not None and held.mode != draft.content.mode:
            yield "mode"
        if draft.conflicts:
            yield "conflicts"
        if draft.state != "waiting":
            yield draft.state

    def sides(self, ref: DraftRef, other: DraftRef | None, *, base: bool) -> Sides:
        """A draft against its target, against its base, or (`other`) against another draft. Raises `no_draft`."""
        draft, mine = self._side(ref)
        if other is not None:
            return self._between(ref.target, mine, self._side(other)[1])
        if base and draft is not None:
            start = self._object(draft.base), f"{draft.target} (base)", _mode(draft.base)
            return self._between(draft.target, start, mine)
        held = self._tree.observe(ref.target).content
        now = self._tree.path(ref.target) if held is not None else None
        return self._between(ref.target, (now, ref.target, _mode(held)), mine)

    def _side(self, ref: DraftRef) -> tuple[Draft | None, _Side]:
        """A draft; without a record it is the file that somebody dropped, whose base is the target of this moment."""
        try:
            draft = self._engine.read(lambda view: drafts.find(view, ref))
        except NotFound:
            name = only_file(self._tree, ref)
            if name is None:
                raise
            content = require_file(name, self._tree.observe(name))
            delete = ".delete@" in name.removeprefix(ref.target)
            return None, (None if delete else self._tree.path(name), name, None if delete else content.mode)
        return draft, (self._object(draft.content), layout.draft_name(draft), _mode(draft.content))

    def _between(self, target: str, before: _Side, after: _Side) -> Sides:
        return Sides(before[0], after[0], before[1], after[1], target, self._tree.top, before[2], after[2])

    def _object(self, content: Content | None) -> str | None:
        if content is None:
            return None
        os.close(self._objects.open(content))
        return self._objects.path(content.sha256)


def _can_be_read(
    compared: Comparison, target: Target, waiting: Iterable[Draft], unread: list[EnvironmentFault]
) -> bool:
    """Whether the target and its drafts' files can; else why not is one more in `unread`."""
    try:
        compared.see(target.path)
        for draft in waiting:
            compared.draft_file(draft)
    except EnvironmentFault as fault:
        unread.append(fault)
        return False
    return True


def _mode(content: Content | None) -> str | None:
    return None if content is None else content.mode


def every_target(view: FileView, damaged: list[Damaged]) -> Iterator[Target]:
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


def drafts_of(view: FileView, target: Target, damaged: list[Damaged], *, everything: bool = False) -> tuple[Draft, ...]:
    """The target's undecided drafts, with `everything` all of them, as far as they can be read."""
    numbers = set(target.undecided)
    if everything:
        listed = view.under(layout.drafts(view.store.fold.key(target.path)))
        numbers |= {number for number in map(layout.number_of, listed) if number is not None}
    refs = (DraftRef(target.path, number) for number in sorted(numbers))
    found = (_tried(partial(drafts.find, view, ref), damaged) for ref in refs)
    return tuple(draft for draft in found if draft is not None)
