"""Attempts: spent by the claim itself, given back by a plain release alone; the last one fails the job at that moment."""

from __future__ import annotations

import pytest

from tests.protocol import kinds, refused, run, state


def lapse(field):
    field.clock.advance(3600)
    field.me.jobs()


def reject(field):
    field.ann.submit()
    field.me.reject_job(1, because="x")


KEEPS_IT_SPENT = {
    "lapse": lapse,
    "release --failed": lambda field: field.ann.release(failed=True),
    "reject": reject,
    "revoke": lambda field: field.me.revoke_job(1, because="x"),
}


def claim(field, job=1):
    return field.ann.claim(job, seen=field.version(job))


def test_an_attempt_is_spent_in_the_claims_own_transaction(field):
    assert claim(field).job.attempts.used == 1
    assert state(field) == ("claimed", 2, 1)


def test_a_plain_release_gives_it_back(field):
    for _ in range(5):
        claim(field)
        assert field.ann.release().job.attempts.used == 0
    assert state(field)[::2] == ("open", 0)


@pytest.mark.parametrize("end", KEEPS_IT_SPENT)
def test_the_last_attempt_fails_the_job_at_that_moment(field, end):
    for used in (1, 2, 3):
        claim(field)
        KEEPS_IT_SPENT[end](field)
        assert state(field)[::2] == ("failed" if used == 3 else "open", used)
    with refused(field, "attempts_used_up"):
        claim(field)
    assert field.ann.claim_next().job.id == 2


def test_submitting_and_cancelling_keep_it_spent_too(field):
    claim(field)
    field.ann.submit()
    assert state(field)[2] == 1
    field.me.cancel_job(1)
    assert state(field) == ("cancelled", 4, 1)


def test_a_refused_claim_costs_none(field):
    field.bob.claim_paths(["docs"])
    for seen in (1, 9):
        with refused(field, "path_clash" if seen == 1 else "stale_version"):
            field.ann.claim(1, seen=seen)
    assert state(field)[2] == 0


def test_a_repeated_claim_costs_none(field):
    for _ in range(3):
        field.ann.claim(1, seen=1, receipt="K")
    assert state(field)[2] == 1


@pytest.mark.parametrize("granted", [1, 4])
def test_a_person_grants_more(field, granted):
    field.me.add_job("one try", ["x.md"], attempts=1)
    claim(field, 3)
    field.ann.release(failed=True)
    field.me.retry_job(3, attempts=granted)
    job = field.me.job(3).job
    assert (job.state, job.attempts.used, job.attempts.max) == ("open", 1, 1 + granted)
    assert kinds(field)[-1] == "job.retried"
    assert claim(field, 3).job.attempts.used == 2


def test_more_can_be_granted_before_they_are_used_up(field):
    field.me.retry_job(1, attempts=2)
    assert field.me.job(1).job.attempts.max == 5


def test_a_released_claim_of_the_last_attempt_leaves_the_job_open(field):
    field.me.add_job("one try", ["x.md"], attempts=1)
    claim(field, 3)
    field.ann.release()
    assert state(field, 3) == ("open", 3, 0)


def test_the_settings_say_how_many_there_are(field):
    field.me.configure("job.attempts", "1")
    assert field.me.add_job("x", ["x.md"]).jobs[0].attempts.max == 1
    assert field.me.job(1).job.attempts.max == 3, "jobs that are there keep theirs"


@pytest.mark.parametrize("attempts", [0, -1])
def test_numbers_that_are_none(field, attempts):
    with refused(field, "usage"):
        field.me.add_job("x", ["x.md"], attempts=attempts)
    with refused(field, "usage"):
        field.me.retry_job(1, attempts=attempts)


def test_processes(real):
    for text in ("0", "-1", "two", "1_0", ""):
        assert run(real, "me", "job", "add", "x", "x.md", f"--attempts={text}").status == 2
    assert run(real, "me", "job", "add", "x", "x.md", "--attempts", "1").status == 0
