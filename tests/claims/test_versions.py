"""G2: a claim says which version its worker saw; and in which order a request is judged."""

from __future__ import annotations

import pytest

from tests.protocol import data, error, kinds, records, refused, run, state
from tests.support import git, wait_for


def test_every_change_is_a_new_version(field):
    seen = [field.version(1)]
    for change in (
        lambda: field.me.edit_job(1, title="other"),
        lambda: field.ann.claim(1, seen=field.version(1)),
        field.ann.release,
        lambda: field.ann.claim(1, seen=field.version(1)),
        field.ann.submit,
        lambda: field.me.reject_job(1, because="no"),
        lambda: field.me.retry_job(1),
        lambda: field.me.cancel_job(1),
    ):
        change()
        seen.append(field.version(1))
    assert seen == list(range(1, 10))


def test_renewing_and_drafting_leave_the_version(field):
    field.ann.claim(1, seen=1)
    before = state(field)
    field.ann.renew()
    field.put("ann", "docs/spec.md", "v1")
    assert state(field) == before


@pytest.mark.parametrize("seen", [0, 1, 3, -1, 10**18])
def test_another_version_is_refused(field, seen):
    field.me.edit_job(1, title="other")
    with refused(field, "stale_version") as caught:
        field.ann.claim(1, seen=seen)
    assert (caught.value.details["version"], caught.value.details["seen"]) == (2, seen)
    assert "--seen 2" in caught.value.hint


def blocked(field):
    field.me.edit_job(1, after=[2])


def spent(field):
    """Attempts used up is a state of its own, `failed`, which is judged first."""
    field.me.add_job("x", ["x.md"], attempts=1)


def test_state_before_version(field):
    field.ann.claim(1, seen=1)
    with refused(field, "job_not_open") as caught:
        field.bob.claim(1, seen=1)
    details = caught.value.details
    assert (details["holder"], details["version"], details["state"], details["epoch"]) == ("ann", 2, "claimed", 1)


def test_version_before_predecessors(field):
    blocked(field)
    with refused(field, "stale_version"):
        field.ann.claim(1, seen=1)


def test_predecessors_before_paths(field):
    blocked(field)
    field.bob.claim_paths(["docs"], adopt=True)
    with refused(field, "not_accepted"):
        field.ann.claim(1, seen=2)


def test_a_failed_job_says_that_its_attempts_are_used_up(field):
    spent(field)
    field.ann.claim(3, seen=1)
    field.ann.release(failed=True)
    with refused(field, "attempts_used_up") as caught:
        field.ann.claim(3, seen=1)
    assert "job retry 3" in caught.value.hint
    assert caught.value.details["attempts"] == {"used": 1, "max": 1}


def test_paths_before_worktree(field):
    field.bob.claim_paths(["docs"])
    field.write("ann", "docs/spec.md", "leftovers")
    with refused(field, "path_clash"):
        field.ann.claim(1, seen=1)
    with refused(field, "path_clash"):
        field.open(agent="ann").claim(1, seen=1)
    field.bob.release()
    with refused(field, "dirty_worktree"):
        field.ann.claim(1, seen=1)
    with refused(field, "claim_in_root"):
        field.open(agent="ann").claim(1, seen=1)


@pytest.mark.parametrize("ready", ["stale_version", "not_accepted", "path_clash", "dirty_worktree"])
def test_the_receipt_before_everything(field, ready):
    """A claim that was answered once is answered again, whatever would stand in its way by now."""
    first = field.ann.claim(1, seen=1, receipt="K")
    field.ann.release()
    if ready == "stale_version":
        field.me.edit_job(1, title="other")
    elif ready == "not_accepted":
        field.me.edit_job(1, after=[2])
    elif ready == "path_clash":
        field.bob.claim_paths(["docs"])
    field.write("ann", "docs/spec.md", "leftovers")
    before = records(field)
    again = field.ann.claim(1, seen=1, receipt="K")
    assert (again.replayed, again.claim.token) == (True, first.claim.token)
    assert records(field) == before


def test_the_receipt_before_the_fence(field):
    """R13: a retried submit arrives when its token is dead already."""
    token = field.ann.claim(1, seen=1).claim.token
    submitted = field.ann.submit(receipt="K")
    assert field.ann.submit(receipt="K", token=token).replayed
    assert field.ann.submit(receipt="K").job == submitted.job
    with refused(field, "fenced"):
        field.ann.submit(receipt="L")


def test_a_receipt_of_another_request_before_the_fence(field):
    field.ann.claim(1, seen=1)
    field.ann.renew(receipt="K")
    field.ann.release()
    with refused(field, "receipt_mismatch"):
        field.ann.submit(receipt="K")


def test_the_fence_before_coverage(field):
    token = field.ann.claim(1, seen=1).claim.token
    field.ann.release()
    with refused(field, "fenced"):
        field.ann.draft(["a.txt"], token=token, job=1)
    field.ann.claim(1, seen=field.version(1))
    with refused(field, "not_covered"):
        field.ann.draft(["a.txt"])


def test_unknown_jobs_are_not_found(field):
    for call in (
        lambda: field.ann.claim(9, seen=1),
        lambda: field.me.job(9),
        lambda: field.me.cancel_job(0),
        lambda: field.me.edit_job(-1, title="x"),
        lambda: field.me.retry_job(9),
    ):
        with refused(field, "no_job"):
            call()


def test_a_refused_claim_leaves_no_trace_of_its_key(field):
    field.bob.claim_paths(["docs"])
    with refused(field, "path_clash"):
        field.ann.claim(1, seen=1, receipt="K")
    with refused(field, "no_receipt"):
        field.me.receipt("K")
    field.bob.release()
    assert not field.ann.claim(1, seen=1, receipt="K").replayed


def test_processes_are_refused_with_status_and_code(real):
    """Each refusal of a claim once through the real command line, with nothing changed but a lapse."""
    real.me.add_job("blocked", ["y.md"], after=[1])
    real.me.add_job("one try", ["z.md"], attempts=1)
    real.bob.claim(4, seen=1, ttl=1)
    wait_for(lambda: state(real, 4)[0] == "failed")
    real.bob.claim_paths(["docs"])
    before, lapses = records(real), kinds(real).count("claim.lapsed")
    error(run(real, "ann", "claim", "3", "--seen", "1"), 3, "not_accepted")
    error(run(real, "ann", "claim", "4", "--seen", "3"), 3, "attempts_used_up")
    error(run(real, "ann", "claim", "2", "--seen", "7"), 3, "stale_version")
    clash = error(run(real, "ann", "claim", "1", "--seen", "1"), 3, "path_clash")
    assert [each["holder"] for each in clash["details"]["clashes"]] == ["bob"]
    error(run(real, "ann", "claim", "5", "--seen", "1"), 3, "job_not_open")
    error(run(real, "ann", "claim", "2", "--seen", "1", "--ttl", "0"), 2, "bad_ttl")
    error(run(real, "ann", "claim", "9", "--seen", "1"), 5, "no_job")
    error(run(real, "ann", "renew"), 3, "no_token")
    assert (records(real), lapses) == (before, 1)
    data(run(real, "ann", "claim", "2", "--seen", "1", "--receipt", "K"))
    error(run(real, "ann", "claim", "2", "--seen", "1", "--ttl", "60s", "--receipt", "K"), 3, "receipt_mismatch")
    real.write("carl", "docs/spec.md", "leftovers")
    git("reset", "-q", cwd=real.worktree("carl"))
    real.bob.release()
    error(run(real, "carl", "claim", "1", "--seen", "1"), 3, "dirty_worktree")
