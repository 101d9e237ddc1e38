"""What can be said of a YAML file before it is parsed, and what is said of one that is refused.

Apart from the parser (`yamlwalk`), which a plain record does not need: importing it would be a fifth of a short command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeVar

from draftfs.errors import DraftfsError

E = TypeVar("E", bound=DraftfsError)
Field = tuple[str, ...]
Lines = dict[Field, int]

LIMIT: Final = 1 << 20
DEPTH: Final = 32
BYTES_KEY: Final = re.compile("%*bytes")
_WORDS: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


class FileError(ValueError):
    """What is wrong with a file. `cause` is a stable word for programs."""

    def __init__(self, cause: str, problem: str, line: int | None = None, field: Field = ()) -> None:
        super().__init__(problem)
        self.cause, self.problem, self.line, self.field = cause, problem, line, field

    def error(self, kind: type[E], code: str, name: str, hint: str | None = None) -> E:
        where = f"{name}:{self.line}" if self.line else name
        field = ".".join(step[:80] if step.isprintable() else ascii(step[:80]) for step in self.field)
        facts = {key: fact for key, fact in (("line", self.line), ("field", field)) if fact}
        message = ": ".join(filter(None, (where, field, self.problem)))
        return kind(code, message, hint=hint, file=name, cause=self.cause, **facts)


SIGNS: Final = {
    "empty": (re.compile(rb"\A\Z"), "empty"),
    "utf16": (re.compile(rb"\A(\xff\xfe|\xfe\xff|[^\0]\0[^\0]\0|\0[^\0]\0[^\0])"), "UTF-16, not UTF-8"),
    "nul_filled": (re.compile(rb"\A\0+\Z"), "filled with NUL bytes"),
    "nul": (re.compile(rb"\0"), "a NUL byte"),
    "bom": (re.compile(rb"\A\xef\xbb\xbf"), "starts with a byte order mark (BOM)"),
    "line_ends": (re.compile(rb"\r"), "line ends are CR or CRLF, not LF"),
    "conflict": (re.compile(rb"^(<{7}|>{7})( |\r?$)", re.MULTILINE), "a merge conflict marker"),
    "tab": (re.compile(rb"^ *\t", re.MULTILINE), "a tab as indentation"),
}


def sign(data: bytes, causes: Iterable[str], limit: int = LIMIT) -> FileError | None:
    """The first of `causes` that `data` as a whole shows, or None."""
    if len(data) > limit:
        return FileError("too_large", f"larger than {limit:,} bytes")
    for cause in causes:
        pattern, problem = SIGNS[cause]
        if found := pattern.search(data):
            whole = pattern.pattern.startswith(rb"\A")
            return FileError(cause, problem, None if whole else data.count(b"\n", 0, found.start()) + 1)
    return None


def text_of(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as fault:
        raise FileError("encoding", "not UTF-8", data.count(b"\n", 0, fault.start) + 1) from None


def is_identifier(text: str) -> bool:
    """Whether an unquoted key cannot be read as anything but text."""
    return text.isascii() and text.isidentifier() and text.lower() not in _WORDS
