"""The demo's stage: people and agents at their prompts, what they type and what it prints, and what must come of it."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_AGENT: Final = """
import json, subprocess, sys
for line in sys.stdin:
    done = subprocess.run(json.loads(line), capture_output=True, text=True)
    print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)
"""
"""An agent: a process that runs one command after another, as its model would tell it to."""


class Failed(Exception):
    """An outcome was not what it must be."""


class Place:
    """Somebody's prompt: who types there, in which folder."""

    def __init__(self, name: str, folder: Path, agent: str | None = None) -> None:
        self.name, self.folder = name, folder
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("DRAFTFS_", "GIT_"))}
        self.environment |= {"NO_COLOR": "1", "COLUMNS": "120", "GIT_PAGER": "cat", "GIT_CONFIG_GLOBAL": os.devnull}
        for role in ("AUTHOR", "COMMITTER"):
            self.environment |= {f"GIT_{role}_NAME": "Demo", f"GIT_{role}_EMAIL": "demo@example.invalid"}
        if agent is not None:
            self.environment["DRAFTFS_AGENT"] = agent

    def run(self, command: str, *, status: int = 0, shown: bool = True) -> str:
        """Run `command`, show it with its output as on a terminal, and insist on its exit status; returns the output."""
        if shown:
            return self.told(command, *on_terminal(_argv(command), self.folder, self.environment), "", status=status)
        done = subprocess.run(
            _argv(command), cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        return self.told(command, done.returncode, done.stdout, done.stderr, status=status, shown=False)

    def told(self, command: str, got: int, out: str, err: str, *, status: int, shown: bool = True) -> str:
        if shown:
            show(f"{self.name}$ {command}", *(out + err).splitlines())
            if got:
                show(f"  (exit status {got})")
        if got != status:
            raise Failed(f"{command}: exit status {got}, not {status}\n{out}{err}")
        return out

    def json(self, command: str, *, status: int = 0) -> dict[str, Any]:
        """The answer of `command --json`, not shown."""
        answer = json.loads(self.run(f"{command} --json", status=status, shown=False))
        data: dict[str, Any] = answer["data"]
        return data


class Agent(Place):
    """An agent at work in its worktree, as a process of its own that can be stopped."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name, folder, agent=name)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _AGENT],
            cwd=folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def begin(self, command: str) -> None:
        """Have the agent run `command`, without waiting for it."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(_argv(command)) + "\n")
        self.process.stdin.flush()

    def finish(self, command: str, *, status: int = 0, shown: bool = True) -> str:
        """Wait for the answer to a `begin`."""
        assert self.process.stdout is not None
        got, out, err = json.loads(self.process.stdout.readline())
        return self.told(command, got, out, err, status=status, shown=shown)

    def run(self, command: str, *, status: int = 0, shown: bool = True) -> str:
        self.begin(command)
        return self.finish(command, status=status, shown=shown)

    def signal(self, number: signal.Signals) -> None:
        os.killpg(self.process.pid, number)
        show(f"  ({self.name}'s process gets {number.name})")

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def token(agent: Agent, command: str) -> dict[str, Any]:
    """The claim as the agent has it, by repeating `command`: the receipt makes it the same answer."""
    answer = json.loads(agent.run(f"{command} --json", shown=False))["data"]
    return {**answer["claim"], "standing": answer["standing"], "replayed": answer["replayed"]}


def job(place: Place, number: int) -> dict[str, Any]:
    job: dict[str, Any] = place.json(f"draftfs job show {number}")["job"]
    return job


def version(place: Place, number: int) -> int:
    return int(job(place, number)["version"])


def head(place: Place, revision: str) -> str:
    return place.run(f"git rev-parse {revision}", shown=False).strip()


def wait_until_open(me: Place, number: int) -> None:
    _wait(lambda: job(me, number)["state"] == "open", f"the claim of job {number} does not lapse")
    me.run(f"draftfs job show {number}")


def wait_until_over(me: Place, number: int) -> None:
    _wait(lambda: job(me, number)["state"] != "claimed", f"the claim of job {number} does not lapse")


def wait_for(file: Path, *, filled: bool = False) -> None:
    _wait(lambda: file.exists() and (not filled or file.stat().st_size > 0), f"{file.name} does not come")


def _wait(come: Callable[[], bool], else_: str) -> None:
    end = time.monotonic() + 30
    while not come():
        if time.monotonic() > end:
            raise Failed(else_)
        time.sleep(0.1)


def on_terminal(argv: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """The exit status of a program, and what it writes where it finds a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        written = b""
        with suppress(OSError):  # how a terminal says that everybody has left it
            while chunk := os.read(ours, 1 << 16):
                written += chunk
    os.close(ours)
    return process.returncode, written.decode().replace("\r\n", "\n")


def _argv(command: str) -> list[str]:
    """The command with this very draftfs, whatever PATH says; through a shell where it closes a stream."""
    words = shlex.split(command)
    if words[0] == "draftfs":
        words = [sys.executable, "-m", "draftfs", *words[1:]]
    if words[-1] == ">&-":
        return ["sh", "-c", f"{shlex.join(words[:-1])} >&-"]
    return words


def insist(right: bool, what: str) -> None:
    if not right:
        raise Failed(f"it must be so that {what}")
    show(f"  (checked: {what})")


def tell(text: str) -> None:
    print(f"\n── {text} ──\n", flush=True)


def show(*lines: str) -> None:
    print("\n".join(lines), flush=True)
