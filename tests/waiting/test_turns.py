"""`claim --wait`: in the order in which they began to wait, all paths or none, and only where waiting can help."""

from __future__ import annotations

import fcntl
import os
import random
import threading

import pytest

from draftfs import Busy, Refused
from draftfs.engine import fs
from draftfs.engine.tickets import GRACE, Queue
from draftfs.paths import clash
from draftfs.records import Waiting
from tests.protocol import refused
from tests.support import wait_for


def test_sixteen_get_one_path_in_their_order(crowd):
    """Each exactly once, in the order of arrival, as soon as the one before lets go."""
    field = crowd.field
    field.ann.claim_paths(["x.md"])
    waiters = [crowd.begin(f"agent{number}", "claim_paths", ["x.md"]) for number in range(16)]
    field.ann.release()
    epochs = []
    for number, waiter in enumerate(waiters):
        claimed = waiter.end()
        assert claimed.claim.holder == f"agent{number}"
        assert all(later.waits for later in waiters[number + 1 :])
        epochs.append(claimed.claim.epoch)
        waiter.store.release()
    assert epochs == list(range(2, 18))


def test_several_paths_are_waited_for_together(crowd):
    """Neither path is taken before both are free, and meanwhile nobody who came later gets one of them."""
    field = crowd.field
    field.ann.claim_paths(["x.md"])
    field.bob.claim_paths(["y/z.md"])
    both = crowd.begin("cy", "claim_paths", ["x.md", "y"])
    one = crowd.begin("dee", "claim_paths", ["x.md"])
    other = field.agent("eve").claim_paths(["elsewhere.md"])
    field.ann.release()
    with refused(field, "path_clash") as caught:
        field.ann.claim_paths(["x.md"])
    clash = caught.value.details["clashes"][0]
    assert (clash["holder"], clash["waiting"], clash["epoch"]) == ("cy", True, None)
    assert "x.md is waited for by cy" in caught.value.message
    assert clash["expires_in"] == pytest.approx(1000)
    assert both.waits
    assert one.waits
    field.bob.release()
    assert both.end().claim.paths == ("x.md", "y")
    assert one.waits
    both.store.release()
    assert one.end().claim.paths == ("x.md",)
    assert other.standing == "live"


def test_any_job_goes_to_who_waited_longest(crowd):
    field = crowd.field
    for job in (1, 2):
        field.ann.claim(job, seen=1)
    first, second = crowd.begin("bob", "claim_next"), crowd.begin("cy", "claim_next")
    assert first.told[0].code == "nothing_ready"
    with refused(field, "nothing_ready"):
        field.agent("dee").claim_next()
    field.me.add_job("three", ["three.md"])
    assert first.end().claim.job == 3
    assert second.waits
    field.me.add_job("four", ["four.md"])
    assert second.end().claim.job == 4


def test_any_job_and_a_path_of_one_are_one_queue(crowd):
    """Who waits for any job is not given one whose path somebody waited for before; and the other way round."""
    field = crowd.field
    field.ann.claim(2, seen=1)
    field.bob.claim_paths(["docs/spec.md"])
    path = crowd.begin("cy", "claim_paths", ["docs/spec.md"])
    anything = crowd.begin("dee", "claim_next")
    late = crowd.begin("eve", "claim_paths", ["docs"])
    field.bob.release()
    assert path.end().claim.paths == ("docs/spec.md",)
    assert anything.waits
    path.store.release()
    assert anything.end().claim.job == 1
    assert late.waits
    anything.store.release()
    late.end()


def test_a_job_waits_for_its_paths_and_for_what_it_comes_after(crowd):
    field = crowd.field
    field.me.add_job("after one", ["after.md"], after=[1])
    waiter = crowd.begin("bob", "claim", 3, seen=1)
    assert waiter.told[0].code == "not_accepted"
    field.agent("cy").claim_paths(["after.md"])  # while it is blocked it keeps nothing from others
    field.ann.claim(1, seen=1)
    field.ann.submit()
    field.me.accept_job(1)
    wait_for(lambda: crowd.waiting() and waiter.waits)
    field.agent("cy").release()
    assert (waiter.end().claim.job, len(waiter.told)) == (3, 1)


def test_what_waiting_does_not_mend_is_refused_at_once(crowd):
    field, told = crowd.field, []
    field.ann.claim(1, seen=1)
    field.me.add_job("after two", ["late.md"], after=[2])
    field.me.cancel_job(2)

    def at_once(code, claim):
        with refused(field, code):
            claim()
        assert told == []

    rest = {"wait": 1000.0, "waits": told.append}
    at_once("path_clash", lambda: field.ann.claim_paths(["docs"], **rest))  # she does not queue behind herself
    at_once("job_not_open", lambda: field.bob.claim(1, seen=2, **rest))
    at_once("stale_version", lambda: field.bob.claim(3, seen=7, **rest))
    at_once("not_accepted", lambda: field.bob.claim(3, seen=1, **rest))
    field.me.cancel_job(3)
    field.ann.submit()
    field.me.accept_job(1)
    at_once("all_done", lambda: field.bob.claim_next(**rest))
    field.agent("cy").claim_paths(["docs"])
    field.write("bob", "docs/spec.md", "left over\n")
    at_once("dirty_worktree", lambda: field.bob.claim_paths(["docs/spec.md"], **rest))
    at_once("claim_in_root", lambda: field.open(agent="dee").claim_paths(["docs/spec.md"], **rest))
    intruder = field.open(field.worktree("cy"), agent="eve")
    at_once("worktree_held", lambda: intruder.claim_paths(["docs"], **rest))


def test_a_job_that_changes_meanwhile_is_another_one(crowd):
    """G2: the wait ends when the version that was seen is over."""
    field = crowd.field
    field.ann.claim_paths(["docs"])
    waiter = crowd.begin("bob", "claim", 1, seen=1)
    field.me.edit_job(1, title="something else")
    assert waiter.end().code == "stale_version"


def test_the_wait_is_bounded(crowd):
    """Exit 7 says who holds what until when; nothing was changed, and the next one has the place."""
    field = crowd.field
    field.ann.claim_paths(["x.md"], ttl=600)
    short = crowd.begin("bob", "claim_paths", ["x.md"], wait=60.0, receipt="K")
    long = crowd.begin("cy", "claim_paths", ["x.md"])
    before = field.me.log()
    field.clock.advance(59)
    assert short.waits
    field.clock.advance(2)
    fault = short.end()
    assert isinstance(fault, Busy)
    assert (fault.code, fault.exit_status, fault.details["refused"]) == ("timeout", 7, "path_clash")
    assert fault.details["clashes"][0]["holder"] == "ann"
    assert "held by ann" in fault.message
    assert fault.hint
    assert field.me.log() == before
    with refused(field, "no_receipt"):
        field.me.receipt("K")
    field.ann.release()
    assert long.end().claim.holder == "cy"


def test_a_lapse_wakes(crowd):
    """Whoever waits notices it, though nobody else does anything."""
    field = crowd.field
    field.ann.claim_paths(["x.md"], ttl=60)
    waiter = crowd.begin("bob", "claim_paths", ["x.md"])
    field.clock.advance(61)
    assert waiter.end().claim.holder == "bob"
    assert [event.kind for event in field.me.log(limit=3)] == ["claim.lapsed", "job.added", "claim.taken"]


def test_the_wait_is_no_part_of_the_request(crowd):
    """One request with one receipt: asked for again without waiting, or with another bound, it is the same claim."""
    field = crowd.field
    field.ann.claim_paths(["x.md"])
    with refused(field, "path_clash"):
        field.bob.claim_paths(["x.md"], receipt="K")
    waiter = crowd.begin("bob", "claim_paths", ["x.md"], receipt="K")
    field.ann.release()
    claimed = waiter.end()
    for wait in (0.0, 5.0):
        again = field.bob.claim_paths(["x.md"], receipt="K", wait=wait)
        assert (again.replayed, again.claim.token) == (True, claimed.claim.token)
    assert claimed.job.attempts.used == 1


def test_who_does_not_look_is_passed_over_until_it_does(crowd):
    """A stopped process keeps its lock, and says nothing any more."""
    field = crowd.field
    field.ann.claim_paths(["x.md"])
    engine = field.bob.engine
    until = field.clock.now().awake_ns + 10**15
    stopped = Queue(engine).join(Waiting("bob", None, None, ("x.md",), "", until))
    waiter = crowd.begin("cy", "claim_paths", ["x.md"])
    field.ann.release()
    assert "waited for by bob" in _refusal(lambda: field.ann.claim_paths(["x.md"])).message
    assert waiter.waits
    field.clock.advance(GRACE + 0.1)
    assert waiter.end().claim.holder == "cy"
    stopped.looks(field.clock.now())
    waiter.store.release()
    assert "waited for by bob" in _refusal(lambda: field.ann.claim_paths(["x.md"])).message
    stopped.close()
    field.ann.claim_paths(["x.md"])


def test_one_that_stalls_at_its_turn_is_overtaken_and_waits_on(crowd, monkeypatch):
    """It had seen the path free; by the time it comes to the lock somebody else holds it, and no two do."""
    field = crowd.field
    field.ann.claim_paths(["x.md"])
    first, second = (crowd.begin(name, "claim_paths", ["x.md"]) for name in ("bob", "cy"))
    here, go = threading.Event(), threading.Event()

    def observe(_: str, path: str) -> None:
        if threading.current_thread() is first.thread and path == f"{field.store}/lock" and not here.is_set():
            here.set()
            assert go.wait(60)

    monkeypatch.setattr(fs, "observer", observe)
    field.ann.release()
    assert here.wait(20)
    assert second.waits
    field.clock.advance(GRACE + 0.1)
    assert second.end().claim.holder == "cy"
    go.set()
    with pytest.raises(Refused) as caught:
        field.ann.claim_paths(["x.md"])
    assert [each["holder"] for each in caught.value.details["clashes"] if not each["waiting"]] == ["cy"]
    assert first.waits
    second.store.release()
    assert (first.end().claim.holder, first.outcome.claim.epoch) == ("bob", 3)


def test_who_has_died_is_gone_at_once(crowd):
    """The kernel drops its lock; its ticket is cleared by the next who waits."""
    field = crowd.field
    until = field.clock.now().awake_ns + 10**15
    dead = Queue(field.bob.engine).join(Waiting("bob", None, None, ("x.md",), "", until))
    assert "waited for by bob" in _refusal(lambda: field.ann.claim_paths(["x.md"])).message
    os.close(dead._descriptor)
    field.ann.claim_paths(["x.md"])
    waiter = crowd.begin("cy", "claim_paths", ["x.md"])
    field.ann.release()
    waiter.end()


def test_what_is_no_ticket_holds_nobody_up(crowd):
    field = crowd.field
    folder = field.store / "waiting"
    folder.mkdir()
    for name, data in (
        ("0001", "rubbish"),
        ("0002", ""),
        ("notes", "x"),
        ("0003", '00000000000000000001\n{"who":1}\n'),
    ):
        (folder / name).write_text(data)
    field.ann.claim_paths(["x.md"])
    with open(folder / "0002") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        waiter = crowd.begin("bob", "claim_paths", ["x.md"])
        assert crowd.waiting() == ["0002", "0003", "notes"], "what nobody locks is cleared by the next who waits"
        field.ann.release()
        waiter.end()
    for name in ("0002", "notes"):
        (folder / name).unlink()


@pytest.mark.parametrize("seed", range(2))
def test_whoever_began_before_has_it_before(crowd, seed):
    """Fourteen with wants of all shapes: of any two that clash, the one who began to wait earlier gets it earlier."""
    field, dice = crowd.field, random.Random(seed)
    wants = [dice.sample(["a", "a/b", "a/b/c", "d", "d/e", "f", "g"], dice.randint(1, 3)) for _ in range(14)]
    field.ann.claim_paths(["a", "d", "f", "g"])
    waiters = [crowd.begin(f"agent{at}", "claim_paths", want) for at, want in enumerate(wants)]
    field.ann.release()
    left, taken = dict(enumerate(waiters)), []
    while left:
        for at in wait_for(lambda: [each for each, waiter in left.items() if not waiter.waits]):
            taken.append((left[at].outcome.claim.epoch, at))
            left.pop(at).store.release()
    order = [at for _, at in sorted(taken)]
    fold = field.me.info.fold
    for place, later in enumerate(order):
        for earlier in order[place + 1 :]:
            both = any(clash(mine, other, fold) for mine in wants[earlier] for other in wants[later])
            assert not (both and earlier < later), (order, wants)


def test_jobs_of_one_contest_do_not_wait_for_each_other(crowd):
    field = crowd.field
    field.me.add_job("best of two", ["x.md"], contest=2)
    field.ann.claim_paths(["x.md"])
    first = crowd.begin("bob", "claim", 3, seen=1)
    second = crowd.begin("cy", "claim", 4, seen=1)
    field.ann.release()
    assert {first.end().claim.job, second.end().claim.job} == {3, 4}


def _refusal(call) -> Refused:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value
