"""Hints on Linux: one inotify instance of watchdog's, and one watch for each folder that is not git's.

watchdog's own recursive watch would take in `.git` (of a checkout's 65,000 events a third), and pass over in silence what
it could not watch. Here the folders are walked again whenever one came or went, and each is watched anew: the kernel gives
the watch that a folder has, so that nothing rests on paths that may be another folder's by now.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from itertools import count
from typing import Final

from watchdog.observers.inotify_c import CallbackId, InotifyConstants, InotifyEvent, InotifyFD, Mask, WatchDescriptor

from draftfs.hints import CannotWatch, Ring, folders, is_idle

# Not opening, reading, or closing unchanged: looking again does that itself.
_MASK: Final = Mask(
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_MOVE
    | InotifyConstants.IN_MODIFY
    | InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_ATTRIB
    | InotifyConstants.IN_DELETE_SELF
    | InotifyConstants.IN_MOVE_SELF
    | InotifyConstants.IN_DONT_FOLLOW
    | InotifyConstants.IN_ONLYDIR
)
_GONE: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP))
_USED_UP: Final = {
    errno.ENOSPC: "the system has no inotify watches left (sysctl fs.inotify.max_user_watches)",
    errno.EMFILE: "the system has no inotify instances left (sysctl fs.inotify.max_user_instances)",
}


class _Reader(InotifyFD):
    """The thread that reads the events. What it dies of is nobody's to see: whoever asks finds it dead."""

    def __init__(self, ring: Ring) -> None:
        super().__init__()
        self._ring = ring

    def run(self) -> None:
        with suppress(Exception):
            super().run()
        self._ring()


class Folders:
    """Rings when something changes in any folder below the root. The `on_` methods are called from watchdog's thread."""

    def __init__(self, root: str, ring: Ring) -> None:
        self._root, self._ring = root, ring
        self._moved = True
        self._numbers = count()
        self._watched: list[tuple[WatchDescriptor, CallbackId]] = []
        try:
            self._reader = _Reader(ring)
        except OSError as fault:
            raise _cannot(fault) from fault
        self._reader.start()
        try:
            self.refresh(everything=True)
        except CannotWatch:
            self.close()
            raise

    def refresh(self, *, everything: bool) -> None:
        if not (everything or self._moved):
            return
        self._moved = False
        before, self._watched = self._watched, []
        try:
            for folder in folders(self._root):
                self._watch(folder)
            self._reader.remove_callbacks(before)  # a folder that was watched again stays watched
        except OSError as fault:
            raise _cannot(fault) from fault

    def _watch(self, folder: bytes) -> None:
        # Each time under a new number: where two paths lead to one folder (bind mounts) watchdog warns of a second equal one.
        number = CallbackId(next(self._numbers))
        try:
            self._watched.append((self._reader.add_callback(folder, _MASK, self, number), number))
        except OSError as fault:
            if fault.errno not in _GONE:
                raise

    def alive(self) -> bool:
        return self._reader.is_alive()

    def close(self) -> None:
        with suppress(OSError, RuntimeError):
            self._reader.stop()
            self._reader.join()

    # ── called by watchdog ──

    def on_event(self, event: InotifyEvent) -> None:
        if event.is_directory:
            self._moved = True
        elif is_idle(event.name):
            return
        self._ring()

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:  # noqa: ARG002
        self._moved = True
        self._ring()

    def on_queue_overflow(self) -> None:
        """Events were lost, of new folders perhaps."""
        self._moved = True
        self._ring()


def _cannot(fault: OSError) -> CannotWatch:
    return CannotWatch(_USED_UP.get(fault.errno or 0, f"inotify: {fault.strerror or fault}"))
