"""kill -9 at every system call that changes a disk: whole or not at all, and once in all with the same receipt (G1, G6)."""

from __future__ import annotations

import pytest

from tests.crash.operations import PREPARED, make_ready
from tests.faults import Snapshot, calls_of, killed_at, litter, shown, telling_points


@pytest.fixture
def ready(field):
    return lambda name: make_ready(field, name)


@pytest.mark.parametrize("name", PREPARED)
def test_killed_at_every_call(ready, name):
    operation = ready(name)
    calls = calls_of(operation.run)
    assert len(calls) > 20
    for number in telling_points(calls):
        operation.before.restore()
        killed_at(number, operation.run)
        operation.check_once()


@pytest.mark.parametrize("name", PREPARED)
def test_the_commit_is_the_sync_of_the_journal(ready, name):
    """Killed before the journal's append: nothing happened. After its sync: all of it did."""
    operation = ready(name)
    calls = calls_of(operation.run)
    operation.before.restore()
    append = next(at for at, (call, path) in enumerate(calls) if call == "append" and path.endswith("/journal"))
    assert calls[append + 1] == ("fdatasync", calls[append][1])
    for number, happened in ((append, False), (append + 2, True)):
        assert killed_at(number, operation.run)
        assert operation.check_whole_or_not() is happened
        operation.before.restore()


@pytest.mark.parametrize(("call", "beyond"), [("append", 1), ("rename", 3), ("exchange", 1)])
def test_killed_while_another_recovers(ready, call, beyond):
    """A promotion dies in the middle; whoever comes next dies, too, at every call of the recovery."""
    operation = ready("promote")
    first = next(at for at, (each, _) in enumerate(calls_of(operation.run)) if each == call) + beyond

    def die() -> None:
        operation.before.restore()
        assert killed_at(first, operation.run)

    die()
    points = telling_points(calls_of(operation.check_whole_or_not))
    assert len(points) > 20
    for number in points:
        die()
        killed_at(number, operation.check_whole_or_not)
        if number % 8 == 0:
            operation.check_once()
        else:
            assert operation.check_whole_or_not()
            assert shown(operation.field.root) == operation.new[1]
            assert litter(operation.field.store) == []


@pytest.mark.parametrize("name", ["draft", "promote"])
def test_killed_at_every_call_of_a_checkpoint(ready, name):
    operation = ready(name)
    operation.run()
    done = Snapshot(operation.field.base)
    engine = operation.field.me.engine
    for number in telling_points(calls_of(engine.checkpoint)):
        done.restore()
        killed_at(number, operation.field.me.engine.checkpoint)
        assert operation.check_whole_or_not()
        assert litter(operation.field.store) in ([], ["journal.new"])
    operation.check_once()


def test_what_could_not_be_shown_outlives_checkpoints_and_kills(ready, field):
    """Drafts for a root that cannot be written are carried over from journal to journal, and shown once they can be."""
    operation = ready("draft")
    refused = pytest.MonkeyPatch()
    refused.setattr(type(field.me.tree), "is_writable", lambda *_: False)
    try:
        drafted = operation.run()
        assert [draft.shown for draft in drafted.drafts] == [False, False]
        pending = Snapshot(field.base)
        for number in telling_points(calls_of(field.me.engine.checkpoint)):
            pending.restore()
            killed_at(number, field.me.engine.checkpoint)
            assert len(field.me.engine.pending_effects()) == 2
            assert {each.state for each in field.me.engine.settle()} == {"later"}
            assert len(field.me.engine.pending_effects()) == 2
    finally:
        refused.undo()
    field.me.ls()
    operation.check_once()
