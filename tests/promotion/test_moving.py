"""An acceptance moves between the siblings of a contest: changing one's mind is free until somebody has built upon it."""

import pytest

from draftfs import DraftRef
from tests.promotion.test_replacing import refused
from tests.promotion.test_undoing import SPEC, contest, state, states


@pytest.fixture
def best(field, desk):
    """Jobs 3 and 4 in one contest on two targets; ann's drafts have number 1, bob's 2."""
    assert contest(field, SPEC, "a.txt") == [3, 4]
    return desk


def test_back_and_forth(field, desk):
    contest(field)
    field.me.add_job("later", ["later.md"], after=[3])
    assert desk.promote(DraftRef(SPEC, 1)).accepted == (3,)
    for number, won, lost in ((2, 4, 3), (1, 3, 4), (2, 4, 3)):
        moved = desk.promote(DraftRef(SPEC, number))
        assert (moved.accepted, moved.returned, moved.cancelled) == ((won,), (lost,), ())
        assert moved.promoted[0].replaced == 3 - number
        assert {each.job: each.state for each in moved.jobs} == {won: "accepted", lost: "submitted"}
        assert states(desk) == {number: "promoted", 3 - number: "waiting"}
    assert field.me.job(5).blocked_by == (), "any accepted sibling fulfils it"
    kinds = [(each.kind, each.job) for each in field.me.log() if each.kind.startswith("job.") and each.job in (3, 4)]
    assert kinds[-2:] == [("job.returned", 3), ("job.accepted", 4)]


def test_what_the_first_acceptance_cancelled_stays_so(field, desk):
    jobs = [job.id for job in field.me.add_job("best", [SPEC], contest=3).jobs]
    for name, job in zip(("ann", "bob"), jobs, strict=False):
        field.agent(name).claim(job, seen=1)
        field.put(name, SPEC, name)
        field.agent(name).submit()
    desk.promote(DraftRef(SPEC, 1))
    moved = desk.promote(DraftRef(SPEC, 2))
    assert [each.state for each in moved.jobs] == ["submitted", "accepted", "cancelled"]


@pytest.mark.parametrize("how", ["held", "given back"])
def test_not_once_a_job_that_comes_after_has_been_claimed(field, desk, how):
    contest(field)
    field.me.add_job("later", ["later.md"], after=[4])
    desk.promote(DraftRef(SPEC, 1))
    field.agent("cy").claim(5, seen=1)
    if how == "given back":
        field.agent("cy").release()
    before = desk.everything()
    for force in (False, True):
        fault = refused("dependent_claimed", desk.promote, DraftRef(SPEC, 2), force=force)
        assert "draftfs job add" in fault.hint
    refused("dependent_claimed", desk.promote, DraftRef(SPEC, 2), dry_run=True)
    assert desk.everything() == before
    assert desk.promote(DraftRef(SPEC, 1)).promoted[0].changed is False, "the same again is still no change"


def test_one_of_two_targets(best):
    """Neither job is accepted while the choice is split and drafts wait; whoever is decided to the end is."""
    assert best.promote(DraftRef(SPEC, 1), DraftRef("a.txt", 1)).accepted == (3,)
    moved = best.promote(DraftRef(SPEC, 2))
    assert (moved.accepted, moved.returned) == ((), (3,))
    assert (best.read(), best.read("a.txt")) == (b"bob's docs/spec.md", b"ann's a.txt")
    assert best.promote(DraftRef("a.txt", 2)).accepted == (4,)
    assert (state(best, 3), states(best, "a.txt")) == ("submitted", {1: "waiting", 2: "promoted"})


def test_a_split_choice_that_is_decided_to_the_end(field, best):
    best.promote(DraftRef(SPEC, 1), DraftRef("a.txt", 1))
    best.promote(DraftRef(SPEC, 2))
    assert field.me.reject([DraftRef(SPEC, 1)], because="bob's is better").accepted == (3,)
    assert field.me.reject([DraftRef("a.txt", 2)], because="ann's is better").accepted == (4,)


def test_both_at_once(best):
    best.promote(DraftRef(SPEC, 1), DraftRef("a.txt", 1))
    moved = best.promote(DraftRef(SPEC, 2), DraftRef("a.txt", 2))
    assert (moved.accepted, moved.returned) == ((4,), (3,))
    back = best.field.me.undo([SPEC, "a.txt"])
    assert (back.accepted, back.returned) == ((3,), (4,))


def test_an_alternative_can_be_turned_down_after_the_move(field, desk):
    contest(field)
    for number in (1, 2):
        desk.promote(DraftRef(SPEC, number))
    assert field.me.reject_job(3, because="bob's is better").job.state == "cancelled"
    assert field.me.job(3).job.attempts.used == 1


def test_with_the_claim_at_once(field, desk, at):
    """Whoever comes first under the lock: here the claim, between the look and the lock of the promotion."""
    contest(field)
    field.me.add_job("later", ["later.md"], after=[3])
    desk.promote(DraftRef(SPEC, 1))
    at("open", lambda _: field.agent("cy").claim(5, seen=1), "/lock")
    refused("dependent_claimed", desk.promote, DraftRef(SPEC, 2))
    assert desk.read() == b"ann's docs/spec.md"
