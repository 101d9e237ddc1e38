"""A repository whose hooks start a stand-in for the program: it notes what it was given, and ends as it is told."""

from __future__ import annotations

import os
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from draftfs.git.hooks.text import HOOKS, Program, Text
from tests.support import GIT_ENVIRONMENT, Ran, git

STAND_IN = """#!/bin/sh
here=${0%/*}
shift 4
{ printf '%s\\n' "$*"; cat; printf '\\n.\\n'; } >>"$here/calls"
read -r status <"$here/status"
exit "$status"
"""


@dataclass
class Shim:
    """`root` has a store and a worktree `wa`; ann holds, or held, something there when `held()` was called."""

    base: Path

    @property
    def root(self) -> Path:
        return self.base / "r"

    @property
    def wa(self) -> Path:
        return self.base / "wa"

    @property
    def hooks(self) -> Path:
        return self.root / ".git/hooks"

    @property
    def python(self) -> Path:
        return self.base / "it's here" / "python"

    def held(self) -> None:
        folder = self.root / ".git/worktrees/wa/draftfs-worktree"
        folder.mkdir()
        (folder / "held.json").write_text("{}")

    def answer(self, status: int) -> None:
        (self.python.parent / "status").write_text(f"{status}\n")

    def calls(self) -> list[list[str]]:
        """Of each start of the program: its arguments, then the lines of its standard input. Forgets them."""
        file = self.python.parent / "calls"
        said = file.read_text().split("\n.\n")[:-1] if file.exists() else []
        file.unlink(missing_ok=True)
        return [[line for line in each.strip().split("\n") if line] for each in said]

    def git(self, *arguments: str, cwd: Path | None = None, **more: str) -> Ran:
        environment = {**os.environ, **GIT_ENVIRONMENT, **more}
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.root,
            env=environment,
            capture_output=True,
            errors="surrogateescape",
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def commit(self, cwd: Path | None = None, *flags: str, **more: str) -> Ran:
        return self.git("commit", "--allow-empty", "-m", "x", *flags, cwd=cwd, **more)

    def compose(self, cwd: Path | None = None, **more: str) -> Ran:
        """As `commit`, with an editor: then the early look starts the program, too."""
        return self.git("-c", "core.editor=echo x >", "commit", "--allow-empty", cwd=cwd, **more)

    def direct(self, hook: str, *arguments: str, stdin: str, cwd: Path | None = None, **environment: str) -> Ran:
        """Start the hook as git does in the main checkout, with this environment and no more."""
        done = subprocess.run(
            [str(self.hooks / hook), *arguments],
            cwd=cwd or self.root,
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def put(self, hook: str, kept: str = "") -> None:
        file = self.hooks / hook
        file.write_bytes(Text(hook, Program(str(self.python), "BOOT"), kept).encoded())
        file.chmod(0o755)

    def foreign(self, hook: str, script: str) -> Path:
        """Have ours chained to this one."""
        kept = self.hooks / f"{hook}.before-draftfs-0"
        kept.write_text(script)
        kept.chmod(0o755)
        self.put(hook, kept.name)
        return kept


@pytest.fixture
def shim(tmp_path, _plain_environment) -> Shim:
    made = Shim(tmp_path / "a 'quoted' \"name\"\nof two lines")
    made.base.mkdir()
    git("init", "-q", "-b", "main", str(made.root), cwd=made.base)
    git("commit", "-q", "--allow-empty", "-m", "start", cwd=made.root)
    git("worktree", "add", "-q", "-b", "wa", str(made.wa), cwd=made.root)
    (made.root / ".git/draftfs").mkdir()
    (made.root / ".git/draftfs/store.yaml").write_text("")
    (made.root / ".git/hooks").mkdir(exist_ok=True)
    made.python.parent.mkdir()
    made.python.write_text(STAND_IN)
    made.python.chmod(made.python.stat().st_mode | stat.S_IXUSR)
    made.answer(0)
    for hook in HOOKS:
        made.put(hook)
    yield made
    assert not list(made.hooks.glob("*.new"))
