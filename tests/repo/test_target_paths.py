"""What a user may type for a target, from where, and what the refusal of anything else says."""

import os

import pytest

from draftfs.errors import BadRequest
from draftfs.repo import Repo


def target(place, argument) -> str:
    return Repo.find(str(place)).target(str(argument))


def refused(place, argument):
    with pytest.raises(BadRequest) as caught:
        target(place, argument)
    assert caught.value.code == "bad_path"
    return caught.value


@pytest.mark.parametrize(
    "argument",
    [
        "docs/spec.md",
        "./docs//spec.md",
        "docs/../docs/spec.md",
        "docs/./spec.md/",
        "../main/docs/spec.md",
        "not-there/../docs/spec.md",
    ],
)
def test_spellings_of_one_path(main, argument):
    assert target(main, argument) == "docs/spec.md"
    assert target(main, main.top / argument) == "docs/spec.md"


def test_from_deep_below_and_through_symlinks(main, tmp_path):
    (main.top / "docs/deep/er").mkdir(parents=True)
    (tmp_path / "link").symlink_to(main.top / "docs")
    assert target(main.top / "docs/deep/er", "../../spec.md") == "docs/spec.md"
    assert target(main.top / "docs", "new") == "docs/new"
    assert target(tmp_path / "link", "spec.md") == "docs/spec.md"
    assert target(main, tmp_path / "link/spec.md") == "docs/spec.md"
    refused(main.top / "docs", "..")


@pytest.mark.parametrize(
    "name",
    [
        "caf\u00e9.md",
        "cafe\u0301.md",
        'a"b.md',
        "a\\b.md",
        "nl\nx.md",
        "tab\t.md",
        "bad\udcff.md",
        " lead.md",
        "trail .md",
        "a b/ b/c.md",
        "-rf.md",
        "--all",
        "-",
        "--",
        ":(top)x",
        ":!y",
        "*.md",
        "[a].md",
        "~x",
        "$HOME.md",
        "no/such/folder",
        "x.draft-0001",
        "docs/spec.md/below-a-file",
        "a.draft-0001@b/c",
    ],
)
def test_names_keep_their_exact_bytes(main, name):
    assert target(main, name) == name
    assert target(main.top / "docs", f"../{name}") == name


@pytest.mark.parametrize("argument", ["", "a\0b", ".", "./", "docs/..", ".git", ".git/config", ".GIT/x", "docs/.git/x"])
def test_never_a_target(main, argument):
    refused(main, argument)


def test_parents_are_resolved_and_the_last_name_is_not(main, tmp_path):
    os.symlink("docs", main.top / "lnk")
    os.symlink("docs/spec.md", main.top / "AGENTS.md")
    os.symlink("nowhere", main.top / "dangling")
    os.symlink("loop", main.top / "loop")
    os.symlink(".git", main.top / "g")
    os.symlink(tmp_path, main.top / "out")
    assert target(main, "lnk/spec.md") == "docs/spec.md"
    assert target(main, "AGENTS.md") == "AGENTS.md"
    assert target(main, "dangling") == "dangling"
    assert target(main, "lnk/") == "lnk"
    assert target(main, "lnk/.") == "docs"
    refused(main, "g/config")
    refused(main, "out/x")
    assert target(main, "loop/x") == "loop/x"


@pytest.mark.parametrize("argument", ["../x", "/etc/passwd", "/", "..", "docs/../../y"])
def test_outside(main, argument):
    assert str(main) in refused(main, argument).hint


def test_a_name_that_only_begins_like_the_top(main):
    refused(main, f"{main}-app/x")


def test_another_checkout_is_answered_with_the_spelling_here(main, tmp_path):
    worktree = main.worktree(tmp_path / "wa")
    said = refused(worktree.top / "docs", main.top / "docs/spec.md")
    assert said.hint.endswith(" spec.md")
    assert str(main) in said.message
    assert refused(main, worktree.top / "docs/spec.md").hint.endswith(" docs/spec.md")
    assert refused(main, worktree.top / "-rf").hint.endswith(" ./-rf")
    refused(worktree, main)


def test_nested_worktree(main):
    nested = main.worktree(main.top / ".trees/wa")
    said = refused(main, ".trees/wa/docs/spec.md")
    assert said.hint.endswith(" docs/spec.md")
    assert target(nested, "docs/spec.md") == "docs/spec.md"
    assert refused(nested, main.top / "docs/spec.md").hint.endswith(" docs/spec.md")


def test_nested_repository(main, checkout_at):
    inner = checkout_at(main.top / "sub")
    inner.top.mkdir()
    inner.git("init", "-q")
    assert target(main, "sub") == "sub"
    assert str(inner) in refused(main, "sub/f").hint
    assert target(inner, "f") == "f"
    refused(inner, "../docs/spec.md")


def test_separate_git_dir_inside_the_checkout(checkout_at, tmp_path):
    checkout = checkout_at(tmp_path / "sep")
    checkout.top.mkdir()
    checkout.git("init", "-q", "--separate-git-dir", "store")
    refused(checkout, "store/config")
    assert target(checkout, "store-2") == "store-2"


@pytest.mark.parametrize("name", ["docs/spec.md.draft-0003@alice", "docs/spec.md.draft-0004.delete@bob"])
def test_a_draft_is_not_a_target(main, name):
    assert refused(main, name).hint == "name its target: docs/spec.md"
    assert refused(main.top / "docs", f"../{name}").hint == "name its target: spec.md"
