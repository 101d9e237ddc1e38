"""A consistent look at the record files, and the same look with changes on top, kept in memory until the commit."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Final, TypeVar

from draftfs import layout
from draftfs.clock import Instant
from draftfs.codec import from_plain, to_plain
from draftfs.engine import yamlfile
from draftfs.engine.yamltext import LIMIT
from draftfs.errors import Damaged, from_oserror
from draftfs.layout import Folder, Key
from draftfs.paths import Fold
from draftfs.records import Counters, Effect, Event, StoreInfo

R = TypeVar("R")
Cache = dict[str, tuple[bytes, Any]]

SEGMENT_BYTES: Final = 1 << 20
_READ: Final = (
    os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
)  # a pipe in a record's place must not hold us up
_CACHED: Final = 4096


class FileView:
    """Reads record files. `cache` keeps what their bytes were decoded to; the bytes are read each time, since a file that
    was replaced twice within one tick of the clock may have its inode, size and times again.

    `overlay` holds the bytes of files that are committed but not yet there.
    """

    def __init__(self, folder: str, now: Instant, cache: Cache, overlay: dict[str, bytes | None] | None = None) -> None:
        self.folder, self.now = folder, now
        self._cache, self._overlay = cache, overlay or {}

    @property
    def store(self) -> StoreInfo:
        return self.required(layout.STORE)

    @cached_property
    def _fold(self) -> Fold:
        """How the store's file system compares names: that never changes, and most records are checked by it."""
        return self.store.fold

    @property
    def counters(self) -> Counters:
        return self.required(layout.COUNTERS)

    def required(self, key: Key[R]) -> R:
        """A record that every store has; its absence is damage."""
        found = self.get(key)
        if found is None:
            raise Damaged("damaged", f"{key.name} is missing from the store", file=key.name)
        return found

    def get(self, key: Key[R]) -> R | None:
        if key.name in self._overlay:
            data = self._overlay[key.name]
            return None if data is None else self._decoded(key, data)
        descriptor = self._opened(key.name)
        if descriptor is None:
            return None
        try:
            data = os.read(descriptor, min(os.fstat(descriptor).st_size, LIMIT) + 1)
        finally:
            os.close(descriptor)
        known = self._cache.get(key.name)
        if known is not None and known[0] == data:
            found: R = known[1]
            return found
        record = self._decoded(key, data)
        if len(self._cache) >= _CACHED:
            self._cache.clear()
        self._cache[key.name] = data, record
        return record

    def _opened(self, name: str) -> int | None:
        """A file of the store, open for reading; None where there is none. Raises Damaged where it is no regular file."""
        try:
            descriptor = os.open(os.path.join(self.folder, name), _READ)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as fault:
            if fault.errno == errno.ELOOP:
                raise Damaged("damaged", f"{name} is a symlink, not a record", file=name) from fault
            raise from_oserror(fault, "reading a record") from fault
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise Damaged("damaged", f"{name} is not a regular file", file=name)

    def transaction(self) -> FileTransaction:
        """A transaction that starts from this very look."""
        return FileTransaction(self.folder, self.now, self._cache, self._overlay)

    def _decoded(self, key: Key[R], data: bytes) -> R:
        """A record is only itself under its own name: a copy of job 1 named `0009.yaml` is not job 9, nor job 1."""
        record = yamlfile.decode(key.kind, data, key.name)
        home = layout.home(record, lambda path: self._fold.key(path))  # noqa: PLW0108 - store.yaml itself comes first
        if home is not None and home != key.name:
            raise Damaged(
                "damaged", f"{key.name} holds what belongs into {home}", file=key.name, cause="misplaced", home=home
            )
        return record

    def raw(self, name: str) -> bytes | None:
        """The bytes of a record's file as they are, at most one more than a record may have; None where there is none."""
        if name in self._overlay:
            return self._overlay[name]
        try:
            descriptor = os.open(os.path.join(self.folder, name), _READ)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return b""  # whatever it is, it is no record
        try:
            return os.read(descriptor, LIMIT + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        finally:
            os.close(descriptor)

    def under(self, folder: Folder[R]) -> Iterator[Key[R]]:
        names = {name for name in self._listed(folder) if not layout.is_stray(name)}
        for name, data in self._overlay.items():
            if _belongs(name, folder):
                (names.discard if data is None else names.add)(name)
        keys = [Key(name, folder.kind) for name in names]
        return iter(sorted(keys, key=lambda key: (layout.number_of(key) or 0, key.name)))

    def subfolders(self, folder: str) -> list[str]:
        """The folders in a folder of the store, sorted."""
        return sorted(f"{folder}/{name}" for name in self._names(folder))

    def segments(self) -> list[int]:
        """The first position of each of the feed's segments, in order."""
        names = set(self._names(layout.FEED))
        for name, data in self._overlay.items():
            if name.startswith(f"{layout.FEED}/"):
                (names.discard if data is None else names.add)(name.rpartition("/")[2])
        return sorted(first for first in map(layout.first_of, names) if first is not None)

    def events(self, after: int, limit: int) -> tuple[Event, ...]:
        return tuple(islice(self.feed(after), limit))

    def feed(self, after: int) -> Iterator[Event]:
        counters = self.counters
        due, end = max(after + 1, counters.first), counters.position
        firsts = [counters.segment]
        if due < counters.segment:  # else the folder, which grows with history, need not be listed
            firsts = [first for first in self.segments() if first <= counters.segment]
        for first, following in pairwise([*firsts, end + 1]):
            if first <= due < following:
                size = counters.segment_bytes if first == counters.segment else -1
                for event in self._segment(first, size, range(due, following)):
                    yield event
                    due += 1
        if due <= end:
            name = layout.segment(max((first for first in firsts if first <= due), default=1))
            raise Damaged("damaged", f"{name} is missing or cut short: position {due} is not there", file=name)

    def _segment(self, first: int, size: int, wanted: range) -> Iterator[Event]:
        name = layout.segment(first)
        lines = self._segment_bytes(name, size).split(b"\n")[:-1]
        for position, line in zip(wanted, islice(lines, wanted.start - first, None), strict=False):
            try:
                event = from_plain(Event, json.loads(line))
            except (ValueError, RecursionError) as fault:
                raise Damaged(
                    "damaged", f"{name} holds no event at position {position}", file=name, position=position
                ) from fault
            if event.position != position:
                raise Damaged("damaged", f"{name} holds position {event.position} where {position} is due", file=name)
            yield event

    def _segment_bytes(self, name: str, size: int) -> bytes:
        laid_over = self._overlay.get(name)
        if laid_over is not None:
            return laid_over[: size if size >= 0 else None]
        descriptor = self._opened(name)
        if descriptor is None:
            return b""
        with open(descriptor, "rb") as file:
            return file.read(size)

    def _listed(self, folder: Folder[Any]) -> Iterator[str]:
        for name in self._names(folder.prefix):
            if folder.leaf is not None:
                if folder.leaf in self._names(f"{folder.prefix}/{name}"):
                    yield f"{folder.prefix}/{name}/{folder.leaf}"
            elif name.endswith(".yaml"):
                yield f"{folder.prefix}/{name}"

    def _names(self, folder: str) -> list[str]:
        try:
            return os.listdir(os.path.join(self.folder, folder))
        except (FileNotFoundError, NotADirectoryError):
            return []


def _belongs(name: str, folder: Folder[Any]) -> bool:
    if folder.leaf is not None:
        return name.startswith(f"{folder.prefix}/") and name.endswith(f"/{folder.leaf}")
    return name.rpartition("/")[0] == folder.prefix


@dataclass
class Changes:
    """What one transaction wants: after-images of records (None deletes), feed bytes, effects with their staged files."""

    images: dict[str, bytes | None] = field(default_factory=dict)
    records: dict[str, Any] = field(default_factory=dict)
    feed: bytes = b""
    effects: list[tuple[Effect, str | None]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.images or self.feed or self.effects)


class FileTransaction(FileView):
    """A look that may change what it sees; the engine commits `changes` afterwards, or forgets them."""

    def __init__(self, folder: str, now: Instant, cache: Cache, overlay: dict[str, bytes | None] | None = None) -> None:
        super().__init__(folder, now, cache, overlay)
        self.changes, self._below = Changes(), self._overlay

    def get(self, key: Key[R]) -> R | None:
        if key.name in self.changes.images:
            found: R | None = self.changes.records.get(key.name)
            return found
        return super().get(key)

    def under(self, folder: Folder[R]) -> Iterator[Key[R]]:
        self._overlay = {**self._below, **self.changes.images}
        return super().under(folder)

    def put(self, key: Key[R], record: R, *, lives: float | None = None) -> None:  # noqa: ARG002 - for engines that expire
        self.changes.images[key.name] = yamlfile.encode(record)
        self.changes.records[key.name] = record

    def delete(self, key: Key[Any]) -> None:
        self.changes.images[key.name] = None
        self.changes.records.pop(key.name, None)

    def append(self, kind: str, actor: str, *, job: int | None = None, **data: Any) -> int:
        counters = self.counters
        position = counters.position + 1
        if not self.changes.feed and (counters.segment_bytes >= SEGMENT_BYTES or self._is_torn(counters)):
            counters = replace(counters, segment=position, segment_bytes=0)
        event = Event(position, self.now.stamp, kind, actor, job, to_plain(data))
        line = json.dumps(to_plain(event), separators=(",", ":")).encode("ascii") + b"\n"
        self.changes.feed += line
        counters = replace(counters, position=position, segment_bytes=counters.segment_bytes + len(line))
        self.put(layout.COUNTERS, counters)
        return position

    def _is_torn(self, counters: Counters) -> bool:
        """Whether the feed's last segment has lost its end: nothing is to be glued to half an event."""
        try:
            size = os.stat(os.path.join(self.folder, layout.segment(counters.segment))).st_size
        except OSError:
            size = 0
        return size < counters.segment_bytes

    def trim(self, upto: int) -> None:
        """Segments that hold nothing else are removed with the commit; the last one always stays."""
        counters = replace(self.counters, first=upto + 1)
        self.put(layout.COUNTERS, counters)
        for first, following in pairwise(each for each in self.segments() if each <= counters.segment):
            if following <= counters.first:
                self.delete(Key(layout.segment(first), object))

    def effect(self, effect: Effect, staged: str | None = None) -> None:
        self.changes.effects.append((effect, staged))
