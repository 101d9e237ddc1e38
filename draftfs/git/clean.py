"""Git's clean form of many files at once: the id of the blob that git would store for the bytes of each (§5, Same bytes).

A few processes for all of them, whatever their number; where a file is not its target itself (an object of the store), one for
each set of attributes. By the attributes and the index of one checkout. Stores nothing, and writes no index.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Final

from draftfs.errors import from_oserror
from draftfs.frozen import frozen
from draftfs.git.attributes import attributes
from draftfs.git.command import fault_of, run

_AT_ONCE: Final = 500
_DECIDE: Final = ("filter", "ident", "text", "eol", "crlf", "working-tree-encoding")
_LITERAL: Final = ("--literal-pathspecs",)
PLAIN: Final = "plain"
"""A conversion, and a group's first place: the bytes as they are."""


@frozen
class Form:
    """A file (absolute) that stands for the target `path`."""

    path: str
    file: str


@frozen
class Forms:
    """The clean form of each; `raw` are targets whose filter cannot run: the form is that of their bytes."""

    ids: dict[Form, str]
    raw: tuple[str, ...]


def forms(top: str, asked: Iterable[Form]) -> Forms:
    """The clean form of each file, by the checkout `top`. A file that is gone meanwhile has none. Raises EnvironmentFault
    `git`."""
    each = list(dict.fromkeys(asked))
    if not each:
        return Forms({}, ())
    ids: dict[Form, str] = {}
    raw: list[str] = []
    for (how, _), group in _groups(top, each).items():
        for start in range(0, len(group), _AT_ONCE):
            _hash(top, how, group[start : start + _AT_ONCE], ids, raw)
    return Forms(ids, tuple(dict.fromkeys(raw)))


_Group = tuple[str, tuple[str, ...]]


def _groups(top: str, asked: Sequence[Form]) -> dict[_Group, list[Form]]:
    """Files that one process can take: of the same conversion, by the same attributes."""
    paths = list(dict.fromkeys(each.path for each in asked))
    said_of = attributes(top, _DECIDE, paths)
    converted = indexed(top, list(dict.fromkeys(each.path for each in asked if _may_be_converted(each.file))))
    groups: dict[_Group, list[Form]] = {}
    for each in asked:
        how, said = converted.get(each.path, ""), said_of[each.path]
        filtered = said[0] not in ("unspecified", "unset")
        if how == PLAIN:
            said = ()
        elif filtered and each.file != f"{top}/{each.path}":
            said = (*said, each.path)  # a filter may be told the path
        groups.setdefault((how, said), []).append(each)
    return groups


def indexed(top: str, paths: Sequence[str]) -> dict[str, str]:
    """How paths are converted of which the index holds CRLF: there git leaves out conversions that nobody demanded, and
    hash-object does not look. PLAIN is not at all, "core.autocrlf=false" not by that setting. It matters for
    files with a carriage return only."""
    found: dict[str, str] = {}
    for start in range(0, len(paths), _AT_ONCE):
        command = ("ls-files", "--eol", "-z", "--", *paths[start : start + _AT_ONCE])
        for item in run(top, *command, options=_LITERAL).out.split("\0"):
            about, _, path = item.partition("\t")
            words = about.split()
            if words and words[0] in ("i/crlf", "i/mixed"):
                found[path] = PLAIN if "attr/text=auto" in about else "core.autocrlf=false"
    return found


def _hash(top: str, how: str, group: list[Form], ids: dict[Form, str], raw: list[str]) -> None:
    options = ("-c", how) if how and how != PLAIN else ()
    there = [each for each in group if os.path.lexists(each.file)]
    if not there:
        return
    own = all(each.file == f"{top}/{each.path}" for each in there)
    if how == PLAIN:
        answer = run(top, "hash-object", "--no-filters", "--", *(each.file for each in there), accept=(0, 128))
    elif own:
        feed = "".join(f"{_quoted(each.path)}\n" for each in there)
        answer = run(top, "hash-object", "--stdin-paths", feed=feed, options=options, accept=(0, 128))
    else:
        named = (f"--path={there[0].path}", "--", *(each.file for each in there))
        answer = run(top, "hash-object", *named, options=options, accept=(0, 128))
    found = answer.out.split()
    if answer.status and how == PLAIN:
        if all(os.path.lexists(each.file) for each in there):
            raise fault_of("hash-object", answer)
        _hash(top, how, there, ids, raw)
        return
    if answer.status or len(found) != len(there):
        raw += [each.path for each in there]
        _hash(top, PLAIN, there, ids, [])
        return
    if "external filter" in answer.err:  # it failed, and is not required
        raw += [each.path for each in there]
    ids.update(zip(there, found, strict=True))


def _quoted(path: str) -> str:
    """As hash-object reads a path from a line: any byte, the end of a line too."""
    text = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{text}"'


def has_carriage_return(file: str) -> bool:
    """Raises OSError."""
    with open(file, "rb") as stream:
        return any(b"\r" in chunk for chunk in iter(lambda: stream.read(1 << 20), b""))


def _may_be_converted(file: str) -> bool:
    try:
        return has_carriage_return(file)
    except FileNotFoundError:
        return False
    except OSError as fault:
        raise from_oserror(fault, "comparing contents") from fault
