"""Reads what an index, a range of commits, or the difference of two tips changes (§8). It judges nothing.

Every answer is from objects alone: not from the user's settings, attributes with merge drivers, replacements or grafts,
any of which could hide a change. Paths are root-relative with their exact bytes (surrogateescape), renames are a
deletion and an addition, and a submodule counts like a file.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from draftfs.errors import EnvironmentFault
from draftfs.frozen import frozen
from draftfs.git.command import Answer, run
from draftfs.records import Change, TreeEntry

_Changes = dict[str, Change]

_RAW: Final = ("--raw", "-r", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none", "--no-relative")
_BATCH: Final = 2000
# What `git merge` does unless told otherwise, so that a merge is judged alike on every machine.
_PLAIN_MERGE: Final = (
    *("-c", "merge.default=text", "-c", "merge.renormalize=false", "-c", "merge.renames=true"),
    *("-c", "merge.directoryRenames=conflict", "-c", "merge.renameLimit=7000", "-c", "core.quotePath=true"),
)
_OWN_DRIVER: Final = "git merge-file -q %A %O %B || exit 1"
# Of the patch only its headers are wanted: they name the conflicts that left no difference. -I^ ignores every line.
_REMERGE: Final = (
    *(
        "--no-walk=unsorted",
        "--stdin",
        "--remerge-diff",
        "--raw",
        "--patch",
        "-I^",
        "--no-prefix",
        "--format=%x00%H%x00",
    ),
    *("--no-renames", "--ignore-submodules=none", "--no-relative", "-O/dev/null", "--no-ext-diff", "--no-textconv"),
    *("--no-color", "--no-show-signature", "--submodule=short", "--diff-algorithm=myers"),
)


@frozen
class Commit:
    """What one commit does to paths.

    `counted` must be admitted: all changes of a commit with one parent, or with none (from nothing); of a merge the paths
    where it differs from every parent, once per parent, but for what git's own clean merge of two parents gives.

    `free` is what merges do by themselves, from each parent that differs: the paths whose result git's own clean merge
    gives. Where anything else in a merge was done by hand no deletion is free: it may be one half of a rename whose
    other half was not kept. With three or more parents a path is free when its result is some parent's, and every
    other parent still holds what the one commit that all of them branched off from held.

    `dropped` is the rest, from each parent that differs: the merge took one side by hand and dropped the other.
    """

    oid: str
    parents: tuple[str, ...]
    counted: tuple[Change, ...]
    free: tuple[Change, ...] = ()
    dropped: tuple[Change, ...] = ()


def staged(
    cwd: str,
    *,
    in_hook: bool = False,
    against: str | None = "HEAD",
    index: str | None = None,
) -> tuple[Change, ...]:
    """What the index changes against a commit; None is nothing, and so is the HEAD of a branch that is still unborn.

    `index` names another file than git would take. In a hook it is that of the commit that is being made. Entries that `add --intent-to-add` made are no part of it.
    """
    if against is not None:
        named = ("-q", "--verify", f"{against}^{{commit}}")
        accept = (0, 1) if against == "HEAD" else (0,)
        against = run(cwd, "rev-parse", *named, accept=accept, in_hook=in_hook, verifying=True).out.strip()
    how = ("--cached", "--ita-invisible-in-index", *_RAW)
    command = ("diff-index", *how, against or _nothing(cwd, in_hook), "--")
    extra = {} if index is None else {"GIT_INDEX_FILE": index}
    out = run(cwd, *command, in_hook=in_hook, verifying=True, extra=extra).out
    return tuple(_changes(iter(out.split("\0"))))


def net(cwd: str, old: str | None, new: str | None, *, in_hook: bool = False) -> tuple[Change, ...]:
    """The difference of two tips, whatever lies between them. None is "no such tip"."""
    nothing = _nothing(cwd, in_hook) if old is None or new is None else ""
    out = run(cwd, "diff-tree", *_RAW, old or nothing, new or nothing, "--", in_hook=in_hook, verifying=True).out
    return tuple(_changes(iter(out.split("\0"))))


def commits(
    cwd: str,
    include: Sequence[str],
    exclude: Sequence[str] = (),
    *,
    in_hook: bool = False,
) -> tuple[Commit, ...]:
    """Every commit that `include` reaches and `exclude` does not, parents first, each once.

    `include` and `exclude` are ids or refs. What of `exclude` this repository does not have excludes nothing.
    """
    new = _walk(cwd, include, exclude, in_hook)
    found: list[Commit] = []
    for start in range(0, len(new), _BATCH):
        batch = new[start : start + _BATCH]
        sides = _differences(cwd, batch, in_hook)
        merges = [oid for oid, parents in batch if len(parents) == 2 and _anywhere(sides[oid])]
        by_hand = _by_hand(cwd, merges, in_hook) if merges else {}
        for oid, parents in batch:
            counted, free = _everywhere(sides[oid]), list[str]()
            if oid in by_hand:
                counted, free = _two_sided(sides[oid], by_hand[oid])
            elif len(parents) > 2 and _anywhere(sides[oid]):
                free = _one_sided(cwd, oid, parents, sides[oid], in_hook)
            dropped = [path for path in _anywhere(sides[oid]) if path not in {*counted, *free}]
            parts = (_of(sides[oid], part) for part in (counted, free, dropped))
            found.append(Commit(oid, parents, *parts))
    return tuple(found)


def reached(cwd: str, include: Sequence[str], exclude: Sequence[str] = (), *, in_hook: bool = False) -> frozenset[str]:
    """The ids of the commits that `commits` tells of, in one process."""
    return frozenset(oid for oid, _ in _walk(cwd, include, exclude, in_hook))


def is_ancestor(cwd: str, a: str, b: str, *, in_hook: bool = False) -> bool:
    """Whether `b` contains `a`; it does not where this repository has no commit `a`."""
    status = run(cwd, "merge-base", "--is-ancestor", a, b, accept=(0, 1, 128), in_hook=in_hook, verifying=True).status
    if status == 128 and known(cwd, [a], in_hook=in_hook):
        raise EnvironmentFault("git", f"git merge-base failed: is {b} a commit of this repository?")
    return status == 0


def merge_bases(cwd: str, a: str, b: str, *, in_hook: bool = False) -> tuple[str, ...]:
    """The best common ancestors of two commits; none where their histories have nothing in common."""
    return tuple(run(cwd, "merge-base", "--all", a, b, accept=(0, 1), in_hook=in_hook, verifying=True).out.split())


def exact(cwd: str, refs: Sequence[str], *, in_hook: bool = False) -> dict[str, str]:
    """The commits of those of `refs` (full names) that exist. A revision refs/heads/x may also mean refs/tags/refs/heads/x."""
    if not refs:
        return {}
    how = ("--format=%(objectname) %(refname)", *_safe(refs))
    lines = run(cwd, "for-each-ref", *how, in_hook=in_hook, verifying=True).out.splitlines()
    found = {name: oid for oid, _, name in (line.partition(" ") for line in lines)}
    return {name: oid for name, oid in found.items() if name in refs}


def peeled(cwd: str, revision: str, *, in_hook: bool = False) -> str | None:
    """The commit that `revision` names, also by a tag; None when it names none here."""
    return known(cwd, [revision], in_hook=in_hook).get(revision)


def is_on_a_ref(cwd: str, commit: str, *, in_hook: bool = False) -> bool:
    """Whether a branch, here or as last seen elsewhere, or a tag contains the commit."""
    places = ("refs/heads", "refs/remotes", "refs/tags")
    how = ("--count=1", "--format=%(refname)", f"--contains={commit}")
    return bool(run(cwd, "for-each-ref", *how, *places, in_hook=in_hook, verifying=True).out)


def parents(cwd: str, revision: str, *, in_hook: bool = False) -> tuple[str, ...]:
    """The ids of a commit's parents; none where there is no such commit."""
    answer = run(cwd, "rev-parse", "-q", f"{revision}^@", accept=(0, 1, 128), in_hook=in_hook, verifying=True)
    return tuple(answer.out.split()) if answer.status == 0 else ()


def known(cwd: str, revisions: Sequence[str], *, in_hook: bool = False) -> dict[str, str]:
    """The commit that each of `revisions` names, a tag's included; without those that name none here."""
    feed = "".join(f"{revision}^{{commit}}\n" for revision in _safe(revisions))
    if not feed:
        return {}
    lines = run(
        cwd, "cat-file", "--batch-check=%(objectname)", feed=feed, in_hook=in_hook, verifying=True
    ).out.splitlines()
    if len(lines) != len(revisions):
        raise _unexpected("cat-file")
    return {revision: line for revision, line in zip(revisions, lines, strict=True) if " " not in line}


def _walk(cwd: str, include: Sequence[str], exclude: Sequence[str], in_hook: bool) -> list[tuple[str, tuple[str, ...]]]:
    """The commits of a range with their parents, parents first."""
    if not include:
        return []
    how = ("--stdin", "--parents", "--topo-order", "--reverse")

    def listed(without: Iterable[str], accept: tuple[int, ...]) -> Answer:
        feed = "".join(f"{line}\n" for line in (*_safe(include), *(f"^{name}" for name in without)))
        return run(cwd, "rev-list", *how, feed=feed, accept=accept, in_hook=in_hook, verifying=True)

    answer = listed(_safe(exclude), (0, 128) if exclude else (0,))
    if answer.status:  # --ignore-missing would save this, but overlook what is missing of `include` as well
        answer = listed(known(cwd, exclude, in_hook=in_hook).values(), (0,))
    split = (line.split() for line in answer.out.splitlines())
    return [(oid, tuple(parents)) for oid, *parents in split]


def _differences(cwd: str, batch: Sequence[tuple[str, tuple[str, ...]]], in_hook: bool) -> dict[str, list[_Changes]]:
    """What each commit changes, from each of its parents in turn; from nothing where it has none. One process."""
    lines = [(oid, parent) for oid, parents in batch for parent in parents or ("",)]
    feed = "".join(f"{oid} {parent}\n" for oid, parent in lines)
    out = run(cwd, "diff-tree", "--stdin", "--root", "--always", *_RAW, feed=feed, in_hook=in_hook, verifying=True).out
    found: dict[str, list[_Changes]] = {oid: [] for oid, _ in batch}
    # Ids are told from metas, which begin with a colon, by their place: every path is taken along with its meta.
    pieces, order = iter(out.split("\0")), iter(lines)
    for oid, changes in _sections(pieces):
        if oid != next(order, ("",))[0]:
            raise _unexpected("diff-tree")
        found[oid].append({change.path: change for change in changes})
    if next(order, None):
        raise _unexpected("diff-tree")
    return found


def _sections(pieces: Iterator[str]) -> Iterator[tuple[str, list[Change]]]:
    """The parts of `diff-tree --stdin -z`: an id, and the changes that follow it."""
    header: str | None = None
    changes: list[Change] = []
    for piece in pieces:
        if piece.startswith(":"):
            _read(piece, next(pieces, ""), changes)
            continue
        if header is not None:
            yield header, changes
        header, changes = piece, []  # the last piece is empty: it stands after the last NUL
    if header:
        raise _unexpected("diff-tree")


def _changes(pieces: Iterator[str]) -> list[Change]:
    changes: list[Change] = []
    for piece in pieces:
        if piece:
            _read(piece, next(pieces, ""), changes)
    return changes


def _read(meta: str, path: str, into: list[Change]) -> None:
    """One item of raw output: `:MODE MODE ID ID LETTER`, and its path."""
    parts = meta.split(" ")
    if len(parts) != 5 or not meta.startswith(":") or not path:
        raise _unexpected("diff")
    if parts[4] == "U":
        raise EnvironmentFault(
            "git", f"the index holds an unresolved conflict: {path}", hint="resolve it, then git add"
        )
    into.append(Change(path, _entry(parts[0][1:], parts[2]), _entry(parts[1], parts[3])))


def _entry(mode: str, oid: str) -> TreeEntry | None:
    return None if mode == "000000" else TreeEntry(mode, oid)


def _everywhere(sides: Sequence[_Changes]) -> list[str]:
    """The paths that differ from every parent."""
    return [path for path in sides[0] if all(path in side for side in sides[1:])]


def _anywhere(sides: Sequence[_Changes]) -> list[str]:
    """The paths that differ from some parent."""
    return list(dict.fromkeys(path for side in sides for path in side))


def _of(sides: Sequence[_Changes], names: Iterable[str]) -> tuple[Change, ...]:
    """The changes of these paths from each parent that differs; where parents held the same it is one change."""
    return tuple(dict.fromkeys(side[path] for path in names for side in sides if path in side))


def _two_sided(sides: Sequence[_Changes], by_hand: Collection[str]) -> tuple[list[str], list[str]]:
    """Which paths of a merge of two parents count, and which are free."""
    counted = [path for path in _everywhere(sides) if path in by_hand]
    free = [path for path in _anywhere(sides) if path not in by_hand]
    deleted = {path for side in sides for path, change in side.items() if by_hand and change.after is None}
    return counted, [path for path in free if path not in deleted]


def _one_sided(cwd: str, oid: str, parents: tuple[str, ...], sides: Sequence[_Changes], in_hook: bool) -> list[str]:
    """The paths of an octopus at which only one side changed anything, since all of its parents branched off.

    Nothing unless that is one and the same commit for all of them. More than sixteen parents nobody merges.
    """
    if len(parents) > 16:
        return []
    bases: set[str] = set()
    for parent in parents:
        # The best ancestors that it shares with any other parent: what two of them share lies below these.
        others = [other for other in parents if other != parent]
        answer = run(cwd, "merge-base", "--all", parent, *others, accept=(0, 1), in_hook=in_hook, verifying=True)
        bases.update(answer.out.split() or (""))
        if len(bases) != 1 or not answer.out:
            return []
    since = _differences(cwd, [(oid, tuple(bases))], in_hook)[oid][0]
    everywhere = set(_everywhere(sides))
    return [
        path
        for path in _anywhere(sides)
        if path not in everywhere and all(side[path] == since.get(path) for side in sides if path in side)
    ]


def _by_hand(cwd: str, merges: Sequence[str], in_hook: bool) -> dict[str, frozenset[str]]:
    """Per merge of two parents, the paths that are not what git's own merge gives, or that are conflicts in it.

    A merge is missing when git cannot be made to merge without the programs that the user's settings name.
    """
    drivers = ("config", "-z", "--name-only", "--get-regexp", r"^merge\..*\.driver$")
    named = [key for key in run(cwd, *drivers, accept=(0, 1), in_hook=in_hook).out.split("\0") if key]
    if any("=" in key or "\n" in key for key in named):
        return {}
    # A driver like the popular "keep ours" drops a side without a trace. There is no way to unset one.
    own = (part for key in named for part in ("-c", f"{key}={_OWN_DRIVER}"))
    # Children first: log forgets the parents of what it has shown, and then finds no merge base through it.
    feed = "".join(f"{oid}\n" for oid in reversed(merges))
    options = (*_PLAIN_MERGE, *own)
    out = run(cwd, "log", *_REMERGE, feed=feed, options=options, in_hook=in_hook, verifying=True).out
    _, *pieces = out.split("\0")  # neither a path nor a message can hold a NUL
    found = dict(zip(pieces[::2], map(_named_in, pieces[1::2]), strict=True))
    if found.keys() != set(merges):
        raise _unexpected("log --remerge-diff")
    return found


def _named_in(text: str) -> frozenset[str]:
    """The paths that a remerge names in its raw lines and in the headers of its patch.

    What a message quotes may look like such a line. That adds a path, which only makes the judgement stricter.
    """
    found: set[str] = set()
    for line in text.split("\n"):
        if line.startswith(":") and "\t" in line:
            name = line.partition("\t")[2]
        elif line.startswith("diff --git "):
            both = line.removeprefix("diff --git ")
            name = both[: len(both) // 2]
        else:
            continue
        if name.startswith('"'):  # core.quotePath: what is left is ASCII, escaped as in C
            name = os.fsdecode(name[1:-1].encode("ascii").decode("unicode_escape").encode("latin-1"))
        found.add(name)
        # Where a file and a folder clash, git moves the file to FILE~SIDE and speaks of that.
        found.update(name[:at] for at, letter in enumerate(name) if letter == "~" and at)
    return frozenset(found)


def _nothing(cwd: str, in_hook: bool) -> str:
    """The id of the empty tree, in this repository's kind of id."""
    return run(cwd, "hash-object", "-t", "tree", "--stdin", feed="", in_hook=in_hook).out.strip()


def _safe(revisions: Sequence[str]) -> Sequence[str]:
    """`revisions`, of which each names one commit and cannot be taken for an option or a range."""
    for name in revisions:
        if not name or name[0] in "-^" or ".." in name or any(letter in name for letter in "\n\0"):
            raise ValueError(f"not one revision: {name!r}")
    return revisions


def _unexpected(command: str) -> EnvironmentFault:
    return EnvironmentFault("git", f"git {command} gave an answer that draftfs does not understand")
