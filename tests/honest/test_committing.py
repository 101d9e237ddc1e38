"""Plain commits of all shapes, under a live claim or of paths that nobody ever reserved."""

from __future__ import annotations

import os

import pytest

from tests.honest.conftest import SPEC, TEXT
from tests.support import git

ODD = [
    "café.md",
    'a"b.md',
    "a\\b.md",
    "nl\nx.md",
    "-dash.md",
    " lead.md",
    "tab\t.md",
    "bad\udcff.md",
    ":(top)x",
    "*.md",
    "a b/ b/c",
]


WAYS = [("-a",), ("--only", SPEC), (SPEC,), ("-i", SPEC), ("-a", "--no-verify"), ("--interactive",), ("-p",)]


@pytest.mark.parametrize(("how", "agent"), [*((way, None) for way in WAYS), (WAYS[0], "ann"), (WAYS[-1], "ann")])
def test_ways_to_commit(place, how, agent):
    place.environment = {"DRAFTFS_AGENT": agent} if agent else {}
    place.hold("ann", SPEC)
    place.write("ann", SPEC, "v1\n")
    feed = {"-p": "y\n", "--interactive": "u\n1\n\nq\n"}.get(how[0])
    place.git("ann", "commit", "-qm", "x", *how, feed=feed)
    assert place.git("ann", "show", f"HEAD:{SPEC}").out == "v1\n"


def test_part_of_what_is_there(place):
    """Only what is committed is judged: bob's path lies changed, or staged, beside it."""
    place.hold("bob", TEXT)
    place.hold("ann", SPEC)
    place.write("ann", TEXT, "not for the commit\n")
    place.write("ann", SPEC, "v1\n")
    place.git("ann", "commit", "-qm", "only mine", SPEC)
    place.git("ann", "add", TEXT)
    place.write("ann", SPEC, "v2\n")
    place.git("ann", "commit", "-qm", "still only mine", "--only", SPEC)
    place.git("ann", "add", "--intent-to-add", "--force", ".")
    place.git("ann", "restore", "--staged", TEXT)
    place.write("ann", "new file", "x\n")
    place.git("ann", "add", "-N", "new file")
    place.write("ann", SPEC, "v3\n")
    place.git("ann", "add", SPEC)
    place.git("ann", "commit", "-qm", "a third")
    assert place.git("ann", "log", "--format=%s", f"{place.start}..").out == "a third\nstill only mine\nonly mine\n"


def test_some_hunks_by_a_script(place):
    place.hold("ann", "f1")
    lines = place.read("ann", "f1").decode()
    place.write("ann", "f1", "first\n" + lines + "last\n")
    place.git("ann", "commit", "-qm", "x", "-p", feed="y\nn\n")
    assert place.git("ann", "show", "HEAD:f1").out == "first\n" + lines
    place.git("ann", "stash", "-q")
    place.git("ann", "stash", "pop", "-q")
    place.git("ann", "commit", "-qam", "the rest")


@pytest.mark.parametrize("reserved", [False, True])
def test_rename_delete_and_change_of_kind(place, reserved):
    if reserved:
        place.hold("ann", "f0", "g0", "f1", "f2", "f3", "f4")
    place.git("ann", "mv", "f0", "g0")
    place.git("ann", "commit", "-qm", "renamed")
    place.git("ann", "rm", "-q", "f1")
    place.git("ann", "commit", "-qm", "deleted")
    os.chmod(place.path("ann", "f2"), 0o755)
    place.git("ann", "commit", "-qam", "executable")
    os.unlink(place.path("ann", "f3"))
    os.symlink("f2", place.path("ann", "f3"))
    place.git("ann", "commit", "-qam", "a link now")
    os.unlink(place.path("ann", "f4"))
    place.write("ann", "f4/inside", "a folder now\n")
    place.git("ann", "add", "-A")
    place.git("ann", "commit", "-qm", "a folder now")
    if reserved:
        place.submit("ann")
    place.commit("me", "elsewhere", "x\n")
    place.git("ann", "rebase", "main")


@pytest.mark.parametrize(("quoted", "reserved"), [("true", True), ("false", False)])
def test_odd_names(place, quoted, reserved):
    place.git("me", "config", "core.quotePath", quoted)
    if reserved:
        place.hold("ann", *(f"./{name}" for name in ODD))
    for data in ("one\n", "two\n"):
        for name in ODD:
            place.write("ann", name, data)
        place.git("ann", "add", "-A")
        place.git("ann", "commit", "-qm", "odd")
    place.git("ann", "--literal-pathspecs", "rm", "-q", "--", *ODD[:3])
    place.git("ann", "commit", "-qm", "fewer", LC_ALL="C")


def test_from_a_subfolder(place):
    place.hold("ann", SPEC)
    place.write("ann", SPEC, "v1\n")
    place.git("ann", "commit", "-qam", "x", folder="docs")
    place.write("ann", SPEC, "v2\n")
    place.git("ann", "commit", "-qm", "x", "spec.md", folder="docs")
    place.write("ann", SPEC, "v3\n")
    place.git("ann", "-C", "..", "commit", "-qam", "x", folder="docs")
    place.git("ann", "config", "diff.relative", "true")
    place.write("ann", SPEC, "v4\n")
    place.git("ann", "commit", "-qam", "x", folder="docs")


def test_two_claims_at_once_in_one_worktree(place):
    place.hold("ann", SPEC)
    place.hold("ann", TEXT)
    place.write("ann", SPEC, "v1\n")
    place.write("ann", TEXT, "two\n")
    place.git("ann", "commit", "-qam", "both")
    place.submit("ann", job=3)
    place.commit("ann", TEXT, "three\n")


def test_a_claimed_folder_with_new_files(place):
    place.hold("ann", "docs")
    place.write("ann", "docs/new/deep.md", "x\n")
    place.commit("ann", "docs/new.md", "x\n")
    place.git("ann", "add", "-A")
    place.git("ann", "commit", "-qm", "deep")
    place.submit("ann")
    place.git("ann", "commit", "-q", "--amend", "-m", "words")
    place.git("bob", "merge", "-q", "wa")


def test_empty_commits(place):
    place.git("ann", "commit", "-qm", "nothing", "--allow-empty")
    place.hold("ann", SPEC)
    place.git("ann", "commit", "-qm", "nothing again", "--allow-empty")
    place.submit("ann")
    place.git("ann", "commit", "-qm", "and again", "--allow-empty")
    place.git("ann", "commit", "-q", "--amend", "--allow-empty-message", "-m", "", "--allow-empty")


def test_first_commit_of_an_orphan_branch(place):
    place.git("ann", "checkout", "-q", "--orphan", "pages")
    place.git("ann", "rm", "-rfq", ".")
    place.commit("ann", "index.html", "x\n")
    place.hold("ann", TEXT, adopt=True)
    place.commit("ann", TEXT, "a new beginning\n")
    place.git("ann", "checkout", "-q", "wa")


def test_detached(place):
    place.hold("ann", SPEC)
    place.git("ann", "checkout", "-q", "--detach")
    oid = place.commit("ann", SPEC, "v1\n")
    place.submit("ann")
    place.git("ann", "checkout", "-qb", "named", oid)
    place.git("ann", "checkout", "-q", "--detach", "main")
    place.git("ann", "bisect", "start", "wa", "wa", status=None)
    place.git("ann", "bisect", "reset", status=None)


def test_paths_that_nobody_reserved(place):
    for number in range(2):
        place.commit("ann", f"f{number}", "x\n")
    place.hold("bob", TEXT)
    place.commit("ann", "f0", "y\n")
    place.git("ann", "revert", "--no-edit", "HEAD")
    place.git("ann", "reset", "-q", "--hard", "HEAD~2")


def test_work_goes_on_after_submitting(place):
    """A second claim of the same path, after the first was submitted."""
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.submit("ann")
    place.hold("ann", SPEC, adopt=True)
    place.commit("ann", SPEC, "v2\n")
    place.submit("ann")
    place.commit("ann", "f0", "not reserved\n")
    git("gc", "-q", cwd=place.root)
