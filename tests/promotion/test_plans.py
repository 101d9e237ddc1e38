"""A plan's digest: exactly what was shown is done, or nothing."""

import pytest

from draftfs import DraftRef
from tests.promotion.test_replacing import refused
from tests.promotion.test_undoing import SPEC, contest
from tests.support import git


def planned(desk, number=1, **options):
    return desk.promote(DraftRef(SPEC, number), dry_run=True, **options).plan


def test_what_was_planned_is_done(field, desk):
    ref = desk.draft("drafted")
    said = desk.promote(ref, dry_run=True)
    assert (len(said.plan), planned(desk)) == (16, said.plan), "the same look gives the same digest"
    field.write("me", "a.txt", "another file\n")
    done = desk.promote(ref, plan=said.plan)
    assert (done.promoted, done.accepted, done.plan, desk.read()) == (said.promoted, (3,), said.plan, b"drafted")


def hand_edit(field, desk):
    field.write("me", SPEC, "by hand")


def mode(field, desk):
    (desk.root / SPEC).chmod(0o755)


def another_commit(field, desk):
    field.write("me", "a.txt", "more\n")
    git("commit", "-qam", "another file", cwd=field.root)


def another_branch(field, desk):
    git("switch", "-qc", "other", cwd=field.root)


def turned_down(field, desk):
    field.me.reject([DraftRef(SPEC, 1)], because="no")


def another_choice(field, desk):
    desk.promote(DraftRef(SPEC, 2))


def a_sibling_is_claimed(field, desk):
    """Promoting would cancel it: it must have been shown."""
    field.me.reject_job(4, because="again")


CHANGES = [hand_edit, mode, another_commit, another_branch, turned_down, another_choice, a_sibling_is_claimed]


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.__name__)
def test_anything_that_changed_meanwhile_refuses(field, desk, change):
    contest(field)
    plan = planned(desk, force=True)
    change(field, desk)
    before = desk.everything()
    for force in (False, True):
        refused("target_moved", desk.promote, DraftRef(SPEC, 1), plan=plan, force=force)
    assert desk.everything() == before
    assert planned(desk, force=True) != plan


def test_changed_between_the_look_and_the_lock(field, desk, at):
    ref = desk.draft("drafted")
    plan = desk.promote(ref, dry_run=True, force=True).plan
    left = at("open", lambda _: hand_edit(field, desk), "/lock")
    refused("target_moved", desk.promote, ref, plan=plan, force=True)
    assert (left[0], desk.read()) == (0, b"by hand")


def test_a_plan_of_something_else(field, desk):
    contest(field)
    refused("target_moved", desk.promote, DraftRef(SPEC, 2), plan=planned(desk, 1))
    desk.promote(DraftRef(SPEC, 1))
    plan = field.me.undo([SPEC], dry_run=True).plan
    refused("target_moved", desk.promote, DraftRef(SPEC, 1), plan=plan)
    assert field.me.undo([SPEC], plan=plan).undone[0].changed


def test_a_replay_needs_no_look(field, desk):
    ref = desk.draft("drafted")
    plan = desk.promote(ref, dry_run=True).plan
    desk.promote(ref, plan=plan, receipt="K")
    assert desk.promote(ref, plan=plan, receipt="K").replayed
