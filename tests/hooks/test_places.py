"""C61, the hooks' half: they are where git looks, in every kind of repository, and git runs them there."""

from __future__ import annotations

import os
import subprocess

import pytest

from draftfs.git import hooks
from draftfs.git.hooks.text import HOOKS
from tests.support import draftfs, git, make_field


@pytest.fixture
def field(tmp_path):
    return make_field(tmp_path)


def works(*tops) -> None:
    for top in tops:
        found = hooks.status(str(top))
        assert not found.missing, found.missing
        folder = git("rev-parse", "--path-format=absolute", "--git-path", "hooks", cwd=top).strip()
        assert {os.path.dirname(each.file) for each in found.hooks if each.worktree == os.path.realpath(top)} == {
            folder
        }


def test_from_a_linked_worktree_for_all(field):
    hooks.install(str(field.worktree("ann")))
    works(field.root, field.worktree("ann"), field.worktree("bob"))
    assert len({each.worktree for each in hooks.status(str(field.root)).hooks}) == 3


def test_a_submodule_has_its_own(field, tmp_path):
    git("init", "-q", "-b", "main", "lib", cwd=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=tmp_path / "lib")
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "lib"), "sub", cwd=field.root)
    git("commit", "-q", "-m", "sub", cwd=field.root)
    sub = field.root / "sub"
    assert hooks.status(str(sub)).store is None
    assert draftfs("init", "--hooks", cwd=sub).status == 0
    works(sub)
    assert {each.state for each in hooks.status(str(field.root)).hooks} == {"not_installed"}
    git("merge", "-q", "main", cwd=field.worktree("ann"))
    git("-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init", cwd=field.worktree("ann"))
    inner = field.worktree("ann") / "sub"
    assert draftfs("init", "--hooks", cwd=inner).status == 0
    works(inner, sub)


def test_with_a_separate_git_folder(tmp_path):
    git("init", "-q", "-b", "main", "--separate-git-dir", str(tmp_path / "g"), str(tmp_path / "r"), cwd=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=tmp_path / "r")
    assert draftfs("init", "--hooks", cwd=tmp_path / "r").status == 0
    git("worktree", "add", "-q", str(tmp_path / "w"), cwd=tmp_path / "r")
    works(tmp_path / "r", tmp_path / "w")
    assert {each.worktree for each in hooks.status(str(tmp_path / "w")).hooks} == {
        str(tmp_path / "r"),
        str(tmp_path / "w"),
    }
    ran = draftfs("claim", "f", "--as", "ann", cwd=tmp_path / "w")
    assert ran.status == 0, ran.err


def test_a_bare_repository_receives_only(field, tmp_path):
    git("clone", "-q", "--bare", str(field.root), str(tmp_path / "b"), cwd=tmp_path)
    bare = tmp_path / "b"
    ran = draftfs("hooks", "install", cwd=bare)
    assert ran.status == 5
    assert "draftfs.store" in ran.err
    git("config", "draftfs.store", str(field.store), cwd=bare)
    assert draftfs("hooks", "install", cwd=bare).status == 0
    (only,) = hooks.status(str(bare)).hooks
    assert (only.hook, only.state) == ("pre-receive", "active")
    assert sorted(set(os.listdir(bare / "hooks")) & set(HOOKS)) == ["pre-receive"]
    git("remote", "add", "bare", str(bare), cwd=field.root)
    ann = field.worktree("ann")
    assert draftfs("claim", "a.txt", "--as", "ann", cwd=ann).status == 0
    bob = field.worktree("bob")
    (bob / "a.txt").write_text("late\n")
    git("commit", "-q", "-am", "late", cwd=bob)
    for ref in ("refs/heads/bob", "refs/tags/late", "refs/draft/x"):
        git("push", "-q", "bare", f"HEAD:{ref}", cwd=bob, check=False)
        assert git("ls-remote", "bare", ref, cwd=bob) == ""
    (bob / "b.txt").write_text("free\n")
    git("reset", "-q", "--hard", "HEAD~1", cwd=bob)
    (bob / "b.txt").write_text("free\n")
    git("add", "b.txt", cwd=bob)
    git("commit", "-q", "-m", "free", cwd=bob)
    git("push", "-q", "bare", "HEAD:refs/heads/bob", cwd=bob)
    assert draftfs("hooks", "uninstall", cwd=bare).status == 0
    assert not (bare / "hooks/pre-receive").exists()


def test_a_bare_repository_with_worktrees_has_all_of_them(field, tmp_path):
    bare, people, agents = (tmp_path / name for name in ("b", "people", "agents"))
    git("clone", "-q", "--bare", str(field.root), str(bare), cwd=tmp_path)
    for top in (people, agents):
        git("worktree", "add", "-q", str(top), "-b", top.name, cwd=bare)
    assert draftfs("init", "--root", str(people), "--hooks", cwd=bare).status == 0
    works(people, agents)
    assert not hooks.status(str(bare)).missing
    assert draftfs("claim", "a.txt", "--as", "ann", cwd=agents).status == 0
    (people / "a.txt").write_text("by an agent\n")
    late = commit_as(people, agent="bob")
    assert late.returncode != 0
    assert "ann" in late.stderr
    assert draftfs("hooks", "uninstall", cwd=agents).status == 3
    assert draftfs("hooks", "uninstall", cwd=people).status == 0
    assert {each.state for each in hooks.status(str(agents)).hooks} == {"not_installed"}


def commit_as(top, *, agent: str):
    return subprocess.run(
        ["git", "commit", "-a", "-m", "x"],
        cwd=top,
        env={**os.environ, "DRAFTFS_AGENT": agent},
        capture_output=True,
        text=True,
        check=False,
    )


def test_worktrees_that_are_gone_are_not_missed(field):
    import shutil

    hooks.install(str(field.worktree("ann")))
    shutil.rmtree(field.worktree("bob"))
    assert not hooks.status(str(field.root)).missing
