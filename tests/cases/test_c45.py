"""C45: the target is deleted, renamed, or not there yet."""

from tests.support import git


def test_a_target_that_is_not_there_yet(site):
    site.hold("ann", "new/dir/n.md")
    site.run("ann", "release")
    site.hand_in("ann", "new/dir/n.md", "new\n")
    site.run("me", "promote --yes", "new/dir/n.md", "1")
    assert site.read("new/dir/n.md") == b"new\n"


def test_renew_and_release_never_need_the_file(site):
    site.hold("ann", "docs/spec.md")
    git("rm", "-qr", "docs", cwd=site.where("ann"))
    site.run("ann", "renew")
    site.run("ann", "release")


def test_a_rename_is_not_followed_and_a_deletion_is_proposed(site):
    site.hold("ann", "docs/spec.md")
    git("mv", "docs/spec.md", "docs/g.md", cwd=site.where("ann"))
    site.refused("ann", "not_covered", "draft", "docs/g.md")
    error = site.refused("ann", "bad_file", "draft", "docs/spec.md", status=2)
    assert "--delete" in error["hint"]
    drafted = site.run("ann", "draft --delete", "docs/spec.md")["drafts"][0]
    assert drafted["file"] == "docs/spec.md.draft-0001.delete@ann"
    assert site.read(drafted["file"]) == b""
    site.run("ann", "submit")
    site.run("me", "promote --yes", "docs/spec.md", "1")
    assert not (site.root / "docs/spec.md").exists()
    undone = site.run("me", "promote --yes --undo", "docs/spec.md")
    assert (undone["returned"], site.read("docs/spec.md")) == ([3], b"v0\n")
    assert git("status", "--porcelain", cwd=site.root) == ""


def test_a_target_that_went_while_a_draft_waits(site):
    site.hand_in("ann", "docs/spec.md", "new\n")
    git("rm", "-q", "docs/spec.md", cwd=site.root)
    assert site.line("docs/spec.md")["drafts"][0]["flags"] == ["outdated"]
    site.refused("me", "target_moved", "promote --yes", "docs/spec.md", "1")
    site.run("me", "promote --yes --force", "docs/spec.md", "1")
    assert site.read("docs/spec.md") == b"new\n"


def test_a_deletion_and_a_rename_as_commits(guarded):
    """A rename is a deletion and an addition, each judged by its own path."""
    site = guarded
    site.hold("ann", "docs/spec.md")
    for command in (("rm", "-q"), ("mv",)):
        site.git("bob", *command, "docs/spec.md", *(["docs/g.md"] if command == ("mv",) else []))
        said = site.blocked("bob", "commit", "-qm", "x")
        assert "docs/spec.md (deleted" in said
        assert "held by ann" in said
        site.git("bob", "reset", "-q", "--hard")
    site.git("ann", "mv", "docs/spec.md", "docs/g.md")
    site.commit("ann")
    site.git("ann", "mv", "docs/g.md", "docs/spec.md")
    site.commit("ann")
    site.git("ann", "rm", "-q", "docs/spec.md")
    site.commit("ann")
    site.run("ann", "draft --delete", "docs/spec.md")
    site.run("ann", "submit")
    assert site.run("me", "verify", "main..wa")["findings"] == []


def test_check_says_that_a_target_went_and_where_it_may_be(site):
    site.hand_in("ann", "docs/spec.md", "new\n")
    git("mv", "docs/spec.md", "docs/g.md", cwd=site.root)
    (finding,) = site.run("me", "check --kind outdated", status=6)["findings"]
    assert "docs/spec.md is gone, perhaps renamed to docs/g.md" in finding["message"]
    git("commit", "-qam", "moved", cwd=site.root)
    (finding,) = site.run("me", "check --kind outdated", status=6)["findings"]
    assert "perhaps renamed to docs/g.md" in finding["message"]
    site.run("me", "promote --yes --force", "docs/spec.md", "1")
    assert site.check("outdated") == []
