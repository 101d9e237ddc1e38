"""A claim's answer, asked for again: the same token, marked, with how the claim stands now; and nothing moves."""

from __future__ import annotations

import pytest

from draftfs import tokens
from draftfs.errors import DraftfsError
from draftfs.worktree import PendingKeys
from tests import protocol
from tests.protocol import ENDINGS, records, refused


def superseded_and_over(field):
    """Its successor's claim is over as well, in whatever way: the job has moved on."""
    protocol.superseded(field)
    field.bob.submit()
    field.me.accept_job(1)


superseded_and_over.__name__ = "superseded"


@pytest.mark.parametrize("end", [protocol.live, *ENDINGS, superseded_and_over])
def test_a_replay_says_how_the_claim_stands_now(field, end):
    first = field.ann.claim(1, seen=1, ttl=600, receipt="K")
    assert (first.replayed, first.standing, first.receipt) == (False, "live", "K")
    end(field)
    field.me.jobs()
    before = records(field)
    again = field.ann.claim(1, seen=1, ttl=600, receipt="K")
    assert (again.replayed, again.standing) == (True, end.__name__)
    assert again.claim.token == first.claim.token
    assert (again.claim.epoch, again.claim.ttl, again.job, again.newer) == (1, 600, first.job, first.newer)
    expected = (first.claim.expires_at, 600) if end is protocol.live else (None, None)
    assert (again.claim.expires_at, again.claim.expires_in) == expected
    assert records(field) == before
    assert field.me.receipt("K").standing == end.__name__


def test_a_replay_counts_the_time_left_from_now(field):
    field.ann.claim(1, seen=1, ttl=600, receipt="K")
    field.clock.advance(100)
    assert field.ann.claim(1, seen=1, ttl=600, receipt="K").claim.expires_in == 500
    field.ann.renew()
    assert field.ann.claim(1, seen=1, ttl=600, receipt="K").claim.expires_in == 600


def test_a_replay_is_the_first_to_notice_that_its_claim_has_lapsed(field):
    field.ann.claim(1, seen=1, ttl=10, receipt="K")
    field.clock.advance(10)
    assert field.ann.claim(1, seen=1, ttl=10, receipt="K").standing == "lapsed"


@pytest.mark.parametrize("end", ENDINGS)
def test_every_write_with_a_replayed_dead_token_is_fenced(field, end):
    field.ann.claim(1, seen=1, receipt="K")
    end(field)
    token = field.ann.claim(1, seen=1, receipt="K").claim.token
    field.write("ann", "docs/spec.md", "late")
    for given in (token, None):
        for write in (field.ann.renew, field.ann.submit, field.ann.release):
            with refused(field, "fenced"):
                write(job=1, token=given)


def test_a_dead_replay_does_not_take_over_somebody_elses_worktree(field):
    field.ann.claim(1, seen=1, receipt="K")
    field.ann.release()
    field.bob.claim(2, seen=1)
    field.open(field.worktree("bob"), agent="ann").claim(1, seen=1, receipt="K")
    assert field.open(field.worktree("bob")).actor.name == "bob"


def test_the_next_one_again_is_the_same_one(field):
    first = field.ann.claim_next(receipt="K")
    again = field.ann.claim_next(receipt="K")
    assert (again.replayed, again.job.id, again.claim.token) == (True, first.job.id, first.claim.token)
    assert field.ann.claim_next(receipt="L").job.id != first.job.id


# ── keys that the worktree keeps for a crash ──


class Crash(Exception):
    pass


def keys(field):
    return PendingKeys(field.ann.worktree.pending, tokens.new_receipt_key)


def crashing(field, call):
    """Do it under a key kept for a crash, and die before the answer is out."""
    lasting = keys(field)
    answer = call(field.open(field.worktree("ann"), agent="ann", keys=lasting))
    lasting.leave()
    return answer


@pytest.mark.parametrize("call", [lambda store: store.claim(1, seen=1, ttl=60), lambda store: store.claim_next(ttl=60)])
def test_the_same_command_after_a_crash_finds_its_claim(field, call):
    first = crashing(field, call)
    again = crashing(field, call)
    assert (again.replayed, again.claim.token, again.standing) == (True, first.claim.token, "live")
    assert field.me.job(1).job.attempts.used == 1


@pytest.mark.parametrize("other", [False, True])
def test_a_kept_key_whose_claim_has_lapsed_is_dropped_for_a_fresh_one(field, other):
    """The lapse is noticed by the very call: what it prepared for is not what it then has to claim."""

    def call(store):
        return store.claim_next(ttl=60)

    first = crashing(field, call)
    field.clock.advance(60)
    if other:
        field.bob.claim(2, seen=1)
    again = crashing(field, call)
    assert (again.replayed, again.standing) == (False, "live")
    assert again.claim.token != first.claim.token
    assert again.job.id == (1 if other else 2), "the fewest attempts go first"


@pytest.mark.parametrize("end", ["submit", "release"])
def test_the_end_of_a_claim_is_found_after_a_crash(field, end):
    field.ann.claim(1, seen=1)
    first = crashing(field, lambda store: getattr(store, end)(note="done"))
    again = crashing(field, lambda store: getattr(store, end)(note="done"))
    assert (again.replayed, again.job) == (True, first.job)


def test_a_claim_whose_token_cannot_be_kept_is_found_again(field, monkeypatch):
    from draftfs.errors import EnvironmentFault
    from draftfs.worktree import Worktree

    def full(*_):
        raise EnvironmentFault("disk_full", "no space left")

    with monkeypatch.context() as patched:
        patched.setattr(Worktree, "keep", full)
        with pytest.raises(DraftfsError) as caught:
            crashing(field, lambda store: store.claim(1, seen=1))
    assert caught.value.code == "unknown", "the receipt key stays for the next try"
    again = field.me.job(1).job
    assert (again.state, again.holder) == ("claimed", "ann")
