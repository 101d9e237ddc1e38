"""`draftfs demo`: the story of the late worker on a real repository, with real processes, checked at every step.

A copy of the sample repository, two worktrees, two agents as processes of their own. One of them is stopped in the middle
of its work and comes back after another has taken over; then two programs that know nothing of draftfs do jobs under
`draftfs run`, one of whose runs is killed and one stopped. Every command is shown as a person would type it, with what it
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
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

_PACKAGE: Final = Path(__file__).parent
_PAGE: Final = "docs/faq.md"
_JOB: Final = 9
_HEADING: Final = "## What happens when a product does not fit into the oven?"

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
    _tell("A project, its store and hooks, a server that it is pushed to, and the work to be done")
    _set_up(me, root)
    me.run("draftfs worktree add ../ann --as ann")
    me.run("draftfs worktree add ../bob --as bob")
    ann, bob = Agent("ann", base / "ann"), Agent("bob", base / "bob")
    agents += [ann, bob]

    _tell("Ann claims a job for three seconds, commits her first words, and stalls in the middle of it")
    first = f"draftfs claim {_JOB} --seen {_version(me, _JOB)} --ttl 3s --receipt ann-claims"
    ann.run(first)
    old = _token(ann, first)
    _answer(ann, "Nobody bakes them.")
    ann.run("git commit -q -a -m 'An answer'")
    ann.signal(signal.SIGSTOP)
    late = f"draftfs draft {_PAGE}"
    ann.begin(late)

    _tell("Her claim lapses. Bob takes over; his answer is lost, and the same command gives him his token all the same")
    _wait_until_open(me, _JOB)
    second = f"draftfs claim {_JOB} --seen {_version(me, _JOB)} --receipt bob-claims"
    bob.run(f"{second} >&-", status=8)
    bob.run(second)
    new = _token(bob, second)
    _insist(new["standing"] == "live" and new["replayed"], "Bob's retry is a replay, and live")
    _insist(new["token"] != old["token"] and new["epoch"] > old["epoch"], "a new claim is a new token")
    _answer(bob, "They are split into as few loads as possible, the fullest first.")
    bob.run("git commit -q -a -m 'The answer to the oldest question'")
    bob.run(f"draftfs draft {_PAGE} --note 'split, fullest first'")
    bob.run("draftfs submit")

    _tell("Ann wakes up. She re-reads the newest version, and is refused at every write")
    ann.signal(signal.SIGCONT)
    ann.finish(late, status=4)
    ann.run(f"draftfs job show {_JOB}")
    stolen = f"{late} --token {old['token']} --job {_JOB}"
    for command in (late, "draftfs renew", "draftfs submit", "draftfs release", stolen):
        ann.run(command, status=4)
    ann.run(first)
    again = _token(ann, first)
    _insist(again["token"] == old["token"], "her retry gives Ann her old token")
    _insist(again["standing"] == "superseded", f"... and says how it stands: {again['standing']}")

    _commit_late(me, ann)
    _choose(me, bob, root)
    _run_programs(me, base, agents)


def _commit_late(me: Place, ann: Agent) -> None:
    _tell("She tries git. Her branch does not move, whichever way she takes")
    _answer(ann, "Nobody bakes them, and nobody will.")
    branch = _head(ann, "ann")
    for command, status in (
        ("git commit -q -a -m 'Better late than never'", 128),
        ("git commit -q -a --no-verify -m 'Better late than never'", 128),
        ("git commit -q -a --amend -m 'An answer, again'", 128),
    ):
        ann.run(command, status=status)
    ann.run("git stash -q")
    ann.run("git switch -q -c tidy main")
    ann.run("git cherry-pick ann", status=128)
    ann.run("git cherry-pick --abort")
    ann.run("git merge -q --no-ff -m 'Take it all the same' ann", status=128)
    ann.run("git merge --abort")
    made = ann.run("git commit-tree -p main -m 'By hand' ann^{tree}").strip()
    ann.run(f"git update-ref refs/heads/main {made}", status=128)
    _insist(_head(ann, "ann") == branch, "her branch stands where it stood")
    _insist(_head(ann, "tidy") == _head(ann, "main") == _head(me, "HEAD"), "and so do the others")

    _tell(
        "Without hooks she can commit. Then the push is refused, by her side's hook and by the server's; and it is found"
    )
    ann.run("git switch -q --detach main")
    ann.run("git -c core.hooksPath=/dev/null cherry-pick ann", status=0)
    ann.run("git push -q origin HEAD:refs/heads/answer", status=1)
    ann.run("git push -q --no-verify origin HEAD:refs/heads/answer", status=1)
    ann.run("git push -q --no-verify origin HEAD:refs/tags/answer", status=1)
    _insist(not me.run("git ls-remote origin 'refs/*/answer'", shown=False), "nothing of it is on the server")
    me.run("draftfs verify main..ann", status=6)
    ann.run("git switch -q ann")


def _choose(me: Place, bob: Agent, root: Path) -> None:
    _tell("A person looks, and chooses. The job that comes after can be claimed only then")
    me.run("draftfs ls")
    draft = f"{_PAGE}.draft-0001@bob"
    me.run(f"draftfs diff {draft}")
    bob.run(f"draftfs claim {_JOB + 1} --seen 1", status=3)
    me.run(f"draftfs promote {draft} --yes")
    _insist((root / _PAGE).read_bytes() == (bob.folder / _PAGE).read_bytes(), "the target is byte for byte Bob's draft")
    _insist((root / draft).exists(), "the draft is still there")
    _insist(_job(me, _JOB)["state"] == "accepted", "the job is accepted")
    me.run("git commit -q -a -m 'The answer to the oldest question'")
    bob.run(f"draftfs claim {_JOB + 1} --seen 1")
    bob.run("draftfs release --note 'after lunch'")
    bob.run("git push -q origin bob")
    me.run("git push -q origin main")
    me.run("draftfs verify origin/start..main")


def _run_programs(me: Place, base: Path, agents: list[Agent]) -> None:
    _tell(
        "Programs that know nothing of draftfs, under draftfs run. The first run is killed; its program goes on, and is late"
    )
    dora = Agent("dora", me.folder)
    agents.append(dora)
    late = "while [ -d ../../bakery -a ! -e ../../go ]; do sleep 0.1; done; echo more >>data/recipes.csv; git commit -q -a -m late 2>../../late-says; echo $? >../../late"
    program = f'agents/add-product.sh "$DRAFTFS_TEXT" && touch ../../dora && {late}'
    dora.begin(f"draftfs run 2 --ttl 3s -- sh -c '{program}'")
    _wait_for(base / "dora")
    dora.signal(signal.SIGKILL)
    _wait_until_open(me, 2)

    _tell("The second is stopped, and its program is in the middle of something. It comes back, and stops it")
    emil = Agent("emil", me.folder)
    agents.append(emil)
    command = "draftfs run 2 --ttl 3s -- sh -c 'touch ../../emil; while [ -d ../../bakery ]; do sleep 0.1; done'"
    emil.begin(command)
    _wait_for(base / "emil")
    emil.signal(signal.SIGSTOP)
    _wait_until_over(me, 2)
    emil.signal(signal.SIGCONT)
    emil.finish(command, status=4)
    (base / "go").touch()
    _wait_for(base / "late", filled=True)
    _show(*(f"  | {line}" for line in (base / "late-says").read_text().splitlines()))
    status = (base / "late").read_text().strip()
    _insist(status == "128", f"the first one's program could not commit any more (git's exit status: {status})")
    _insist(_job(me, 2)["state"] == "failed", "two attempts, and both are used")

    _tell(
        "A person grants another attempt. This time nothing happens to it, nor to the next program, which commits by itself"
    )
    me.run("draftfs job retry 2")
    me.run("draftfs run 2 --as cleo -- sh -c 'agents/add-product.sh \"$DRAFTFS_TEXT\"'")
    me.run("draftfs run --next --as fred -- sh -c 'agents/decide.py \"$DRAFTFS_TEXT\"'")
    me.run("draftfs ls")
    me.run("draftfs promote --job 2 --yes")
    me.run("draftfs promote --job 1 --yes")
    me.run("git commit -q -a -m 'Onion bread, and a decision'")
    _insist("Onion bread" in me.run("bin/daysheet wed", shown=False), "the bakery has its onion bread")
    me.run("draftfs job list")
    me.run("draftfs log --limit 14")
    me.run("draftfs verify origin/main..main")
    me.run("draftfs doctor")


def _set_up(me: Place, root: Path) -> None:
    beside = _PACKAGE.parent / "sample_repo"
    shutil.copytree(beside if beside.is_dir() else _PACKAGE / "sample_repo", root)
    me.run("git init -q -b main .")
    me.run("git add -A")
    me.run("git commit -q -m 'A day sheet for the bakery'")
    me.run("draftfs init --hooks")
    me.run("git init -q --bare ../server.git")
    me.run(f"git -C ../server.git config draftfs.store {root}/.git/draftfs")
    me.run("draftfs hooks install -C ../server.git")
    me.run("git remote add origin ../server.git")
    me.run("git push -q -u origin main main:start")
    me.run("draftfs job add --from jobs.yaml")
    me.run(f"draftfs job add 'Answer the oldest question' {_PAGE}")
    me.run(f"draftfs job add 'Say it in the guide, too' docs/guide.md --after {_JOB}")


def _answer(agent: Agent, answer: str) -> None:
    target = agent.folder / _PAGE
    before, heading, rest = target.read_text("utf-8").partition(_HEADING)
    after = "\n## " + rest.partition("\n## ")[2]
    target.write_text(f"{before}{heading}\n\n{answer}\n{after}", "utf-8")
    _show(f"  ({agent.name} edits {_PAGE})")


def _token(agent: Agent, command: str) -> dict[str, Any]:
    """The claim as the agent has it, by repeating `command`: the receipt makes it the same answer."""
    answer = json.loads(agent.run(f"{command} --json", shown=False))["data"]
    return {**answer["claim"], "standing": answer["standing"], "replayed": answer["replayed"]}


def _job(place: Place, number: int) -> dict[str, Any]:
    job: dict[str, Any] = place.json(f"draftfs job show {number}")["job"]
    return job


def _version(place: Place, number: int) -> int:
    return int(_job(place, number)["version"])


def _head(place: Place, revision: str) -> str:
    return place.run(f"git rev-parse {revision}", shown=False).strip()


def _wait_until_open(me: Place, number: int) -> None:
    _wait(lambda: _job(me, number)["state"] == "open", f"the claim of job {number} does not lapse")
    me.run(f"draftfs job show {number}")


def _wait_until_over(me: Place, number: int) -> None:
    _wait(lambda: _job(me, number)["state"] != "claimed", f"the claim of job {number} does not lapse")


def _wait_for(file: Path, *, filled: bool = False) -> None:
    _wait(lambda: file.exists() and (not filled or file.stat().st_size > 0), f"{file.name} does not come")


def _wait(come: Callable[[], bool], else_: str) -> None:
    end = time.monotonic() + 30
    while not come():
        if time.monotonic() > end:
            raise Failed(else_)
        time.sleep(0.1)


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
