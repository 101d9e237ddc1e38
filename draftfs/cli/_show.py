"""How things are shown to people: names and notes on one line, tables, durations, sizes, colours."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from draftfs.frozen import frozen
from draftfs.names import escaped, shown

_BYTE: Final = re.compile("[\udc80-\udcff]")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_COLOURS: Final = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1"}


def shown_line(text: str) -> str:
    """One line of a file, shown: as `shown`, but a tab stays a tab."""
    return "\t".join(map(shown, text.split("\t")))


@frozen
class Paint:
    """Colours, where they are wanted. They only ever repeat what the words say."""

    on: bool

    def __call__(self, colour: str, text: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self.on and text else text


def duration(seconds: float) -> str:
    """`45s`, `3m`, `2h`, `5d`: the largest unit that fits."""
    whole = int(seconds)
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if whole >= length:
            return f"{whole // length}{unit}"
    return f"{max(whole, 0)}s"


def size(count: int | None) -> str:
    if count is None:
        return "-"
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def local(stamp: str | None) -> str:
    """An RFC 3339 time as this machine's people read it."""
    return "-" if stamp is None else datetime.fromisoformat(stamp).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def first_words(text: str | None, width: int) -> str:
    """The beginning of a note, on one line."""
    line = shown((text or "").strip().partition("\n")[0])
    return line if len(line) <= width else line[: max(width - 1, 0)] + "…"


def tsv(rows: Iterable[Sequence[str]]) -> Iterator[str | bytes]:
    r"""For pipes: tabs between columns, no header, no padding. Names come out with their exact bytes, but for control
    characters, which are escaped (`\x0a`), and the backslash, which is doubled: no two names look alike."""
    for row in rows:
        line = "\t".join(_CONTROL.sub(escaped, cell.replace("\\", "\\\\")) for cell in row)
        yield os.fsencode(line) + b"\n" if _BYTE.search(line) else line


class Tinted(str):
    """A cell of a table that stands out, where colours are on."""

    __slots__ = ("colour",)
    colour: str

    @classmethod
    def of(cls, colour: str, text: str) -> Tinted:
        cell = cls(text)
        cell.colour = colour
        return cell


def columns(
    rows: Sequence[Sequence[str]], paint: Paint, *, right: frozenset[int] = frozenset(), indent: str = ""
) -> Iterator[str]:
    """For terminals: columns as wide as their widest cell (`right`: those that end flush), the last one as it comes.

    Cells are shown text. A column that is empty in every row is left out.
    """
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            _padded(cell, width, paint, flush=at in right)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            if width
        ]
        yield f"{indent}{'  '.join(cells)}".rstrip()


def _padded(cell: str, width: int, paint: Paint, *, flush: bool) -> str:
    blanks = " " * (width - len(cell))
    text = paint(cell.colour, cell) if isinstance(cell, Tinted) else cell
    return blanks + text if flush else text + blanks


def terminal_width() -> int:
    import shutil  # it brings compression along, and most output goes into pipes

    return shutil.get_terminal_size().columns


def screen() -> tuple[int, int]:
    """How many columns and lines the terminal has."""
    import shutil

    found = shutil.get_terminal_size()
    return found.columns, found.lines
