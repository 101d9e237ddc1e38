"""The file engine: transactions over record files, made whole by one journal and one lock (§6).

A transaction, under the lock: the rule decides; what can run out of space is written (temporaries of the records, the
feed's bytes behind its end); one journal record with every after-image is appended and synced: *that is the commit*; the
temporaries are renamed into place; the effects on the root are done, synced and marked done; the mark of how far all
this got goes into the lock file. Whoever finds the mark behind the journal, or of another boot, replays (`session`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from draftfs import layout
from draftfs.clock import Clock, Instant
from draftfs.engine import Performed, Root, fs, journal, lock, yamlfile
from draftfs.engine import mark as mark_file
from draftfs.engine.journal import Contents
from draftfs.engine.mark import MARK_BYTES, Mark
from draftfs.engine.session import Identity, Session, fill_reserve, fits, pending_effects, read_journal
from draftfs.engine.transaction import Cache, Changes, FileTransaction, FileView
from draftfs.errors import Busy, EnvironmentFault, from_oserror
from draftfs.frozen import frozen
from draftfs.records import Counters, Effect, StoreInfo

T = TypeVar("T")
S = TypeVar("S")

_READ_TRIES: Final = 8
_FIRST_PAUSE: Final = 0.0002

Overlay = dict[str, bytes | None]


@frozen
class Committed:
    """What one step of a write gave: the rule's value, and what became of its effects on the root."""

    value: Any
    performed: tuple[Performed, ...] = ()


class _Moving(Exception):
    """A look cannot be had without the lock."""


class FileEngine:
    """Runs rules over the store folder `folder`. `lock_wait` is how long to wait for the lock, in seconds.

    Not for two threads at once: each has an engine of its own.
    """

    def __init__(self, folder: str, clock: Clock, lock_wait: float = 10.0) -> None:
        self.folder, self._clock, self.lock_wait = folder, clock, lock_wait
        self.root: Root | None = None
        self._cache: Cache = {}
        self._poisoned: EnvironmentFault | None = None

    def now(self) -> Instant:
        return self._clock.now()

    # ── reading ──

    def read(self, look: Callable[[FileView], T]) -> T:
        """Run `look` on one consistent view, without the lock: the mark must be the same before and after.

        Writers that keep changing it, or a crash that left it behind, make it take the lock; where that cannot be
        written, what the journal holds is laid over the files.
        """
        try:
            try:
                return _unchanged(self._mark_to_trust, lambda _: look(self._view()))
            except _Moving:
                return self._read_locked(look)
        except OSError as fault:
            raise from_oserror(fault, "reading the store") from fault

    def _read_locked(self, look: Callable[[FileView], T]) -> T:
        try:
            with self._session():
                return look(self._view())
        except EnvironmentFault as fault:
            if fault.code not in ("permission", "disk_full"):
                raise
        try:
            return _unchanged(lambda: read_journal(self.folder), lambda log: look(self._view(self._overlay(log))))
        except _Moving:
            raise Busy(
                "busy", "the store changes faster than it can be read", hint="run the same command again"
            ) from None

    def _view(self, overlay: Overlay | None = None) -> FileView:
        return FileView(self.folder, self._clock.now(), self._cache, overlay)

    def _mark_to_trust(self) -> Mark | None:
        """The mark once it is settled. Raises _Moving where it will not settle by itself: whoever left it so is gone."""
        mark = self._settled_mark()
        if mark is None and lock.is_free(self._path(layout.LOCK)):
            raise _Moving
        return mark

    def _settled_mark(self) -> Mark | None:
        """The mark, when the files hold all that the journal does; else None."""
        try:
            with open(self._path(layout.LOCK), "rb") as held, open(self._path(layout.JOURNAL), "rb") as log:
                head = journal.read_head(log.fileno(), layout.JOURNAL)
                mark = mark_file.decode(held.read(MARK_BYTES))
                return mark if mark is not None and fits(mark, log.fileno(), head, self._clock.now()) else None
        except FileNotFoundError:
            return None

    def _overlay(self, log: Contents) -> Overlay:
        """What the journal holds of every file that it touches: of a record the last image, of the feed its bytes."""
        overlay: Overlay = {}
        for _, payload in log.records:
            for name, text in payload.get("images", {}).items():
                overlay[name] = None if text is None else text.encode()
            if "feed" in payload:
                first, offset, text = payload["feed"]
                name = layout.segment(first)
                known = overlay.get(name)
                overlay[name] = (self._bytes(name) if known is None else known)[:offset] + text.encode("ascii")
        return overlay

    def _bytes(self, name: str) -> bytes:
        try:
            with open(self._path(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def has_pending_effects(self) -> bool:
        """Whether `settle` may have something to do."""
        mark = self._settled_mark()
        return mark is None or mark.pending > 0

    def pending_effects(self) -> list[Effect]:
        """The effects that earlier transactions could not do, as far as can be told without the lock."""
        return [effect for effect, _ in pending_effects(read_journal(self.folder)).values()]

    # ── writing ──

    def write(self, *steps: Callable[[FileTransaction], Any], urgent: bool = False) -> list[Committed]:
        """Run each step as a transaction of its own, all under one hold of the lock. What a step raises ends it there:
        that step changed nothing, those before it stand. `urgent` ones may use up the space kept in reserve."""
        with self._session() as session:
            session.checkpoint_if_due()
            return [self._run(step, session, urgent=urgent) for step in steps]

    def try_out(self, step: Callable[[FileTransaction], T]) -> T:
        """What the step would give, in a transaction that is forgotten."""
        return self.read(lambda view: step(view.transaction()))

    def settle(self) -> tuple[Performed, ...]:
        """Try the effects that earlier transactions could not do. What still cannot be done is kept."""
        with self._session() as session:
            performed = self._settle(session) if session.mark.pending and self.root is not None else ()
            session.publish()
            return performed

    def checkpoint(self) -> None:
        """Make every record durable in its own file and start a new journal."""
        with self._session() as session:
            session.checkpoint()
            session.publish()

    def _run(self, step: Callable[[FileTransaction], Any], session: Session, *, urgent: bool) -> Committed:
        transaction = FileTransaction(self.folder, session.now, self._cache)
        value = step(transaction)
        if not transaction.changes:
            return Committed(value)
        self._commit(session, transaction.changes, urgent=urgent)
        performed = self._perform(session, transaction.changes.effects)
        if self._poisoned is None:
            session.publish()
        return Committed(value, performed)

    def _commit(
        self, session: Session, changes: Changes, done: Sequence[Identity] = (), *, urgent: bool = False
    ) -> None:
        if self._poisoned is not None:
            raise self._poisoned
        try:
            session.commit(changes, done, urgent=urgent)
        except EnvironmentFault as fault:
            if session.sync_failed:
                self._poisoned = fault
            raise

    # ── effects on the root ──

    def _perform(self, session: Session, effects: Sequence[tuple[Effect, str | None]]) -> tuple[Performed, ...]:
        """Do the effects of the record that was committed last."""
        if not effects:
            return ()
        root, sequence = self.root, session.mark.sequence
        assert root is not None, "effects need a root"
        performed = [(root.perform(effect, self._absolute(staged)), staged) for effect, staged in effects]
        self._conclude(session, {(sequence, number): each for number, each in enumerate(performed)})
        return tuple(each for each, _ in performed)

    def _settle(self, session: Session) -> tuple[Performed, ...]:
        """Do what earlier records left to do, as far as the disk shows that it still is."""
        root = self.root
        assert root is not None, "effects need a root"
        performed = {
            key: (root.redo(effect, self._absolute(staged)), staged)
            for key, (effect, staged) in session.pending().items()
        }
        self._conclude(session, performed)
        session.recount()
        return tuple(each for each, _ in performed.values())

    def _conclude(self, session: Session, performed: dict[Identity, tuple[Performed, str | None]]) -> None:
        """Mark as done what was done, in one record with what came of it; only then what it was prepared in may go."""
        root = self.root
        assert root is not None, "effects need a root"
        done = [key for key, (each, _) in performed.items() if each.state != "later" or each.displaced is not None]
        if not done:
            return
        transaction = FileTransaction(self.folder, session.now, self._cache)
        try:
            root.aftermath(transaction, tuple(performed[key][0] for key in done))
            self._commit(session, transaction.changes, done)
        except EnvironmentFault:
            return  # not marked, so that the next one looks again, finds it done and marks it then
        for _, staged in (performed[key] for key in done):
            if staged is not None:
                fs.unlink(self._path(staged))
        self._perform(session, transaction.changes.effects)

    def _absolute(self, staged: str | None) -> str | None:
        return None if staged is None else os.path.normpath(self._path(staged))

    # ── the lock ──

    @contextmanager
    def _session(self) -> Iterator[Session]:
        """Hold the lock with all that the journal holds applied, and all effects tried."""
        if self._poisoned is not None:
            raise self._poisoned
        try:
            with Session.hold(self.folder, self._clock, self.lock_wait) as session:
                if session.is_interrupted:
                    self._recover(session)
                session.clear_leftovers()
                yield session
        except OSError as fault:
            raise from_oserror(fault, "writing the store") from fault

    def _recover(self, session: Session) -> None:
        session.recover()
        if session.mark.pending and self.root is not None:
            self._settle(session)
        if not session.mark.pending or self.root is not None:  # else the next one, who has a root, is to do them
            session.publish()

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}"


def _unchanged(state: Callable[[], S | None], look: Callable[[S], T]) -> T:
    """What `look` finds while `state` stays the same (None: not now). Raises _Moving when it never does."""
    for attempt in range(_READ_TRIES):
        before = state()
        if before is not None:
            try:
                found = look(before)
            except Exception:  # whatever it is: of a look at two moments it says nothing
                if state() == before:
                    raise
            else:
                if state() == before:
                    return found
        time.sleep(_FIRST_PAUSE * 2**attempt)
    raise _Moving


def create(folder: str, clock: Clock, store: StoreInfo, lock_wait: float = 10.0, mode: int = 0) -> bool:
    """Make a store in `folder` unless one is there; True when this call made it. `mode` says who else may use it.

    store.yaml comes last and durably: a store whose making was cut short has none, and making it again completes it.
    """
    fs.make_folder(folder)
    fs.open_up(folder, fs.Sharing(mode))
    sharing = fs.sharing_of(folder)
    for name in layout.FOLDERS:
        fs.make_folder(f"{folder}/{name}", sharing=sharing)
    with lock.exclusive(f"{folder}/{layout.LOCK}", lock_wait):
        if os.path.exists(f"{folder}/{layout.STORE.name}"):
            return False
        counters = Counters(0, 0, 0, 0, clock.now().boot, 1, 0)
        fs.replace_file(f"{folder}/{layout.COUNTERS.name}", yamlfile.encode(counters), sharing=sharing)
        fs.replace_file(f"{folder}/{layout.JOURNAL}", journal.new(0, []), sharing=sharing)
        fill_reserve(folder, sharing)
        fs.replace_file(f"{folder}/{layout.STORE.name}", yamlfile.encode(store), sharing=sharing)
    return True
