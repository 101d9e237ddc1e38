"""C47: many claim one job."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from draftfs.errors import DraftfsError
from tests.protocol import error, refused, run

AGENTS = [f"a{n}" for n in range(8)]
ROUNDS = 12
CLAIMANT = """
import json, sys
from draftfs import Store
from draftfs.errors import DraftfsError
store = Store.open(sys.argv[2], agent=sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    try:
        claimed = store.claim(asked["job"], seen=asked["seen"]) if asked else store.claim_next()
        told = {"job": claimed.job.id, "epoch": claimed.claim.epoch, "token": claimed.claim.token}
    except DraftfsError as refusal:
        told = {"code": refusal.code, **{k: refusal.details.get(k) for k in ("holder", "version")}}
    print(json.dumps(told), flush=True)
"""


@pytest.fixture
def claimants(real):
    """Eight processes, each with its store open in its own worktree, claiming at once when told to."""
    processes = []
    for name in AGENTS:
        command = [sys.executable, "-c", CLAIMANT, name, str(real.worktree(f"z{name}"))]
        processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    assert {process.stdout.readline() for process in processes} == {"ready\n"}

    def all_at_once(asked):
        for process in processes:
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
        return [json.loads(process.stdout.readline()) for process in processes]

    yield all_at_once
    for process in processes:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def test_one_winner_a_round(real, claimants):
    job = real.me.add_job("x", ["x.md"], attempts=ROUNDS).jobs[0]
    for turn in range(ROUNDS):
        seen = real.version(job.id)
        told = claimants({"job": job.id, "seen": seen})
        winners = [each for each in told if "epoch" in each]
        assert len(winners) == 1, told
        losers = [each for each in told if "epoch" not in each]
        assert {each["code"] for each in losers} == {"job_not_open"}
        name = AGENTS[told.index(winners[0])]
        assert {each["holder"] for each in losers} == {name}
        assert {each["version"] for each in losers} == {seen + 1}
        assert winners[0]["epoch"] == turn + 1
        real.me.revoke_job(job.id, because="next round")
        assert real.me.job(job.id).job.attempts.used == turn + 1


def test_three_jobs_for_three_winners(real, claimants):
    real.me.cancel_job(1)
    real.me.cancel_job(2)
    real.agent("ninth").claim_paths(["held.md"])
    numbers = [real.me.add_job(path, [path], attempts=ROUNDS).jobs[0].id for path in ("x", "y", "z", "held.md")]
    for _ in range(ROUNDS):
        told = claimants(None)
        assert sorted(each["job"] for each in told if "job" in each) == numbers[:3]
        assert sum(each.get("code") == "nothing_ready" for each in told) == 5
        for number in numbers[:3]:
            real.me.revoke_job(number, because="next round")


def test_the_same_name_is_no_key(real):
    """Two worktrees, one name, at once."""

    def claim(where):
        try:
            return real.open(real.worktree(where), agent="ann").claim(1, seen=1).standing
        except DraftfsError as refusal:
            return refusal.code

    for where in ("one", "two"):
        real.worktree(where)
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(claim, ("one", "two"))) == ["job_not_open", "live"]


def test_an_older_version(field):
    field.me.edit_job(1, title="other")
    with refused(field, "stale_version"):
        field.ann.claim(1, seen=1)
    field.ann.claim(1, seen=2)
    with refused(field, "job_not_open"):
        field.bob.claim(1, seen=2)


def test_a_second_holder_in_one_worktree(real):
    real.ann.claim(1, seen=1)
    refusal = error(run(real, "ann", "claim", "2", "--seen", "1", "--as", "bob"), 3, "worktree_held")
    assert refusal["details"]["holder"] == "ann"
