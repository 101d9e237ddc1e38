"""C22: names that look like options or patterns are names; an option is one before `--` only."""

import pytest

from tests.support import git

NAMES = ["-rf.md", "--all", "--dry-run/x", "--", ":(top)x", ":!y", "*.md", "[a].md", "~x", "$HOME.md"]


@pytest.mark.parametrize("name", NAMES)
def test_behind_the_separator(site, name):
    site.write("me", "other.md", "tracked\n")
    git("add", "other.md", cwd=site.root)
    git("commit", "-qm", "other", cwd=site.root)
    site.write("me", "other.md", "edited\n")
    site.write("me", "secret.bin", "untracked\n")
    site.hand_in("ann", name, "new\n")
    difference = site.raw("me", "diff", "--", f"{name}.draft-0001@ann")
    assert difference.status == 0
    assert "+new" in difference.out
    (line,) = site.run("me", "ls", "--", name)["targets"]
    assert line["target"] == name
    made = site.run("me", "promote --yes --commit", "--", name, "1")["commit"]
    assert site.read(name) == b"new\n"
    assert git("show", "--format=", "--name-only", "-z", made, cwd=site.root) == f"{name}\0"
    status = git("status", "--porcelain", "-z", cwd=site.root)
    assert " M other.md\0" in status
    assert "?? secret.bin\0" in status


@pytest.mark.parametrize("name", ["-rf.md", "--all"])
def test_with_a_folder_before_it(site, name):
    site.run("ann", "claim", f"./{name}")
    site.write("ann", name, "new\n")
    drafted = site.run("ann", "draft", f"./{name}")["drafts"][0]
    assert drafted["target"] == name
    site.run("ann", "submit")
    site.run("me", "promote --yes", f"./{name}.draft-0001@ann")
    assert site.read(name) == b"new\n"


@pytest.mark.parametrize("command", ["claim", "draft", "ls", "promote", "diff"])
def test_an_option_look_alike_is_usage_with_the_hint(site, command):
    who = "ann" if command in ("claim", "draft") else "me"
    error = site.refused(who, "usage", command, "-rf.md", status=2)
    assert "--" in error["hint"]


def test_a_pattern_holds_only_itself(site):
    site.hold("ann", "*.md")
    assert site.hold("bob", "other.md")["claim"]["paths"] == ["other.md"]


def test_a_dash_is_the_file(site):
    """Standard input is `--from -`."""
    site.hold("ann", "./-")
    site.write("ann", "-", "dash\n")
    drafted = site.run("ann", "draft", "./-")["drafts"][0]
    assert (drafted["target"], drafted["file"]) == ("-", "-.draft-0001@ann")
    assert (site.root / "-.draft-0001@ann").read_text() == "dash\n"


@pytest.mark.parametrize("name", NAMES)
def test_commits_through_the_hooks(guarded, name):
    site = guarded
    site.write("me", "other.md", "tracked\n")
    site.git("me", "add", "other.md")
    site.git("me", "commit", "-qm", "other")
    site.git("ann", "merge", "-q", "main")
    site.git("bob", "merge", "-q", "main")
    site.hold("ann", name)
    site.write("ann", name, "new\n")
    site.git("ann", "--literal-pathspecs", "add", "--", name)
    site.commit("ann")
    site.write("bob", name, "bob's\n")
    site.write("bob", "other.md", "edited\n")
    site.git("bob", "commit", "-qm", "only this", "other.md")
    site.git("bob", "--literal-pathspecs", "add", "--", name)
    said = site.blocked("bob", "commit", "-qm", "x")
    assert f"  {name} (added" in said
    assert "held by ann until" in said
    site.run("ann", "draft", "--", name)
    site.run("ann", "submit")
    assert site.run("me", "verify", "main..wa")["findings"] == []
