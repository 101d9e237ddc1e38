"""C65: git's stash and clean carry draft files off; numbers and bytes stay."""

import pytest

from tests.support import git

WAYS = [("stash", "-u"), ("stash", "-a"), ("clean", "-fd"), ("clean", "-fdx")]


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_carried_off(site, way):
    site.hold("ann", "docs/spec.md")
    for text in ("x\n", "y\n", "z\n"):
        site.put("ann", "docs/spec.md", text)
    site.run("ann", "submit")
    git(*way, cwd=site.root)
    gone = way[-1] in ("-a", "-fdx")  # the others leave ignored files alone
    (line,) = site.line("docs/spec.md")["drafts"]
    assert (line["flags"], line["draft"]["shown"]) == (["missing"] if gone else [], not gone)
    site.run("ann", "claim --adopt", "--", "docs/spec.md")  # her worktree still holds what she handed in
    assert site.put("ann", "docs/spec.md", "later\n")["number"] == 4
    site.run("ann", "release")
    site.run("me", "promote --yes", "docs/spec.md", "3")
    assert site.read("docs/spec.md") == b"z\n"


def test_a_stash_popped_in_a_worktree_takes_no_number(site):
    site.hand_in("ann", "docs/spec.md", "x\n")
    git("stash", "-a", cwd=site.root)
    git("stash", "pop", cwd=site.where("bob"))
    assert (site.where("bob") / "docs/spec.md.draft-0001@ann").exists()
    site.hold("bob", "docs/spec.md")
    assert site.put("bob", "docs/spec.md", "bob's\n")["number"] == 2
    assert site.line("docs/spec.md")["drafts"][0]["flags"] == ["missing"]
