"""Keeps saying what needs a person's eye: `check` again and again, and of each what is new or over since the last (§7).

Nothing is reported but from a scan. Events (see `hints`) and changes of the store only bring the next scan forward; without
any it is made all the same. A claim that lapses meanwhile is noticed in time, so that the feed has it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from draftfs import hints
from draftfs.answers import Checked, Finding
from draftfs.clock import NANOSECONDS
from draftfs.engine.wake import Waker
from draftfs.errors import Damaged, DraftfsError, NotFound
from draftfs.frozen import frozen
from draftfs.hints.ear import Ear, Watch
from draftfs.repo import Repo
from draftfs.store import Store

Key = tuple[str, str, str | None]


@frozen
class Change:
    """A finding that was raised, or is another in more than its age (one draft more waits), or is over (then as it was last
    seen); or a note: what somebody who relies on this watch should know."""

    event: Literal["raised", "changed", "lowered", "note"]
    finding: Finding | None = None
    message: str | None = None

    @classmethod
    def between(cls, before: Finding | None, after: Finding | None) -> Change:
        return cls("raised" if before is None else "lowered" if after is None else "changed", after or before)


@frozen
class Pace:
    """How often it looks, in seconds: every so often while there are hints, and while there are none (`poll`).

    A hint brings the next scan forward: to when nothing has happened for `quiet`, but for no longer than `most`; and never so
    that scans take up more than one part in `share` of the time. `tick` is how often it asks whether anything happened. What is seen
    while things change is believed after `patience`.
    """

    every: float = 30.0
    poll: float = 10.0
    quiet: float = 0.08
    most: float = 1.0
    share: float = 5.0
    tick: float = 0.1
    patience: float = 3.0
    delay: float = 1.0


class Watcher:
    """Watches over the store that `opened` opens, anew for each scan. For one thread, and one run of `changes`."""

    def __init__(self, opened: Callable[[], Store], pace: Pace | None = None, watch: Watch = hints.watch) -> None:
        self._open, self._pace = opened, pace or Pace()
        self._store = store = opened()
        self.root = store.tree.top
        self._inode = _inode(self.root)
        self._git_dir = Repo.find(self.root).git_dir
        self._bell = threading.Event()
        self._waker = Waker(store.folder)
        self._seen = self._state()
        self._minded: object = None
        self._ear = Ear(self.root, self._bell.set, watch, delay=self._pace.delay)
        self._raised: dict[Key, Finding] = {}
        self._noted: set[str] = set()
        self._failed = False
        self._doubted: dict[Key, float] = {}
        self._lapse_ns: float | None = None
        self._next = self._rested = 0.0

    def changes(self) -> Iterator[Change]:
        """What is found now, and from then on what changes, without end: each finding raised once, and lowered once.

        Raises NotFound `no_store` once the root or the store is no longer the one it began with.
        """
        try:
            while True:
                yield from self._look()
                self._await()
        finally:
            self._ear.close()

    # ── looking ──

    def _look(self) -> Iterator[Change]:
        """One scan. What is watched is settled before it: what happens from then on rings for the next."""
        began = time.monotonic()
        self._require_root()
        note = self._ear.tend()
        if note is not None:
            instead = f": looking every {self._pace.poll:g} s instead" if self._ear.is_deaf else ""
            yield Change("note", message=note + instead)
        self._bell.clear()
        self._seen = self._state()
        checked = self._check()
        took = time.monotonic() - began
        failed, before = isinstance(checked, str), self._failed
        notes = {checked} if isinstance(checked, str) else {*checked.notes}
        if before and not failed:
            yield Change("note", message="can look again")
        yield from (Change("note", message=each) for each in sorted(notes - self._noted))
        self._noted, self._failed = notes, failed
        if isinstance(checked, Checked):
            yield from self._compare(checked)
        self._plan(took, failed=failed)

    def _check(self) -> Checked | str:
        """What is found now, or why that cannot be said."""
        try:
            self._store = self._opened()
            self._mind_lapses()
            self._seen = self._state()
            return self._store.check()
        except DraftfsError as fault:
            if fault.code == "no_store":
                raise
            repair = f" ({fault.hint})" if isinstance(fault, Damaged) and fault.hint is not None else ""
            return f"cannot look: {fault.message}{repair}"

    def _compare(self, checked: Checked) -> Iterator[Change]:
        """What changed since the last scan. While something changes a scan can mix before and after (a promotion under way,
        a checkout): what it shows differently then is told when a scan in peace shows it, too, or all that show it for a
        while."""
        known, found = self._raised, {(each.kind, each.path, each.subject): each for each in checked.findings}
        now, settled = time.monotonic(), self._in_peace()
        different = [key for key in {**known, **found} if _said(known.get(key)) != _said(found.get(key))]
        self._doubted = {key: self._doubted.get(key, now) for key in different}
        told = [key for key, since in self._doubted.items() if settled or now - since >= self._pace.patience]
        changes = [Change.between(known.get(key), found.get(key)) for key in told]
        for key in told:
            del self._doubted[key]
        as_before = {key: each for key, each in known.items() if key in self._doubted}
        self._raised = {key: each for key, each in found.items() if key not in self._doubted} | as_before
        yield from changes

    def _state(self) -> tuple[object, ...]:
        """What the store, and HEAD in the root, look like now. Git's folder is not watched: one look at it has to do."""
        return self._waker.seen(), *(_stamp(f"{self._git_dir}/{name}") for name in ("HEAD", "logs/HEAD"))

    def _in_peace(self) -> bool:
        """Whether nothing has happened since the scan began, and git is not in the middle of something."""
        return not self._was_woken() and not os.path.exists(f"{self._git_dir}/index.lock")

    def _opened(self) -> Store:
        store, before = self._open(), self._store
        if (store.info.id, store.folder, store.tree.top) != (before.info.id, before.folder, before.tree.top):
            raise self._gone()
        return store

    def _require_root(self) -> None:
        if _inode(self.root) != self._inode:
            raise self._gone()

    def _gone(self) -> NotFound:
        return NotFound(
            "no_store",
            f"the root {self.root} was removed, moved or replaced, and its store with it",
            hint="draftfs watch, where the root is now",
            path=self.root,
        )

    # ── waiting ──

    def _plan(self, took: float, *, failed: bool) -> None:
        """When to look again: at the latest, and, with something to look at, at the earliest."""
        pace, now = self._pace, time.monotonic()
        self._rested = now + took * (pace.share - 1)
        if self._doubted and not failed:
            wait = pace.quiet
        else:
            wait = pace.every if self._ear.hears and not failed else pace.poll
        self._next = max(now + wait, self._rested)

    def _await(self) -> None:
        """Sleep until it is time for the next scan, or something has happened and come to rest."""
        while (now := time.monotonic()) < self._next:
            if self._lapse_may_be_due():
                self._mind_lapses()
            if _inode(self.root) != self._inode:
                return
            if now >= self._rested and self._was_woken():
                self._calm_down()
                return
            if self._bell.is_set():
                time.sleep(self._pace.tick)
            else:
                self._bell.wait(self._pace.tick)

    def _was_woken(self) -> bool:
        return self._bell.is_set() or self._state() != self._seen or self._ear.needs_tending

    def _calm_down(self) -> None:
        end = time.monotonic() + self._pace.most
        while time.monotonic() < end:
            self._bell.clear()
            if not self._bell.wait(self._pace.quiet):
                return

    def _mind_lapses(self) -> None:
        """Commit what has lapsed, and see when the next claim does."""
        self._minded = self._waker.seen()
        try:
            left = self._store.lapse()
        except DraftfsError:
            left = self._pace.poll
        if left is not None:
            left = left or self._pace.every  # what is overdue even now cannot be ended, until doctor mends it
            left = self._store.engine.now().awake_ns + left * NANOSECONDS
        self._lapse_ns = left

    def _lapse_may_be_due(self) -> bool:
        due = self._lapse_ns is not None and self._store.engine.now().awake_ns >= self._lapse_ns
        return due or self._waker.seen() != self._minded


def _said(finding: Finding | None) -> Finding | None:
    return None if finding is None else replace(finding, age=None)


def _inode(folder: str) -> tuple[int, int] | None:
    try:
        facts = os.stat(folder)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _stamp(file: str) -> tuple[int, ...]:
    try:
        facts = os.stat(file)
    except OSError:
        return ()
    return facts.st_ino, facts.st_mtime_ns, facts.st_size
