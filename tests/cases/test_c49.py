"""C49: attempts that do not count. (Each way to end a claim, and the numbers: tests/jobs/test_attempts.py.)"""

from __future__ import annotations

from tests.protocol import data, error, refused, run, state


def test_a_worker_that_is_killed_twice(field):
    field.me.add_job("x", ["x.md"], attempts=2)
    for used in (1, 2):
        field.agent(f"worker-{used}").claim(3, seen=field.version(3), ttl=1)
        field.clock.advance(1)
        assert state(field, 3)[::2] == ("failed" if used == 2 else "open", used)
    with refused(field, "attempts_used_up") as caught:
        field.ann.claim(3, seen=field.version(3))
    assert "all 2 of its attempts" in caught.value.message
    assert "draftfs job retry 3" in caught.value.hint
    assert [line.job.id for line in field.me.status().undecided] == [3]
    assert field.ann.claim_next().job.id == 1
    version = field.version(3)
    retried = field.me.retry_job(3)
    assert (retried.job.state, retried.job.version, retried.job.attempts.max) == ("open", version + 1, 3)
    assert field.me.log()[-1].kind == "job.retried"


def test_ten_plain_releases_use_none(real):
    for _ in range(10):
        real.ann.claim(1, seen=real.version(1))
        real.ann.release()
    assert data(run(real, "me", "job", "show", "1"))["job"]["attempts"] == {"used": 0, "max": 3}


def test_the_third_claim_names_the_way_out(real):
    data(run(real, "me", "job", "add", "x", "x.md", "--attempts", "2"))
    for _ in range(2):
        data(run(real, "ann", "claim", "3", "--seen", str(real.version(3))))
        data(run(real, "ann", "release", "--failed", "--note", "no key"))
    refusal = error(run(real, "ann", "claim", "3", "--seen", str(real.version(3))), 3, "attempts_used_up")
    assert "job retry 3" in refusal["hint"]
    data(run(real, "me", "job", "retry", "3"))
    data(run(real, "ann", "claim", "3", "--seen", str(real.version(3))))
