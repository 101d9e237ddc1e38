"""A claim that is lost stops its program, all of it; a claim that is only hard to renew does not."""

from __future__ import annotations

import signal
import time

import pytest

from tests.run.conftest import WAITS, git, is_gone, lock_held
from tests.support import wait_for

STUBBORN = (
    "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ >$OUT/child.new; mv $OUT/child.new $OUT/child; while :; do sleep 0.05; done' & "
    + WAITS
)


def test_a_revoked_claim_stops_the_program_and_all_of_its_group(runs):
    running = runs.begin("1", "--ttl", "1s", "--grace", "0.3", script="echo half >docs/spec.md; " + STUBBORN)
    pids = [int(runs.meets("pid")), int(runs.meets("child"))]
    runs.field.me.revoke_job(1, because="changed our mind")
    assert running.status() == 4
    wait_for(lambda: all(map(is_gone, pids)))
    assert "changed our mind" in running.err
    assert runs.job(1).state == "open"
    assert not runs.events("draft.added")
    assert (runs.worktree("job-1-1") / "docs/spec.md").read_text() == "half\n"


def test_the_error_names_the_run(runs):
    running = runs.begin("1", "--ttl", "1s", "--json", script=WAITS)
    runs.meets("pid")
    runs.field.me.cancel_job(1, because="not needed")
    assert running.status() == 4
    import json

    error = json.loads(running.out)["error"]
    assert error["code"] == "fenced"
    assert error["details"]["run"]["ended"] == "lost"
    assert error["details"]["run"]["worktree"]["removed"]  # nothing was in it
    assert not runs.worktree("job-1-1").exists()


def test_stalled_past_the_deadline_it_notices_before_it_drafts_anything(runs):
    running = runs.begin("1", "--ttl", "1s", script="echo late >docs/spec.md; " + WAITS)
    pid = int(runs.meets("pid"))
    running.send(signal.SIGSTOP)
    (runs.out / "go").touch()  # the program ends well meanwhile
    wait_for(lambda: runs.job(1).state == "open")
    runs.field.bob.claim(1, seen=runs.job(1).version)
    running.send(signal.SIGCONT)
    assert running.status() == 4
    assert is_gone(pid)
    assert not runs.events("draft.added")
    assert runs.job(1).holder == "bob"
    assert (runs.worktree("job-1-1") / "docs/spec.md").read_text() == "late\n"


def test_it_lives_on_while_it_is_renewed(runs):
    running = runs.begin("1", "--ttl", "1s", script=WAITS)
    runs.meets("pid")
    wait_for(lambda: len(runs.events("claim.renewed")) >= 4)  # more than one ttl
    (runs.out / "go").touch()
    assert running.status() == 0
    assert runs.job(1).state == "submitted"


def test_a_busy_store_is_tried_again_until_the_deadline(runs):
    running = runs.begin("1", "--ttl", "3s", script=WAITS)
    runs.meets("pid")
    with lock_held(runs.field.store):
        wait_for(lambda: "renewing job 1 failed" in running.err)
    wait_for(lambda: "renewed job 1" in running.err)
    (runs.out / "go").touch()
    assert running.status() == 0


def test_a_store_that_stays_busy_past_the_deadline_loses_the_claim(runs):
    running = runs.begin("1", "--ttl", "1s", script=WAITS)
    pid = int(runs.meets("pid"))
    with lock_held(runs.field.store):
        wait_for(lambda: is_gone(pid))
    assert running.status() == 4
    assert runs.job(1).state == "open"


def test_a_killed_run_leaves_a_claim_that_lapses_and_a_program_that_is_refused(runs):
    import shlex
    import sys

    late = f"{shlex.quote(sys.executable)} -m draftfs draft docs/spec.md; echo $? >$OUT/status"
    running = runs.begin("1", "--ttl", "1s", script=f"{WAITS}; echo late >docs/spec.md; {late}")
    runs.meets("pid")
    running.send(signal.SIGKILL)
    running.process.wait()
    wait_for(lambda: runs.job(1).state == "open")
    (runs.out / "go").touch()
    assert runs.meets("status") == "4\n"


@pytest.mark.parametrize(("number", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_stops_the_program_and_gives_the_job_back(runs, number, status):
    running = runs.begin("1", script="echo half >docs/spec.md; " + WAITS)
    pid = int(runs.meets("pid"))
    running.send(signal.Signals[number])
    assert running.status() == status
    assert is_gone(pid)
    job = runs.job(1)
    assert (job.state, job.attempts.used, job.because) == ("open", 0, f"interrupted by {number}")
    assert (runs.worktree("job-1-1") / "docs/spec.md").read_text() == "half\n"


def test_a_second_ctrl_c_kills_at_once(runs):
    running = runs.begin("1", "--grace", "600", script=STUBBORN)
    pids = [int(runs.meets("pid")), int(runs.meets("child"))]
    running.send(signal.SIGINT)
    wait_for(lambda: "SIGINT: stopping the command" in running.err)
    time.sleep(0.1)
    assert not any(map(is_gone, pids))
    running.send(signal.SIGINT)
    assert running.status() == 130
    wait_for(lambda: all(map(is_gone, pids)))
    assert runs.job(1).attempts.used == 0
    assert not runs.worktree("job-1-1").exists()
    assert git("branch", "--format=%(refname:short)", cwd=runs.root) == "main\n"


def test_a_stopped_program_is_stopped_all_the_same(runs):
    running = runs.begin("1", script=WAITS)
    import os

    pid = int(runs.meets("pid"))
    os.kill(pid, signal.SIGSTOP)
    running.send(signal.SIGTERM)
    assert running.status() == 143
    assert is_gone(pid)


def test_a_worktree_that_the_program_destroyed_is_renewed_for_and_fails_the_job(runs):
    running = runs.begin("1", "--ttl", "1s", script="rm -rf .git docs; " + WAITS)
    runs.meets("pid")
    wait_for(lambda: len(runs.events("claim.renewed")) >= 4)
    (runs.out / "go").touch()
    assert running.status() != 0
    assert (runs.job(1).state, runs.job(1).attempts.used) == ("open", 1)
    assert "could not be handed in" in runs.job(1).because
    assert (runs.worktree("job-1-1") / "a.txt").exists()
