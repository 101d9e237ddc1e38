"""The same kills with real processes and real signals: a sample, since each costs the start of an interpreter."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys

import pytest

from tests.actors import PROJECT, Actor, FileClock
from tests.crash.operations import NEW, SPEC, TEXT
from tests.faults import litter, records, shown
from tests.support import make_field


@pytest.fixture
def field(tmp_path, _plain_environment):
    made = make_field(tmp_path, FileClock(tmp_path / "clock"))
    yield made
    assert made.me.doctor().findings == ()
    assert litter(made.store) == []


def _ready_to_promote(field) -> None:
    field.me.add_job("all of it", [SPEC, TEXT, NEW])
    field.ann.claim(3, seen=1)
    field.write("ann", SPEC, "v1\n")
    field.write("ann", NEW, "new\n")
    top = field.worktree("ann")
    field.ann.draft([str(top / SPEC), str(top / NEW)])
    field.ann.draft([str(top / TEXT)], delete=True)
    field.ann.submit()


@pytest.mark.parametrize("number", [3, 20, 47, 48, 49, 54, 61, 62, 69, 73])
def test_promote_in_a_killed_process(field, number):
    _ready_to_promote(field)
    wanted = [[SPEC, 1], [TEXT, 1], [NEW, 1]]
    with Actor(field.root, clock=field.clock) as dying:
        dying.ask("promote", wanted, receipt="key", at=number)
        assert dying.answer() is None
        assert dying.process.wait() == -signal.SIGKILL
    with Actor(field.root, clock=field.clock) as person:
        done = person.call("promote", wanted, receipt="key")["ok"]
        assert [each["changed"] for each in done["promoted"]] == [True, True, True]
        assert done["replayed"] is (number > 47)
    seen = shown(field.root)
    assert seen[SPEC][1] == b"v1\n"
    assert seen[NEW][1] == b"new\n"
    assert TEXT not in seen
    events = field.me.log()
    assert sum(event.kind == "draft.promoted" for event in events) == 3
    assert sum(event.kind == "job.accepted" for event in events) == 1


@pytest.mark.parametrize("number", [5, 14, 30, 31, 33, 40])
def test_a_worker_killed_anywhere_goes_on_with_the_same_keys(field, number):
    top = field.worktree("ann")
    field.write("ann", SPEC, "v1\n")
    requests = [
        ("claim", (1,), {"seen": 1, "receipt": "c" * 43, "adopt": True}),
        ("draft", ([str(top / SPEC)],), {"receipt": "d" * 43}),
        ("submit", (), {"receipt": "s" * 43, "job": 1}),
    ]
    token = None
    for method, arguments, first in requests:
        named = first if token is None else {**first, "token": token}
        with Actor(top, "ann", clock=field.clock) as dying:
            dying.ask(method, *arguments, at=number, **named)
            dying.answer()
        with Actor(top, "ann", clock=field.clock) as worker:
            done = worker.call(method, *arguments, **named)
            token = done["ok"]["claim"]["token"] if method == "claim" else token
    assert field.me.job(1).job.state == "submitted"
    kinds = [event.kind for event in field.me.log()]
    assert [kinds.count(kind) for kind in ("claim.taken", "draft.added", "claim.submitted")] == [1, 1, 1]
    assert field.me.job(1).job.attempts.used == 1
    assert shown(field.root)["docs/spec.md.draft-0001@ann"][1] == b"v1\n"


def _traced(field, *injections: str, command: tuple[str, ...]) -> subprocess.CompletedProcess:
    inject = [part for each in injections for part in ("-e", f"inject={each}")]
    calls = ",".join(each.partition(":")[0] for each in injections) or "none"
    trace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", *inject]
    return subprocess.run(
        [*trace, sys.executable, "-m", "draftfs", *command],
        cwd=field.root,
        env={**_environment(), "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        timeout=60,
        check=False,
    )


def _environment() -> dict[str, str]:
    import os

    return {name: value for name, value in os.environ.items() if not name.startswith("DRAFTFS_")}


@pytest.fixture
def strace():
    tried = shutil.which("strace") and subprocess.run(
        ["strace", "-qq", "-o", "/dev/null", "-e", "trace=execve", "-e", "inject=openat:error=EIO", "true"],
        check=False,
        capture_output=True,
    )
    if not tried or tried.returncode:
        pytest.skip("strace cannot trace here")


@pytest.fixture
def real(tmp_path, _plain_environment):
    """A store on the machine's own clock, for the command line."""
    from draftfs import SystemClock

    made = make_field(tmp_path, SystemClock())
    yield made
    assert made.me.doctor().findings == ()
    assert litter(made.store) == []


@pytest.mark.parametrize("call", ["renameat2", "rename", "linkat", "pwrite64", "fdatasync"])
def test_the_kernel_kills_promote(real, strace, call):
    _ready_to_promote(real)
    wanted = ("promote", "--yes", f"{SPEC}.draft-0001@ann", f"{TEXT}.draft-0001.delete@ann", f"{NEW}.draft-0001@ann")
    killed = [_traced(real, f"{call}:signal=KILL:when={when}", command=wanted).returncode for when in (1, 2, 3)]
    assert killed[0] == -signal.SIGKILL
    done = _traced(real, command=wanted)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = shown(real.root)
    assert (seen[SPEC][1], seen[NEW][1], TEXT in seen) == (b"v1\n", b"new\n", False)
    assert sum(event.kind == "draft.promoted" for event in real.me.log()) == 3


def test_a_failed_sync_of_the_journal_is_an_unknown_outcome(real, strace):
    """The command says so, does not try again, and keeps its key: the same command once more happens once in all."""
    before = records(real.me)
    command = ("job", "add", "one more", "x", "--json")
    failed = _traced(real, "fdatasync:error=EIO:when=2", command=command)
    assert failed.returncode == 8, failed.stdout
    assert b'"unknown"' in failed.stdout
    done = _traced(real, command=command)
    assert done.returncode == 0
    assert len(real.me.jobs()) == 3
    assert records(real.me) != before
