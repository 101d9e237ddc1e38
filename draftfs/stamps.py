"""What files of the root hold, without reading them again: digests by stamp, kept in the store's `cache/` (§3, §7).

A stamp has the time of the last change of the file's inode, which nobody can set back, so kept modification times do not
fool it; and a digest is kept only where that time was well past before the reading began, so an edit in the same tick
does not either. Attributes, filters and config do not matter: only bytes are remembered. Without the cache, or with a damaged
one, files are read.
"""

from __future__ import annotations

import json
import os
import stat
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Final

from draftfs import layout
from draftfs.engine import fs
from draftfs.engine.objects import Objects
from draftfs.errors import DraftfsError
from draftfs.records import Content, TreeEntry
from draftfs.sighting import Sighting, Stamp, git_mode, look

RACY_NS: Final = 2_000_000_000
"""So long after a change its time may still be that of the next change: the coarsest clock of a file system in use."""

_COMMIT: Final = ""
"""No path; what is kept under it is of a commit."""

_LARGEST: Final = 256 << 20
_Entry = list[Any]


class Stamps:
    """The digests of one root's files. `now` is wall time in nanoseconds. For one look: later edits are not noticed."""

    def __init__(self, objects: Objects, top: str, now: Callable[[], int] = time.time_ns) -> None:
        self._objects, self._top, self._now = objects, top, now
        self._known = _read(f"{objects.folder}/{layout.STAMPS}")
        self._used: dict[str, _Entry] = {}
        self._commit: _Entry | None = None
        self._seen: dict[str, Sighting] = {}

    def look(self, path: str) -> Sighting:
        """As `sighting.look`, for a root-relative path; read only where its stamp is not known."""
        if path not in self._seen:
            self._seen[path] = self._remembered(path) or self._fresh(path)
        return self._seen[path]

    def committed(
        self, commit: str, targets: Sequence[str], ask: Callable[[list[str]], Mapping[str, TreeEntry]]
    ) -> dict[str, TreeEntry]:
        """What `commit` (an id) holds at each of `targets`: that never changes, so `ask` only tells what is not known."""
        name, held = self._known.get(_COMMIT, ["", {}])
        held = held if name == commit else {}
        unknown = [target for target in targets if target not in held]
        if unknown:
            found = ask(unknown)
            new = {target: [found[target].mode, found[target].oid] if target in found else None for target in unknown}
            held = {**held, **new}
        self._commit = [commit, held]
        return {target: TreeEntry(*held[target]) for target in targets if held[target] is not None}

    def _remembered(self, path: str) -> Sighting | None:
        known = self._known.get(path)
        if known is None:
            return None
        try:
            facts = os.stat(f"{self._top}/{path}", follow_symlinks=False)
        except OSError:
            return None
        if not stat.S_ISREG(facts.st_mode) or known[:4] != _stamp(Stamp.of(facts)):
            return None
        self._used[path] = known
        return Sighting("file", Content(known[4], facts.st_size, git_mode(facts.st_mode)), names=facts.st_nlink)

    def _fresh(self, path: str) -> Sighting:
        before = self._now()
        sighting, stamp = look(f"{self._top}/{path}")
        # A time still to come was set by a clock that has been put back since, and may come again.
        if stamp is not None and sighting.content is not None and stamp.changed < before - RACY_NS:
            self._used[path] = [*_stamp(stamp), sighting.content.sha256]
        return sighting

    def save(self, *, everything: bool) -> None:
        """Keep what was learnt; with `everything`, forget what was not looked at. Never fails, and is never waited for: who
        cannot write the store reads again next time."""
        kept = self._used if everything else {**self._known, **self._used}
        kept = kept if self._commit is None else {**kept, _COMMIT: self._commit}
        if kept == self._known:
            return
        path, sharing = f"{self._objects.folder}/{layout.STAMPS}", self._objects.sharing
        with suppress(OSError, DraftfsError), ExitStack() as stack:
            staging = f"{self._objects.folder}/{layout.STAGING}"
            fs.make_folder(os.path.dirname(path), sync=False, sharing=sharing)
            staged, descriptor = self._objects.stage(stack, staging, 0o666, sharing=sharing)
            fs.write(descriptor, _encoded(kept), staged)
            fs.rename(staged, path)


def _stamp(stamp: Stamp) -> _Entry:
    return [stamp.inode, stamp.size, stamp.modified, stamp.changed]


def _encoded(entries: dict[str, _Entry]) -> bytes:
    body = json.dumps(entries, separators=(",", ":")).encode("ascii")
    return b"draftfs stamps 1 %08x\n%b" % (zlib.crc32(body), body)


def _read(path: str) -> dict[str, _Entry]:
    """What was kept; nothing where the file is not whole, or is of another version."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            head, _, body = file.read(_LARGEST).partition(b"\n")
        entries = json.loads(body) if head == b"draftfs stamps 1 %08x" % zlib.crc32(body) else {}
    except (OSError, ValueError, RecursionError, MemoryError):
        return {}
    return entries if isinstance(entries, dict) else {}
