"""C37: once run as root, or by another member of the group. (`gc` and `check` come with those commands. The other members
need a user of their own, and are in tests/disk/test_permissions.py.)"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from draftfs import SystemClock
from tests.cases.commands import Site
from tests.disks import as_user, give, needs_root
from tests.support import GIT_ENVIRONMENT, git, make_field

USER, GROUP = 61001, 61100
SPEC = "docs/spec.md"


@pytest.fixture
def theirs(monkeypatch):
    """A repository of USER's, and root at its command line."""
    needs_root()
    base = Path(tempfile.mkdtemp(prefix="draftfs-test-"))
    base.chmod(0o755)
    config = base / "gitconfig"
    config.write_text("[safe]\n\tdirectory = *\n")
    config.chmod(0o644)
    monkeypatch.setitem(GIT_ENVIRONMENT, "GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    field = make_field(base, SystemClock())
    field.worktree("ann")
    give(base, USER, GROUP)
    yield Site(field)
    shutil.rmtree(base)


def test_once_run_as_root(theirs):
    theirs.run("me", "job add", "from root", "x")
    theirs.run("ann", "claim", "1", "--seen", "1")
    theirs.put("ann", SPEC, "v1\n")
    theirs.run("ann", "submit")
    theirs.run("me", "promote", "--yes", SPEC, "1")
    theirs.field.me.engine.checkpoint()
    assert {path.lstat().st_uid for path in theirs.field.store.rglob("*")} == {USER}

    def user() -> tuple:
        me = theirs.field.me
        me.jobs()
        me.claim(2, seen=1)
        me.release()
        me.engine.checkpoint()
        return me.doctor().findings

    assert as_user(USER, GROUP, user) == ()


def test_git_minds_the_owner(theirs, monkeypatch):
    monkeypatch.setitem(GIT_ENVIRONMENT, "GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    error = theirs.refused("me", "git", "job list", status=8)
    assert "dubious ownership" in error["message"]


@pytest.mark.parametrize(
    ("setting", "folders", "files"),
    [
        ("group", 0o2770, 0o660),
        ("all", 0o2775, 0o664),
        ("0640", 0o2750, 0o640),
        ("0660", 0o2770, 0o660),
        (None, 0o700, 0o600),
    ],
)
def test_the_store_follows_git(tmp_path, setting, folders, files):
    root, umask = tmp_path / "r", os.umask(0o077)
    try:
        shared = [] if setting is None else [f"--shared={setting}"]
        git("init", "-q", "-b", "main", *shared, str(root), cwd=tmp_path)
        field = make_field(tmp_path)
        field.ann.claim(1, seen=1)
        field.put("ann", SPEC, "v1\n")
        field.ann.submit()
        field.me.engine.checkpoint()
    finally:
        os.umask(umask)
    for path in [field.store, *field.store.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        relative = path.relative_to(field.store)
        if path.is_dir():
            assert mode == folders, (relative, oct(mode))
        elif relative.parts[0] == "objects":
            assert mode == files & 0o444, (relative, oct(mode))
        else:
            assert mode == files, (relative, oct(mode))
    kept = list((root / ".git" / "worktrees").rglob("draftfs-worktree/*.json"))
    assert kept
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
