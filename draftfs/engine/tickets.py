"""The queue of those who wait for a claim: one file each, in the order of its number, locked by its maker for as long as it waits.

No records: nothing is lost with them. The kernel drops the lock of one who dies; one who is stopped no longer says that it
looks, and is passed over until it does. Neither keeps anybody behind it waiting, and nothing depends on a process id.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from typing import Final

from draftfs import layout
from draftfs.clock import NANOSECONDS, Instant
from draftfs.codec import Malformed, from_plain, to_plain
from draftfs.engine import fs, lock
from draftfs.engine.files import FileEngine
from draftfs.records import Waiting

GRACE: Final = 5.0
"""Who has not looked for so many seconds is passed over."""


class Ticket:
    """A place in the queue, until it is closed."""

    def __init__(self, number: int, descriptor: int, path: str) -> None:
        self.number, self._descriptor, self._path = number, descriptor, path

    def looks(self, now: Instant) -> None:
        """Say that whoever waits here is there to take its turn: at least every few seconds."""
        fs.write_at(self._descriptor, _looked(now), 0, self._path)

    def close(self) -> None:
        with suppress(OSError):  # without its lock it is nobody's all the same
            fs.unlink(self._path)
        os.close(self._descriptor)


class Queue:
    """The queue of an engine's store."""

    def __init__(self, engine: FileEngine) -> None:
        self._folder, self._now, self._lock_wait = engine.folder, engine.now, engine.lock_wait

    def join(self, waiting: Waiting) -> Ticket:
        """Take the last place. Raises Busy `busy`, OSError."""
        folder = f"{self._folder}/{layout.WAITING}"
        sharing = fs.sharing_of(self._folder)
        # Under the store's lock a number is given once, and what nobody has locked is nobody's.
        with lock.exclusive(f"{self._folder}/{layout.LOCK}", self._lock_wait):
            fs.make_folder(folder, sync=False, sharing=sharing)
            for number in self._numbers():
                if _is_free(self._path(number)):
                    fs.unlink(self._path(number))
            number = max(self._numbers(), default=0) + 1
            path = self._path(number)
            descriptor = fs.create(path, sharing=sharing)
            try:
                lock.hold(descriptor)
                data = _looked(self._now()) + json.dumps(to_plain(waiting)).encode("ascii") + b"\n"
                fs.write_at(descriptor, data, 0, path)
            except BaseException:
                fs.unlink(path)
                os.close(descriptor)
                raise
        return Ticket(number, descriptor, path)

    def ahead(self, ticket: Ticket | None = None) -> tuple[Waiting, ...]:
        """Who waits in front of `ticket`, or all who wait, in their order: those who are there to take their turn."""
        numbers = (number for number in self._numbers() if ticket is None or number < ticket.number)
        found = (self._read(self._path(number)) for number in numbers)
        return tuple(waiting for waiting in found if waiting is not None)

    def _read(self, path: str) -> Waiting | None:
        """Who waits there; None where nobody does any more, or what is there is no ticket."""
        with suppress(OSError, ValueError, RecursionError, Malformed):
            if not _is_free(path):
                with open(path, "rb") as file:
                    looked, text = file.readline(), file.readline()
                silent = self._now().awake_ns - int(looked)
                waiting: Waiting = from_plain(Waiting, json.loads(text))
                return waiting if silent <= GRACE * NANOSECONDS else None
        return None

    def _numbers(self) -> list[int]:
        with suppress(FileNotFoundError, NotADirectoryError):
            return sorted(int(name) for name in os.listdir(f"{self._folder}/{layout.WAITING}") if name.isdecimal())
        return []

    def _path(self, number: int) -> str:
        return f"{self._folder}/{layout.ticket(number)}"


def _looked(now: Instant) -> bytes:
    return b"%020d\n" % now.awake_ns


def _is_free(path: str) -> bool:
    """Whether nobody waits there. A shared lock tells, so that two who ask at once do not take each other for the owner."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
