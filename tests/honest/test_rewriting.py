"""Commits made anew: rebase, amend, cherry-pick, revert. Recorded steps carry over; what is new needs the live claim."""

from __future__ import annotations

import pytest

from tests.honest.conftest import SPEC, TEXT


def todo(place, *lines: str) -> dict[str, str]:
    """The environment of an interactive rebase that does just this."""
    script = place.base / "todo"
    script.write_text("".join(f"{line}\n" for line in lines))
    return {"GIT_SEQUENCE_EDITOR": f"cp {script}", "GIT_EDITOR": "true"}


def three(place) -> list[str]:
    """ann's three commits under her claim."""
    place.hold("ann", SPEC)
    return [place.commit("ann", SPEC, f"v{number}\n", f"step {number}") for number in (1, 2, 3)]


@pytest.mark.parametrize("backend", ["--merge", "--apply"])
@pytest.mark.parametrize("submitted", [False, True])
def test_rebase_on_a_main_that_touched_other_files(place, backend, submitted):
    three(place)
    if submitted:
        place.submit("ann")
    place.commit("me", "f0", "moved on\n")
    place.git("ann", "rebase", backend, "main")
    assert place.git("ann", "log", "--format=%s", "main..").out.split("\n")[:-1] == ["step 3", "step 2", "step 1"]
    assert place.read("ann", SPEC) == b"v3\n"


@pytest.mark.parametrize("backend", ["--merge", "--apply"])
def test_rebase_on_a_main_that_touched_the_same_path(place, backend):
    place.hand_made = True
    place.hold("ann", "f1")
    lines = place.read("ann", "f1").decode()
    place.commit("ann", "f1", lines + "the end\n")
    place.submit("ann")
    place.commit("me", "f1", "the start\n" + lines, says=True)
    said = place.refused("ann", "rebase", backend, "main")
    assert "claim" in said
    if backend == "--merge":
        assert "to get out: git rebase --abort" in said
        place.git("ann", "rebase", "--abort")
    else:
        assert "to get out: git rebase --quit && git switch wa" in said
        place.git("ann", "rebase", "--quit")
        place.git("ann", "switch", "-q", "wa")
    place.hold("ann", "f1", adopt=True)
    place.git("ann", "rebase", backend, "main")
    assert place.read("ann", "f1").decode() == "the start\n" + lines + "the end\n"


def test_rebase_with_a_conflict_in_ones_own_file(place):
    place.hand_made = True
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "ann's\n")
    place.commit("me", SPEC, "mine\n", says=True)
    place.git("ann", "rebase", "main", status=1)
    place.write("ann", SPEC, "both\n")
    place.git("ann", "add", SPEC)
    place.git("ann", "rebase", "--continue", GIT_EDITOR="true")


@pytest.mark.parametrize("submitted", [False, True])
@pytest.mark.parametrize(
    "how",
    [
        ("pick 1", "squash 2", "squash 3"),
        ("pick 1", "fixup 2", "fixup 3"),
        ("pick 1", "fixup -C 2", "pick 3"),
        ("reword 1", "pick 2", "reword 3"),
        ("pick 1", "exec true", "pick 2", "pick 3"),
    ],
)
def test_interactive_rebase(place, submitted, how):
    oids = three(place)
    if submitted:
        place.submit("ann")
    lines = [line if "exec" in line else f"{line[:-1]}{oids[int(line[-1]) - 1]}" for line in how]
    place.git("ann", "rebase", "-i", place.start, **todo(place, *lines))
    assert place.read("ann", SPEC) == b"v3\n"


def test_interactive_rebase_that_edits_drops_and_reorders(place):
    place.hold("ann", SPEC, "f0")
    one = place.commit("ann", SPEC, "v1\n", "one")
    two = place.commit("ann", "f0", "f\n", "two")
    three = place.commit("ann", SPEC, "v2\n", "three")
    lines = (f"pick {two}", f"edit {one}", f"drop {three}")
    place.git("ann", "rebase", "-i", place.start, **todo(place, *lines))
    place.write("ann", SPEC, "edited\n")
    place.git("ann", "commit", "-qa", "--amend", "--no-edit")
    place.git("ann", "rebase", "--continue", GIT_EDITOR="true")
    assert place.git("ann", "log", "--format=%s", f"{place.start}..").out == "one\ntwo\n"
    assert place.read("ann", SPEC) == b"edited\n"


def test_autosquash_and_autostash(place):
    place.hold("ann", SPEC)
    one = place.commit("ann", SPEC, "v1\n", "one")
    place.write("ann", SPEC, "v2\n")
    place.git("ann", "commit", "-qa", f"--fixup={one}")
    place.write("ann", "f3", "not committed\n")
    place.git("ann", "rebase", "-i", "--autosquash", "--autostash", place.start, GIT_SEQUENCE_EDITOR="true")
    assert place.git("ann", "log", "--format=%s", f"{place.start}..").out == "one\n"
    assert place.read("ann", "f3") == b"not committed\n"


def test_rebase_of_merges_and_onto(place):
    place.hold("ann", SPEC, "f0")
    place.commit("ann", SPEC, "v1\n", "one")
    place.git("ann", "checkout", "-qb", "side")
    place.commit("ann", "f0", "side\n", "side")
    place.git("ann", "checkout", "-q", "wa")
    place.commit("ann", SPEC, "v2\n", "two")
    place.git("ann", "merge", "-q", "--no-ff", "-m", "both", "side")
    place.commit("me", "f4", "moved on\n")
    place.git("ann", "rebase", "--rebase-merges", "main", GIT_EDITOR="true")
    place.git("ann", "rebase", "--onto", place.start, "main", "wa")
    assert place.read("ann", "f0") == b"side\n"


def test_rebase_that_is_aborted_or_skips(place):
    place.hand_made = True
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "ann's\n")
    place.commit("me", SPEC, "mine\n", says=True)
    before = place.tip("ann")
    place.git("ann", "rebase", "main", status=1)
    place.git("ann", "rebase", "--abort")
    assert place.tip("ann") == before
    place.git("ann", "rebase", "main", status=1)
    place.git("ann", "rebase", "--skip")
    assert place.tip("ann") == place.tip("me")


@pytest.mark.parametrize(
    "how", [("--amend", "-m", "new words"), ("--amend", "--no-edit", "--date=now"), ("--amend", "-C", "HEAD")]
)
def test_amend_of_the_message_after_submitting(place, how):
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.submit("ann")
    place.git("ann", "commit", "-q", *how)


def test_amend_of_the_content(place):
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    for number in (2, 3):
        place.write("ann", SPEC, f"v{number}\n")
        place.git("ann", "commit", "-qa", "--amend", "--no-edit")
    place.write("ann", "f0", "another file\n")
    place.git("ann", "commit", "-qa", "--amend", "--no-edit")
    place.submit("ann")
    place.write("ann", SPEC, "v4\n")
    assert SPEC in place.refused("ann", "commit", "-qa", "--amend", "--no-edit")


def test_amend_that_takes_the_change_back(place):
    place.hold("ann", SPEC)
    place.commit("ann", "f0", "f\n")
    place.write("ann", SPEC, "v1\n")
    place.git("ann", "commit", "-qa", "--amend", "--no-edit")
    place.write("ann", SPEC, "v0\n")
    place.git("ann", "commit", "-qa", "--amend", "--no-edit")
    place.submit("ann")
    place.git("ann", "commit", "-q", "--amend", "-m", "words")


def test_amend_of_a_merge(place):
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.commit("me", "f0", "moved on\n")
    place.git("ann", "merge", "-q", "--no-ff", "-m", "both", "main")
    place.submit("ann")
    place.git("ann", "commit", "-q", "--amend", "-m", "better words")


def test_reset_and_commit_again(place):
    three(place)
    place.git("ann", "reset", "-q", "--soft", place.start)
    place.submit("ann")
    place.git("ann", "commit", "-qm", "all in one")


@pytest.mark.parametrize("options", [(), ("-x",), ("--no-commit",), ("--edit",)])
def test_cherry_pick_to_another_branch(place, options):
    place.hold("ann", SPEC)
    oid = place.commit("ann", SPEC, "v1\n")
    place.submit("ann")
    place.git("ann", "checkout", "-qb", "again", place.start)
    place.git("ann", "cherry-pick", *options, oid, GIT_EDITOR="true")
    if "--no-commit" in options:
        place.git("ann", "commit", "-qm", "picked")


def test_cherry_pick_of_anothers_submitted_work(place):
    place.hold("ann", SPEC)
    first = place.commit("ann", SPEC, "v1\n", "one")
    place.commit("ann", SPEC, "v2\n", "two")
    place.submit("ann")
    place.git("bob", "cherry-pick", f"{first}^..wa")
    place.hold("bob", TEXT)
    place.commit("bob", TEXT, "bob's\n")


def test_cherry_pick_with_a_conflict(place):
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n", "one")
    two = place.commit("ann", SPEC, "v2\n", "two")
    place.git("ann", "checkout", "-qb", "again", place.start)
    place.git("ann", "cherry-pick", two, status=1)
    place.write("ann", SPEC, "solved\n")
    place.git("ann", "add", SPEC)
    place.git("ann", "cherry-pick", "--continue", GIT_EDITOR="true")


def test_revert_under_a_live_claim(place):
    oids = three(place)
    place.git("ann", "revert", "--no-edit", oids[2])
    assert place.read("ann", SPEC) == b"v2\n"
    place.git("ann", "revert", "--no-edit", "HEAD")
    assert place.read("ann", SPEC) == b"v3\n"
    place.submit("ann")
    place.commit("me", "f0", "moved on\n")
    place.git("ann", "rebase", "main")


def test_work_that_was_taken_back_is_not_put_in_again(place):
    oids = three(place)
    place.git("ann", "revert", "--no-edit", oids[2])
    place.submit("ann")
    place.git("bob", "merge", "-q", "wa")
    assert SPEC in place.refused("bob", "cherry-pick", oids[2])
    place.git("bob", "cherry-pick", "--abort", status=None)
    assert place.read("bob", SPEC) == b"v2\n"


def test_patches_by_mail(place):
    three(place)
    place.submit("ann")
    patches = place.git("ann", "format-patch", "--stdout", place.start).out
    place.git("bob", "am", feed=patches)
    assert place.read("bob", SPEC) == b"v3\n"


def test_squash_merge_of_ones_own_branch(place):
    three(place)
    place.submit("ann")
    place.git("ann", "checkout", "-qb", "flat", place.start)
    place.git("ann", "merge", "-q", "--squash", "wa")
    place.git("ann", "commit", "-qm", "all in one")
