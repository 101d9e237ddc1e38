"""Records as YAML files, strictly (§3).

A record's file starts with `format: 1` and a comment that holds length and CRC-32 of the rest, because YAML has no end
mark: most prefixes of a file are valid files. Text is always quoted, so YAML 1.1 and 1.2 read the same. Two spellings
are our own, both one-key mappings: `{bytes: "bad%FF.md"}` is text holding bytes that are not UTF-8 (surrogate escapes),
those and `%` itself percent-escaped; a genuine mapping with the one key `bytes` is written with the key `%bytes`, one
with `%bytes` as `%%bytes`, and so on.
"""

from __future__ import annotations

import re
import zlib
from typing import Any, Final, TypeVar

from draftfs.codec import Malformed, from_plain, to_plain
from draftfs.engine import yamllines
from draftfs.engine.yamltext import BYTES_KEY, DEPTH, LIMIT, SIGNS, FileError, is_identifier, sign, text_of
from draftfs.errors import BadRequest, Damaged
from draftfs.records import FORMAT
from draftfs.version import VERSION

R = TypeVar("R")


# ── writing ──

_ESCAPED = re.compile(
    r'["\\\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufeff'
    + "".join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17))
    + "]"
)
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_TO_PERCENT = re.compile("[%\udc80-\udcff]")
_LONGEST_KEY: Final = 1000  # without a `? ` before it, YAML takes a key of 1024 characters at most


def encode(record: Any) -> bytes:
    """The whole file of `record`: the same bytes for equal records, valid in YAML 1.1 and 1.2, at most LIMIT of them.

    Raises BadRequest `usage` for a larger one, and ValueError for what no file can hold: a surrogate that is no escaped
    byte or stands in a key, a key that is not text, a value that is no JSON or is a float, nesting deeper than DEPTH.
    """
    body = _block(to_plain(record), "").encode()
    head = f"format: {FORMAT}\n# draftfs {VERSION}, {len(body)} bytes, crc32 {zlib.crc32(body):08x}\n".encode()
    if len(head) + len(body) > LIMIT:
        raise BadRequest("usage", f"this makes a record of {len(head) + len(body):,} bytes; the limit is {LIMIT:,}")
    return head + body


def _block(value: Any, pad: str) -> str:
    if len(pad) >= 2 * DEPTH:
        raise ValueError(f"records nest {DEPTH} deep at most")
    if isinstance(value, list):
        return "".join(f"{pad}-{_after(each, pad, beside=True)}" for each in value)
    if not all(isinstance(key, str) for key in value):
        raise ValueError("the keys of records are text")
    shift = "%" if len(value) == 1 and BYTES_KEY.fullmatch(*value) else ""
    return "".join(f"{pad}{_key(shift + key, pad)}:{_after(each, pad)}" for key, each in value.items())


def _after(value: Any, pad: str, *, beside: bool = False) -> str:
    """What follows a key, or (`beside`) a dash, in a block indented by `pad`."""
    if isinstance(value, str):
        if _NOT_UTF8.search(value):
            return f" {{bytes: {_quoted(_TO_PERCENT.sub(lambda found: f'%{ord(found[0]) & 0xFF:02X}', value))}}}\n"
        return f" {_quoted(value)}\n"
    if isinstance(value, (dict, list)) and value:
        block = _block(value, pad + "  ")
        return f" {block[len(pad) + 2 :]}" if beside else f"\n{block}"
    if value is None or isinstance(value, (bool, int, dict, list)):
        return f" {'null' if value is None else str(value).lower()}\n"
    raise ValueError(f"records hold no {type(value).__name__}")


def _key(text: str, pad: str) -> str:
    written = text if is_identifier(text) else _quoted(text)
    return written if len(written) <= _LONGEST_KEY else f"? {written}\n{pad}"


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    long = f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
    return _SHORT.get(found[0], long)


# ── records ──

_HEADER = re.compile(
    rb"format: ([1-9][0-9]{0,8})\n# draftfs ([^,\s]{1,40}), (0|[1-9][0-9]{0,7}) bytes, crc32 ([0-9a-f]{8})\n"
)
_OTHER_FORMAT = re.compile(rb"format: ([1-9][0-9]{0,8})\n# draftfs ([0-9A-Za-z.+-]{1,40})[,\n]")


def decode(kind: type[R], data: bytes, name: str) -> R:
    """The record of type `kind` that file `name` holds: what was encoded, or Damaged; never anything in between.

    The error's message and details name the file, the cause and, where they are known, the line and the field.
    """
    known: FileError | None = None
    if len(data) <= LIMIT and (header := _HEADER.match(data)) and int(header[1]) == FORMAT and _fits(header, data):
        record, known = _plain_record(kind, data[header.end() :]), None
        if record is None:
            record, known = _record(kind, data)
        if record is not None:
            return record
    fault = _diagnosis(kind, data, known)
    raise fault.error(Damaged, "damaged", name, "upgrade draftfs" if fault.cause == "format" else None)


def _plain_record(kind: type[R], body: bytes) -> R | None:
    """The record, where its lines are plain and it is one; else the strict reader has the word."""
    try:
        fields = yamllines.read(body.decode())
        return None if fields is None else from_plain(kind, fields)
    except (UnicodeDecodeError, Malformed):
        return None


def _fits(header: re.Match[bytes], data: bytes) -> bool:
    end = header.end()
    return len(data) - end == int(header[3]) and zlib.crc32(data[end:]) == int(header[4], 16)


def _record(kind: type[R], data: bytes) -> tuple[R | None, FileError | None]:
    """The record, or what is the matter with it; header and checksum aside."""
    from draftfs.engine.yamlwalk import Walk, lines_of

    try:
        fields = Walk(text_of(data)).run()
        del fields["format"]
        return from_plain(kind, fields), None
    except Malformed as error:
        line = lines_of(Walk, text_of(data)).get(error.field)
        return None, FileError("type", error.problem, line, error.field)
    except FileError as error:
        return None, error


def _diagnosis(kind: type, data: bytes, known: FileError | None) -> FileError:
    if found := sign(data, SIGNS) or known:
        return found
    if (other := _OTHER_FORMAT.match(data)) and int(other[1]) != FORMAT:
        writer = f"written by draftfs {other[2].decode()} in format {other[1].decode()}"
        return FileError("format", f"{writer}; this is draftfs {VERSION}, which reads format {FORMAT}")
    if header := _HEADER.match(data):
        return _misfit(kind, data, header)
    if data.count(b"\n") < 2:
        return FileError("truncated", f"cut short: {len(data)} bytes, and no end of its first two lines")
    return FileError("header", "its first two lines are not those of a record")


def _misfit(kind: type, data: bytes, header: re.Match[bytes]) -> FileError:
    there, due, last = len(data) - header.end(), int(header[3]), data.rstrip().count(b"\n") + 1
    if there > due and _fits(header, data[: header.end() + due]):
        return FileError("trailing", f"{there - due} bytes follow its end")
    _, fault = _record(kind, data)
    if fault and fault.cause == "syntax" and there < due:
        fault = None
    # What a cut does shows at the end only: a fault further up is somebody's edit, though it made the file shorter.
    if there < due and (fault is None or fault.line in (None, last)):
        cause, verdict = "truncated", f"cut short: {there} of {due} bytes"
    else:
        cause, verdict = "checksum", "its checksum does not fit: edited by hand"
    if fault is None:
        return FileError(cause, verdict)
    return FileError(cause, f"{fault.problem}; {verdict}", fault.line, fault.field)
