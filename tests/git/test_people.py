"""What is people's: the root's branch and its upstream, whatever the root looks at in between (DESIGN §8)."""

from __future__ import annotations

import pytest

from draftfs.errors import EnvironmentFault
from draftfs.git.people import People, people_of
from tests.support import git


@pytest.fixture
def root(tmp_path, _plain_environment):
    path = tmp_path / "root"
    git("init", "-q", "-b", "main", str(path), cwd=tmp_path)
    for name in "ab":
        (path / name).write_text(name)
        git("add", name, cwd=path)
        git("commit", "-q", "-m", name, cwd=path)
    return path


def head(root, revision="HEAD"):
    return git("rev-parse", revision, cwd=root).strip()


def test_on_a_branch(root):
    assert people_of(str(root)) == People("refs/heads/main", (head(root),))


def test_with_an_upstream(root, tmp_path):
    git("clone", "-q", "--bare", str(root), str(tmp_path / "server"), cwd=tmp_path)
    git("remote", "add", "origin", str(tmp_path / "server"), cwd=root)
    git("fetch", "-q", "origin", cwd=root)
    git("branch", "-q", "-u", "origin/main", cwd=root)
    old = head(root)
    git("commit", "-q", "--allow-empty", "-m", "c", cwd=root)
    assert people_of(str(root)) == People("refs/heads/main", (head(root), old))


@pytest.mark.usefixtures("_plain_environment")
def test_unborn(tmp_path):
    git("init", "-q", "-b", "main", str(tmp_path), cwd=tmp_path)
    assert people_of(str(tmp_path)) == People("refs/heads/main", ())


@pytest.mark.parametrize("looked_at", ["HEAD^", "late"])
def test_what_people_only_look_at_is_not_theirs(root, looked_at):
    git("branch", "late", cwd=root)
    git("checkout", "-q", "--detach", looked_at, cwd=root)
    assert people_of(str(root)) == People("refs/heads/main", (head(root, "main"),))


def test_while_they_rebase(root):
    git("checkout", "-q", "-b", "topic", "HEAD^", cwd=root)
    (root / "b").write_text("other")
    git("add", "b", cwd=root)
    git("commit", "-q", "-m", "clash", cwd=root)
    git("rebase", "main", cwd=root, check=False)
    assert people_of(str(root)) == People("refs/heads/topic", (head(root, "topic"),))


def test_detached_from_the_beginning(root, tmp_path):
    """A clone of one commit, as machines make it, has no branch."""
    git("clone", "-q", str(root), str(tmp_path / "clone"), cwd=tmp_path)
    git("checkout", "-q", "--detach", cwd=tmp_path / "clone")
    git("reflog", "expire", "--expire=now", "--all", cwd=tmp_path / "clone")
    assert people_of(str(tmp_path / "clone")) == People(None, ())


def test_a_root_that_is_gone(tmp_path):
    with pytest.raises(EnvironmentFault, match="the root is gone"):
        people_of(str(tmp_path / "gone"))


def test_an_upstream_that_is_a_local_branch_is_nobodys(root):
    """Anybody can set it, to an agent's branch, say."""
    git("branch", "wa", cwd=root)
    git("commit", "-q", "--allow-empty", "-m", "c", cwd=root)
    git("branch", "-q", "-u", "wa", cwd=root)
    assert people_of(str(root)) == People("refs/heads/main", (head(root),))
