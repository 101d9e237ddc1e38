"""What differs between two contents, as git tells it, under the names that people know them by."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from draftfs.cli._show import Paint, shown_line, size
from draftfs.errors import from_oserror
from draftfs.frozen import frozen
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.listing import Sides

_COLOURS = {b"+": "green", b"-": "red", b"@": "cyan"}
_WORDS = re.compile(r"\[-.*?-\]|\{\+.*?\+\}")


@frozen
class Difference:
    """`hunks` are git's, without the header; None for binary contents. Empty when nothing differs. With `words` they are
    marked word by word, `[-gone-]{+new+}`, and are no patch."""

    sides: Sides
    hunks: tuple[bytes, ...] | None
    sizes: tuple[int | None, int | None]
    words: bool = False

    @property
    def added(self) -> int:
        return sum(line.startswith(b"+") for line in self.hunks or ())

    @property
    def removed(self) -> int:
        return sum(line.startswith(b"-") for line in self.hunks or ())

    def text(self) -> bytes | None:
        """The whole diff, byte for byte; None for binary contents."""
        if self.hunks is None:
            return None
        return b"".join((*self._header(), *self.hunks)) if self.hunks or self._modes() else b""

    def plain(self) -> dict[str, Any]:
        """For --json."""
        text, sides = self.text(), self.sides
        names = (sides.before_name, sides.after_name)
        files = zip(names, (sides.before, sides.after), self.sizes, (sides.before_mode, sides.after_mode), strict=True)
        before, after = (
            {"name": name, "sha256": _sha256(path), "size": length, "mode": mode} for name, path, length, mode in files
        )
        decoded = None if text is None else text.decode("utf-8", "surrogateescape")
        return {"diff": decoded, "before": before, "after": after}

    def exact(self) -> Iterator[bytes]:
        """For pipes: what patch and delta take."""
        text = self.text()
        yield text if text is not None else os.fsencode("\n".join((*self._modes(), self._binary(), "")))

    def shown(self, paint: Paint) -> Iterator[str]:
        """For terminals: a draft's bytes are somebody else's, so nothing in them reaches the terminal as a command."""
        if self.hunks is None:
            yield from (*self._modes(), self._binary())
            return
        if self.hunks or self._modes():
            yield from (paint("bold", shown(os.fsdecode(line.rstrip(b"\n")))) for line in self._header())
        for line in self.hunks:
            text = shown_line(line.rstrip(b"\n").decode("utf-8", "surrogateescape"))
            colour = _COLOURS.get(line[:1], "") if not self.words or line.startswith(b"@@") else ""
            yield (
                _WORDS.sub(lambda found: paint(_COLOURS[found[0][1:2].encode()], found[0]), text)
                if (self.words and not colour)
                else paint(colour, text)
            )

    def summary(self, paint: Paint) -> Iterator[str]:
        """One line: what kind of change, and how much of it."""
        if self.hunks is None:
            what = f"binary, {_size_of(self.sizes[0])} to {_size_of(self.sizes[1])}"
        else:
            what = f"{paint('green', f'+{self.added}')} {paint('red', f'-{self.removed}')}"
        kind = "new" if self.sides.before is None else "deleted" if self.sides.after is None else "mode"
        yield "  ".join((shown(self.sides.after_name), what, *([kind] if self._modes() else [])))

    def _header(self) -> tuple[bytes, ...]:
        before = self.sides.before_name if self.sides.before is not None else "/dev/null"
        after = self.sides.after_name if self.sides.after is not None else "/dev/null"
        names = (f"{mark} {shown(name)}" for mark, name in (("---", before), ("+++", after)))
        return tuple(os.fsencode(f"{line}\n") for line in (*self._modes(), *names))

    def _modes(self) -> tuple[str, ...]:
        """As git says it; of an empty file that comes or goes there is nothing else to say."""
        old, new = self.sides.before_mode, self.sides.after_mode
        if old is None or new is None:
            return (f"new file mode {new}",) if new else (f"deleted file mode {old}",) if old else ()
        return (f"old mode {old}", f"new mode {new}") if old != new else ()

    def _binary(self) -> str:
        names, files = (self.sides.before_name, self.sides.after_name), (self.sides.before, self.sides.after)
        before, after = (
            f"{shown(name)} ({_size_of(count)}{f', {digest[:12]}' if (digest := _sha256(file)) else ''})"
            for name, count, file in zip(names, self.sizes, files, strict=True)
        )
        return f"binary: {before} and {after} differ"


def difference(sides: Sides, *, words: bool = False) -> Difference:
    """Compare the two, with `words` word by word. Raises EnvironmentFault `git`, or what the disk says."""
    from draftfs.git.diffing import hunks

    before, after = sides.before or os.devnull, sides.after or os.devnull
    sizes = (_size(sides.before), _size(sides.after))
    options = ("--word-diff=plain",) if words else ()
    return Difference(sides, hunks(sides.top, sides.target, before, after, *options), sizes, words)


def _size_of(count: int | None) -> str:
    return "no file" if count is None else size(count)


def _size(path: str | None) -> int | None:
    try:
        return None if path is None else os.stat(path).st_size
    except OSError as fault:
        raise from_oserror(fault, "comparing") from fault


def _sha256(path: str | None) -> str | None:
    if path is None:
        return None
    import hashlib

    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as fault:
        raise from_oserror(fault, "comparing") from fault
