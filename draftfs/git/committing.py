"""A commit of a few files, whatever else is staged: made from an index of its own, so that nobody's own index, and no edit
of the moment, gets into it. The user's hooks, signing and identity are git's business as always.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from draftfs.engine import fs, lock
from draftfs.errors import EnvironmentFault, pasteable
from draftfs.git.command import Answer, run
from draftfs.records import TreeEntry
from draftfs.repo import Repo

A = TypeVar("A")

_OURS: Final = b"draftfs\n"
_PAUSE: Final = 0.02
_TRAILER: Final = re.compile(r"[A-Za-z0-9-]+: ")
_LITERAL: Final = ("--literal-pathspecs",)
_IN_PROGRESS: Final = {
    "MERGE_HEAD": ("a merge", "git merge --continue or --abort"),
    "rebase-merge": ("a rebase", "git rebase --continue or --abort"),
    "rebase-apply": ("a rebase, or git am,", "git rebase --continue or --abort, git am --continue or --abort"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "git cherry-pick --continue or --abort"),
    "REVERT_HEAD": ("a revert", "git revert --continue or --abort"),
    "BISECT_LOG": ("a bisection", "git bisect reset"),
}
"""What a commit of something else would get in the way of, by the file or folder that git keeps for it."""

Entries = Mapping[str, TreeEntry | None]
"""What a commit is to hold, by path; None takes the path out."""


def require_ready(checkout: str, git_dir: str, wait: float) -> None:
    """Raises EnvironmentFault `git` where a commit here and now would get in the way of what is going on; at most `wait`
    seconds are given to another git that is at work."""
    for name, (what, ends) in _IN_PROGRESS.items():
        if os.path.lexists(f"{git_dir}/{name}"):
            raise EnvironmentFault("git", f"{what} is in progress: nothing is committed meanwhile", hint=ends)
    unmerged = {item.partition("\t")[2] for item in run(checkout, "ls-files", "-z", "-u").out.split("\0") if item}
    if unmerged:
        raise EnvironmentFault(
            "git", f"{', '.join(sorted(unmerged))}: not merged yet", hint="resolve that, and git add"
        )
    _patiently(lambda: not os.path.lexists(_lock(git_dir)) or _closed(_left_behind(_lock(git_dir))), git_dir, wait)


@contextmanager
def index_locked(git_dir: str, wait: float) -> Iterator[int]:
    """Hold git's own lock on the index, so that others are kept out of it, and of HEAD; yields its descriptor. Raises
    EnvironmentFault `git` where another git is at work for longer than `wait` seconds; OSError."""
    path = _lock(git_dir)
    descriptor = _patiently(lambda: _made_lock(path) or _left_behind(path), git_dir, wait)
    try:
        yield descriptor
    finally:
        index = _own_index(git_dir)
        for name in (index, f"{index}.lock", path):
            fs.unlink(name)
        os.close(descriptor)


def commit(
    repo: Repo, checkout: str, git_dir: str, head: str | None, entries: Entries, message: str, *, locked: int
) -> tuple[str, list[str]]:
    """Commit `entries` on top of `head` and nothing else; returns the new commit's id, and the paths that are in it: a hook
    may have added some. The user's own index, which is `locked`, then holds what was committed of these, and everything
    else as before.

    Raises EnvironmentFault `git` with what git, or a hook, said; Behind; OSError.
    """
    index = _own_index(git_dir)
    _make_index(checkout, git_dir, index, head)
    _put(checkout, index, entries, head)
    made = _made(checkout, index, message, locked)
    try:
        names = list(dict.fromkeys((*entries, *_changed(checkout, head, made))))
        actual = repo.entries(made, names)
        _follow(checkout, git_dir, {path: actual.get(path) for path in names}, made)
    except (EnvironmentFault, OSError) as fault:
        raise _behind(made, fault, entries) from fault
    return made, names


def refresh(checkout: str, paths: Iterable[str]) -> None:
    """Else git would look at each of them once more, whenever it is asked."""
    how = ("--refresh", "--pathspec-from-file=-", "--pathspec-file-nul")
    run(checkout, "add", *how, options=_LITERAL, feed="".join(f"{path}\0" for path in paths), accept=range(256))


def catch_up(checkout: str, git_dir: str, head: str | None, entries: Entries) -> None:
    """The user's own index, which is locked, holds `entries` of `head`, too: a kill may have kept that from it, and the next
    commit would take them back. Raises EnvironmentFault `git`, OSError."""
    staged = run(checkout, "ls-files", "-s", "-z", "--", *entries, options=_LITERAL).out.split("\0")[:-1]
    wanted = {f"{entry.mode} {entry.oid} 0\t{path}" for path, entry in entries.items() if entry is not None}
    if set(staged) != wanted:
        _follow(checkout, git_dir, entries, head)


def _follow(checkout: str, git_dir: str, entries: Entries, head: str | None) -> None:
    index = _own_index(git_dir)
    _copy(f"{git_dir}/index", index)
    _put(checkout, index, entries, head)
    fs.rename(index, f"{git_dir}/index")


def _changed(checkout: str, head: str | None, made: str) -> list[str]:
    """What the commit changed in fact: a hook may have added more."""
    how = ("--no-renames", "--name-only", "-r", "-z", "--no-commit-id")
    return run(checkout, "diff-tree", *how, *([head] if head else ["--root"]), made).out.split("\0")[:-1]


class Behind(EnvironmentFault):
    """The commit (`details["commit"]`) is made, but the user's own index does not hold it."""


def _behind(made: str, fault: EnvironmentFault | OSError, paths: Iterable[str]) -> Behind:
    said = fault.message if isinstance(fault, EnvironmentFault) else f"{fault.filename}: {fault.strerror}"
    hint = "git reset -q -- " + " ".join(map(pasteable, paths))
    return Behind(
        "git", f"committed as {made[:12]}, but git's index does not hold that: {said}", hint=hint, commit=made
    )


def _made(checkout: str, index: str, message: str, locked: int) -> str:
    how = ("--quiet", "--cleanup=whitespace", "--file=-")
    own: dict[str, Any] = {"extra": {"GIT_INDEX_FILE": index}, "as_user": True, "inherits": (locked,)}
    done = run(checkout, "commit", *how, feed=message, accept=range(-64, 256), **own)
    if done.status:
        raise EnvironmentFault("git", _said(done))
    return run(checkout, "rev-parse", "HEAD").out.strip()


def _make_index(checkout: str, git_dir: str, index: str, head: str | None) -> None:
    """An index that holds what `head` does, with what the user's own knows of the files, which git need not read again.
    The files themselves do not count (-i): whoever has staged one and edited it since is not in the way."""
    known = _copy(f"{git_dir}/index", index)
    how = ("--empty",) if head is None else ("-i", "-m", head) if known else (head,)
    run(checkout, "read-tree", *how, extra={"GIT_INDEX_FILE": index})


def _copy(known: str, index: str) -> bool:
    """Whether there was one to copy. Its time goes with it: git looks twice at files that are as young as their index."""
    fs.unlink(index)
    try:
        with open(known, "rb") as file:
            data, facts = file.read(), os.fstat(file.fileno())
    except FileNotFoundError:
        return False
    fs.write_file(index, data, sharing=fs.Sharing(stat.S_IMODE(facts.st_mode)))
    fs.set_modified(index, facts.st_mtime_ns)
    return True


def _put(checkout: str, index: str, entries: Entries, head: str | None) -> None:
    """Names are taken as they are: nothing in them is an option or a pattern."""
    nothing = "0" * len(head or "")
    lines = [
        f"{entry.mode} {entry.oid}\t{path}" if entry is not None else f"0 {nothing}\t{path}"
        for path, entry in entries.items()
        if entry is not None or head is not None
    ]
    fed = "".join(f"{line}\0" for line in lines)
    run(checkout, "update-index", "-z", "--replace", "--index-info", extra={"GIT_INDEX_FILE": index}, feed=fed)


def _own_index(git_dir: str) -> str:
    return f"{git_dir}/draftfs-index"


# ── git's lock on the index ──


def _lock(git_dir: str) -> str:
    return f"{git_dir}/index.lock"


def _made_lock(path: str) -> int | None:
    """The lock, made, and held open and locked by us and by the git that we run: so others see when all of us are gone."""
    try:
        descriptor = fs.create(path)
    except FileExistsError:
        return None
    lock.hold(descriptor)
    fs.write(descriptor, _OURS, path)
    return descriptor


def _left_behind(path: str) -> int | None:
    """The lock, taken over from a kill of ours that left it behind; None where there is none, or it is another's."""
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        if os.pread(descriptor, len(_OURS) + 1, 0) == _OURS and lock.hold(descriptor) and lock.is_at(descriptor, path):
            return descriptor
        os.close(descriptor)
    return None


def _closed(descriptor: int | None) -> bool:
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def _patiently(attempt: Callable[[], A | None], git_dir: str, wait: float) -> A:
    """What `attempt` comes to once it is anything. git has no queue to wait in."""
    end = time.monotonic() + wait
    while not (found := attempt()):
        if time.monotonic() >= end:
            raise _busy(git_dir)
        time.sleep(_PAUSE)
    return found


def _busy(git_dir: str) -> EnvironmentFault:
    hint = f"wait for it to end; if a crash left that file behind: rm -- {pasteable(_lock(git_dir))}"
    return EnvironmentFault("git", f"another git is at work: there is {_lock(git_dir)}", hint=hint)


def _said(done: Answer) -> str:
    lines = [line.strip() for line in f"{done.err}\n{done.out}".splitlines() if line.strip()]
    return " / ".join(lines[:6]) or f"exit status {done.status}"


def message(subject: str, body: Sequence[str], trailers: Iterable[tuple[str, str]]) -> str:
    """A commit's message, the trailers in one block at the end, with those that it has already."""
    blocks = [subject.strip(), *(["\n".join(body)] if body else [])]
    own = "\n".join(f"{name}: {value}" for name, value in trailers)
    _, apart, last = blocks[-1].rpartition("\n\n")
    join = "\n" if apart and all(_TRAILER.match(line) for line in last.splitlines()) else "\n\n"
    return "\n\n".join(blocks) + (f"{join}{own}" if own else "") + "\n"
