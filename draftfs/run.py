"""A fenced job for any program: claim, run it in a fresh worktree, keep the claim alive, hand in what it changed (§8, run).

Whoever calls this has entered `Signals`, which belong to the main thread. Nothing here prints or reads the environment.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from signal import Signals as Signal
from typing import Final, Literal, TypeVar

from draftfs.answers import DraftInfo
from draftfs.errors import Busy, DraftfsError, EnvironmentFault, Fenced, Refused
from draftfs.fresh import Changed, Fresh, Removed, listed
from draftfs.frozen import frozen
from draftfs.git.command import without_repository
from draftfs.lifeline import Lifeline, Narrator
from draftfs.names import shown
from draftfs.processes import Program, Signals, not_started
from draftfs.store import Store
from draftfs.tokens import new_receipt_key

T = TypeVar("T")
Ended = Literal["submitted", "failed", "interrupted", "lost", "released"]

_LOCK_WAIT: Final = 1.0
_PATIENCE: Final = 60.0
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_OTHER_VERSION: Final = 5
_LASTING: Final = frozenset({"git", "damaged"})
"""Faults of the environment that no waiting mends: a worktree without its .git, say."""


@frozen
class Plan:
    """What is run, and how. `environment` is what the command gets beside the job's own variables; `output` a descriptor
    for what it prints, if not ours; `place` the folder for worktrees."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(repr=False)
    ttl: int | None = None
    grace: float = 10.0
    keep: bool = False
    place: str | None = None
    output: int | None = None


@frozen
class Ran:
    """How one job went. `status` is the command's, as a shell tells it; `outside` what it changed that the claim does not
    cover, `unfit` what it covers and no draft can hold; `because` why the worktree stayed."""

    job: int
    epoch: int
    ended: Ended
    status: int | None
    drafts: tuple[DraftInfo, ...]
    outside: tuple[str, ...]
    unfit: tuple[str, ...]
    note: str
    worktree: str
    branch: str
    removed: bool
    branch_removed: bool
    because: str | None

    @property
    def exit_status(self) -> int:
        """That of `draftfs run`: the command's own, and 4 where the claim was lost."""
        return Fenced.exit_status if self.ended == "lost" else self.status or 0


class Runner:
    """Runs one job after another for the agent who has opened `store`."""

    def __init__(self, store: Store, plan: Plan, signals: Signals, say: Narrator) -> None:
        self._store, self._plan, self._signals, self._say = store, plan, signals, say

    def once(self, job: int | None = None) -> Ran:
        """Run one job: this one, or the next. Raises what `Store.claim_fresh` raises; NoProgram, CannotStart; and, when
        what was done could not be handed in, the error that it met."""
        began = time.monotonic()
        fresh = self._claim(job)
        self._say(f"claimed job {fresh.job} (epoch {fresh.epoch}): {fresh.claimed.job.title}")
        self._say(f"worktree {fresh.folder}")
        return _Job(self._store, fresh, began, self._plan, self._signals, self._say).run()

    def loop(self) -> list[Ran]:
        """Run the next ready job again and again, until all are done or a signal comes. Failed and lost jobs do not end it;
        errors that will not pass do."""
        ran: list[Ran] = []
        pause = _FIRST_PAUSE
        while not self._signals.received:
            try:
                ran.append(self.once())
            except Refused as fault:
                if fault.code == "all_done":
                    self._say("all done: no job is left")
                    break
                if fault.code != "nothing_ready":
                    raise
                pause = self._pause(pause, "nothing ready")
            except Busy as fault:
                pause = self._pause(pause, fault.message)
            else:
                if ran[-1].ended == "interrupted":
                    break
                # A program that only gives jobs back is not to be handed them at full speed.
                pause = self._pause(pause, "the job was given back") if ran[-1].ended == "released" else _FIRST_PAUSE
        return ran

    def _pause(self, pause: float, why: str) -> float:
        length = pause * random.uniform(0.8, 1.2)  # noqa: S311 - many runners are not to come all at once
        self._say(f"waiting {length:.0f} s: {why}")
        end = time.monotonic() + length
        while not self._signals.received and (left := end - time.monotonic()) > 0:
            self._signals.wait(left)
        return min(pause * 2, _LONGEST_PAUSE)

    def _claim(self, job: int | None) -> Fresh:
        options = {"ttl": self._plan.ttl, "place": self._plan.place}
        for left in reversed(range(_OTHER_VERSION)):
            seen = None if job is None else self._store.job(job).job.version
            try:
                return self._store.claim_fresh(job, seen=seen, **options)  # type: ignore[arg-type]
            except Refused as fault:
                if fault.code != "stale_version" or not left:  # the program is told what was claimed, not what was seen
                    raise
        raise AssertionError("unreachable")


class _Job:
    """One claim, from its worktree to its end."""

    def __init__(self, store: Store, fresh: Fresh, began: float, plan: Plan, signals: Signals, say: Narrator) -> None:
        self._fresh, self._plan, self._signals, self._say = fresh, plan, signals, say
        self._agent, self._outer = store.actor.name, store
        self._lock_wait = min(_LOCK_WAIT, fresh.claimed.claim.ttl / 6)
        self._life = Lifeline(self._outside, fresh, began, say)
        self._left = Changed((), (), (), {})

    def _open(self, folder: str, lock_wait: float) -> Store:
        """Anew for each write: after a failed fsync the old one would be of no use."""
        return Store.open(
            folder, agent=self._agent, lock_wait=lock_wait, progress=lambda _: self._life.beat(quiet=True)
        )

    def _outside(self) -> Store:
        """Opened in the root, which is there whatever the program does to its worktree; for renewals, so soon busy."""
        return self._open(self._outer.tree.top, self._lock_wait)

    def _inside(self) -> Store:
        return self._opened(self._fresh.folder)

    def _opened(self, where: str) -> Store:
        """Raises EnvironmentFault `git` where the program has taken its worktree apart: what git finds there then may be
        another repository, around it."""
        folder = self._fresh.folder
        if where == folder and not os.path.lexists(f"{folder}/.git"):
            gone = "the .git of its worktree" if os.path.isdir(folder) else "its worktree"
            raise EnvironmentFault(
                "git", f"the command has removed {gone}", hint="git worktree repair, or git worktree prune", path=folder
            )
        return self._open(where, self._outer.engine.lock_wait)

    def run(self) -> Ran:
        if self._signals.received:
            return self._interrupted(self._signals.received[0], None)
        try:
            program = self._start()
        except OSError as fault:
            raise self._not_started(fault) from fault
        try:
            by = self._watch(program)
        except BaseException:
            program.stop(0, self._signals, lambda: None)
            raise
        status = program.status
        if self._life.lost is not None and not self._life.ended_by_itself:
            return self._lost(status)
        if by is not None:
            return self._interrupted(by, status)
        assert status is not None
        return self._hand_in(status) if status == 0 else self._fail(status)

    # ── while it runs ──

    def _start(self) -> Program:
        job, claim = self._fresh.claimed.job, self._fresh.claimed.claim
        plain = {
            name: value
            for name, value in without_repository(self._plan.environment).items()
            if not name.startswith("DRAFTFS_") and name != "OLDPWD"
        }
        own = {
            "DRAFTFS_AGENT": self._agent,
            "DRAFTFS_JOB": str(job.id),
            "DRAFTFS_EPOCH": str(claim.epoch),
            "DRAFTFS_TITLE": job.title,
            "DRAFTFS_TEXT": job.text,
            "DRAFTFS_PATHS": "\n".join(claim.paths),
            "PWD": self._fresh.folder,
        }
        return Program(self._plan.command, self._fresh.folder, {**plain, **own}, output=self._plan.output)

    def _watch(self, program: Program) -> Signal | None:
        """Wait for its end, or bring it about when the claim is lost or we are told to stop; by which signal, if so."""
        by: Signal | None = None
        while program.look() is None:
            if self._signals.received:
                by = self._signals.received[0]
                self._say(f"{by.name}: stopping the command")
                break
            self._life.beat(quiet=program.has_terminal)
            if self._life.lost is not None and not self._life.ended_by_itself:
                self._say(f"the claim is lost, stopping the command: {self._life.lost.message}")
                break
            self._signals.wait(3600 if self._life.lost else self._life.due - time.monotonic())
        if program.alive():
            if program.status is not None:
                self._say("stopping what the command left running")
            program.stop(self._plan.grace, self._signals, lambda: self._life.beat(quiet=True))
        # After a pause of the whole process it may be over: nothing is handed in on yesterday's word.
        self._life.beat(quiet=True)
        return by or program.interrupted

    def _not_started(self, fault: OSError) -> DraftfsError:
        hint = f"a path is one in the worktree; or: draftfs run {self._fresh.job} -- sh -c 'COMMAND'"
        why = not_started(self._plan.command[0], fault, hint, job=self._fresh.job, epoch=self._fresh.epoch)
        self._release(why.message, failed=False)
        self._remove()  # nobody has worked there
        return why

    # ── how it ends ──

    def _hand_in(self, status: int) -> Ran:
        try:
            drafts = self._draft()
            nothing = "no draft could be made" if self._left.unfit else "nothing was changed"
            note = self._note(f"exit status {status}; " + (_count(len(drafts)) if drafts else nothing))
            self._patiently(
                lambda store, key: store.submit(job=self._fresh.job, token=self._fresh.token, note=note, receipt=key)
            )
        except DraftfsError as fault:
            if self._is_over(fault):
                return self._over(status)
            why = f"exit status {status}, but what it changed could not be handed in: {fault.message}"
            self._release(why, failed=True)
            fault.details.update(job=self._fresh.job, epoch=self._fresh.epoch, worktree=self._fresh.folder)
            if os.path.isdir(self._fresh.folder):
                self._say(f"{why}; the worktree stays: {self._fresh.folder}")
            raise
        return self._done("submitted", status, note, drafts)

    def _draft(self) -> tuple[DraftInfo, ...]:
        """One draft of every path that the claim covers and that is not as it was; one call for contents, one for deletions.
        What the program has drafted itself counts."""
        before = self._patiently(lambda store, _: store.drafts_of(self._fresh.job, self._fresh.epoch))
        self._left = self._patiently(lambda store, _: store.changed_since(self._fresh), self._fresh.folder)
        todo = self._left.but(before, self._fresh.folder)
        drafts = (*self._drafted(todo.written, delete=False), *self._drafted(todo.deleted, delete=True))
        for each in drafts:
            self._say(f"drafted {each.file}")
        return drafts

    def _drafted(self, targets: tuple[str, ...], *, delete: bool) -> tuple[DraftInfo, ...]:
        if not targets:
            return ()
        job, token = self._fresh.job, self._fresh.token
        paths = [os.path.join(self._fresh.folder, target) for target in targets]
        answer = self._patiently(
            lambda store, key: store.draft(paths, delete=delete, job=job, token=token, receipt=key),
            self._fresh.folder,
        )
        return answer.drafts

    def _fail(self, status: int) -> Ran:
        self._look()
        note = self._note(f"exit status {status}")
        self._release(note, failed=True)
        return self._over(status) if self._life.lost is not None else self._done("failed", status, note)

    def _interrupted(self, by: Signal, status: int | None) -> Ran:
        self._look()
        note = self._note(f"interrupted by {by.name}")
        self._release(note, failed=False)
        return replace(self._done("interrupted", status, note), status=128 + by)

    def _is_over(self, fault: DraftfsError) -> bool:
        """Whether the claim has ended before we could end it."""
        if isinstance(fault, Fenced):
            self._life.lost = self._life.lost or fault
        return self._life.lost is not None

    def _over(self, status: int) -> Ran:
        """The program has ended the claim itself, or it is lost."""
        if not self._life.ended_by_itself:
            return self._lost(status)
        how: Ended = (
            "submitted" if self._life.lost and self._life.lost.details["standing"] == "submitted" else "released"
        )
        return self._done(how, status, f"the command has {how} the job itself")

    def _lost(self, status: int | None) -> Ran:
        assert self._life.lost is not None
        self._look()
        return self._done("lost", status, self._life.lost.message)

    def _done(self, ended: Ended, status: int | None, note: str, drafts: tuple[DraftInfo, ...] = ()) -> Ran:
        removed = self._remove()
        self._say(f"job {self._fresh.job} {ended}: {note}")
        if not removed.folder:
            self._say(f"the worktree {self._fresh.folder} stays: {removed.because}")
        elif not removed.branch:
            self._say(f"the branch {self._fresh.branch} stays: it has commits")
        return Ran(
            job=self._fresh.job,
            epoch=self._fresh.epoch,
            ended=ended,
            status=status,
            drafts=drafts,
            outside=self._left.outside,
            unfit=tuple(self._left.unfit),
            note=note,
            worktree=self._fresh.folder,
            branch=self._fresh.branch,
            removed=removed.folder,
            branch_removed=removed.branch,
            because=removed.because,
        )

    def _remove(self) -> Removed:
        if self._plan.keep:
            return Removed(folder=False, branch=False, because="as --keep says")
        try:
            return self._inside().remove_fresh(self._fresh)
        except DraftfsError as fault:
            return Removed(folder=False, branch=False, because=fault.message)

    # ── small things ──

    def _look(self) -> None:
        try:
            self._left = self._inside().changed_since(self._fresh)
        except DraftfsError as fault:
            self._say(f"what was changed cannot be told: {fault.message}")

    def _note(self, text: str) -> str:
        if self._left.outside:
            text += f"; changed outside the claim, not drafted: {listed(self._left.outside)}"
        for path, why in list(self._left.unfit.items())[:20]:
            text += f"; not drafted: {shown(path)}, {why}"
        if self._left.outside or self._left.unfit:
            text += f" (in {shown(self._fresh.folder)})"
        return text

    def _release(self, note: str, *, failed: bool) -> None:
        """Give the job back. Whatever hinders that: the claim lapses."""
        job, token = self._fresh.job, self._fresh.token
        try:
            self._patiently(
                lambda store, key: store.release(job=job, token=token, failed=failed, note=note, receipt=key)
            )
        except DraftfsError as fault:
            if not self._is_over(fault):
                self._say(f"the claim of job {job} could not be ended, it will lapse: {fault.message}")

    def _patiently(self, act: Callable[[Store, str], T], where: str | None = None) -> T:
        """A write, from the root if not from `where`, with one receipt key; tried again for what may pass: as long as the
        claim lives, at most a minute."""
        key, end, known = new_receipt_key(), time.monotonic() + _PATIENCE, len(self._signals.received)
        while True:
            self._life.beat(quiet=True)
            if self._life.lost is not None:
                raise self._life.lost
            try:
                return act(self._opened(where or self._outer.tree.top), key)
            except DraftfsError as fault:
                passing = isinstance(fault, (Busy, EnvironmentFault)) and fault.code not in _LASTING
                if not passing or time.monotonic() > end or len(self._signals.received) > known:
                    raise
            self._signals.wait(0.2)


def _count(drafts: int) -> str:
    return "1 draft" if drafts == 1 else f"{drafts} drafts"
