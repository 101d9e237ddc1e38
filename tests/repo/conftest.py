"""Real repositories, made by real git, untouched by the settings of whoever runs the tests."""

import os
import subprocess
from pathlib import Path

import pytest


class Checkout:
    """A folder, and git run in it. Names of files may hold any byte."""

    def __init__(self, top: Path) -> None:
        self.top = top

    def __str__(self) -> str:
        return str(self.top)

    def git(self, *arguments, text=None, check=True):
        done = subprocess.run(
            ["git", *arguments], cwd=self.top, check=check, capture_output=True, input=os.fsencode(text or "")
        )
        return os.fsdecode(done.stdout).removesuffix("\n")

    def write(self, path, content, mode=None):
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else os.fsencode(content))
        if mode is not None:
            file.chmod(mode)
        return str(file)

    def commit(self, message="c"):
        self.git("--literal-pathspecs", "add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def worktree(self, path, *arguments):
        self.git("worktree", "add", "-q", *arguments, str(path))
        return Checkout(Path(path))


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    settings = {
        "GIT_AUTHOR_NAME": "me",
        "GIT_AUTHOR_EMAIL": "me@example.org",
        "GIT_COMMITTER_NAME": "me",
        "GIT_COMMITTER_EMAIL": "me@example.org",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(tmp_path),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def empty(tmp_path):
    top = tmp_path / "main"
    top.mkdir()
    checkout = Checkout(top)
    checkout.git("init", "-q", "-b", "main")
    return checkout


@pytest.fixture
def main(empty):
    empty.write("docs/spec.md", "one\ntwo\n")
    empty.write("run.sh", "#!/bin/sh\n", 0o755)
    empty.commit()
    return empty


@pytest.fixture
def checkout_at():
    return Checkout
