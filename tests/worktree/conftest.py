"""A real repository with one linked worktree, and processes that use the notes of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import draftfs
from draftfs.worktree import Worktree


@pytest.fixture
def git(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "me")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "me@example.org")

    def run(*arguments, at="main"):
        done = subprocess.run(["git", *arguments], cwd=tmp_path / at, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    (tmp_path / "main").mkdir()
    run("init", "-q", "-b", "main")
    run("commit", "-q", "--allow-empty", "-m", "first")
    run("worktree", "add", "-q", "../wa")
    return run


@pytest.fixture
def worktree(git):
    return Worktree(git("rev-parse", "--absolute-git-dir", at="wa"))


@pytest.fixture
def process():
    """Start Python code in a process of its own, with a pipe to and from it; killed at the end if need be."""
    started = []

    def start(code, *arguments):
        package = str(Path(draftfs.__file__).parent.parent)
        one = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": package},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(one)
        return one

    yield start
    for one in started:
        one.kill()
        one.communicate()
