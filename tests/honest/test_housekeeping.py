"""What git does around commits: stash, gc, fetch, pull, clone, submodules, moved worktrees. Nothing of it is the gate's."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from tests.honest.conftest import SPEC, TEXT
from tests.support import git


def bare(place, name: str = "bare.git") -> str:
    """A clone of the repository that has neither store nor hooks."""
    git("clone", "-q", "--bare", str(place.root), str(place.base / name), cwd=place.base)
    return str(place.base / name)


def test_stash_of_anothers_path(place):
    place.hold("bob", TEXT)
    for options in ((), ("--include-untracked",), ("--keep-index",), ("--staged",)):
        place.write("ann", TEXT, "tried out\n")
        place.write("ann", "untracked", "x\n")
        place.git("ann", "add", TEXT)
        place.git("ann", "stash", "push", "-q", *options)
        place.git("ann", "reset", "-q", "--hard")
        place.git("ann", "clean", "-qfd")
        place.git("ann", "stash", "pop", "-q")
        assert place.read("ann", TEXT) == b"tried out\n"
    place.git("ann", "stash")
    place.git("ann", "stash", "branch", "from-stash")
    place.git("ann", "stash")
    place.git("ann", "stash", "drop")


def test_gc_and_pack_refs_and_branches(place):
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.store("ann").release()
    place.unpassed |= {"refs/heads/wa", "refs/heads/other"}
    place.git("ann", "branch", "other")
    for command in (
        ("pack-refs", "--all"),
        ("gc", "-q", "--prune=now"),
        ("reflog", "expire", "--all", "--expire=now"),
        ("repack", "-adq"),
        ("fsck",),
        ("branch", "-m", "other", "renamed"),
        ("branch", "-D", "renamed"),
        ("tag", "v1"),
        ("tag", "-am", "annotated", "v2"),
        ("notes", "add", "-m", "a note"),
        ("checkout", "-q", "--detach"),
        ("checkout", "-q", "wa"),
        ("reset", "-q", "--hard"),
        ("reset", "-q", "--hard", "HEAD~1"),
        ("reset", "-q", "--hard", "ORIG_HEAD~1"),
        ("update-ref", "refs/heads/mark", "HEAD"),
        ("branch", "-f", "mark", "main"),
        ("worktree", "prune"),
        ("maintenance", "run"),
    ):
        place.git("ann", *command)


def test_branches_move_among_what_is_known(place):
    place.commit("me", "f0", "moved on\n")
    place.git("bob", "reset", "-q", "--hard", "main")
    place.git("bob", "checkout", "-qb", "topic", "main~1")
    place.git("bob", "switch", "-q", "-")
    place.git("bob", "branch", "-f", "topic", "main")
    place.git("me", "worktree", "add", "-q", "-b", "wc", str(place.base / "wc"), "main")
    place.git("me", "worktree", "add", "-q", "--detach", str(place.base / "wd"), "main~1")
    place.git("me", "worktree", "remove", str(place.base / "wd"))


def test_fetch_of_a_thousand_refs(place):
    other = bare(place)
    tip = git("rev-parse", "main", cwd=other).strip()
    lines = "".join(f"create refs/heads/many/{number} {tip}\n" for number in range(1000))
    subprocess.run(["git", "update-ref", "--stdin"], cwd=other, input=lines.encode(), check=True)
    place.git("me", "remote", "add", "origin", other)
    began = time.monotonic()
    place.git("ann", "fetch", "-q", "origin")
    place.git("ann", "fetch", "-q", "--prune", "origin")
    place.git("ann", "fetch", "-q", "--atomic", "origin", "refs/heads/many/*:refs/copies/*")
    assert time.monotonic() - began < 40


def test_pull(place):
    other = bare(place)
    place.git("me", "remote", "add", "origin", other)
    place.git("me", "fetch", "-q", "origin")
    git("worktree", "add", "-q", str(place.base / "far"), "main", cwd=other)
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.commit("far", "f0", "from afar\n")
    place.git("ann", "branch", "-q", "--set-upstream-to=origin/main")
    place.git("ann", "pull", "-q", "--rebase")
    place.commit("far", "f0", "from afar again\n")
    place.git("ann", "pull", "-q", "--no-rebase", "--no-edit")
    assert place.read("ann", "f0") == b"from afar again\n"


def test_a_clone_has_no_store(place):
    place.hold("bob", TEXT)
    git("clone", "-q", str(place.root), str(place.base / "clone"), cwd=place.base)
    hooks = place.root / ".git/hooks"
    for name in os.listdir(hooks):
        (place.base / "clone/.git/hooks" / name).write_bytes((hooks / name).read_bytes())
        (place.base / "clone/.git/hooks" / name).chmod(0o755)
    place.commit("clone", TEXT, "in the clone\n", DRAFTFS_AGENT="ann")
    place.git("clone", "push", "-q", "origin", "main:refs/heads/from-clone", says=True, status=1)
    place.commit("clone", "f0", "in the clone\n")
    place.git("clone", "reset", "-q", "--soft", "HEAD~2")
    place.git("clone", "commit", "-qm", "only f0", "f0")
    place.git("clone", "push", "-q", "origin", "main:refs/heads/from-clone")


@pytest.mark.parametrize("reserved", [False, True])
@pytest.mark.parametrize("ignore", [None, "all"])
def test_submodule_bumps(place, reserved, ignore):
    git("init", "-q", "-b", "main", str(place.base / "lib"), cwd=place.base)
    place.commit("lib", "code", "1\n")
    allowed = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"}
    place.git("me", "submodule", "add", "-q", str(place.base / "lib"), "sub", **allowed)
    place.git("me", "commit", "-qm", "a submodule")
    place.git("ann", "merge", "-q", "main")
    place.git("ann", "submodule", "update", "-q", "--init", **allowed)
    if ignore:
        place.git("ann", "config", "diff.ignoreSubmodules", ignore)
    if reserved:
        place.hand_made = True  # people added it before
        place.hold("ann", "sub")
    place.commit("wa/sub", "code", "2\n")
    place.git("ann", "add", "--force", "sub")
    place.git("ann", "commit", "-qm", "bumped", "--allow-empty")  # or git itself sees nothing to commit
    if reserved:
        place.submit("ann")
    place.commit("me", "f0", "moved on\n")
    place.git("ann", "rebase", "main")


def test_a_worktree_that_is_moved(place):
    place.hold("ann", SPEC)
    place.git("me", "worktree", "move", str(place.where("ann")), str(place.base / "moved"))
    place.commit("moved", SPEC, "v1\n")
    place.git("me", "worktree", "move", str(place.base / "moved"), str(place.where("ann")))
    place.submit("ann")
    place.git("ann", "commit", "-q", "--amend", "-m", "words")


def test_sparse_checkout_and_flags_of_the_index(place):
    place.hold("ann", SPEC)
    place.git("ann", "sparse-checkout", "set", "--no-cone", "docs")
    place.commit("ann", SPEC, "v1\n")
    place.git("ann", "sparse-checkout", "disable")
    place.git("ann", "update-index", "--assume-unchanged", TEXT)
    place.write("ann", TEXT, "not committed\n")
    place.write("ann", SPEC, "v2\n")
    place.git("ann", "commit", "-qam", "two")
    place.git("ann", "update-index", "--no-assume-unchanged", TEXT)


def test_fast_import_and_replay_of_ones_own_history(place):
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.submit("ann")
    stream = place.git("ann", "fast-export", "wa", "--refspec", "refs/heads/wa:refs/heads/copy").out
    place.git("ann", "fast-import", "--quiet", feed=stream)


@pytest.mark.parametrize("who", ["bob", "me"])
def test_looking_at_what_was_withdrawn(place, who):
    """Nothing is made by it, also where HEAD was detached before."""
    place.hold("ann", SPEC)
    oid = place.commit("ann", SPEC, "v1\n")
    place.git("ann", "tag", "mark")
    place.git("ann", "update-ref", "refs/remotes/origin/wa", oid)
    place.store("ann").release()
    place.unpassed.add("refs/heads/wa")
    for revision in ("wa", "main", "mark", "main", "origin/wa", oid, "main~1"):
        place.git(who, "checkout", "-q", "--detach", revision)
    place.git(who, "bisect", "start", "wa", place.start + "~1")
    place.git(who, "bisect", "reset")
    place.git(who, "reset", "-q", "--hard", "wa")
    place.git(who, "checkout", "-q", "wb" if who == "bob" else "main")
    place.git(who, "worktree", "add", "-q", "--detach", str(place.base / "look"), "wa")
    place.git(who, "worktree", "add", "-q", str(place.base / "on"), "-b", "on", "main")
    place.git("on", "checkout", "-q", "--detach", "wa")
