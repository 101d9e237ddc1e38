"""A commit of a few files, whatever else is staged: made from an index of its own, so that nobody's own index, and no edit
of the moment, gets into it. The user's hooks, signing and identity are git's business as always.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from draftfs.engine import fs
from draftfs.errors import EnvironmentFault, pasteable
from draftfs.git.command import Answer, run
from draftfs.records import TreeEntry
from draftfs.repo import Repo

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


def require_ready(checkout: str, git_dir: str) -> None:
    """Raises EnvironmentFault `git` where a commit here and now would get in the way of what is going on."""
    for name, (what, ends) in _IN_PROGRESS.items():
        if os.path.lexists(f"{git_dir}/{name}"):
            raise EnvironmentFault("git", f"{what} is in progress: nothing is committed meanwhile", hint=ends)
    unmerged = {item.partition("\t")[2] for item in run(checkout, "ls-files", "-z", "-u").out.split("\0") if item}
    if unmerged:
        raise EnvironmentFault(
            "git", f"{', '.join(sorted(unmerged))}: not merged yet", hint="resolve that, and git add"
        )
    if os.path.lexists(_lock(git_dir)):
        raise _busy(git_dir)


def commit(repo: Repo, checkout: str, git_dir: str, head: str | None, entries: Entries, message: str) -> str:
    """Commit `entries` on top of `head` and nothing else; returns the new commit's id. The user's own index then holds what
    was committed, of these paths and of any that a hook added, and everything else as before. git's own lock keeps others
    out meanwhile.

    Raises EnvironmentFault `git` with what git, or a hook, said; Behind; OSError.
    """
    index = f"{git_dir}/draftfs-index-{os.urandom(6).hex()}"
    try:
        os.close(fs.create(_lock(git_dir)))
    except FileExistsError:
        raise _busy(git_dir) from None
    try:
        _make_index(checkout, git_dir, index, head)
        _put(checkout, index, entries, head)
        made = _made(checkout, index, message)
        try:
            names = list(dict.fromkeys((*entries, *_changed(checkout, head, made))))
            actual = repo.entries(made, names)
            _copy(f"{git_dir}/index", index)
            _put(checkout, index, {path: actual.get(path) for path in names}, made)
            fs.rename(index, f"{git_dir}/index")
        except (EnvironmentFault, OSError) as fault:
            raise _behind(made, fault, entries) from fault
    finally:
        for name in (index, f"{index}.lock", _lock(git_dir)):
            fs.unlink(name)
    # Else git would look at each of them once more, whenever it is asked.
    how = ("--refresh", "--pathspec-from-file=-", "--pathspec-file-nul")
    run(checkout, "add", *how, options=_LITERAL, feed="".join(f"{path}\0" for path in actual), accept=range(256))
    return made


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


def _made(checkout: str, index: str, message: str) -> str:
    how = ("--quiet", "--cleanup=whitespace", "--file=-")
    own = {"GIT_INDEX_FILE": index}
    done = run(checkout, "commit", *how, extra=own, feed=message, as_user=True, accept=range(-64, 256))
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


def _lock(git_dir: str) -> str:
    return f"{git_dir}/index.lock"


def _busy(git_dir: str) -> EnvironmentFault:
    hint = f"wait for it to end; if a crash left that file behind: rm {_lock(git_dir)}"
    return EnvironmentFault("git", f"another git is at work: there is {_lock(git_dir)}", hint=hint)


def _said(done: Answer) -> str:
    lines = [line.strip() for line in f"{done.err}\n{done.out}".splitlines() if line.strip()]
    return " / ".join(lines[:6]) or f"exit status {done.status}"


def message(subject: str, body: Sequence[str], trailers: Iterable[tuple[str, str]]) -> str:
    """A commit's message, the trailers in a block of their own at the end."""
    blocks = (subject.strip(), "\n".join(body), "\n".join(f"{name}: {value}" for name, value in trailers))
    return "\n\n".join(block for block in blocks if block) + "\n"
