"""Two files compared by git, under the attributes and settings that git would use for the target they stand for."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Final

from draftfs.git.attributes import attributes
from draftfs.git.command import run

_LINE: Final = re.compile(rb"[^\n]*\n|[^\n]+")  # bytes.splitlines() also splits at a lone CR
_PLAIN: Final = ("--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
# What decides how a difference is cut into hunks; nothing that runs a program, names files, or colours.
_HEEDED: Final = re.compile(
    r"diff\.(?:algorithm|context|interhunkcontext|indentheuristic|suppressblankempty|wordregex"
    r"|.+\.(?:x?funcname|binary|wordregex))"
)


def hunks(top: str, target: str, before: str, after: str, *options: str) -> tuple[bytes, ...] | None:
    """The difference of two files (absolute paths) as lines of git's, without its header; None where git takes them for
    binary. `top` is the checkout whose attributes and settings count, as those of `target`. Bytes are compared as they
    are, without filters. Raises EnvironmentFault `git`."""
    with tempfile.NamedTemporaryFile(suffix=".attributes") as attributes:
        attributes.write(_driver(top, target))
        attributes.flush()
        settings = ("-c", f"core.attributesFile={attributes.name}", *_settings(top))
        # From the top folder: in a repository git would clean one side by its path's attributes, and not the other.
        said = run(os.sep, "diff", *_PLAIN, *options, "--", before, after, options=settings, accept=(0, 1)).out
    lines = _LINE.findall(os.fsencode(said))
    first = next((at for at, line in enumerate(lines) if line.startswith(b"@@")), len(lines))
    if any(line.startswith(b"Binary files ") for line in lines[:first]):
        return None
    return tuple(lines[first:])


def _settings(top: str) -> tuple[str, ...]:
    """What the repository's config adds to the user's own."""
    said = run(top, "config", "-z", "--get-regexp", r"^diff\.", accept=(0, 1)).out.split("\0")
    found = (each.partition("\n") for each in said if each)
    heeded = [f"{name}={value}" if mark else name for name, mark, value in found if _HEEDED.fullmatch(name)]
    return tuple(part for each in heeded for part in ("-c", each))


def _driver(top: str, target: str) -> bytes:
    """The target's `diff` attribute, as a line for the two files: their own names mean nothing to git."""
    (said,) = attributes(top, ("diff",), [target])[target]
    line = {"unspecified": "", "set": "* diff\n", "unset": "* -diff\n"}.get(said, f"* diff={said}\n")
    return os.fsencode(line)
