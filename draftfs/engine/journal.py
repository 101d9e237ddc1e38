r"""The redo log: framed, checksummed records, of which one fdatasync makes a transaction happen (§6).

A frame is `DFJ1 LENGTH SEQUENCE CRC\n`, the payload (JSON), `\n`; numbers in hex, LENGTH in bytes. CRC covers the
journal's salt, SEQUENCE and payload. The first frame is the head: it carries the salt, the sequence number that the files
of the store already hold, and the effects on the root that an earlier journal left undone. A journal is only ever
replaced whole, so a head that does not fit its checksum is damage, not a crash.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from typing import Any, Final

from draftfs.engine import fs
from draftfs.errors import BadRequest, Damaged, EnvironmentFault
from draftfs.frozen import frozen

_FRAME: Final = re.compile(rb"DFJ1 ([0-9a-f]{8}) ([0-9a-f]{16}) ([0-9a-f]{8})\n")
FRAME_BYTES: Final = len(b"DFJ1 00000000 0000000000000000 00000000\n")
LARGEST: Final = 64 << 20

Payload = dict[str, Any]


@frozen
class Contents:
    """A journal as read: its head, its records in order, where the valid part ends, and whether a tail follows it."""

    head: Payload
    records: tuple[tuple[int, Payload], ...]
    end: int
    has_tail: bool

    @property
    def last(self) -> int:
        """The sequence number of the last valid record."""
        return self.records[-1][0] if self.records else int(self.head["base"])


def frame(salt: str, sequence: int, payload: Payload) -> bytes:
    """One framed record. Raises BadRequest `usage` when the request is too large for one transaction."""
    body = json.dumps(payload, separators=(",", ":")).encode("ascii")
    if len(body) > LARGEST:
        raise BadRequest("usage", f"one request may change {LARGEST >> 20} MiB of records, this one {len(body)} bytes")
    return b"DFJ1 %08x %016x %08x\n%b\n" % (len(body), sequence, _checksum(salt, sequence, body), body)


def new(base: int, pending: list[Payload]) -> bytes:
    """A journal without records: the store's files hold everything up to `base`, but for the effects in `pending`."""
    return frame("", base, {"base": base, "salt": os.urandom(8).hex(), "pending": pending})


def parse(data: bytes, path: str) -> Contents:
    """Read a journal. Raises Damaged where a valid record follows an invalid one: that is no torn tail."""
    head, end = _frame_at(data, 0, "", None)
    if head is None:
        raise Damaged("damaged", f"{path} is damaged: its head is {_fault(data)}", file=path)
    salt, sequence = head["salt"], int(head["base"])
    records: list[tuple[int, Payload]] = []
    while end < len(data):
        payload, after = _frame_at(data, end, salt, sequence + 1)
        if payload is None:
            _refuse_later_records(data, end, salt, path)
            break
        sequence, end = sequence + 1, after
        records.append((sequence, payload))
    return Contents(head, tuple(records), end, end < len(data))


def read_head(descriptor: int, path: str) -> Payload:
    """The head of an open journal. Raises Damaged."""
    lead = os.pread(descriptor, FRAME_BYTES, 0)
    found = _FRAME.match(lead)
    length = min(int(found[1], 16), LARGEST) if found else 0
    head, _ = _frame_at(os.pread(descriptor, FRAME_BYTES + length + 1, 0), 0, "", None)
    if head is None:
        raise Damaged("damaged", f"{path} is damaged: its head is {_fault(lead)}", file=path)
    return head


def append(descriptor: int, end: int, framed: bytes, path: str) -> int:
    """Append one frame at `end` and make it durable: the commit point. Returns the new end.

    Raises OSError when nothing was written, EnvironmentFault `unknown` when the sync failed: nobody knows then whether
    the record will survive, and trying again would lie (durability note §4).
    """
    fs.append_whole(descriptor, framed, end, path)
    try:
        fs.sync_data(descriptor, path)
    except OSError as fault:
        raise EnvironmentFault(
            "unknown",
            f"{path} could not be synced ({fault.strerror}): this change may or may not have happened",
            hint="look at `draftfs receipt show KEY`, or run the same command again: it happens once in all",
            path=path,
        ) from fault
    return end + len(framed)


def _checksum(salt: str, sequence: int, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(f"{salt}:{sequence:x}:".encode()))


def _frame_at(data: bytes, at: int, salt: str, sequence: int | None) -> tuple[Payload | None, int]:
    """The payload of the frame at `at` and where it ends; None when it is cut, altered or out of sequence."""
    found = _FRAME.match(data, at)
    if not found:
        return None, at
    length, number, checksum = (int(group, 16) for group in found.groups())
    start, end = found.end(), found.end() + length + 1
    if length > LARGEST or end > len(data) or data[end - 1] != 0x0A:
        return None, at
    body = data[start : end - 1]
    if _checksum(salt, number, body) != checksum or sequence not in (None, number):
        return None, at
    payload: Payload = json.loads(body)
    return payload, end


def _refuse_later_records(data: bytes, end: int, salt: str, path: str) -> None:
    for found in _FRAME.finditer(data, end + 1):
        if _frame_at(data, found.start(), salt, None)[0] is not None:
            raise Damaged(
                "damaged",
                f"{path} is damaged at byte {end}: a whole record follows at byte {found.start()}",
                file=path,
                byte=end,
            )


def _fault(data: bytes) -> str:
    if not data:
        return "missing, the file is empty"
    return "filled with NUL bytes" if not data.strip(b"\0") else "cut short or altered"


# ── what can be saved of a damaged one ──


def head_of(data: bytes) -> Payload | None:
    """The head, if it is whole."""
    return _frame_at(data, 0, "", None)[0]


def whole_records(data: bytes, salt: str) -> list[tuple[int, Payload]]:
    """Every record that is whole, whatever lies between, by its sequence number."""
    found: dict[int, Payload] = {}
    for each in _FRAME.finditer(data):
        payload, _ = _frame_at(data, each.start(), salt, None)
        if payload is not None and "base" not in payload:
            found[int(each[2], 16)] = payload
    return sorted(found.items())
