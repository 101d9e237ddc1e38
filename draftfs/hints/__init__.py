"""Hints that something below the root may have changed, from watchdog: reasons to look again, and never what is reported (§7).

On Linux one inotify instance watches every folder of the root but git's own (`inotify`); elsewhere watchdog's observer of
the platform watches the root as a whole, and what it tells of git's folders is passed over.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, Protocol

from draftfs.filesystems import SHARED_FILE_SYSTEMS, file_system

Ring = Callable[[], None]
"""Called from other threads, any number of times: look again."""

_GIT: Final = b".git"
_OURS: Final = b".draftfs-"
_EDITORS: Final = (b"~", b".swp", b".swx")
_PROBE: Final = b"4913"
_SILENT: Final = logging.NullHandler()


class CannotWatch(Exception):
    """No hints are to be had; the message says why, in a few words."""


class Hints(Protocol):
    """Something that rings from when it was made until it is closed, or dies."""

    def refresh(self, *, everything: bool) -> None:
        """Watch the folders that are there now: where one came or went since the last time, or with `everything` in any
        case. Raises CannotWatch."""

    def alive(self) -> bool:
        """Whether it can still ring."""

    def close(self) -> None:
        """Let go of everything. Never fails."""


def watch(root: str, ring: Ring) -> Hints:
    """Start watching the folder `root`. Raises CannotWatch."""
    kind = file_system(root)
    if kind is not None and (kind in SHARED_FILE_SYSTEMS or kind.startswith("fuse")):
        raise CannotWatch(f"{kind} does not tell of every change")
    logging.getLogger("watchdog").addHandler(_SILENT)  # without any, Python prints its warnings
    from watchdog.utils import UnsupportedLibcError

    try:
        from draftfs.hints.inotify import Folders
    except UnsupportedLibcError:
        from draftfs.hints.whole import Whole

        return Whole(root, ring)
    return Folders(root, ring)


def folders(root: str) -> Iterator[bytes]:
    """Every folder in which a draft or a target can lie: all but git's own, and nested checkouts with theirs.

    Each is given before it is listed: whoever watches it then misses nothing. Symlinks are not followed.
    """
    top = os.fsencode(root)
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        yield folder
        with suppress(OSError), os.scandir(folder) as entries:
            inner = list(entries)
            if folder == top or all(entry.name != _GIT for entry in inner):
                waiting += (each.path for each in inner if each.name != _GIT and each.is_dir(follow_symlinks=False))


def is_idle(name: bytes) -> bool:
    """Whether a file of this name changes nothing that anybody reports: our own and editors' temporaries."""
    return name == _PROBE or name.startswith(_OURS) or name.endswith(_EDITORS)
