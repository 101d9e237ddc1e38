"""Repositories of other kinds: shallow, SHA-256, with filters and line ends, with everything guarded, with a followed upstream."""

from __future__ import annotations

import pytest

from draftfs import Store, SystemClock
from draftfs.git import hooks
from tests.honest.conftest import SPEC, TEXT, Place
from tests.support import git


def equipped(place: Place) -> Place:
    """A store, hooks, and a worktree for ann in the repository at `place`."""
    Store.init(str(place.root), clock=SystemClock())
    hooks.install(str(place.root))
    git("worktree", "add", "-q", "-b", "wa", str(place.where("ann")), cwd=place.root)
    return place


def work(place: Place) -> None:
    """One job from the claim to the merge, and one to the promotion."""
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.commit("me", "f0", "moved on\n")
    place.git("ann", "merge", "-q", "--no-edit", "main")
    place.submit("ann")
    place.git("ann", "rebase", "-q", "main")
    place.git("me", "merge", "-q", "--no-ff", "--no-edit", "wa")
    place.git("ann", "merge", "-q", "main")
    place.hold("ann", TEXT)
    place.draft("ann", TEXT, "drafted\n")
    place.submit("ann")
    place.promote(f"{TEXT}.draft-0001@ann")
    place.git("me", "commit", "-qam", "promoted")


def test_a_shallow_repository(place, tmp_path):
    place.commit("me", SPEC, "once more\n")
    git("clone", "-q", "--depth=1", place.root.as_uri(), str(tmp_path / "s/r"), cwd=tmp_path)
    shallow = equipped(Place(tmp_path / "s", git("rev-parse", "main", cwd=tmp_path / "s/r").strip()))
    work(shallow)
    shallow.examine()


def test_a_repository_with_longer_ids(place, tmp_path):
    root = tmp_path / "l/r"
    git("init", "-q", "-b", "main", "--object-format=sha256", str(root), cwd=tmp_path)
    for name in (SPEC, TEXT):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("v0\n")
    git("add", "-A", cwd=root)
    git("commit", "-qm", "start", cwd=root)
    long = equipped(Place(tmp_path / "l", git("rev-parse", "main", cwd=root).strip()))
    work(long)
    long.examine()


@pytest.mark.parametrize("attributes", ["* text eol=crlf\n", "* text=auto\n", "*.md filter=up\n", "*.txt filter=up\n"])
def test_filters_and_line_ends(place, attributes):
    place.commit("me", ".gitattributes", attributes)
    for key, value in (("filter.up.clean", "tr a-z A-Z"), ("filter.up.smudge", "tr A-Z a-z")):
        place.git("me", "config", key, value)
    for name in (SPEC, TEXT):  # as they are from now on
        place.write("me", name, "again\r\n" if "crlf" in attributes else "again\n")
    place.git("me", "add", "--renormalize", ".")
    place.git("me", "commit", "-qam", "by the new rules")
    place.start = place.tip("me")
    place.git("ann", "merge", "-q", "main")
    for number, end in enumerate(("\n", "\r\n")):
        place.hold("ann", TEXT, adopt=True)
        place.write("ann", TEXT, f"line {number}{end}")
        place.git("ann", "commit", "-qam", "x", status=None)
        drafted = place.store("ann").draft([TEXT]).drafts[0]
        place.submit("ann")
        place.promote(f"{TEXT}.draft-{drafted.number:04d}@ann")
        place.git("me", "commit", "-qam", "promoted")


@pytest.mark.parametrize("file_mode", ["true", "false"])
def test_executables(place, file_mode):
    place.git("me", "config", "core.fileMode", file_mode)
    place.hold("ann", TEXT)
    place.write("ann", TEXT, "#!/bin/sh\n")
    (place.where("ann") / TEXT).chmod(0o755)
    place.git("ann", "commit", "-qam", "x")
    place.store("ann").draft([TEXT])
    place.submit("ann")
    place.promote(f"{TEXT}.draft-0001@ann")
    place.git("me", "commit", "-qam", "promoted")


def test_where_everything_must_be_claimed(place):
    place.store("me").configure("git.unclaimed", "refuse")
    place.hand_made = True  # f0, by people
    place.hold("ann", SPEC, "new")
    place.commit("ann", SPEC, "v1\n")
    place.commit("ann", "new/file", "x\n")
    place.commit("me", "f0", "moved on\n")
    place.git("ann", "merge", "-q", "--no-edit", "main")
    place.git("ann", "rebase", "-q", "main")
    place.submit("ann")
    place.git("ann", "commit", "-q", "--amend", "-m", "words")
    place.git("ann", "commit", "-q", "--allow-empty", "-m", "nothing")
    place.write("ann", "f1", "nobody's\n")
    assert "f1" in place.refused("ann", "commit", "-qam", "x")
    place.git("ann", "checkout", "-q", "HEAD", "f1")
    place.git("me", "merge", "-q", "--no-ff", "--no-edit", "wa")
    place.git("ann", "merge", "-q", "main")


def test_what_people_are_about_to_pull(place):
    """The root's upstream is people's, before the root has it."""
    other = place.base / "up.git"
    git("clone", "-q", "--bare", str(place.root), str(other), cwd=place.base)
    git("clone", "-q", str(other), str(place.base / "far"), cwd=place.base)
    git("remote", "add", "origin", str(other), cwd=place.root)
    git("fetch", "-q", "origin", cwd=place.root)
    git("branch", "-q", "--set-upstream-to=origin/main", "main", cwd=place.root)
    place.hold("ann", SPEC, "f1")
    place.commit("far", TEXT, "from afar\n")
    place.commit("far", SPEC, "from afar\n")
    place.git("far", "push", "-q", "origin", "main")
    place.commit("ann", "f1", "ann's\n")
    place.git("ann", "fetch", "-q")
    place.git("ann", "rebase", "-q", "origin/main")
    place.git("ann", "merge", "-q", "origin/main")
    place.commit("ann", SPEC, "ann's\n")
    place.submit("ann")
    place.git("ann", "push", "-q", "origin", "wa")
    place.hand_made = True
    place.git("me", "pull", "-q", "--ff-only")


def test_a_person_on_another_branch(place):
    """The root shows a topic branch; ann goes on from main, which people changed by promotion."""
    place.hold("bob", TEXT)
    place.draft("bob", TEXT, "bob's\n")
    place.submit("bob")
    place.promote(f"{TEXT}.draft-0001@bob")
    place.git("me", "commit", "-qam", "promoted")
    place.git("me", "checkout", "-qb", "topic", place.start)
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.git("ann", "rebase", "-q", "main")
    place.git("me", "checkout", "-q", "main")
