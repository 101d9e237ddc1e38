"""Real processes that wait for one path: some die, one is stopped, one is interrupted; nobody behind them waits for that."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

from tests.actors import Actor, FileClock
from tests.cli.conftest import answer, in_terminal, refusal
from tests.support import GIT_ENVIRONMENT, draftfs, heed_interrupts, make_field, wait_for


def waiting(field) -> list[str]:
    return sorted(os.listdir(field.store / "waiting"))


def test_the_killed_and_the_stopped_hold_nobody_up(tmp_path):
    field = make_field(tmp_path, FileClock(tmp_path / "clock"))
    field.ann.claim_paths(["x.md"])
    with ExitStack() as stack:
        actors = []
        for number in range(5):
            name = f"agent{number}"
            actors.append(stack.enter_context(Actor(field.worktree(name), name, clock=field.clock)))
            actors[-1].ask("claim_paths", [str(field.worktree(name) / "x.md")], wait=1000)
            wait_for(lambda count=number + 1: (field.store / "waiting").exists() and len(waiting(field)) == count)
        killed, stopped, *rest, last = actors
        killed.process.kill()
        killed.process.wait()
        stopped.process.send_signal(signal.SIGSTOP)
        wait_for(lambda: _state(stopped.process.pid) == "T")
        field.clock.advance(6)
        # Those who are there say so at the new time; only then is what the stopped one does not say a sign.
        wait_for(lambda: sum(_looked(field, name) for name in waiting(field)[-3:]) == 3)
        field.ann.release()
        for actor in (*rest, last):
            assert actor.answer()["ok"]["claim"]["holder"] == actor.options["agent"]
            if actor is last:
                stopped.process.send_signal(signal.SIGCONT)
                wait_for(lambda: _looked(field, "0002"))
            actor.call("release")
        assert stopped.answer()["ok"]["claim"]["holder"] == "agent1"
        assert stopped.call("release")["ok"]["job"]["state"] == "open"
    assert waiting(field) == ["0001"], "the killed one's: the next who waits clears it"
    assert field.me.doctor().findings == ()


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def _looked(field, name: str) -> bool:
    return int((field.store / "waiting" / name).read_text().split()[0]) == field.clock.now().awake_ns


def test_by_the_command_line(real):
    """It says what it waits for, gets it, times out with exit 7, and an interrupted one leaves no place behind."""
    wa, wb = real.worktree("ann"), real.worktree("bob")
    answer(draftfs("claim", "x.md", "--json", cwd=wa, agent="ann"))
    begun = time.monotonic()
    error = refusal(draftfs("claim", "x.md", "--wait", "0.3", "--json", cwd=wb, agent="bob"), 7, "timeout")
    assert 0.3 <= time.monotonic() - begun < 10
    assert (error["retryable"], error["details"]["clashes"][0]["holder"]) == (True, "ann")
    status, shown = in_terminal("claim", "x.md", "--wait", "0.3s", cwd=wb, agent="bob")
    assert (status, shown.count("waiting: x.md is held by ann")) == (7, 1)

    command = [sys.executable, "-m", "draftfs", "claim", "x.md", "--wait", "60", "--json"]
    environment = {**os.environ, **GIT_ENVIRONMENT, "DRAFTFS_AGENT": "bob"}

    def start():
        popen = {"cwd": wb, "env": environment, "stdout": subprocess.PIPE, "preexec_fn": heed_interrupts}
        process = subprocess.Popen(command, **popen)
        wait_for(lambda: waiting(real))
        return process

    with start() as interrupted:
        interrupted.send_signal(signal.SIGINT)
        assert interrupted.wait() == 130
    assert waiting(real) == []
    with start() as killed:
        killed.kill()
    pending = real.root / ".git/worktrees/wb/draftfs-worktree/pending"
    kept = os.listdir(pending)
    assert len(kept) == 1, (
        "the key of a request that nobody saw the answer of is kept: the same command goes on with it"
    )
    with start() as process:
        wait_for(lambda: _refused_by(real, "bob"))
        assert os.listdir(pending) == kept
        answer(draftfs("release", "--json", cwd=wa, agent="ann"))
        claimed = json.loads(process.stdout.read())["data"]
        assert (process.wait(), claimed["claim"]["holder"], claimed["replayed"]) == (0, "bob", False)
    assert (waiting(real), os.listdir(pending)) == ([], [])


def _refused_by(field, who: str) -> bool:
    """Whether a claim of x.md is refused for `who` waits for it."""
    return any(who in each.waiting for each in field.me.status().claims)
