"""C72: renewing what has run out, though nobody took it."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from draftfs.errors import DraftfsError, Fenced
from tests.protocol import data, error, kinds, refused, run, state
from tests.support import wait_for


def test_a_nobody_between(field):
    field.ann.claim(1, seen=1, ttl=2)
    field.clock.advance(3)
    with pytest.raises(Fenced):
        field.ann.renew()
    assert kinds(field)[-1] == "claim.lapsed", "her own try noticed it"
    assert state(field) == ("open", 3, 1)
    with refused(field, "fenced"):
        field.ann.renew()
    assert kinds(field).count("claim.lapsed") == 1


@pytest.mark.parametrize("releases", [True, False])
def test_b_c_bob_had_it_or_has_it(field, releases):
    field.ann.claim(1, seen=1, ttl=2)
    field.clock.advance(3)
    field.bob.claim(1, seen=field.version(1))
    if releases:
        field.bob.release()
    with refused(field, "fenced") as caught:
        field.ann.renew()
    assert caught.value.details["holder"] == (None if releases else "bob")


def test_d_a_race_around_the_deadline(field):
    """100 rounds on two threads, the clock standing just before, at, or just behind the deadline when both call."""
    field.me.retry_job(1, attempts=500)
    ann, bob = field.ann, field.bob
    outcomes, renewals_seen = set(), set()
    for turn in range(100):
        field.clock.instant = replace(field.clock.instant, wall=field.clock.instant.wall + 1)
        claimed = ann.claim(1, seen=field.version(1), ttl=1)
        told = {}
        start = threading.Barrier(3)

        def call(name, what, start=start, told=told):
            start.wait()
            try:
                told[name] = what()
            except DraftfsError as refusal:
                told[name] = refusal

        def renew(token=claimed.claim.token):
            return ann.renew(job=1, token=token, ttl=1)

        def take(seen=claimed.job.version + turn % 2):
            return bob.claim(1, seen=seen, ttl=1)

        threads = [threading.Thread(target=call, args=each) for each in (("ann", renew), ("bob", take))]
        for thread in threads:
            thread.start()
        field.clock.instant = replace(
            field.clock.instant, awake_ns=field.clock.instant.awake_ns + 999_999_999 + turn % 3
        )
        start.wait()
        for thread in threads:
            thread.join()
        won = {name: not isinstance(answer, DraftfsError) for name, answer in told.items()}
        assert not (won["ann"] and won["bob"])
        if won["ann"] and told["bob"].code == "job_not_open":
            before = 1 - (999_999_999 + turn % 3) / 1e9
            assert told["bob"].details["expires_in"] in (1, pytest.approx(max(before, 0))), (
                "refused after it, or before"
            )
            renewals_seen.add(told["bob"].details["expires_in"] == 1)
        outcomes.add((won["ann"], won["bob"]))
        field.me.revoke_job(1, because="next") if state(field)[0] == "claimed" else None
    assert outcomes >= {(True, False), (False, True)}
    assert True in renewals_seen, "once at least bob came after the renewal, and was told the new deadline"


def test_the_last_claim_needs_a_clean_worktree_or_adopts(real):
    data(run(real, "ann", "claim", "1", "--seen", "1", "--ttl", "1s"))
    real.write("ann", "docs/spec.md", "half done\n")
    wait_for(lambda: state(real)[0] == "open")
    error(run(real, "ann", "renew"), 4, "fenced")
    refusal = error(run(real, "ann", "claim", "1", "--seen", "3"), 3, "dirty_worktree")
    assert "docs/spec.md" in refusal["message"]
    assert "--adopt" in refusal["hint"]
    assert state(real) == ("open", 3, 1)
    adopted = data(run(real, "ann", "claim", "1", "--seen", "3", "--adopt"))
    assert (adopted["claim"]["epoch"], adopted["job"]["attempts"]["used"]) == (2, 2)
    data(run(real, "ann", "release", "--failed"))
    real.write("ann", "docs/spec.md", "v0\n")
    assert data(run(real, "ann", "claim", "1", "--seen", "5"))["job"]["attempts"]["used"] == 3
