"""A consistent look at the record files, and the same look with changes on top, kept in memory until the commit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from draftfs import layout
from draftfs.clock import Instant
from draftfs.codec import from_plain, to_plain
from draftfs.engine import yamlfile
from draftfs.engine.yamlwalk import LIMIT
from draftfs.errors import Damaged, from_oserror
from draftfs.layout import Folder, Key
from draftfs.records import Counters, Effect, Event, StoreInfo

R = TypeVar("R")
Signature = tuple[int, int, int, int]
Cache = dict[str, tuple[Signature, Any]]

SEGMENT_BYTES: Final = 1 << 20


class FileView:
    """Reads record files. `cache` keeps what was decoded, by file signature: a replaced or edited file is read anew.

    `overlay` holds the bytes of records that are committed but not yet in their own files.
    """

    def __init__(self, folder: str, now: Instant, cache: Cache, overlay: dict[str, bytes | None] | None = None) -> None:
        self.folder, self.now = folder, now
        self._cache, self._overlay = cache, overlay or {}

    @property
    def store(self) -> StoreInfo:
        return self.required(layout.STORE)

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
            return None if data is None else yamlfile.decode(key.kind, data, key.name)
        try:
            descriptor = os.open(os.path.join(self.folder, key.name), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as fault:
            raise from_oserror(fault, "reading a record") from fault
        try:
            facts = os.fstat(descriptor)
            signature = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
            known = self._cache.get(key.name)
            if known is not None and known[0] == signature:
                found: R = known[1]
                return found
            data = os.read(descriptor, min(facts.st_size, LIMIT) + 1)
        finally:
            os.close(descriptor)
        record = yamlfile.decode(key.kind, data, key.name)
        self._cache[key.name] = signature, record
        return record

    def under(self, folder: Folder[R]) -> Iterator[Key[R]]:
        names = set(self._listed(folder))
        for name, data in self._overlay.items():
            if _belongs(name, folder):
                (names.discard if data is None else names.add)(name)
        keys = [Key(name, folder.kind) for name in names]
        return iter(sorted(keys, key=lambda key: (layout.number_of(key) or 0, key.name)))

    def subfolders(self, folder: str) -> list[str]:
        """The folders in a folder of the store, sorted."""
        return sorted(f"{folder}/{name}" for name in self._names(folder))

    def feed_end(self) -> tuple[int, int, int]:
        """Where the feed's files end, by themselves: first position of the last segment, its size, last position."""
        firsts = sorted(int(name.partition(".")[0]) for name in self._names(layout.FEED) if name.endswith(".jsonl"))
        if not firsts:
            return 1, 0, 0
        with open(os.path.join(self.folder, layout.segment(firsts[-1])), "rb") as file:
            whole = file.read().rpartition(b"\n")[0]
        lines = whole.count(b"\n") + 1 if whole else 0
        return firsts[-1], len(whole) + 1 if whole else 0, firsts[-1] + lines - 1

    def events(self, after: int, limit: int) -> tuple[Event, ...]:
        counters = self.counters
        wanted = range(after + 1, min(after + limit, counters.position) + 1)
        firsts = sorted(int(name.partition(".")[0]) for name in self._names(layout.FEED) if name.endswith(".jsonl"))
        found: list[Event] = []
        for at, first in enumerate(firsts):
            following = firsts[at + 1] if at + 1 < len(firsts) else counters.position + 1
            if wanted and first <= wanted[-1] and following > wanted[0]:
                size = counters.segment_bytes if first == counters.segment else -1
                found += self._segment(first, size, wanted)
        return tuple(found)

    def _segment(self, first: int, size: int, wanted: range) -> Iterator[Event]:
        with open(os.path.join(self.folder, layout.segment(first)), "rb") as file:
            lines = file.read(size).split(b"\n")
        for line in lines[max(wanted[0] - first, 0) : wanted[-1] - first + 1]:
            try:
                yield from_plain(Event, json.loads(line))
            except ValueError as fault:
                name = layout.segment(first)
                raise Damaged("damaged", f"{name} holds a line that is no event: {fault}", file=name) from fault

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

    def __init__(self, folder: str, now: Instant, cache: Cache) -> None:
        super().__init__(folder, now, cache)
        self.changes = Changes()

    def get(self, key: Key[R]) -> R | None:
        if key.name in self.changes.images:
            found: R | None = self.changes.records.get(key.name)
            return found
        return super().get(key)

    def under(self, folder: Folder[R]) -> Iterator[Key[R]]:
        self._overlay = self.changes.images
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
        if counters.segment_bytes >= SEGMENT_BYTES and not self.changes.feed:
            counters = replace(counters, segment=position, segment_bytes=0)
        event = Event(position, self.now.stamp, kind, actor, job, to_plain(data))
        line = json.dumps(to_plain(event), separators=(",", ":")).encode("ascii") + b"\n"
        self.changes.feed += line
        counters = replace(counters, position=position, segment_bytes=counters.segment_bytes + len(line))
        self.put(layout.COUNTERS, counters)
        return position

    def effect(self, effect: Effect, staged: str | None = None) -> None:
        self.changes.effects.append((effect, staged))
