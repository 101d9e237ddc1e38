"""The three standard streams, in whatever state they came.

All output goes through here as bytes, straight to the descriptors: what Python holds back in buffers would fail a second
time while the interpreter ends, after the status has been decided.
"""

from __future__ import annotations

import errno
import os
import select
import sys
from typing import Final, Literal

Written = Literal["whole", "broken pipe", "lost"]

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2


class Streams:
    """What is open, what is a terminal, and how text becomes bytes. Never raises for a stream that is gone."""

    def __init__(self) -> None:
        self._gone = {descriptor for descriptor in (STDIN, STDOUT, STDERR) if not _take_place(descriptor)}
        self.encoding = sys.stdout.encoding if sys.stdout is not None else "utf-8"

    def is_open(self, descriptor: int) -> bool:
        """Whether the descriptor was open when the program started."""
        return descriptor not in self._gone

    def is_terminal(self, descriptor: int) -> bool:
        return self.is_open(descriptor) and os.isatty(descriptor)

    def encoded(self, text: str) -> bytes:
        r"""`text` as the terminal or the file takes it; what the encoding lacks comes out as `\xNN` or `\uNNNN`."""
        return text.encode(self.encoding, "backslashreplace")

    def answer(self, data: bytes) -> Written:
        """Write to standard output: all of it, or until it fails."""
        return self._write(STDOUT, data)

    def say(self, text: str) -> None:
        """Write to standard error. Whether anybody reads that changes nothing."""
        self._write(STDERR, self.encoded(text))

    def drop_buffers(self) -> None:
        """Flush what others printed, and where that fails make sure that the interpreter's end does not try again."""
        for stream in (sys.stdout, sys.stderr):
            try:
                if stream is not None:
                    stream.flush()
            except (OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), stream.fileno())

    def _write(self, descriptor: int, data: bytes) -> Written:
        if descriptor in self._gone:
            return "lost" if data else "whole"
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(descriptor, view) :]
            except BlockingIOError:  # somebody who shares the descriptor made it non-blocking
                select.select([], [descriptor], [])
            except OSError as fault:
                return "broken pipe" if fault.errno == errno.EPIPE else "lost"
        return "whole"


def _take_place(descriptor: int) -> bool:
    """Whether the descriptor is open. Where it is not, /dev/null takes its number: else the next file would have it."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        return False
    return True
