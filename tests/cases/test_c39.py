"""C39: a symlink is refused at both ends; link, referent and other people's files keep their bytes."""

import os

import pytest

from tests.support import git

LINKS = {"plain": "AGENTS.md", "dangling": "nowhere", "folder": "docs", "chain": "one"}


@pytest.fixture
def linked(site):
    site.write("me", "AGENTS.md", "agents\n")
    os.symlink("two", site.path("me", "one"))
    os.symlink("AGENTS.md", site.path("me", "two"))
    for kind, goal in LINKS.items():
        os.symlink(goal, site.path("me", f"{kind}.md"))
    git("add", "-A", cwd=site.root)
    git("commit", "-qm", "links", cwd=site.root)
    return site


@pytest.mark.parametrize("kind", LINKS)
def test_drafting_one(linked, kind):
    name = f"{kind}.md"
    linked.hold("ann", name)
    linked.hold("bob", "AGENTS.md")
    linked.write("ann", "made", "made\n")
    for options in ((), ("--from", "made"), ("--delete",)):
        error = linked.refused("ann", "bad_file", "draft", *options, "--", name, status=2)
        assert LINKS[kind] in error["message"]
        assert error["hint"] == "claim and draft the file it points to"
    assert linked.put("bob", "AGENTS.md", "bob's\n")["number"] == 1
    assert linked.read("AGENTS.md") == b"agents\n"


@pytest.mark.parametrize("kind", LINKS)
def test_promoting_onto_one(linked, kind):
    linked.hand_in("ann", "docs/spec.md", "new\n")
    (linked.root / "docs/spec.md").unlink()
    goal = os.path.relpath(linked.root / LINKS[kind], linked.root / "docs")
    os.symlink(goal, linked.root / "docs/spec.md")
    for options in ((), ("--force",)):
        error = linked.refused("me", "not_a_file", "promote --yes", *options, "docs/spec.md", "1")
        assert goal in error["message"]
    assert os.readlink(linked.root / "docs/spec.md") == goal
    assert linked.read("AGENTS.md") == b"agents\n"
    assert not (linked.root / "nowhere").exists()


def test_a_draft_file_replaced_by_a_link(linked):
    drafted = linked.hand_in("ann", "docs/spec.md", "new\n")
    (linked.root / drafted["file"]).unlink()
    os.symlink("../AGENTS.md", linked.root / drafted["file"])
    linked.refused("me", "tampered", "promote --yes", drafted["file"])
    assert linked.read("docs/spec.md") == b"v0\n"


def test_linked_folders_are_resolved(linked):
    linked.hold("ann", "docs/spec.md")
    error = linked.refused("bob", "path_clash", "claim", "folder.md/spec.md")
    assert "docs/spec.md" in error["message"]
