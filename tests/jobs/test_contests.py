"""Contests: siblings on the same paths, the winner, and what becomes of the others."""

from __future__ import annotations

import pytest

from draftfs.records import DraftRef
from tests.protocol import refused, state


@pytest.fixture
def contest(field):
    """Jobs 3 to 6 on docs/spec.md: ann submits 3, bob holds 4, carl submits 5, 6 is open."""
    field.me.add_job("best of four", ["docs/spec.md"], contest=4)
    for number, name in ((3, "ann"), (4, "bob"), (5, "carl")):
        field.agent(name).claim(number, seen=1, receipt=f"K{number}")
        field.put(name, "docs/spec.md", f"by {name}\n")
    field.ann.submit()
    field.agent("carl").submit()
    return field


def promote(field, number):
    return field.me.promote([DraftRef("docs/spec.md", number)])


def test_siblings_know_each_other(contest):
    assert [contest.me.job(each).job.contest for each in (3, 4, 5, 6)] == [(3, 4, 5, 6)] * 4
    assert contest.me.add_job("alone", ["x.md"]).jobs[0].contest == ()


def test_the_winner_ends_what_nobody_has_handed_in(contest):
    answer = promote(contest, 1)
    assert (answer.accepted, answer.cancelled) == ((3,), (4, 6))
    assert [state(contest, each)[0] for each in (3, 4, 5, 6)] == ["accepted", "cancelled", "submitted", "cancelled"]
    with refused(contest, "fenced") as caught:
        contest.bob.submit()
    assert "job 3 of the same contest was accepted" in caught.value.message
    assert contest.bob.claim(4, seen=1, receipt="K4").standing == "cancelled"


def test_a_failed_sibling_is_cancelled_too(field):
    field.me.add_job("best of two", ["x.md"], contest=2, attempts=1)
    field.ann.claim(3, seen=1)
    field.ann.release(failed=True)
    field.bob.claim(4, seen=1)
    field.bob.submit()
    field.me.accept_job(4)
    assert state(field, 3)[0] == "cancelled"


def test_an_alternative_that_is_rejected_is_not_started_again(contest):
    promote(contest, 1)
    answer = contest.me.reject_job(5, because="the other one is better")
    assert answer.job.state == "cancelled"
    assert answer.drafts == (DraftRef("docs/spec.md", 3),)
    with refused(contest, "job_not_open"):
        contest.agent("dora").claim(5, seen=contest.version(5))
    assert [line.job.id for line in contest.me.jobs()] == [1, 2]


def test_before_there_is_a_winner_a_rejected_sibling_is_open_again(contest):
    assert contest.me.reject_job(5, because="x").job.state == "open"
    assert contest.agent("carl").claim(5, seen=contest.version(5), adopt=True).standing == "live"


def test_a_lost_claim_of_one_sibling_leaves_the_others(contest):
    contest.me.revoke_job(4, because="x")
    assert [state(contest, each)[0] for each in (3, 4, 5, 6)] == ["submitted", "open", "submitted", "open"]


@pytest.mark.parametrize("named", [3, 4, 6])
def test_a_job_after_a_contest_comes_after_whoever_wins(contest, named):
    contest.me.add_job("later", ["y.md"], after=[named])
    with refused(contest, "not_accepted"):
        contest.agent("dora").claim(7, seen=1)
    promote(contest, 3)
    assert state(contest, 5)[0] == "accepted"
    assert contest.me.job(7).blocked_by == ()
    assert contest.agent("dora").claim(7, seen=1).standing == "live"


def test_a_contest_nobody_wins_blocks_what_comes_after(field):
    field.me.add_job("best of two", ["x.md"], contest=2)
    field.me.add_job("later", ["y.md"], after=[3])
    for number in (3, 4):
        field.me.cancel_job(number)
    assert field.me.job(5).blocked_by == ("job 3: cancelled",)


@pytest.mark.parametrize("contest", [1, 0, -1])
def test_a_contest_has_at_least_two(field, contest):
    with refused(field, "usage"):
        field.me.add_job("x", ["x.md"], contest=contest)
