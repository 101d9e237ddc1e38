"""The one lock of a store: flock through portalocker, fair, bounded, released by the kernel when its holder dies (L1-L5).

The file is made once and never renamed, truncated or removed: two processes would otherwise lock two files.
"""

from __future__ import annotations

import fcntl
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

from draftfs.engine import fs
from draftfs.errors import Busy, EnvironmentFault


class _Held:
    """One open, locked descriptor. A forked child closes its copy, so that it never holds its parent's lock."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        _all_held.add(self)

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


_all_held: weakref.WeakSet[_Held] = weakref.WeakSet()


def _drop_in_child() -> None:
    for held in list(_all_held):
        held.close()


os.register_at_fork(after_in_child=_drop_in_child)


@contextmanager
def exclusive(path: str, wait: float) -> Iterator[int]:
    """Hold the lock at `path` for the block; yields its descriptor, open for reading and writing.

    Waits at most `wait` seconds, in the kernel's queue. Raises Busy `busy`. Not re-entrant.
    """
    held = _take(path, wait)
    try:
        yield held.descriptor
    finally:
        held.close()


def _take(path: str, wait: float) -> _Held:
    while True:
        held = _Held(fs.open_lasting(path, sharing=fs.sharing_of(os.path.dirname(path))))
        try:
            if not _locked_now(held.descriptor):
                _wait_in_queue(path, held, wait)
            if is_at(held.descriptor, path):
                return held
        except BaseException:
            held.close()
            raise
        held.close()


def _locked_now(descriptor: int) -> bool:
    """The very call that portalocker would make here. Importing that takes longer than all else that a hook does, so it comes
    in only where there is somebody to wait for."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as fault:
        raise EnvironmentFault("filesystem", f"this file system grants no lock: {fault.strerror}") from fault
    return True


def _wait_in_queue(path: str, held: _Held, wait: float) -> None:
    """Block in the kernel's queue, which is fair (polling starves at any interval: durability note §5).

    The blocking call sits in a thread of its own: flock has no time limit, and a signal would belong to the program that
    uses this library. A thread that is given up on gets the lock once and drops it at once.
    """
    guard, granted, given_up = threading.Lock(), threading.Event(), threading.Event()
    waiting = _Held(os.dup(held.descriptor))

    def wait_for_it() -> None:
        # Not in the main thread: a Ctrl-C in the middle of an import can leave Python with a status of its own.
        import portalocker

        try:
            portalocker.lock(waiting.descriptor, portalocker.LockFlags.EXCLUSIVE)
        except (portalocker.LockException, OSError, ValueError):
            return  # the descriptor was closed under us, in a forked child or at exit
        with guard:
            if given_up.is_set():
                portalocker.unlock(waiting.descriptor)
            granted.set()
        waiting.close()

    threading.Thread(target=wait_for_it, name="draftfs-lock", daemon=True).start()
    try:
        done = granted.wait(wait)
    except BaseException:
        done = False
        raise
    finally:
        with guard:
            if granted.is_set():
                done = True  # at the last moment
            else:
                given_up.set()
    if not done:
        raise Busy(
            "busy",
            f"another process has held the store's lock for {wait:g} s",
            hint="run the same command again, or wait longer with --lock-wait SECONDS",
            lock=path,
        )


def is_at(descriptor: int, path: str) -> bool:
    """Whether the locked file is still the one at `path`: a lock on a removed file excludes nobody."""
    mine = os.fstat(descriptor)
    try:
        theirs = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return mine.st_nlink > 0 and (mine.st_dev, mine.st_ino) == (theirs.st_dev, theirs.st_ino)


def is_free(path: str) -> bool:
    """Whether nobody holds a lock on the file at `path`, or it is gone."""
    try:
        held = _Held(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW))
    except OSError:
        return False
    try:
        return _locked_now(held.descriptor)
    finally:
        held.close()


def hold(descriptor: int) -> bool:
    """Lock an open file for as long as it stays open; False when somebody else holds it."""
    return _locked_now(descriptor)
