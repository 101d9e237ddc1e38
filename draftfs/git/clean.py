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
from draftfs.git.command import fault_of, run

_AT_ONCE: Final = 500
_DECIDE: Final = ("filter", "ident", "text", "eol", "crlf", "working-tree-encoding")
_LITERAL: Final = ("--literal-pathspecs",)
_PLAIN: Final = "plain"
"""In a group's first place: the bytes as they are."""


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
    for (how, attributes), group in _groups(top, each).items():
        for start in range(0, len(group), _AT_ONCE):
            _hash(top, how, attributes, group[start : start + _AT_ONCE], ids, raw)
    return Forms(ids, tuple(dict.fromkeys(raw)))


_Group = tuple[str, tuple[str, ...]]


def _groups(top: str, asked: Sequence[Form]) -> dict[_Group, list[Form]]:
    """Files that one process can take: of the same conversion, by the same attributes."""
    paths = list(dict.fromkeys(each.path for each in asked))
    attributes = _attributes(top, paths)
    indexed = _indexed(top, list(dict.fromkeys(each.path for each in asked if _has_carriage_return(each.file))))
    groups: dict[_Group, list[Form]] = {}
    for each in asked:
        how, said = indexed.get(each.path, ""), attributes[each.path]
        filtered = said[0] not in ("unspecified", "unset")
        if how == _PLAIN:
            said = ()
        elif filtered and each.file != f"{top}/{each.path}":
            said = (*said, each.path)  # a filter may be told the path
        groups.setdefault((how, said), []).append(each)
    return groups


def _attributes(top: str, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    feed = "".join(f"{path}\0" for path in paths)
    words = run(top, "check-attr", "-z", "--stdin", *_DECIDE, feed=feed).out.split("\0")
    found: dict[str, list[str]] = {}
    for path, value in zip(words[::3], words[2::3], strict=False):
        found.setdefault(path, []).append(value)
    return {path: tuple(found[path]) for path in paths}


def _indexed(top: str, paths: Sequence[str]) -> dict[str, str]:
    """How paths are converted of which the index holds CRLF: there git leaves out conversions that nobody demanded, and
    hash-object does not look. "plain" is not at all, "core.autocrlf=false" not by that setting."""
    found: dict[str, str] = {}
    for start in range(0, len(paths), _AT_ONCE):
        command = ("ls-files", "--eol", "-z", "--", *paths[start : start + _AT_ONCE])
        for item in run(top, *command, options=_LITERAL).out.split("\0"):
            about, _, path = item.partition("\t")
            words = about.split()
            if words and words[0] in ("i/crlf", "i/mixed"):
                found[path] = _PLAIN if "attr/text=auto" in about else "core.autocrlf=false"
    return found


def _hash(
    top: str, how: str, attributes: tuple[str, ...], group: list[Form], ids: dict[Form, str], raw: list[str]
) -> None:
    options = ("-c", how) if how and how != _PLAIN else ()
    there = [each for each in group if os.path.lexists(each.file)]
    if not there:
        return
    own = all(each.file == f"{top}/{each.path}" for each in there)
    if how == _PLAIN:
        answer = run(top, "hash-object", "--no-filters", "--", *(each.file for each in there), accept=(0, 128))
    elif own:
        feed = "".join(f"{_quoted(each.path)}\n" for each in there)
        answer = run(top, "hash-object", "--stdin-paths", feed=feed, options=options, accept=(0, 128))
    else:
        named = (f"--path={there[0].path}", "--", *(each.file for each in there))
        answer = run(top, "hash-object", *named, options=options, accept=(0, 128))
    found = answer.out.split()
    if answer.status and how == _PLAIN:
        if all(os.path.lexists(each.file) for each in there):
            raise fault_of("hash-object", answer)
        _hash(top, how, attributes, there, ids, raw)
        return
    if answer.status or len(found) != len(there):
        raw += [each.path for each in there]
        _hash(top, _PLAIN, (), there, ids, [])
        return
    if "external filter" in answer.err:  # it failed, and is not required
        raw += [each.path for each in there]
    ids.update(zip(there, found, strict=True))


def _quoted(path: str) -> str:
    """As hash-object reads a path from a line: any byte, the end of a line too."""
    text = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{text}"'


def _has_carriage_return(file: str) -> bool:
    try:
        with open(file, "rb") as stream:
            return any(b"\r" in chunk for chunk in iter(lambda: stream.read(1 << 20), b""))
    except FileNotFoundError:
        return False
    except OSError as fault:
        raise from_oserror(fault, "comparing contents") from fault
