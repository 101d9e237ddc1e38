"""`draftfs run` as a process of its own, with small shell scripts as the programs that it runs."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import GIT_ENVIRONMENT, Field, git, heed_interrupts, wait_for


def environment(**more: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("DRAFTFS_")}
    return {**plain, **GIT_ENVIRONMENT, **more}


class Running:
    """A `draftfs run` in the background; what it says is read from files."""

    def __init__(self, base: Path, arguments: list[str], cwd: Path, **more: str) -> None:
        self._files = [base / f"{name}-{os.urandom(4).hex()}" for name in ("out", "err")]
        with open(self._files[0], "wb") as out, open(self._files[1], "wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "draftfs", "run", *arguments],
                cwd=cwd,
                env=environment(**more),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=heed_interrupts,  # noqa: PLW1509 - no thread is running here
            )

    @property
    def out(self) -> str:
        return self._files[0].read_text(errors="surrogateescape")

    @property
    def err(self) -> str:
        return self._files[1].read_text(errors="surrogateescape")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def status(self) -> int:
        status = self.process.wait(30)
        assert "Traceback" not in self.err, self.err
        assert "internal" not in self.err, self.err
        return status


class Runs:
    """Runs on one repository. A script finds `$OUT`, a folder in which it meets the test."""

    def __init__(self, field: Field) -> None:
        self.field, self.out = field, field.base / "meet"
        self.out.mkdir()
        self.started: list[Running] = []

    @property
    def root(self) -> Path:
        return self.field.root

    def begin(self, *arguments: str, script: str, cwd: Path | None = None, name: str = "ann", **more: str) -> Running:
        command = [*arguments, "--as", name, "--", "sh", "-c", script]
        running = Running(self.field.base, command, cwd or self.root, OUT=str(self.out), **more)
        self.started.append(running)
        return running

    def run(self, *arguments: str, script: str, status: int = 0, **more: object) -> dict:
        """Run to the end with --json: the record of the one job, or the error."""
        running = self.begin(*arguments, "--json", script=script, **more)
        assert running.status() == status, (running.out, running.err)
        answer = json.loads(running.out)
        return answer["data"]["runs"][0] if answer["ok"] else answer["error"]

    def meets(self, name: str) -> str:
        """Wait for the file of this name that a script writes; what it holds."""
        wait_for((self.out / name).exists)
        return wait_for((self.out / name).read_text)

    def worktree(self, name: str) -> Path:
        return self.field.base / "r.jobs" / name

    def job(self, number: int):
        return self.field.me.job(number).job

    def events(self, kind: str) -> list:
        return [each for each in self.field.me.log(after=0, limit=500) if each.kind == kind]


WAITS = 'echo $$ >"$OUT/pid.new"; mv "$OUT/pid.new" "$OUT/pid"; while [ ! -e "$OUT/go" ]; do sleep 0.02; done'
"""A program that says that it runs, and goes on when the test says so."""


def is_gone(pid: int) -> bool:
    """Whether the process has ended, waited for or not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


@contextmanager
def lock_held(store: Path) -> Iterator[None]:
    import fcntl

    with open(store / "lock", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
def runs(real) -> Iterator[Runs]:
    made = Runs(real)
    yield made
    for each in made.started:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()


__all__ = ["WAITS", "Running", "Runs", "environment", "git", "is_gone", "lock_held", "shlex"]
