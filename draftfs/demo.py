"""`draftfs demo`: the story of the late worker on a real repository, with real processes, checked at every step.

A copy of the sample repository, two worktrees, two agents as processes of their own. One of them is stopped in the middle
of its work and comes back after another has taken over. Every command is shown as a person would type it, with what it
printed; the first outcome that is not as it must be ends the demo with status 1.
"""

from __future__ import annotations

import json
import os
import pty
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_PACKAGE: Final = Path(__file__).parent
_SPEC: Final = "docs/specification.md"

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
            return self.told(command, *self._on_terminal(command), "", status=status)
        done = subprocess.run(
            _argv(command), cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        return self.told(command, done.returncode, done.stdout, done.stderr, status=status, shown=False)

    def _on_terminal(self, command: str) -> tuple[int, str]:
        """The exit status of `command`, and what it writes where it finds a terminal."""
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            _argv(command),
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        ) as process:
            os.close(theirs)
            written = b""
            with suppress(OSError):  # how a terminal says that everybody has left it
                while chunk := os.read(ours, 1 << 16):
                    written += chunk
        os.close(ours)
        return process.returncode, written.decode().replace("\r\n", "\n")

    def told(self, command: str, got: int, out: str, err: str, *, status: int, shown: bool = True) -> str:
        if shown:
            _show(f"{self.name}$ {command}", *(out + err).splitlines())
            if got:
                _show(f"  (exit status {got})")
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
        _show(f"  ({self.name}'s process gets {number.name})")

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def run() -> int:
    """Play it all through in a temporary folder; 0 when every outcome was right."""
    started = time.monotonic()
    base = Path(tempfile.mkdtemp(prefix="draftfs-demo-"))
    agents: list[Agent] = []
    try:
        _play(base, agents)
    except Failed as fault:
        print(f"\nTHE DEMO FAILED: {fault}", file=sys.stderr)
        return 1
    finally:
        for agent in agents:
            agent.stop()
        shutil.rmtree(base, ignore_errors=True)
    _tell(f"Every outcome was as it must be. ({time.monotonic() - started:.0f} s)")
    return 0


def _play(base: Path, agents: list[Agent]) -> None:
    root = base / "bakery"
    me = Place("me", root)
    _tell("A project, its store, and the work to be done")
    _set_up(me, root)
    me.run("draftfs worktree add ../ann --as ann")
    me.run("draftfs worktree add ../bob --as bob")
    ann, bob = Agent("ann", base / "ann"), Agent("bob", base / "bob")
    agents += [ann, bob]

    _tell("Ann claims the first job, for two seconds, and stalls in the middle of it")
    version = me.json("draftfs job show 1")["job"]["version"]
    first = f"draftfs claim 1 --seen {version} --ttl 2s --receipt ann-claims"
    ann.run(first)
    old = _token(ann, first)
    ann.signal(signal.SIGSTOP)
    late = f"draftfs draft {_SPEC}"
    ann.begin(late)

    _tell("Her claim lapses. Bob takes over; his answer is lost, and the same command gives him his token all the same")
    _wait_until_open(me)
    version = me.json("draftfs job show 1")["job"]["version"]
    second = f"draftfs claim 1 --seen {version} --receipt bob-claims"
    bob.run(f"{second} >&-", status=8)
    bob.run(second)
    new = _token(bob, second)
    _insist(new["standing"] == "live" and new["replayed"], "Bob's retry is a replay, and live")
    _insist(new["token"] != old["token"] and new["epoch"] > old["epoch"], "a new claim is a new token")
    _write(bob, "## 5. Products that do not fit\n\nSplit into as few loads as possible, the fullest first.\n")
    bob.run(f"draftfs draft {_SPEC} --note 'split, fullest first'")
    bob.run("draftfs submit")

    _tell("Ann wakes up. She re-reads the newest version, and is refused at every write")
    _write(ann, "## 5. Products that do not fit\n\nNobody bakes them.\n")
    ann.signal(signal.SIGCONT)
    ann.finish(late, status=4)
    ann.run("draftfs job show 1")
    for command in (
        late,
        "draftfs renew",
        "draftfs submit",
        "draftfs release",
        f"{late} --token {old['token']} --job 1",
    ):
        ann.run(command, status=4)
    ann.run(first)
    again = _token(ann, first)
    _insist(again["token"] == old["token"], "her retry gives Ann her old token")
    _insist(again["standing"] == "superseded", f"... and says how it stands: {again['standing']}")

    _choose(me, bob, root)


def _choose(me: Place, bob: Agent, root: Path) -> None:
    _tell("A person looks, and chooses. The job that comes after can be claimed only then")
    me.run("draftfs ls")
    draft = f"{_SPEC}.draft-0001@bob"
    me.run(f"draftfs diff {draft}")
    bob.run("draftfs claim 3 --seen 1", status=3)
    me.run(f"draftfs promote {draft} --yes")
    _insist((root / _SPEC).read_bytes() == (bob.folder / _SPEC).read_bytes(), "the target is byte for byte Bob's draft")
    _insist((root / f"{_SPEC}.draft-0001@bob").exists(), "the draft is still there")
    _insist(me.json("draftfs job show 1")["job"]["state"] == "accepted", "the job is accepted")
    bob.run("draftfs claim 3 --seen 1")
    me.run("draftfs job list")
    me.run("draftfs log --limit 12")
    me.run("draftfs doctor")


def _set_up(me: Place, root: Path) -> None:
    beside = _PACKAGE.parent / "sample_repo"
    shutil.copytree(beside if beside.is_dir() else _PACKAGE / "sample_repo", root)
    me.run("git init -q -b main .")
    me.run("git add -A")
    me.run("git commit -q -m 'A day sheet for the bakery'")
    me.run("draftfs init")
    me.run("draftfs job add --from jobs.yaml")


def _write(agent: Agent, text: str) -> None:
    target = agent.folder / _SPEC
    head = target.read_text("utf-8").partition("## 5.")[0]
    target.write_text(head + text, "utf-8")
    _show(f"  ({agent.name} edits {_SPEC})")


def _token(agent: Agent, command: str) -> dict[str, Any]:
    """The claim as the agent has it, by repeating `command`: the receipt makes it the same answer."""
    answer = json.loads(agent.run(f"{command} --json", shown=False))["data"]
    return {**answer["claim"], "standing": answer["standing"], "replayed": answer["replayed"]}


def _wait_until_open(me: Place) -> None:
    end = time.monotonic() + 15
    while me.json("draftfs job show 1")["job"]["state"] != "open":
        if time.monotonic() > end:
            raise Failed("ann's claim does not lapse")
        time.sleep(0.1)
    me.run("draftfs job show 1")


def _argv(command: str) -> list[str]:
    """The command with this very draftfs, whatever PATH says; through a shell where it closes a stream."""
    words = shlex.split(command)
    if words[0] == "draftfs":
        words = [sys.executable, "-m", "draftfs", *words[1:]]
    if words[-1] == ">&-":
        return ["sh", "-c", f"{shlex.join(words[:-1])} >&-"]
    return words


def _insist(right: bool, what: str) -> None:
    if not right:
        raise Failed(f"it must be so that {what}")
    _show(f"  (checked: {what})")


def _tell(text: str) -> None:
    print(f"\n── {text} ──\n", flush=True)


def _show(*lines: str) -> None:
    print("\n".join(lines), flush=True)
