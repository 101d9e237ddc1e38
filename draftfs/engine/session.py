"""The store while one process holds its lock: commit, recovery, checkpoint, and the mark that says how far all this got.

The mark in the lock file fits the journal exactly when nothing was interrupted: every record is in its own file, and
every effect on the root was tried. Whoever opens a store whose mark does not fit, or is of another boot, recovers it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final

from draftfs import layout
from draftfs.clock import Clock, Instant
from draftfs.codec import from_plain, to_plain
from draftfs.engine import fs, journal, lock
from draftfs.engine import mark as mark_file
from draftfs.engine.journal import Contents, Payload
from draftfs.engine.mark import MARK_BYTES, NO_MARK, Mark
from draftfs.engine.transaction import Changes
from draftfs.errors import Damaged, EnvironmentFault, from_oserror
from draftfs.records import Effect, InstallTarget, PlaceDraft, RemoveDraft

CHECKPOINT_RECORDS: Final = 128
CHECKPOINT_BYTES: Final = 1 << 20
RESERVE_BYTES: Final = 128 << 10

Identity = tuple[int, int]
"""An effect, by the sequence number of its record and its place in it."""

_EFFECTS: Final = {"place": PlaceDraft, "remove": RemoveDraft, "install": InstallTarget}
_NO_LIFE: Final = "-"
_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
_RECORD: Final = "record-"


class Session:
    """One hold of the lock. Until `recover` has run for an interrupted store, nothing but `is_interrupted` may be asked."""

    def __init__(self, folder: str, held: int, now: Instant) -> None:
        self.folder, self.now, self._lock = folder, now, held
        self._sharing = fs.sharing_of(folder)
        self._journal = _open_journal(folder)
        try:
            self._head = journal.read_head(self._journal, layout.JOURNAL)
        except Damaged:
            os.close(self._journal)
            raise
        self._mark = mark_file.decode(os.pread(held, MARK_BYTES, 0))
        self.is_interrupted = self._mark is None or not fits(self._mark, self._journal, self._head, now)
        self.sync_failed = False

    @classmethod
    @contextmanager
    def hold(cls, folder: str, clock: Clock, lock_wait: float) -> Iterator[Session]:
        """Take the lock for the block. Raises Busy `busy`, Damaged, OSError."""
        with lock.exclusive(f"{folder}/{layout.LOCK}", lock_wait) as held:
            session = cls(folder, held, clock.now())
            try:
                yield session
            finally:
                os.close(session._journal)

    @property
    def mark(self) -> Mark:
        assert self._mark is not None, "the store was not recovered"
        return self._mark

    def pending(self) -> dict[Identity, tuple[Effect, str | None]]:
        """The effects that are still to do, in order, with their prepared files."""
        return pending_effects(read_journal(self.folder))

    def recount(self) -> None:
        """Count anew what is still to do: an effect that a later one replaced was never marked done."""
        self._mark = replace(self.mark, pending=len(self.pending()))

    # ── commit ──

    def commit(self, changes: Changes, done: Sequence[Identity] = (), *, urgent: bool = False) -> None:
        """Make `changes` happen, and the effects `done` count as done, in one record.

        An `urgent` one may use up the space that is kept in reserve. Raises EnvironmentFault: `unknown` when it may or may
        not have happened, any other code when nothing did.
        """
        payload = _payload(changes, done)
        framed = journal.frame(self._head["salt"], self.mark.sequence + 1, payload)
        while True:
            try:
                temporaries = self._write_ahead(changes, payload)
                end = journal.append(self._journal, self.mark.end, framed, self._path(layout.JOURNAL))
                break
            except OSError as fault:
                self._abandon(changes, payload)
                if not urgent or fault.errno not in _FULL or not self._give_up_reserve():
                    raise from_oserror(fault, "writing the store") from fault
            except EnvironmentFault:
                self.sync_failed = True
                raise
        try:
            for name, temporary in temporaries.items():
                if temporary is None:
                    fs.unlink(self._path(name))
                else:
                    fs.rename(temporary, self._path(name))
        except OSError as fault:
            raise EnvironmentFault(
                "unknown",
                f"the change is recorded, but could not be completed at {fault.filename}: {fault.strerror}",
                hint="the next command that can write the store completes it",
                path=str(fault.filename),
            ) from fault
        at, pending = self.mark, self.mark.pending + len(changes.effects) - len(done)
        self._mark = replace(at, sequence=at.sequence + 1, end=end, count=at.count + 1, pending=pending)

    def publish(self) -> None:
        """Say in the lock file that everything up to here is in its place. Where that cannot be written the next opener
        looks for itself."""
        with suppress(OSError):
            fs.write_at(self._lock, self.mark.encode(), 0, self._path(layout.LOCK))

    def _write_ahead(self, changes: Changes, payload: Payload) -> dict[str, str | None]:
        """Write everything that can run out of space, where nobody looks yet. Returns each record's temporary."""
        temporaries: dict[str, str | None] = {}
        for number, (name, data) in enumerate(changes.images.items()):
            fs.make_folder(os.path.dirname(self._path(name)), sync=False, sharing=self._sharing)
            temporaries[name] = None if data is None else self._temporary(number)
            if data is not None:
                fs.write_file(self._temporary(number), data, sharing=self._sharing)
        self._write_feed(payload)
        return temporaries

    def _abandon(self, changes: Changes, payload: Payload) -> None:
        """Take back what was prepared for a commit that did not happen."""
        for number in range(len(changes.images)):
            fs.unlink(self._temporary(number))
        if "feed" in payload:
            first, offset, _ = payload["feed"]
            path = self._path(layout.segment(first))
            with suppress(FileNotFoundError):
                descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
                try:
                    fs.truncate(descriptor, offset, path)
                finally:
                    os.close(descriptor)

    def _write_feed(self, payload: Payload) -> None:
        if "feed" not in payload:
            return
        first, offset, text = payload["feed"]
        path = self._path(layout.segment(first))
        descriptor = fs.open_lasting(path, sharing=self._sharing)
        try:
            fs.write_at(descriptor, text.encode("ascii"), offset, path)
            if os.fstat(descriptor).st_size > offset + len(text):
                fs.truncate(descriptor, offset + len(text), path)
        finally:
            os.close(descriptor)

    def _give_up_reserve(self) -> bool:
        if not os.path.exists(self._path(layout.RESERVE)):
            return False
        fs.unlink(self._path(layout.RESERVE))
        return True

    # ── recovery ──

    def recover(self) -> None:
        """Bring the files to what the journal says, and end in a new, synced journal. Effects and `publish` are left to do.

        What is replayed is written to a journal file of its own first: its maker may have died before the sync, or the
        sync failed, and then the disk may hold less than the page cache shows (durability note §4).
        """
        data, found = _journal_bytes(self.folder), self._mark
        contents = journal.parse(data, layout.JOURNAL)
        reached = self._reached(contents, found)
        if contents.records or contents.has_tail:
            self._replace_journal(data[: contents.end])
        for sequence, payload in contents.records:
            if sequence > reached:
                self._apply(payload)
        self.checkpoint(reached)
        self.is_interrupted = False

    def _reached(self, contents: Contents, found: Mark | None) -> int:
        """The record up to which the files can be trusted to hold everything. Raises Damaged."""
        if found is None or found.salt != contents.head["salt"]:
            return int(contents.head["base"])
        trusted = _same_life(found, self._journal, self._head, self.now)
        if found.sequence > contents.last:  # the mark came after their sync, so this is no torn tail
            if not trusted:
                raise Damaged(
                    "damaged",
                    f"{layout.JOURNAL} has lost records {contents.last + 1} to {found.sequence}, and the files may be older",
                    file=layout.JOURNAL,
                )
            fs.sync_everything(self.folder)
        return found.sequence if trusted else int(contents.head["base"])

    def _apply(self, payload: Payload) -> None:
        for name, text in payload.get("images", {}).items():
            path = self._path(name)
            if text is None:
                fs.unlink(path)
                continue
            fs.make_folder(os.path.dirname(path), sync=False, sharing=self._sharing)
            fs.unlink(self._temporary(0))
            fs.write_file(self._temporary(0), text.encode(), sharing=self._sharing)
            fs.rename(self._temporary(0), path)
        self._write_feed(payload)

    # ── checkpoint ──

    def checkpoint_if_due(self) -> None:
        """Keep the journal short. Without space for a new one the old one just grows a little longer."""
        if self.mark.count < CHECKPOINT_RECORDS and self.mark.end < CHECKPOINT_BYTES:
            return
        try:
            self.checkpoint()
            self.publish()
        except OSError as fault:
            if fault.errno not in _FULL:
                raise

    def checkpoint(self, reached: int = 0) -> None:
        """Sync what the journal's records touched, in their own files; then start a new journal.

        When a sync fails the mark is taken away for good: the kernel may have dropped the bytes, so that the next opener
        writes them anew from the journal, which still holds them.
        """
        contents = read_journal(self.folder)
        touched = {name for _, payload in contents.records for name in payload.get("images", {})}
        touched |= {layout.segment(payload["feed"][0]) for _, payload in contents.records if "feed" in payload}
        folders = {os.path.dirname(name) for name in touched}
        folders |= {os.path.dirname(folder) for folder in folders}
        carried = carried_over(contents)
        try:
            for name in sorted(touched):
                fs.sync_file(self._path(name))
            for folder in sorted(folders, reverse=True):
                fs.sync_folder(self._path(folder))
        except OSError:
            self._distrust()
            raise
        last = max(contents.last, reached)
        self._replace_journal(journal.new(last, carried))
        size, device = os.fstat(self._journal).st_size, os.fstat(self._journal).st_dev
        self._mark = Mark(last, size, 0, self._head["salt"], len(carried), device, self.now.boot)
        fill_reserve(self.folder, self._sharing)

    def _replace_journal(self, data: bytes) -> None:
        fs.replace_file(self._path(layout.JOURNAL), data, sharing=self._sharing)
        fresh = _open_journal(self.folder)
        os.close(self._journal)
        self._journal, self._head = fresh, journal.read_head(fresh, layout.JOURNAL)

    def _distrust(self) -> None:
        fs.write_at(self._lock, NO_MARK, 0, self._path(layout.LOCK))
        if self._mark is not None:
            self._mark = replace(self._mark, boot=_NO_LIFE)

    def clear_leftovers(self) -> None:
        """Remove prepared bytes whose maker is gone (it would hold a lock on them), but for those of pending effects."""
        names = os.listdir(self._path(layout.STAGING))
        if not names:
            return
        pending = self.pending().values() if self.mark.pending else ()
        needed = tuple(os.path.basename(staged) for _, staged in pending if staged is not None)
        for name in names:
            path = self._path(f"{layout.STAGING}/{name}")
            if name.startswith(_RECORD) or (not name.startswith(needed) and lock.is_free(path)):
                with suppress(OSError):  # litter: the next one may be able to
                    fs.unlink(path)

    def _temporary(self, number: int) -> str:
        return self._path(f"{layout.STAGING}/{_RECORD}{number}")

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}"


def fits(mark: Mark, log: int, head: Payload, now: Instant) -> bool:
    """Whether the files hold all that the journal open at `log` does."""
    return _same_life(mark, log, head, now) and mark.end == os.fstat(log).st_size


def _same_life(mark: Mark, log: int, head: Payload, now: Instant) -> bool:
    """Whether the mark speaks of this journal, and of this life of the page cache."""
    return (mark.salt, mark.boot, mark.device) == (head["salt"], now.boot, os.fstat(log).st_dev)


def fill_reserve(folder: str, sharing: fs.Sharing) -> None:
    """Keep a little space, so that claims can be ended on a full disk (C34)."""
    path = f"{folder}/{layout.RESERVE}"
    if os.path.exists(path):
        return
    try:
        fs.write_file(path, os.urandom(RESERVE_BYTES), sharing=sharing)
    except OSError:
        fs.unlink(path)


def read_journal(folder: str) -> Contents:
    """The journal as it is now. Raises Damaged."""
    return journal.parse(_journal_bytes(folder), layout.JOURNAL)


def pending_effects(contents: Contents) -> dict[Identity, tuple[Effect, str | None]]:
    """The effects that no record marks as done, in order. Of several installs of one target only the last counts."""
    pending: dict[Identity, tuple[Effect, str | None]] = {}
    for each in contents.head["pending"]:
        pending[each["id"][0], each["id"][1]] = _effect(each)
    for sequence, payload in contents.records:
        for number, each in enumerate(payload.get("effects", ())):
            effect, staged = _effect(each)
            if isinstance(effect, InstallTarget):
                for key in [key for key, (other, _) in pending.items() if _is_replaced(other, effect)]:
                    del pending[key]
            pending[sequence, number] = effect, staged
        for first, second in payload.get("done", ()):
            pending.pop((first, second), None)
    return pending


def carried_over(contents: Contents) -> list[Payload]:
    """The pending effects as the head of a new journal holds them."""
    return [_plain_effect(*each, key) for key, each in pending_effects(contents).items()]


def _is_replaced(effect: Effect, later: InstallTarget) -> bool:
    return isinstance(effect, InstallTarget) and effect.target == later.target


def _payload(changes: Changes, done: Sequence[Identity]) -> Payload:
    payload: Payload = {}
    if changes.images:
        payload["images"] = {name: data and data.decode() for name, data in changes.images.items()}
    if changes.feed:
        counters = changes.records[layout.COUNTERS.name]
        offset = counters.segment_bytes - len(changes.feed)
        payload["feed"] = [counters.segment, offset, changes.feed.decode("ascii")]
    if changes.effects:
        payload["effects"] = [_plain_effect(effect, staged) for effect, staged in changes.effects]
    if done:
        payload["done"] = [list(each) for each in done]
    return payload


def _plain_effect(effect: Effect, staged: str | None, identity: Identity | None = None) -> Payload:
    kind = next(name for name, each in _EFFECTS.items() if isinstance(effect, each))
    plain = {"kind": kind, "effect": to_plain(effect), "staged": staged}
    return plain if identity is None else {**plain, "id": list(identity)}


def _effect(plain: Payload) -> tuple[Effect, str | None]:
    effect: Effect = from_plain(_EFFECTS[plain["kind"]], plain["effect"])
    return effect, plain["staged"]


def _journal_bytes(folder: str) -> bytes:
    try:
        with open(f"{folder}/{layout.JOURNAL}", "rb") as log:
            return log.read()
    except FileNotFoundError:
        raise _no_journal() from None


def _open_journal(folder: str) -> int:
    try:
        return os.open(f"{folder}/{layout.JOURNAL}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise _no_journal() from None


def _no_journal() -> Damaged:
    return Damaged("damaged", "the store's journal is missing", file=layout.JOURNAL)
