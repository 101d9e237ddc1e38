"""Real processes on a real repository: the set-up of the field cases, by the system's clock."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from draftfs import SystemClock
from tests.support import GIT_ENVIRONMENT, Field, Ran, draftfs, git, make_field

PROGRAM = [sys.executable, "-m", "draftfs"]


def environment(agent: str | None = None, **more: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("DRAFTFS_")}
    named = {} if agent is None else {"DRAFTFS_AGENT": agent}
    return {**plain, **GIT_ENVIRONMENT, **named, **more}


@dataclass
class Place:
    """Who runs what where. Answers are checked to be one JSON object that fits the exit status."""

    field: Field
    healthy: bool = True

    @property
    def root(self) -> Path:
        return self.field.root

    @property
    def wa(self) -> Path:
        return self.field.worktree("ann")

    @property
    def wb(self) -> Path:
        return self.field.worktree("bob")

    def me(self, *arguments: str, **more: str) -> Ran:
        return draftfs(*arguments, cwd=self.root, **more)

    def ann(self, *arguments: str, **more: str) -> Ran:
        return draftfs(*arguments, cwd=self.wa, agent="ann", **more)

    def bob(self, *arguments: str, **more: str) -> Ran:
        return draftfs(*arguments, cwd=self.wb, agent="bob", **more)

    def claimed(self, version: int = 1) -> dict:
        """ann holds job 1."""
        return answer(self.ann("claim", "1", "--seen", str(version), "--json"))

    def drafted(self, text: str = "v1\n") -> dict:
        """ann holds job 1 and has drafted docs/spec.md."""
        self.claimed()
        (self.wa / "docs/spec.md").write_text(text)
        return answer(self.ann("draft", "docs/spec.md", "--note", "first try", "--json"))["drafts"][0]

    def submitted(self) -> dict:
        draft = self.drafted()
        answer(self.ann("submit", "--json"))
        return draft


def envelope(ran: Ran) -> dict:
    """The one object on standard output."""
    assert ran.out.endswith("\n"), (ran.out, ran.err)
    assert ran.out.count("\n") == 1
    assert ran.out.isascii()
    found = json.loads(ran.out)
    assert found["schema"] == 1
    assert "Traceback" not in ran.err
    return found


def answer(ran: Ran, status: int = 0) -> dict:
    found = envelope(ran)
    assert (ran.status, found["ok"]) == (status, True), found
    assert set(found) == {"schema", "ok", "data"}
    return found["data"]


def refusal(ran: Ran, status: int, code: str) -> dict:
    found = envelope(ran)
    assert found["ok"] is False, found
    assert (ran.status, found["error"]["code"]) == (status, code), found
    assert set(found) == {"schema", "ok", "error"}
    assert set(found["error"]) == {"code", "message", "hint", "retryable", "details"}
    return found["error"]


@pytest.fixture(autouse=True)
def _this_draftfs(monkeypatch):
    """Processes run the code of this checkout, whatever is installed."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


@pytest.fixture(scope="session")
def still(tmp_path_factory) -> Place:
    """One for all tests that change nothing; ann holds nothing there, and nothing is drafted."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in GIT_ENVIRONMENT.items():
            patch.setenv(name, value)
        made = Place(make_field(tmp_path_factory.mktemp("still"), SystemClock()))
        assert made.wa.exists()
        before = made.field.me.log()
        yield made
        assert made.field.me.log() == before


@pytest.fixture
def place(tmp_path) -> Place:
    made = Place(make_field(tmp_path, SystemClock()))
    yield made
    if made.healthy:
        checkup = made.me("doctor", "--json")
        assert answer(checkup)["findings"] == []


def asking(*arguments: str, cwd: Path, agent: str | None = None, **more: str) -> tuple[int, subprocess.Popen[bytes]]:
    """Start the command with all three streams on a terminal; the terminal's other side, and the process."""
    leader, follower = pty.openpty()
    settings = environment(agent, **{"TERM": "xterm", "COLUMNS": "120", "GIT_PAGER": "cat", **more})
    process = subprocess.Popen(
        [*PROGRAM, *arguments], cwd=cwd, env=settings, stdin=follower, stdout=follower, stderr=follower
    )
    os.close(follower)
    return leader, process


def read_until(leader: int, end: bytes | None) -> bytes:
    """What the terminal shows, up to `end`; None is the end of the command."""
    shown = b""
    try:
        while (end is None or end not in shown) and (chunk := os.read(leader, 65536)):
            shown += chunk
    except OSError:  # Linux says EIO where the other side is closed
        pass
    return shown


def in_terminal(
    *arguments: str, cwd: Path, typed: bytes = b"", agent: str | None = None, **more: str
) -> tuple[int, str]:
    """Run the command with all three streams on a terminal; what it shows, and its status."""
    leader, process = asking(*arguments, cwd=cwd, agent=agent, **more)
    if typed:
        os.write(leader, typed)
    shown = read_until(leader, None)
    os.close(leader)
    return process.wait(), shown.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


__all__ = [
    "PROGRAM",
    "Place",
    "answer",
    "asking",
    "envelope",
    "environment",
    "git",
    "in_terminal",
    "read_until",
    "refusal",
]
