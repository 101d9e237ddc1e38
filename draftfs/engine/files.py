"""The file engine: transactions over record files, made whole by one journal and one lock (§6).

A transaction, under the lock: the rule decides; what can run out of space is written (temporaries of the records, the
feed's bytes behind its end); one journal record with every after-image is appended and synced: *that is the commit*; the
temporaries are renamed into place; the effects on the root are done, synced and marked done; the mark of how far all
this got goes into the lock file. Whoever finds the mark behind the journal, or of another boot, replays.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from draftfs import layout
from draftfs.clock import Clock, Instant
from draftfs.codec import from_plain, to_plain
from draftfs.engine import Performed, Root, fs, journal, lock, yamlfile
from draftfs.engine import mark as mark_file
from draftfs.engine.journal import Contents, Payload
from draftfs.engine.mark import MARK_BYTES, NO_MARK, Mark
from draftfs.engine.transaction import Cache, Changes, FileTransaction, FileView
from draftfs.errors import Damaged, DraftfsError, EnvironmentFault, from_oserror
from draftfs.records import Counters, Effect, InstallTarget, PlaceDraft, StoreInfo

T = TypeVar("T")

CHECKPOINT_RECORDS: Final = 128
CHECKPOINT_BYTES: Final = 1 << 20
_READ_TRIES: Final = 12

_EFFECTS: Final = {"place": PlaceDraft, "install": InstallTarget}


@dataclass(frozen=True)
class Committed:
    """What one step of a write gave: the rule's value, and what became of its effects on the root."""

    value: Any
    performed: tuple[Performed, ...] = ()


@dataclass
class _Session:
    """The engine while it holds the lock; the journal's descriptor and head change with a checkpoint."""

    lock: int
    journal: int
    now: Instant
    head: Payload
    mark: Mark | None

    @property
    def at(self) -> Mark:
        assert self.mark is not None, "the session was not recovered"
        return self.mark

    def frame(self, payload: Payload) -> bytes:
        """`payload` as the next record of this journal."""
        return journal.frame(self.head["salt"], self.at.sequence + 1, payload)


class FileEngine:
    """Runs rules over the store folder `folder`. `lock_wait` is how long to wait for the lock, in seconds."""

    def __init__(self, folder: str, clock: Clock, lock_wait: float = 10.0) -> None:
        self.folder, self._clock, self.lock_wait = folder, clock, lock_wait
        self.root: Root | None = None
        self._cache: Cache = {}
        self._poisoned: EnvironmentFault | None = None

    # ── reading ──

    def read(self, look: Callable[[FileView], T]) -> T:
        """Run `look` on one consistent view, without the lock: the mark must be the same before and after.

        Writers that keep changing it, or a crash that left it behind, make it take the lock; where that cannot be
        written, what the journal holds is laid over the files.
        """
        for attempt in range(_READ_TRIES):
            before = self._settled_mark()
            if before is not None:
                try:
                    found = look(FileView(self.folder, self._clock.now(), self._cache))
                except (DraftfsError, OSError):
                    if self._settled_mark() == before:
                        raise
                else:
                    if self._settled_mark() == before:
                        return found
            time.sleep(0.0002 * 2**attempt)
        try:
            with self._session() as session:
                return look(FileView(self.folder, session.now, self._cache))
        except EnvironmentFault as fault:
            if fault.code != "permission":
                raise
        return look(FileView(self.folder, self._clock.now(), {}, self._committed_images()))

    def has_pending_effects(self) -> bool:
        """Whether `settle` may have something to do."""
        mark = self._settled_mark()
        return mark is None or mark.pending > 0

    def _settled_mark(self) -> Mark | None:
        """The mark, when the files hold all that the journal does; else None."""
        try:
            with open(self._path(layout.LOCK), "rb") as held, open(self._path(layout.JOURNAL), "rb") as log:
                head = journal.read_head(log.fileno(), layout.JOURNAL)
                session = _Session(held.fileno(), log.fileno(), self._clock.now(), head, None)
                mark = mark_file.decode(held.read(MARK_BYTES))
                return mark if mark is not None and self._fits(mark, session) else None
        except FileNotFoundError:
            return None

    def _committed_images(self) -> dict[str, bytes | None]:
        images: dict[str, bytes | None] = {}
        for _, payload in self._parsed().records:
            for name, text in payload.get("images", {}).items():
                images[name] = None if text is None else text.encode()
        return images

    def now(self) -> Instant:
        return self._clock.now()

    def journalled_images(self) -> dict[str, bytes | None]:
        """The latest bytes of every record that the journal still holds; None for one that was removed."""
        return self._committed_images()

    # ── writing ──

    def write(self, *steps: Callable[[FileTransaction], Any]) -> list[Committed]:
        """Run each step as a transaction of its own, all under one hold of the lock. What a step raises ends it there:
        that step changed nothing, those before it stand."""
        with self._session() as session:
            return [self._run(step, session) for step in steps]

    def try_out(self, step: Callable[[FileTransaction], T]) -> T:
        """What the step would give, in a transaction that is forgotten."""
        return self.read(lambda view: step(FileTransaction(self.folder, view.now, self._cache)))

    def settle(self) -> tuple[Performed, ...]:
        """Try the effects that earlier transactions could not do. What still cannot be done is kept."""
        with self._session() as session:
            return self._settle(session) if session.at.pending else ()

    def checkpoint(self) -> None:
        """Make every record durable in its own file and start a new journal."""
        with self._session() as session:
            self._checkpoint(session)

    def renew_journal(self) -> None:
        """Start a new journal in place of one that cannot be read (for `doctor`); what only it held is lost."""
        path = self._path(layout.LOCK)
        with lock.exclusive(path, self.lock_wait) as held:
            mark = mark_file.decode(os.pread(held, MARK_BYTES, 0))
            fs.replace_file(self._path(layout.JOURNAL), journal.new(mark.sequence if mark else 0, []))
            fs.write_at(held, NO_MARK, 0, path)

    def _run(self, step: Callable[[FileTransaction], Any], session: _Session) -> Committed:
        transaction = FileTransaction(self.folder, session.now, self._cache)
        value = step(transaction)
        if not transaction.changes:
            return Committed(value)
        self._commit(transaction.changes, session)
        performed = self._perform(transaction.changes.effects, session)
        self._checkpoint_if_due(session)
        return Committed(value, performed)

    def _commit(self, changes: Changes, session: _Session) -> None:
        payload = self._payload(changes)
        framed = session.frame(payload)
        temporaries: dict[str, str] = {}
        try:
            for number, (name, data) in enumerate(changes.images.items()):
                fs.make_folder(os.path.dirname(self._path(name)), sync=False)
                if data is not None:
                    temporaries[name] = self._path(f"{layout.STAGING}/record-{number}")
                    fs.write_file(temporaries[name], data)
            self._write_feed(payload)
            end = journal.append(session.journal, session.at.end, framed, self._path(layout.JOURNAL))
        except OSError as fault:
            self._abandon(temporaries, payload)
            raise from_oserror(fault, "writing the store") from fault
        except EnvironmentFault as fault:
            self._poisoned = fault
            raise
        try:
            for name in changes.images:
                if name in temporaries:
                    fs.rename(temporaries[name], self._path(name))
                else:
                    fs.unlink(self._path(name))
        except OSError as fault:
            raise EnvironmentFault(
                "unknown",
                f"the change is recorded, but could not be completed at {fault.filename}: {fault.strerror}",
                hint="the next command that can write the store completes it",
                path=str(fault.filename),
            ) from fault
        self._advance(session, end, len(changes.effects))

    def _advance(self, session: _Session, end: int, pending: int) -> None:
        mark = session.at
        pending = max(mark.pending + pending, 0)
        self._set_mark(
            session, replace(mark, sequence=mark.sequence + 1, end=end, count=mark.count + 1, pending=pending)
        )

    def _payload(self, changes: Changes) -> Payload:
        payload: Payload = {"images": {name: data and data.decode() for name, data in changes.images.items()}}
        if changes.feed:
            counters = changes.records[layout.COUNTERS.name]
            offset = counters.segment_bytes - len(changes.feed)
            payload["feed"] = [counters.segment, offset, changes.feed.decode("ascii")]
        if changes.effects:
            payload["effects"] = [_plain_effect(effect, staged) for effect, staged in changes.effects]
        return payload

    def _write_feed(self, payload: Payload) -> None:
        if "feed" not in payload:
            return
        first, offset, text = payload["feed"]
        path = self._path(layout.segment(first))
        descriptor = fs.open_lasting(path)
        try:
            fs.write_at(descriptor, text.encode("ascii"), offset, path)
            if os.fstat(descriptor).st_size > offset + len(text):
                fs.truncate(descriptor, offset + len(text), path)
        finally:
            os.close(descriptor)

    def _abandon(self, temporaries: dict[str, str], payload: Payload) -> None:
        """Take back what was prepared for a commit that did not happen."""
        for temporary in temporaries.values():
            fs.unlink(temporary)
        if "feed" in payload:
            first, offset, _ = payload["feed"]
            path = self._path(layout.segment(first))
            with suppress(FileNotFoundError):
                descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                fs.truncate(descriptor, offset, path)
                os.close(descriptor)

    # ── effects on the root ──

    def _perform(self, effects: list[tuple[Effect, str | None]], session: _Session) -> tuple[Performed, ...]:
        if not effects:
            return ()
        assert self.root is not None, "effects need a root"
        sequence = session.at.sequence
        performed = tuple(self.root.perform(effect, self._staged(staged)) for effect, staged in effects)
        self._mark_done([([sequence, number], each) for number, each in enumerate(performed)], session)
        return performed

    def _settle(self, session: _Session) -> tuple[Performed, ...]:
        if self.root is None:
            return ()
        pending = _pending(self._parsed())
        performed = [(each, self.root.redo(_effect(each), self._staged(each["staged"]))) for each in pending]
        self._mark_done([(each["id"], outcome) for each, outcome in performed], session)
        return tuple(outcome for _, outcome in performed)

    def _mark_done(self, performed: list[tuple[list[int], Performed]], session: _Session) -> None:
        outcomes = tuple(outcome for _, outcome in performed)
        if any(outcome.displaced for outcome in outcomes):
            root = self.root
            assert root is not None
            self._run(lambda transaction: root.aftermath(transaction, outcomes), session)
        done = [identity for identity, outcome in performed if outcome.state != "later"]
        if not done:
            return
        framed = session.frame({"done": done})
        try:
            end = journal.append(session.journal, session.at.end, framed, self._path(layout.JOURNAL))
        except OSError:
            return  # not marked, so somebody looks again, finds it done and marks it then
        self._advance(session, end, -len(done))

    def _staged(self, staged: str | None) -> str | None:
        return None if staged is None else os.path.normpath(os.path.join(self.folder, staged))

    # ── the lock, recovery, checkpoint ──

    @contextmanager
    def _session(self) -> Iterator[_Session]:
        """Hold the lock with all that the journal holds applied."""
        if self._poisoned is not None:
            raise self._poisoned
        try:
            with ExitStack() as stack:
                yield self._open_session(stack)
        except OSError as fault:
            raise from_oserror(fault, "writing the store") from fault

    def _open_session(self, stack: ExitStack) -> _Session:
        held = stack.enter_context(lock.exclusive(self._path(layout.LOCK), self.lock_wait))
        log = self._open_journal()
        session = _Session(held, log, self._clock.now(), journal.read_head(log, layout.JOURNAL), None)
        stack.callback(lambda: os.close(session.journal))
        mark = mark_file.decode(os.pread(held, MARK_BYTES, 0))
        if mark is not None and self._fits(mark, session):
            session.mark = mark
        else:
            self._recover(session, mark)
        return session

    def _open_journal(self) -> int:
        try:
            return os.open(self._path(layout.JOURNAL), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            raise Damaged("damaged", "the store's journal is missing", file=layout.JOURNAL) from None

    def _recover(self, session: _Session, mark: Mark | None) -> None:
        """Bring the files to what the journal says, and end in a new, synced journal."""
        contents = self._parsed()
        if contents.has_tail:
            fs.truncate(session.journal, contents.end, self._path(layout.JOURNAL))
        reached = mark.sequence if mark is not None and self._same_life(mark, session) else contents.head["base"]
        for sequence, payload in contents.records:
            if sequence > reached:
                self._apply(payload)
        self._checkpoint(session)
        self._settle(session)

    def _apply(self, payload: Payload) -> None:
        for name, text in payload.get("images", {}).items():
            path = self._path(name)
            if text is None:
                fs.unlink(path)
                continue
            temporary = self._path(f"{layout.STAGING}/record-0")
            fs.make_folder(os.path.dirname(path), sync=False)
            fs.write_file(temporary, text.encode())
            fs.rename(temporary, path)
        self._write_feed(payload)

    def _checkpoint(self, session: _Session) -> None:
        """Sync what the journal's records touched, in their own files; then start a new journal.

        When a sync fails the mark is taken away: the kernel may have dropped the bytes, so that the next opener writes
        them anew from the journal, which still holds them.
        """
        contents = self._parsed()
        touched = {name for _, payload in contents.records for name in payload.get("images", {})}
        touched |= {layout.segment(payload["feed"][0]) for _, payload in contents.records if "feed" in payload}
        folders = {os.path.dirname(name) for name in touched}
        folders |= {os.path.dirname(folder) for folder in folders}
        pending = _pending(contents)
        try:
            for name in sorted(touched):
                fs.sync_file(self._path(name))
            for folder in sorted(folders, reverse=True):
                fs.sync_folder(self._path(folder))
        except OSError:
            fs.write_at(session.lock, NO_MARK, 0, self._path(layout.LOCK))
            raise
        self._clear_staging({each["staged"] for each in pending})
        fs.replace_file(self._path(layout.JOURNAL), journal.new(contents.last, pending))
        fresh = self._open_journal()
        os.close(session.journal)
        session.journal, session.head = fresh, journal.read_head(fresh, layout.JOURNAL)
        size = os.fstat(fresh).st_size
        self._set_mark(
            session,
            Mark(contents.last, size, 0, session.head["salt"], len(pending), _device(fresh), session.now.boot),
        )

    def _checkpoint_if_due(self, session: _Session) -> None:
        mark = session.at
        if mark.count < CHECKPOINT_RECORDS and mark.end < CHECKPOINT_BYTES:
            return
        try:
            self._checkpoint(session)
        except OSError as fault:
            if fault.errno != errno.ENOSPC:  # without space for a new journal the old one just grows a little longer
                raise from_oserror(fault, "writing the store") from fault

    def _clear_staging(self, needed: set[str | None]) -> None:
        """Remove prepared bytes whose maker is gone (it would hold a lock on them)."""
        for name in os.listdir(self._path(layout.STAGING)):
            relative = f"{layout.STAGING}/{name}"
            if relative not in needed and lock.is_free(self._path(relative)):
                fs.unlink(self._path(relative))

    def _set_mark(self, session: _Session, mark: Mark) -> None:
        fs.write_at(session.lock, mark.encode(), 0, self._path(layout.LOCK))
        session.mark = mark

    def _same_life(self, mark: Mark, session: _Session) -> bool:
        return (mark.salt, mark.boot, mark.device) == (
            session.head["salt"],
            session.now.boot,
            _device(session.journal),
        )

    def _fits(self, mark: Mark, session: _Session) -> bool:
        return self._same_life(mark, session) and mark.end == os.fstat(session.journal).st_size

    def _parsed(self) -> Contents:
        with open(self._path(layout.JOURNAL), "rb") as log:
            return journal.parse(log.read(), layout.JOURNAL)

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}"


def create(folder: str, clock: Clock, store: StoreInfo, lock_wait: float = 10.0) -> bool:
    """Make a store in `folder` unless one is there; True when this call made it.

    store.yaml comes last and durably: a store whose making was cut short has none, and making it again completes it.
    """
    for name in layout.FOLDERS:
        fs.make_folder(f"{folder}/{name}")
    with lock.exclusive(f"{folder}/{layout.LOCK}", lock_wait):
        if os.path.exists(f"{folder}/{layout.STORE.name}"):
            return False
        counters = Counters(0, 0, 0, 0, clock.now().boot, 1, 0)
        fs.replace_file(f"{folder}/{layout.COUNTERS.name}", yamlfile.encode(counters))
        fs.replace_file(f"{folder}/{layout.JOURNAL}", journal.new(0, []))
        fs.replace_file(f"{folder}/{layout.STORE.name}", yamlfile.encode(store))
    return True


def _device(descriptor: int) -> int:
    return os.fstat(descriptor).st_dev


def _plain_effect(effect: Effect, staged: str | None) -> Payload:
    kind = next(name for name, each in _EFFECTS.items() if isinstance(effect, each))
    return {"kind": kind, "effect": to_plain(effect), "staged": staged}


def _effect(plain: Payload) -> Effect:
    effect: Effect = from_plain(_EFFECTS[plain["kind"]], plain["effect"])
    return effect


def _pending(contents: Contents) -> list[Payload]:
    """The effects that no record marks as done, in order, each with its identity: [sequence, number]."""
    pending = {tuple(each["id"]): each for each in contents.head["pending"]}
    for sequence, payload in contents.records:
        for number, each in enumerate(payload.get("effects", ())):
            pending[sequence, number] = {**each, "id": [sequence, number]}
        for done in payload.get("done", ()):
            pending.pop(tuple(done), None)
    return list(pending.values())
