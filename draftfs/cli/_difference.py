"""What differs between two contents, as git tells it, under the names that people know them by."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from draftfs.cli._show import Paint, shown_line, size
from draftfs.errors import EnvironmentFault, from_oserror
from draftfs.frozen import frozen
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.listing import Sides

_COLOURS = {b"+": "green", b"-": "red", b"@": "cyan"}


@frozen
class Difference:
    """`hunks` are git's, without the header; None for binary contents. Empty when nothing differs."""

    sides: Sides
    hunks: tuple[bytes, ...] | None
    sizes: tuple[int | None, int | None]

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
        return b"".join((*self._header(), *self.hunks)) if self.hunks else b""

    def plain(self) -> dict[str, Any]:
        """For --json."""
        text = self.text()
        names = (self.sides.before_name, self.sides.after_name)
        before, after = (
            {"name": name, "sha256": _sha256(path), "size": length}
            for name, path, length in zip(names, (self.sides.before, self.sides.after), self.sizes, strict=True)
        )
        decoded = None if text is None else text.decode("utf-8", "surrogateescape")
        return {"diff": decoded, "before": before, "after": after}

    def exact(self) -> Iterator[bytes]:
        """For pipes: what patch and delta take."""
        text = self.text()
        yield text if text is not None else os.fsencode(f"{self._binary()}\n")

    def shown(self, paint: Paint) -> Iterator[str]:
        """For terminals: a draft's bytes are somebody else's, so nothing in them reaches the terminal as a command."""
        if self.hunks is None:
            yield self._binary()
            return
        if self.hunks:
            yield from (paint("bold", shown(os.fsdecode(line.rstrip(b"\n")))) for line in self._header())
        for line in self.hunks:
            yield paint(_COLOURS.get(line[:1], ""), shown_line(line.rstrip(b"\n").decode("utf-8", "surrogateescape")))

    def _header(self) -> tuple[bytes, ...]:
        before = self.sides.before_name if self.sides.before is not None else "/dev/null"
        after = self.sides.after_name if self.sides.after is not None else "/dev/null"
        return tuple(os.fsencode(f"{mark} {shown(name)}\n") for mark, name in (("---", before), ("+++", after)))

    def _binary(self) -> str:
        names = (self.sides.before_name, self.sides.after_name)
        before, after = (f"{shown(name)} ({size(count)})" for name, count in zip(names, self.sizes, strict=True))
        return f"binary: {before} and {after} differ"


def difference(sides: Sides) -> Difference:
    """Compare the two. Raises EnvironmentFault `git`, or what the disk says."""
    before, after = sides.before or os.devnull, sides.after or os.devnull
    sizes = (_size(sides.before), _size(sides.after))
    command = [
        "git",
        "diff",
        "--no-index",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--",
        before,
        after,
    ]
    # From the top folder: no repository's attributes or configuration count there, only the user's own.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        git = subprocess.run(command, cwd="/", env={**environment, "LC_ALL": "C"}, capture_output=True, check=False)
    except OSError as fault:
        raise EnvironmentFault("git", "there is no git on the PATH", hint="install git 2.36 or newer") from fault
    if git.returncode not in (0, 1):
        said = os.fsdecode(git.stderr).strip().partition("\n")[0]
        raise EnvironmentFault("git", f"git diff failed: {said}", hint="git diff --no-index")
    lines = git.stdout.splitlines(keepends=True)
    if any(line.startswith(b"Binary files ") for line in lines[:8]):
        return Difference(sides, None, sizes)
    first = next((at for at, line in enumerate(lines) if line.startswith(b"@@")), len(lines))
    return Difference(sides, tuple(lines[first:]), sizes)


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
