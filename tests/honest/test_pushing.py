"""Pushes of admitted work: to a bare repository that asks the same store, to one that asks nobody, into the root itself."""

from __future__ import annotations

import subprocess

import pytest

from tests.honest.conftest import SPEC, TEXT
from tests.support import git


@pytest.fixture
def server(place):
    """A bare repository whose pre-receive asks the store."""
    other = place.base / "bare.git"
    git("clone", "-q", "--bare", str(place.root), str(other), cwd=place.base)
    git("config", "draftfs.store", str(place.root / ".git/draftfs"), cwd=other)
    text = (place.root / ".git/hooks/pre-receive").read_bytes()
    (other / "hooks/pre-receive").write_bytes(text)
    (other / "hooks/pre-receive").chmod(0o755)
    git("remote", "add", "origin", str(other), cwd=place.root)
    return place


@pytest.mark.parametrize("options", [("--atomic",), ("--no-verify", "--follow-tags")])
def test_admitted_work_from_either_side(server, options):
    place = server
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.git("ann", "push", *options, "origin", "wa")
    place.commit("ann", SPEC, "v2\n")
    place.git("ann", "push", *options, "origin", "HEAD:wa", "HEAD:refs/heads/second", "HEAD:refs/x/y")
    place.submit("ann")
    place.git("ann", "tag", "-am", "mark", "mark")
    place.git("ann", "tag", "plain")
    place.git("me", "push", *options, "origin", "mark", "plain")
    place.git("me", "merge", "-q", "--no-ff", "--no-edit", "wa")
    place.git("me", "push", *options, "origin", "main")
    place.git("ann", "push", *options, "origin", "--delete", "wa", "second")
    place.git("me", "push", *options, "--all", "origin")
    place.git("me", "push", *options, "--mirror", "origin")


def test_forced_after_a_rebase(server):
    place = server
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.git("ann", "push", "-q", "origin", "wa")
    place.commit("me", "f0", "moved on\n")
    place.git("me", "push", "-q", "origin", "main")
    place.git("ann", "rebase", "-q", "main")
    place.submit("ann")
    place.git("ann", "push", "-q", "--force-with-lease", "origin", "wa")


def test_forced_before_main_is_pushed(server):
    """What main has is people's, wherever it is pushed first."""
    place = server
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.git("ann", "push", "-q", "origin", "wa")
    place.commit("me", "f0", "moved on\n")
    place.git("ann", "rebase", "-q", "main")
    place.git("ann", "push", "-q", "--force", "origin", "wa")


@pytest.mark.parametrize("submitted", [False, True])
def test_forced_after_an_amend(server, submitted):
    place = server
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.git("ann", "push", "-q", "origin", "wa")
    place.write("ann", SPEC, "v2\n")
    place.git("ann", "commit", "-qa", "--amend", "--no-edit")
    if submitted:
        place.submit("ann")
    place.git("ann", "push", "-q", "--force", "origin", "wa")


@pytest.mark.parametrize("submitted", [False, True])
def test_forced_after_a_rebase_with_a_conflict(server, submitted):
    place = server
    place.hand_made = True
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "ann's\n")
    place.git("ann", "push", "-q", "origin", "wa")
    place.commit("me", SPEC, "mine\n", says=True)
    place.git("ann", "rebase", "-q", "main", status=1)
    place.write("ann", SPEC, "both\n")
    place.git("ann", "add", SPEC)
    place.git("ann", "rebase", "--continue", GIT_EDITOR="true")
    if submitted:
        place.submit("ann")
    place.git("ann", "push", "-q", "--force", "origin", "wa")


@pytest.mark.parametrize("submitted", [False, True])
def test_forced_after_a_commit_was_dropped(server, submitted):
    place = server
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.commit("ann", SPEC, "v2\n")
    place.git("ann", "push", "-q", "origin", "wa")
    place.git("ann", "reset", "-q", "--hard", "HEAD~1")
    place.commit("ann", "f0", "x\n")
    if submitted:
        place.submit("ann")
        # The way back is a step of its own, and nobody recorded it.
        assert SPEC in place.refused("ann", "push", "-q", "--force", "origin", "wa")
        place.hold("ann", SPEC, adopt=True)
    place.git("ann", "push", "-q", "--force", "origin", "wa")


def test_reverted_work(server):
    place = server
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    two = place.commit("ann", SPEC, "v2\n")
    place.git("ann", "revert", "--no-edit", two)
    place.submit("ann")
    place.git("ann", "push", "-q", "origin", "wa")
    place.git("me", "merge", "-q", "--no-ff", "--no-edit", "wa")
    place.git("me", "push", "-q", "origin", "main")


def test_main_with_merges_of_several(server):
    place = server
    place.hold("ann", SPEC)
    place.hold("bob", TEXT)
    place.commit("ann", SPEC, "ann's\n")
    place.commit("bob", TEXT, "bob's\n")
    place.submit("ann")
    place.submit("bob")
    for branch in ("wa", "wb"):
        place.git("me", "merge", "-q", "--no-ff", "--no-edit", branch)
    place.commit("me", "f0", "mine\n")
    place.git("me", "push", "-q", "origin", "main")
    place.git("ann", "merge", "-q", "--no-edit", "main")
    place.git("ann", "push", "-q", "origin", "wa")


def test_promoted_work(server):
    place = server
    place.hold("ann", SPEC)
    place.draft("ann", SPEC, "v1\n")
    place.submit("ann")
    place.promote(f"{SPEC}.draft-0001@ann")
    place.git("me", "commit", "-qam", "promoted")
    place.git("me", "push", "-q", "origin", "main")
    place.git("ann", "checkout", "-q", ".")
    place.git("ann", "merge", "-q", "main")
    place.git("ann", "push", "-q", "origin", "wa")


def test_into_the_root_itself(place):
    """receive.denyCurrentBranch: by default git refuses the branch that is checked out, and says so itself."""
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.submit("ann")
    git("init", "-q", "--bare", str(place.base / "x.git"), cwd=place.base)
    place.git("ann", "push", "-q", str(place.root), "wa:main", status=1)
    place.git("ann", "push", "-q", str(place.root), "wa:refs/heads/given")
    place.git("me", "config", "receive.denyCurrentBranch", "updateInstead")
    place.git("ann", "push", "-q", str(place.root), "wa:main")
    assert (place.root / SPEC).read_text() == "v1\n"
    place.git("ann", "push", "-q", ".", "wa:refs/heads/again")
    place.git("ann", "push", "-q", ".", ":refs/heads/again")


def test_a_detached_head_and_a_thousand_tags(server):
    place = server
    place.hold("ann", SPEC)
    place.git("ann", "checkout", "-q", "--detach")
    place.commit("ann", SPEC, "v1\n")
    place.git("ann", "push", "-q", "origin", "HEAD:refs/heads/from-nowhere")
    tip = place.tip("ann")
    lines = "".join(f"create refs/tags/many/{number} {tip}\n" for number in range(1000))
    subprocess.run(["git", "update-ref", "--stdin"], cwd=place.root, input=lines.encode(), check=True)
    place.git("ann", "push", "-q", "--tags", "origin")


def test_to_whoever_asks_nobody(place):
    git("init", "-q", "--bare", str(place.base / "plain.git"), cwd=place.base)
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.git("ann", "push", "-q", str(place.base / "plain.git"), "wa", "main")
    place.git("me", "push", "-q", str(place.base / "plain.git"), "main")


def test_upstream_of_people_in_a_bare_repository(server):
    """Other people push there what no store here has seen; ann brings it along in a merge."""
    place = server
    place.hold("ann", SPEC)
    git("clone", "-q", str(place.base / "bare.git"), str(place.base / "far"), cwd=place.base)
    place.commit("far", "f0", "from afar\n")
    place.git("far", "push", "-q", "origin", "main")
    place.commit("ann", SPEC, "v1\n")
    place.git("ann", "fetch", "-q", "origin")
    place.git("ann", "merge", "-q", "--no-edit", "origin/main")
    place.git("ann", "push", "-q", "origin", "wa")
