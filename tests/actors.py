"""Real processes that work on one store, and do what a test tells them: one request a line, one answer a line.

`python -m tests.actors` is the process itself. It can be made to die, or to stop, before the n-th system call of a request
that changes a disk.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from draftfs import DraftfsError, DraftRef, Instant, Store
from draftfs.codec import to_plain
from draftfs.engine import fs
from tests.support import GIT_ENVIRONMENT, ManualClock

PROJECT = Path(__file__).resolve().parent.parent


class FileClock(ManualClock):
    """A clock that several processes are told the time by: it stands in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            self.instant = Instant(1_000_000_000_000, "boot-1", 1_800_000_000.0)

    @property
    def instant(self) -> Instant:
        return Instant(*json.loads(self.path.read_text()))

    @instant.setter
    def instant(self, instant: Instant) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps([instant.awake_ns, instant.boot, instant.wall]))
        fresh.rename(self.path)


class Actor:
    """One such process, in `cwd`. `prefix` is a command that runs it (strace, unshare)."""

    def __init__(
        self,
        cwd: Path,
        agent: str | None = None,
        *,
        clock: FileClock | None = None,
        lock_wait: float = 10.0,
        prefix: tuple[str, ...] = (),
        **popen: Any,
    ) -> None:
        self.options = {"cwd": str(cwd), "agent": agent, "lock_wait": lock_wait, "clock": clock and str(clock.path)}
        environment = {**os.environ, **GIT_ENVIRONMENT, "PYTHONPATH": str(PROJECT), "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "tests.actors"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
            env=environment,
            **popen,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def ask(self, method: str, *arguments: Any, at: int | None = None, then: str = "kill", **named: Any) -> None:
        """Send a request. With `at` the process dies ("kill") or stops itself ("stop") before that call, from 0."""
        request = {"method": method, "arguments": arguments, "named": named, "at": at, "then": then, **self.options}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def answer(self, seconds: float = 60.0) -> Any:
        """The next answer; None from a process that has died. {"error": CODE, …} for a refusal."""
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        assert ready, "no answer came"
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def call(self, method: str, *arguments: Any, **named: Any) -> Any:
        self.ask(method, *arguments, **named)
        return self.answer()

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def stopped(self, seconds: float = 60.0) -> Any:
        """Wait until the process has stopped itself; where it did, or its answer when it did not come that far."""
        found = self.answer(seconds)
        if found and "stopped" in found:
            while Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
                os.sched_yield()
        return found


# ── the process ──


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        try:
            found = {"ok": _do(request)}
        except DraftfsError as refusal:
            found = {"error": refusal.code, "message": refusal.message, "details": to_plain(refusal.details)}
        finally:
            fs.observer = None
        _say(found)


def _say(found: Any) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def _do(request: dict[str, Any]) -> Any:
    method, arguments, named = request["method"], request["arguments"], request["named"]
    options: dict[str, Any] = {"agent": request["agent"], "lock_wait": request["lock_wait"]}
    if request["clock"] is not None:
        options["clock"] = FileClock(Path(request["clock"]))
    if request["at"] is not None:
        _arm(request["at"], request["then"])
    if method == "limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (arguments[0], resource.RLIM_INFINITY))
        return None
    if method == "umask":
        return os.umask(arguments[0])
    if method == "init":
        return Store.init(request["cwd"], **options)[1]
    store = Store.open(request["cwd"], **options)
    if method in WORK:
        return WORK[method](store, *arguments, **named)
    if method == "promote":
        arguments = [[DraftRef(*each) for each in arguments[0]]]
    return to_plain(getattr(store, method)(*arguments, **named))


def _arm(number: int, then: str) -> None:
    count = -1

    def observer(call: str, path: str) -> None:
        nonlocal count
        count += 1
        if count != number:
            return
        if then == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        _say({"stopped": [call, path]})
        os.kill(os.getpid(), signal.SIGSTOP)

    fs.observer = observer


def _bump(store: Store, times: int) -> int:
    """So many short transactions, one after the other; how many came through."""
    for _ in range(times):
        store.engine.write(_one_more)
    return times


def _bump_until(store: Store, flag: str, enough: int) -> int:
    """Short transactions until somebody has made `enough` of them and says so in the file `flag`."""
    done = 0
    while not os.path.exists(flag):
        store.engine.write(_one_more)
        done += 1
        if done >= enough:
            Path(flag).touch()
    return done


def _one_more(tx: Any) -> None:
    tx.append("test.bump", "test")


def _hold(store: Store) -> None:
    """Stop in the middle of a transaction, with the lock held."""

    def step(_: Any) -> None:
        _say({"stopped": ["transaction", ""]})
        os.kill(os.getpid(), signal.SIGSTOP)

    store.engine.write(step)


WORK = {"bump": _bump, "bump_until": _bump_until, "hold": _hold}

if __name__ == "__main__":
    main()
