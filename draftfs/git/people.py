"""What is people's: the branch that the root has checked out, and its upstream (§8)."""

from __future__ import annotations

import os
from contextlib import suppress

from draftfs.errors import EnvironmentFault
from draftfs.frozen import frozen
from draftfs.git.command import run


@frozen
class People:
    """`branch` is the full name of people's branch, None where there is none. `tips` are the commits (ids) that it and its
    upstream hold, in this order: what they reach is people's, and admitted."""

    branch: str | None
    tips: tuple[str, ...]


def people_of(root: str) -> People:
    """Asked in the root itself, so that it is right for whoever asks from wherever. Two processes of git at most, on a branch.

    A commit that the root only looks at, its HEAD detached, is not people's for that: people's branch is then the one that
    they are rebasing or had checked out before. Raises EnvironmentFault `git` where the root is gone.
    """
    if not os.path.isdir(root):
        raise EnvironmentFault(
            "git", f"the root is gone: {root}", hint="a person, where it is now: draftfs init --root ."
        )
    # rev-parse answers in order and stops at what it cannot: on an unborn branch at once, without an upstream at the end.
    commit, ref, upstream = _answers(root, "HEAD", "--symbolic-full-name", "HEAD", "@{upstream}")
    if not ref:
        branch = run(root, "symbolic-ref", "-q", "HEAD", accept=(0, 1)).out.strip()
        return People(branch or None, ())
    if ref == "HEAD":
        git_dir = run(root, "rev-parse", "--absolute-git-dir").out.removesuffix("\n")
        left = rebased(git_dir) or "@{-1}"
        commit, ref, upstream = _answers(
            root, left, "--symbolic-full-name", left, f"{left.removeprefix('refs/heads/')}@{{upstream}}"
        )
    if not ref.startswith("refs/heads/"):
        return People(None, ())
    # An upstream may be set to any local branch, an agent's, say: only what was fetched counts.
    remote = upstream.startswith("refs/remotes/")
    theirs = run(root, "rev-parse", "--verify", "-q", upstream, accept=(0, 1)).out.strip() if remote else ""
    return People(ref, (commit, *([theirs] if theirs else [])))


def _answers(root: str, *asked: str) -> list[str]:
    return [*run(root, "rev-parse", *asked, accept=(0, 128)).out.split("\n"), "", "", ""][:3]


def rebased(git_dir: str) -> str | None:
    """The branch that is being rebased in the worktree with this git folder."""
    return branch_in(f"{git_dir}/rebase-merge/head-name") or branch_in(f"{git_dir}/rebase-apply/head-name")


def branch_in(file: str) -> str | None:
    """The branch that one of git's own files names, HEAD's way or plainly; None where it names none, or is not there."""
    with suppress(OSError), open(file, "rb") as stream:
        name = os.fsdecode(stream.read().strip()).removeprefix("ref: ")
        return name if name.startswith("refs/heads/") else None
    return None
