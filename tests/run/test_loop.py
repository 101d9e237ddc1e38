"""One job after another."""

from __future__ import annotations

import json
import signal

from tests.run.conftest import WAITS
from tests.support import wait_for


def test_two_runners_do_all_jobs_once_each_and_end(runs):
    for number in range(3, 9):
        runs.field.me.add_job(f"job {number}", [f"new/{number}.txt"], after=[number - 1] if number == 8 else [])
    script = 'echo "$DRAFTFS_JOB" >>$OUT/done; mkdir -p new; echo "$DRAFTFS_AGENT" >"new/$DRAFTFS_JOB.txt"'
    both = [runs.begin("--loop", "--json", script=script, name=name) for name in ("ann", "bob")]

    def accepted() -> bool:
        me = runs.field.me
        for line in me.jobs():
            if line.job.state == "submitted":
                me.promote(line.job.id) if line.job.drafts else me.accept_job(line.job.id)
        return not me.jobs()

    wait_for(accepted)
    assert [each.status() for each in both] == [0, 0]
    done = [run for each in both for run in json.loads(each.out)["data"]["runs"]]
    assert sorted(run["job"] for run in done) == list(range(1, 9))
    assert all(run["ended"] == "submitted" for run in done)
    assert sorted((runs.out / "done").read_text().split()) == [str(each) for each in range(1, 9)]
    assert (runs.root / "new/8.txt").exists()


def test_after_a_failed_job_it_goes_on_and_used_up_ones_are_left(runs):
    running = runs.begin("--loop", script='echo "$DRAFTFS_JOB" >>$OUT/done; test "$DRAFTFS_JOB" = 2')
    wait_for(lambda: runs.job(1).state == "failed" and runs.job(2).state == "submitted")
    wait_for(lambda: "nothing ready" in running.err)
    assert sorted((runs.out / "done").read_text().split()) == ["1", "1", "1", "2"]
    running.send(signal.SIGINT)
    assert running.status() == 130


def test_a_signal_while_a_job_runs_ends_the_loop(runs):
    running = runs.begin("--loop", script=WAITS)
    runs.meets("pid")
    running.send(signal.SIGTERM)
    assert running.status() == 143
    assert [(runs.job(each).state, runs.job(each).attempts.used) for each in (1, 2)] == [("open", 0), ("open", 0)]


def test_a_program_that_cannot_be_started_ends_the_loop(runs):
    from tests.support import draftfs

    ran = draftfs("run", "--loop", "--", "no-such-program", cwd=runs.root, agent="ann")
    assert ran.status == 127
    assert [runs.job(each).attempts.used for each in (1, 2)] == [0, 0]
