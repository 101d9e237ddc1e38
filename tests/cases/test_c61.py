"""C61: hooks where git does not look. Here: which store and which root a checkout has, and that a submodule's path is a path."""

import json

import pytest

from tests.support import draftfs, git


@pytest.fixture
def source(tmp_path):
    """A repository with one commit."""
    top = tmp_path / "source"
    git("init", "-q", "-b", "main", str(top), cwd=tmp_path)
    (top / "a.txt").write_text("one\n")
    git("add", "-A", cwd=top)
    git("commit", "-q", "-m", "start", cwd=top)
    return top


def answer(*arguments, cwd, status=0, agent=None):
    ran = draftfs(arguments[0], "--json", *arguments[1:], cwd=cwd, agent=agent)
    assert ran.status == status, (ran.out, ran.err)
    told = json.loads(ran.out)
    return told["data"] if told["ok"] else told["error"]


def one_draft(root, worktree):
    """An agent drafts in `worktree`, a person promotes in `root`, and each only there."""
    answer("claim", "a.txt", cwd=worktree, agent="ann")
    (worktree / "a.txt").write_text("drafted\n")
    answer("draft", "a.txt", cwd=worktree, agent="ann")
    answer("submit", cwd=worktree, agent="ann")
    assert (root / "a.txt.draft-0001@ann").read_text() == "drafted\n"
    assert answer("promote", "--yes", "a.txt", "1", cwd=worktree, status=3)["code"] == "agents_cannot_promote"
    assert answer("claim", "a.txt", cwd=root, status=3, agent="bob")["code"] == "claim_in_root"
    answer("promote", "--yes", "a.txt", "1", cwd=root)
    assert (root / "a.txt").read_text() == "drafted\n"
    answer("doctor", cwd=root)


def test_bare_with_worktrees(source, tmp_path):
    bare, people, wa = tmp_path / "bare.git", tmp_path / "people", tmp_path / "wa"
    git("clone", "-q", "--bare", str(source), str(bare), cwd=tmp_path)
    for worktree in (people, wa):
        git("worktree", "add", "-q", str(worktree), "-b", worktree.name, cwd=bare)
    error = answer("init", cwd=wa, status=2)
    assert error["hint"].endswith("draftfs init --root WORKTREE")
    assert len(draftfs("init", cwd=wa).err.splitlines()) == 2
    error = answer("init", cwd=bare, status=5)
    assert "draftfs init --root" in error["hint"]
    told = answer("init", "--root", str(people), cwd=bare)
    assert (told["created"], told["store"]["root"]) == (True, str(people))
    assert answer("init", cwd=wa)["created"] is False
    one_draft(people, wa)


def test_bare_without_worktrees(source, tmp_path):
    bare = tmp_path / "bare.git"
    git("clone", "-q", "--bare", str(source), str(bare), cwd=tmp_path)
    for command in (["init"], ["ls"], ["claim", "a.txt"], ["log"]):
        error = answer(*command, cwd=bare, status=5)
        assert (error["code"], "bare" in error["message"]) == ("no_store", True)
    assert not (bare / "draftfs").exists()


def test_separate_git_dir(tmp_path):
    root, wa = tmp_path / "root", tmp_path / "wa"
    git("init", "-q", "-b", "main", "--separate-git-dir", str(tmp_path / "git"), str(root), cwd=tmp_path)
    (root / "a.txt").write_text("one\n")
    git("add", "-A", cwd=root)
    git("commit", "-q", "-m", "start", cwd=root)
    git("worktree", "add", "-q", str(wa), "-b", "wa", cwd=root)
    assert "--root" in answer("init", cwd=wa, status=2)["hint"]
    assert answer("init", "--root", "../root", cwd=wa)["store"]["root"] == str(root)
    one_draft(root, wa)


@pytest.mark.parametrize("inside", ["main checkout", "linked worktree"])
def test_submodule_is_a_repository_of_its_own(field, source, inside):
    top = field.root if inside == "main checkout" else field.worktree("ann")
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(source), "sub", cwd=top)
    git("commit", "-q", "-m", "sub", cwd=top)
    sub, ws = top / "sub", field.base / "ws"
    assert answer("ls", cwd=sub, status=5)["code"] == "no_store"
    git("worktree", "add", "-q", str(ws), "-b", "ws", cwd=sub)
    assert answer("init", cwd=ws)["store"]["root"] == str(sub)
    one_draft(sub, ws)
    assert field.me.log()[-1].kind == "job.added", "the superproject's store saw nothing of it"


def test_the_submodules_path_is_reserved_in_the_superproject(field, source):
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(source), "sub", cwd=field.root)
    git("commit", "-q", "-m", "sub", cwd=field.root)
    wa, wb = field.worktree("ann"), field.worktree("bob")
    assert answer("claim", "--", "sub", cwd=wa, agent="ann")["claim"]["paths"] == ["sub"]
    assert answer("claim", "--", "sub", cwd=wb, agent="bob", status=3)["code"] == "path_clash"
