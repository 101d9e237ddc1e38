"""Merges into an agent's branch: what git's own clean merge makes, and what people did, is nobody's to claim."""

from __future__ import annotations

import pytest

from tests.honest.conftest import SPEC, TEXT


@pytest.mark.parametrize("submitted", [False, True])
def test_merge_of_main_that_touched_other_files(place, submitted):
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    if submitted:
        place.submit("ann")
    place.commit("me", "f0", "moved on\n")
    place.git("ann", "merge", "-q", "--no-edit", "main")
    assert place.read("ann", "f0") == b"moved on\n"


@pytest.mark.parametrize("submitted", [False, True])
def test_merge_of_main_that_touched_the_same_path_elsewhere(place, submitted):
    place.hand_made = True
    place.hold("ann", "f1")
    lines = place.read("ann", "f1").decode()
    place.commit("ann", "f1", lines + "the end\n")
    place.commit("me", "f1", "the start\n" + lines, says=True)
    if submitted:
        place.submit("ann")
    place.git("ann", "merge", "-q", "--no-edit", "main")
    assert place.read("ann", "f1").decode() == "the start\n" + lines + "the end\n"


def test_merge_of_main_with_a_conflict_in_ones_own_file(place):
    place.hand_made = True
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "ann's\n")
    place.commit("me", SPEC, "mine\n", says=True)
    place.git("ann", "merge", "main", status=1)
    place.write("ann", SPEC, "both\n")
    place.git("ann", "commit", "-qam", "both")
    place.submit("ann")
    place.git("ann", "commit", "-q", "--amend", "-m", "said better")


def test_merge_that_is_aborted(place):
    place.hand_made = True
    place.hold("ann", SPEC)
    before = place.commit("ann", SPEC, "ann's\n")
    place.commit("me", SPEC, "mine\n", says=True)
    place.git("ann", "merge", "main", status=1)
    place.git("ann", "merge", "--abort")
    assert place.tip("ann") == before


def test_merge_of_main_that_holds_others_promoted_files(place):
    place.hold("bob", TEXT)
    place.draft("bob", TEXT, "bob's\n")
    place.submit("bob")
    place.promote(f"{TEXT}.draft-0001@bob")
    place.git("me", "commit", "-qam", "promoted")
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "ann's\n")
    place.git("ann", "merge", "-q", "--no-edit", "main")
    assert place.read("ann", TEXT) == b"bob's\n"
    place.git("ann", "merge", "-q", "main")


def test_fast_forward_and_ff_only(place):
    place.commit("me", "f0", "moved on\n")
    place.hold("ann", SPEC)
    place.git("ann", "merge", "-q", "--ff-only", "main")
    place.commit("ann", SPEC, "ann's\n")
    place.submit("ann")
    place.git("bob", "merge", "-q", "--ff-only", "wa")


def test_merge_of_anothers_work_while_it_is_live(place):
    """bob builds on what ann has, under claims of their own, and she goes on."""
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "ann's\n")
    place.hold("bob", TEXT)
    place.commit("bob", TEXT, "bob's\n")
    place.git("bob", "merge", "-q", "--no-edit", "wa")
    place.commit("ann", SPEC, "ann's second\n")
    place.git("bob", "merge", "-q", "--no-edit", "wa")
    place.git("ann", "merge", "-q", "--no-edit", "wb")


def test_octopus(place):
    for number in range(3):
        place.git("ann", "checkout", "-qb", f"side{number}", place.start)
        place.hold("ann", f"f{number}")
        place.commit("ann", f"f{number}", "changed\n")
        place.submit("ann")
    place.hold("bob", SPEC)
    place.commit("bob", SPEC, "bob's\n")
    place.git("bob", "merge", "-q", "-m", "all", "side0", "side1", "side2")
    assert [place.read("bob", f"f{number}") for number in range(3)] == [b"changed\n"] * 3


def test_merge_with_options_of_the_user(place):
    """A driver, another strategy, renames switched off: of a path that is not one's own the result is what git's own gives."""
    place.git("me", "config", "merge.renames", "false")
    place.git("me", "config", "merge.conflictStyle", "diff3")
    place.git("me", "config", "merge.ff", "false")
    place.git("me", "config", "diff.renames", "copies")
    place.git("me", "config", "merge.log", "true")
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "ann's\n")
    place.commit("me", "f0", "moved on\n")
    for options in ([], ["-s", "resolve"], ["-X", "patience"], ["--squash"]):
        place.git("ann", "checkout", "-qB", "try", "wa")
        place.git(
            "ann",
            *(("-c", "merge.ff=true") if options == ["--squash"] else ()),
            "merge",
            "-q",
            "--no-edit",
            *options,
            "main",
        )
        if "--squash" in options:
            place.git("ann", "commit", "-qm", "squashed")
        assert place.read("ann", "f0") == b"moved on\n"
    place.git("ann", "checkout", "-q", "wa")


def test_merge_across_a_rename_by_people(place):
    """main renames a file that ann has changed under her claim: git carries her change over to the new name."""
    place.hand_made = True
    place.hold("ann", "f1")
    lines = place.read("ann", "f1").decode()
    place.commit("ann", "f1", lines + "the end\n")
    place.git("me", "mv", "f1", "g1")
    place.git("me", "commit", "-qm", "renamed", says=True)
    place.git("ann", "merge", "-q", "--no-edit", "main")
    assert place.read("ann", "g1").decode() == lines + "the end\n"


def test_merge_of_many_commits_of_people(place):
    for number in range(5):
        place.commit("me", f"f{number}", f"moved on {number}\n")
    place.git("me", "checkout", "-qb", "topic")
    place.commit("me", "f0", "on a topic branch\n")
    place.git("me", "checkout", "-q", "main")
    place.git("me", "merge", "-q", "--no-ff", "-m", "topic", "topic")
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "ann's\n")
    place.git("ann", "merge", "-q", "--no-edit", "main")
    place.git("ann", "rebase", "main")


def test_cherry_picked_merge(place):
    place.hold("ann", SPEC)
    place.git("ann", "checkout", "-qb", "side")
    place.commit("ann", SPEC, "side\n")
    place.git("ann", "checkout", "-q", "wa")
    place.git("ann", "merge", "-q", "--no-ff", "-m", "merged", "side")
    merge = place.tip("ann")
    place.submit("ann")
    place.git("ann", "checkout", "-qb", "again", place.start)
    place.git("ann", "cherry-pick", "-m", "1", merge)


def test_unrelated_history_and_subtree(place):
    """A first commit of another history: its files come from nothing, and none is reserved."""
    place.git("me", "checkout", "-q", "--orphan", "other")
    place.git("me", "rm", "-rfq", ".")
    place.commit("me", "sub.txt", "x\n", "another beginning")
    place.git("me", "checkout", "-q", "main")
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "ann's\n")
    place.git("ann", "merge", "-q", "--allow-unrelated-histories", "-m", "joined", "other")
    place.git("ann", "read-tree", "--prefix=vendored/", "-u", "other")
    place.git("ann", "commit", "-qm", "vendored")
