"""Jobs that come after others: what blocks them, cycles, and long chains at flat cost."""

from __future__ import annotations

import pytest

from draftfs.engine.transaction import FileView
from draftfs.records import NewJob
from tests.protocol import refused, state


def opened(field):
    pass


def claimed(field):
    field.ann.claim(1, seen=1)


def submitted(field):
    claimed(field)
    field.ann.submit()


def rejected(field):
    submitted(field)
    field.me.reject_job(1, because="x")


def failed(field):
    for _ in range(3):
        field.ann.claim(1, seen=field.version(1))
        field.ann.release(failed=True)


def cancelled(field):
    field.me.cancel_job(1)


@pytest.mark.parametrize(
    ("before", "word"),
    [
        (opened, "open"),
        (claimed, "claimed"),
        (submitted, "submitted"),
        (rejected, "open"),
        (failed, "failed"),
        (cancelled, "cancelled"),
    ],
)
def test_only_accepted_unblocks(field, before, word):
    field.me.add_job("b", ["b.md"], after=[1])
    before(field)
    with refused(field, "not_accepted") as caught:
        field.bob.claim(3, seen=1)
    assert caught.value.details["blocked_by"] == [{"job": 1, "state": word}]
    assert f"blocked by job 1: {word}" in caught.value.message
    assert field.me.job(3).blocked_by == (f"job 1: {word}",)
    assert field.bob.claim_next().job.id != 3


def test_accepted_unblocks(field):
    field.me.add_job("b", ["docs/spec.md"], after=[1])
    submitted(field)
    field.me.accept_job(1)
    assert field.me.job(3).blocked_by == ()
    assert field.bob.claim(3, seen=1).standing == "live"


def test_all_of_them_must_be_accepted(field):
    field.me.add_job("c", ["c.md"], after=[1, 2, 1])
    assert field.me.job(3).job.after == (1, 2)
    submitted(field)
    field.me.accept_job(1)
    with refused(field, "not_accepted") as caught:
        field.bob.claim(3, seen=1)
    assert caught.value.details["blocked_by"] == [{"job": 2, "state": "open"}]


@pytest.mark.parametrize("after", [[99], [4], [1, 99], [0], [-1]])
def test_unknown_predecessors_are_refused(field, after):
    with refused(field, "no_job"):
        field.me.add_job("x", ["x.md"], after=after)
    with refused(field, "no_job"):
        field.me.edit_job(1, after=after)


def test_a_job_after_itself_is_refused(field):
    with refused(field, "bad_job"):
        field.me.add_job("x", ["x.md"], after=[3])
    with refused(field, "bad_job"):
        field.me.edit_job(1, after=[1])
    with refused(field, "bad_job"):
        field.me.add_job("x", ["x.md"], after=[4], contest=2)


@pytest.mark.parametrize("length", [2, 3, 50])
def test_a_cycle_among_new_jobs_refuses_all_of_them(field, length):
    new = [NewJob(f"{n}", (f"{n}.md",), (f"k{(n + 1) % length}",), f"k{n}") for n in range(length)]
    with refused(field, "bad_job") as caught:
        field.me.add_jobs([NewJob("fine", ("fine.md",)), *new])
    assert "wait for each other for ever" in caught.value.message
    assert field.me.add_job("x", ["x.md"]).jobs[0].id == 3, "no number is lost"


def test_a_cycle_by_editing_is_refused(field):
    field.me.edit_job(2, after=[1])
    field.me.add_job("three", ["x.md"], after=[2])
    with refused(field, "bad_job") as caught:
        field.me.edit_job(1, after=[3])
    assert "job 1 after job 3 after job 2 after job 1" in caught.value.message
    field.me.edit_job(2, after=[])
    field.me.edit_job(1, after=[3])


def test_a_finished_job_closes_no_cycle(field):
    submitted(field)
    field.me.accept_job(1)
    field.me.edit_job(2, after=[1])
    assert field.me.job(2).blocked_by == ()


def test_a_diamond_is_no_cycle(field):
    field.me.add_jobs(
        [
            NewJob("a", ("a",), (), "a"),
            NewJob("b", ("b",), ("a",), "b"),
            NewJob("c", ("c",), ("a",), "c"),
            NewJob("d", ("d",), ("b", "c", "a"), "d"),
        ]
    )
    assert field.me.job(6).job.after == (4, 5, 3)


def test_a_chain_of_a_thousand_jobs_costs_by_what_is_asked(field, monkeypatch):
    new = [NewJob(f"{n}", (f"{n}.md",), (f"k{n - 1}",) if n else (), f"k{n}") for n in range(1000)]
    field.me.add_jobs(new)
    reads = []
    plain = FileView.get

    def counted(self, key):
        reads.append(key.name)
        return plain(self, key)

    monkeypatch.setattr(FileView, "get", counted)
    me, ann = field.me, field.ann

    def cost(call):
        reads.clear()
        call()
        return len({each for each in reads if each.startswith(("jobs/", "done/"))})

    assert cost(lambda: me.add_job("the last", ["last.md"], after=[1002])) <= 3
    assert cost(lambda: ann.claim(3, seen=1)) <= 3
    assert cost(ann.submit) <= 3
    assert cost(lambda: me.accept_job(3)) <= 3
    assert cost(lambda: ann.claim(4, seen=1)) <= 3
    with pytest.raises(Exception, match="job 1001: open") as caught:
        ann.claim(1002, seen=1)
    assert caught.value.code == "not_accepted"
    with pytest.raises(Exception, match="for ever") as caught:
        me.edit_job(5, after=[1003])
    assert caught.value.code == "bad_job"
    monkeypatch.undo()
    assert state(field, 5) == ("open", 1, 0)
