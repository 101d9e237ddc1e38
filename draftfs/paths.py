"""Names of targets: root-relative, segment by segment; when two of them clash (G3).

Pure text: nothing here looks at a disk. Resolving what a user typed against a checkout is `repo`'s work.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

from draftfs.errors import BadRequest
from draftfs.frozen import frozen

_HINT: Final = "name a file or folder in the repository, such as docs/spec.md"


@frozen
class Fold:
    """How the root's file system compares names, as probed at `init`: by case, by Unicode form, both or neither."""

    case: bool = False
    form: bool = False

    def key(self, path: str) -> str:
        """The form of `path` under which equal names are equal text. Undecodable bytes (surrogates) stay as they are."""
        if self.form:
            path = unicodedata.normalize("NFC", path)
        return path.casefold() if self.case else path


def target_path(text: str) -> str:
    """`text` as a target path: `/`-separated, relative to the root, without `.`, `..` and empty segments.

    Raises BadRequest `bad_path` for what is absolute, empty, holds NUL, climbs out of the root or enters `.git`.
    """
    if not text or "\0" in text:
        raise BadRequest("bad_path", f"{text!r} is not a path: it is empty or holds a NUL byte", hint=_HINT)
    if text.startswith("/"):
        raise BadRequest("bad_path", f"{text!r} is absolute: name it relative to the root", hint=_HINT, path=text)
    kept: list[str] = []
    for segment in text.split("/"):
        if segment == "..":
            if not kept:
                raise BadRequest("bad_path", f"{text!r} leaves the repository", hint=_HINT, path=text)
            kept.pop()
        elif segment not in ("", "."):
            kept.append(segment)
    if not kept:
        raise BadRequest(
            "bad_path", f"{text!r} names the whole repository: name files or folders in it", hint=_HINT, path=text
        )
    if any(segment.casefold() == ".git" for segment in kept):
        raise BadRequest("bad_path", f"{text!r} lies in git's own folder", hint=_HINT, path=text)
    return "/".join(kept)


def covers(outer: str, inner: str, fold: Fold) -> bool:
    """True when `inner` is `outer` or lies under it, by whole segments: `src` covers `src/a`, never `src-app` (R26)."""
    a, b = fold.key(outer), fold.key(inner)
    return b == a or b.startswith(a + "/")


def within(scopes: Sequence[str], path: str, fold: Fold) -> bool:
    """Whether `path` is at or under one of `scopes`: the paths that somebody asks about. No scope, or "", is the whole."""
    return not scopes or "" in scopes or any(covers(scope, path, fold) for scope in scopes)


def clash(a: str, b: str, fold: Fold) -> bool:
    """True when two reserved paths cannot be held at once: equal, or one the parent of the other (G3)."""
    return covers(a, b, fold) or covers(b, a, fold)
