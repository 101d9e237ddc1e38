"""The mark in the lock file: how far the journal is applied, in which life of the machine's page cache."""

from __future__ import annotations

import re
import zlib
from typing import Final

from draftfs.frozen import frozen

_MARK: Final = re.compile(rb"DFL1 (\d+) (\d+) (\d+) (\w+) (\d+) (\d+) (\S+) ([0-9a-f]{8})\n")
MARK_BYTES: Final = 256


@frozen
class Mark:
    """The journal is applied up to record `sequence`, which ends at byte `end` and is the `count`-th in it.

    `salt` tells one journal from the next; `boot` and `device` say in which life of the page cache the unsynced files
    can be trusted; `pending` counts effects on the root that are still to do.
    """

    sequence: int
    end: int
    count: int
    salt: str
    pending: int
    device: int
    boot: str

    def encode(self) -> bytes:
        """Always MARK_BYTES long, so that one write replaces the whole mark."""
        fields = (self.sequence, self.end, self.count, self.salt, self.pending, self.device, self.boot)
        body = " ".join(map(str, fields)).encode()
        return (b"DFL1 %b %08x\n" % (body, zlib.crc32(body))).ljust(MARK_BYTES)


NO_MARK: Final = b" " * MARK_BYTES


def decode(data: bytes) -> Mark | None:
    """The mark, or None when there is none that can be trusted."""
    found = _MARK.match(data)
    if not found or zlib.crc32(data[5 : found.start(8) - 1]) != int(found[8], 16):
        return None
    sequence, end, count, salt, pending, device, boot, _ = (group.decode() for group in found.groups())
    return Mark(int(sequence), int(end), int(count), salt, int(pending), int(device), boot)
