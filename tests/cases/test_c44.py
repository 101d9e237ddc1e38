"""C44: file becomes folder, folder becomes file."""

from tests.support import git


def both(site):
    site.write("me", "A1", "file\n")
    site.write("me", "d/x", "x\n")
    git("add", "-A", cwd=site.root)
    git("commit", "-qm", "kinds", cwd=site.root)


def to_folder(place):
    (place / "A1").unlink()
    (place / "A1").mkdir()
    (place / "A1/A1").write_text("inside\n")


def test_a_file_becomes_a_folder(site):
    both(site)
    site.hold("ann", "A1")
    site.put("ann", "A1", "x")
    to_folder(site.where("ann"))
    site.refused("ann", "bad_file", "draft", "A1", status=2)
    site.refused("bob", "path_clash", "claim", "A1/A1")
    site.run("ann", "submit")
    to_folder(site.root)
    assert site.line("A1")["drafts"][0]["flags"] == ["outdated"]
    for options in ((), ("--force",)):
        site.refused("me", "not_a_file", "promote --yes", *options, "A1", "1")
    assert site.read("A1/A1") == b"inside\n"


def test_after_the_promotion(site):
    both(site)
    site.hand_in("ann", "A1", "x")
    site.run("me", "promote --yes", "A1", "1")
    to_folder(site.root)
    assert site.line("A1")["stale"] is True


def test_a_folder_becomes_a_file(site):
    both(site)
    site.hold("ann", "d/x")
    worktree = site.where("ann")
    (worktree / "d/x").unlink()
    (worktree / "d").rmdir()
    (worktree / "d").touch()
    site.refused("ann", "bad_file", "draft", "d/x", status=2)
    assert site.run("ann", "draft --delete", "d/x")["drafts"][0]["delete"] is True
    site.refused("bob", "path_clash", "claim", "d")
    site.run("ann", "release")


def test_check_names_the_change_of_kind(site):
    both(site)
    site.hand_in("ann", "A1", "x")
    to_folder(site.root)
    data = site.run("me", "check --kind outdated --kind stale", status=6)["findings"]
    assert [(each["kind"], each["path"]) for each in data] == [("outdated", "A1")]
    assert "it is a folder" in data[0]["message"]
    (site.root / "A1/A1").unlink()
    (site.root / "A1").rmdir()
    site.write("me", "A1", "file\n")
    assert site.check("outdated", "stale") == []
    site.run("me", "promote --yes", "A1", "1")
    to_folder(site.root)
    assert site.check("outdated", "stale") == [("stale", "A1")]
    assert site.read("A1/A1") == b"inside\n"
