"""Real hook managers, installed before ours and again over ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from draftfs.git import hooks
from tests.support import draftfs, git, make_field

HOOKS = ("prepare-commit-msg", "pre-push")
PRE_COMMIT = """
repos:
- repo: local
  hooks:
  - {id: x, name: x, language: system, entry: touch ran, always_run: true, pass_filenames: false,
     stages: [prepare-commit-msg, pre-push]}
"""
LEFTHOOK = "".join(f"{hook}:\n  commands:\n    x: {{run: touch ran}}\n" for hook in HOOKS)


def program(name: str) -> str:
    found = shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


class Manager:
    """A repository that uses one of them."""

    def __init__(self, root: Path, name: str) -> None:
        self.root, self.name, self.program = root, name, program(name)
        file, text = ("lefthook.yml", LEFTHOOK) if name == "lefthook" else (".pre-commit-config.yaml", PRE_COMMIT)
        (root / file).write_text(text)
        (root / ".git/info/exclude").write_text(f"{file}\nran\n")

    def install(self) -> None:
        kinds = () if self.name == "lefthook" else [word for hook in HOOKS for word in ("--hook-type", hook)]
        done = subprocess.run(
            [self.program, "install", *kinds], cwd=self.root, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    def commit(self, where: Path | None = None, **more: str) -> tuple[bool, bool]:
        """Try to commit what is there; whether it was made, and whether the manager's check ran."""
        where = where or self.root
        (where / "ran").unlink(missing_ok=True)
        done = subprocess.run(
            ["git", "commit", "-q", "-a", "--allow-empty", "-m", "x"],
            cwd=where,
            capture_output=True,
            env={**os.environ, **more},
            check=False,
        )
        return done.returncode == 0, (where / "ran").exists()

    def states(self) -> dict[str, str]:
        return {each.hook: each.state for each in hooks.status(str(self.root)).hooks}


@pytest.fixture(params=["pre-commit", "prek", "lefthook"])
def manager(request, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return Manager(make_field(tmp_path).root, request.param)


def ours_is_run(manager: Manager) -> bool:
    """An agent in people's checkout is asked early, and refused: its hook sees the variable."""
    (manager.root / "a.txt").write_text("by an agent\n")
    made, _ = manager.commit(DRAFTFS_AGENT="bob")
    git("checkout", "-q", "HEAD", "--", "a.txt", cwd=manager.root)
    return not made


def held(manager: Manager) -> None:
    wa = manager.root.parent / "wa"
    git("worktree", "add", "-q", str(wa), cwd=manager.root)
    assert draftfs("claim", "a.txt", "--as", "ann", cwd=wa).status == 0


def test_one_that_was_there_before_runs_after_ours_and_comes_back(manager):
    manager.install()
    before = {hook: (manager.root / ".git/hooks" / hook).read_bytes() for hook in HOOKS}
    held(manager)
    hooks.install(str(manager.root))
    assert set(manager.states().values()) == {"active"}
    assert manager.commit() == (True, True)
    assert ours_is_run(manager)
    hooks.uninstall(str(manager.root))
    assert {hook: (manager.root / ".git/hooks" / hook).read_bytes() for hook in HOOKS} == before


def test_one_that_comes_later_is_seen_and_chained_by_installing_again(manager):
    held(manager)
    hooks.install(str(manager.root))
    manager.install()
    states = manager.states()
    assert states["reference-transaction"] == "active", "no manager has that hook"
    if manager.name == "lefthook":  # it keeps ours as .old, and runs it no more
        assert {states[hook] for hook in HOOKS} == {"replaced"}
        ran = draftfs("hooks", "status", cwd=manager.root)
        assert ran.status == 6
        hooks.install(str(manager.root))
    # pre-commit and prek keep ours as .legacy and run it before their own: that counts as active, and nothing is to do.
    assert set(manager.states().values()) == {"active"}
    assert {each.action for each in hooks.install(str(manager.root)).hooks} == {"unchanged"}
    assert manager.commit() == (True, True)
    assert ours_is_run(manager)


def test_one_that_was_there_before_and_installs_itself_again_does_not_go_round(manager):
    held(manager)
    manager.install()
    hooks.install(str(manager.root))
    manager.install()
    hooks.install(str(manager.root))
    assert set(manager.states().values()) == {"active"}
    assert manager.commit() == (True, True)
    assert ours_is_run(manager)


def test_two_of_them(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    root = make_field(tmp_path).root
    first, second = Manager(root, "pre-commit"), Manager(root, "lefthook")
    (root / ".git/info/exclude").write_text("lefthook.yml\n.pre-commit-config.yaml\nran\n")
    held(first)
    first.install()
    hooks.install(str(root))
    second.install()
    hooks.install(str(root))
    assert set(first.states().values()) == {"active"}
    assert first.commit() == (True, True)
    assert ours_is_run(first)
