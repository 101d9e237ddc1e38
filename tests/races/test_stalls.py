"""A worker that stalls anywhere, is replaced, and comes back: it writes nothing any more, or all of it had come first (G4)."""

from __future__ import annotations

import threading

import pytest

from draftfs import Busy, DraftfsError, Fenced
from draftfs.engine import fs, lock
from tests.actors import Actor, FileClock
from tests.faults import calls_of, litter, records, shown
from tests.support import make_field

SPEC = "docs/spec.md"
TTL = 60


class Stalled:
    """An operation in a thread of its own, stopped before its n-th call until it is told to go on."""

    def __init__(self, operation, number: int) -> None:
        self.outcome: object = None
        self._operation, self._number, self._count = operation, number, -1
        self._here, self._go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)
        fs.observer = self._observe
        self._thread.start()
        while not self._here.wait(0.01) and self._thread.is_alive():
            pass

    def _run(self) -> None:
        try:
            self.outcome = self._operation()
        except DraftfsError as refusal:
            self.outcome = refusal

    def _observe(self, *_: str) -> None:
        if threading.current_thread() is self._thread:
            self._count += 1
            if self._count == self._number:
                self._here.set()
                assert self._go.wait(60)

    def go_on(self) -> object:
        self._go.set()
        self._thread.join(60)
        assert not self._thread.is_alive()
        fs.observer = None
        return self.outcome


def _operation(field, name: str):
    """The operation as ann means it, with the token of her first claim."""
    store = field.ann
    token = store._holdings.find(1, None)[1]
    if name == "draft":
        path = str(field.worktree("ann") / SPEC)
        return lambda: store.draft([path], job=1, token=token)
    if name == "submit":
        return lambda: store.submit(job=1, token=token)
    return lambda: store.renew(job=1, token=token)


def _claimed(field) -> None:
    field.me.retry_job(1, attempts=1000)
    field.ann.claim(1, seen=field.version(1), ttl=TTL, adopt=True)
    field.write("ann", SPEC, "v1\n")


def _number_of_calls(tmp_path_factory, name: str) -> int:
    field = make_field(tmp_path_factory.mktemp("trial"))
    _claimed(field)
    return len(calls_of(_operation(field, name)))


@pytest.mark.parametrize("name", ["draft", "submit", "renew"])
def test_stalled_at_every_call_and_replaced(field, tmp_path_factory, name):
    for number in range(_number_of_calls(tmp_path_factory, name)):
        _claimed(field)
        field.put("ann", SPEC, f"first {number}\n")
        field.write("ann", SPEC, f"late {number}\n")
        stalled = Stalled(_operation(field, name), number)
        field.worktree("bob")
        if not lock.is_free(str(field.store / "lock")):
            _within(field, stalled, name)
        else:
            _outside(field, stalled, name)
        assert litter(field.store) == []
        assert field.me.doctor().findings == ()
        _give_back(field)


def _hurried_bob(field):
    return field.open(field.worktree("bob"), agent="bob", lock_wait=0.05)


def _within(field, stalled: Stalled, name: str) -> None:
    """The lock is hers: the other waits, and she completes whole."""
    with pytest.raises(Busy):
        _hurried_bob(field).claim(1, seen=1)
    outcome = stalled.go_on()
    assert not isinstance(outcome, DraftfsError), outcome
    job = field.me.job(1).job
    assert job.state == ("submitted" if name == "submit" else "claimed")
    if name == "draft":
        assert shown(field.root)[outcome.drafts[0].file][1].startswith(b"late")


def _outside(field, stalled: Stalled, name: str) -> None:
    """Before the lock, or past it. Her claim lapses, bob takes over; what she does then is refused and changes nothing."""
    done = field.me.job(1).job.state == "submitted"
    field.clock.advance(TTL + 1)
    if done:
        assert name == "submit"
        assert not isinstance(stalled.go_on(), DraftfsError)
        return
    taken = field.bob.claim(1, seen=field.version(1), ttl=TTL)
    held, seen = records(field.me), shown(field.root)
    outcome = stalled.go_on()
    drafted = {draft.file for draft in getattr(outcome, "drafts", ())}
    assert isinstance(outcome, Fenced) or drafted <= set(seen) or outcome.claim.epoch < taken.claim.epoch
    assert records(field.me) == held
    assert shown(field.root) == seen


def _give_back(field) -> None:
    state = field.me.job(1).job.state
    if state == "submitted":
        field.me.reject_job(1, because="again")
    elif state == "claimed":
        field.me.revoke_job(1, because="again")


@pytest.mark.parametrize(("name", "number"), [("draft", 2), ("draft", 4), ("draft", 12), ("submit", 0), ("renew", 0)])
def test_a_stopped_process_comes_back(tmp_path, name, number):
    """The same with a process of its own, and SIGSTOP."""
    field = make_field(tmp_path, FileClock(tmp_path / "clock"))
    _claimed(field)
    top, token = field.worktree("ann"), field.ann._holdings.find(1, None)[1]
    named = {"job": 1, "token": token}
    arguments = [[str(top / SPEC)]] if name == "draft" else []
    with Actor(top, "ann", clock=field.clock) as ann:
        ann.ask(name, *arguments, at=number, then="stop", **named)
        assert "stopped" in ann.stopped()
        free = lock.is_free(str(field.store / "lock"))
        field.clock.advance(TTL + 1)
        if free:
            field.bob.claim(1, seen=field.version(1), ttl=TTL)
            held = records(field.me)
        else:
            field.worktree("bob")
            with pytest.raises(Busy):
                _hurried_bob(field).claim(1, seen=1)
        ann.go_on()
        outcome = ann.answer()
        assert outcome.get("error") == ("fenced" if free else None), outcome
        if free:
            assert records(field.me) == held
    assert field.me.doctor().findings == ()
