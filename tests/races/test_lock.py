"""The one lock: fair, bounded, not inherited; and readers who do without it (§6)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from draftfs import Busy
from draftfs.engine import lock
from draftfs.engine.files import FileEngine
from tests.actors import Actor, FileClock
from tests.support import make_field


@pytest.fixture
def shared(tmp_path):
    field = make_field(tmp_path, FileClock(tmp_path / "clock"))
    yield field
    assert field.me.doctor().findings == ()


def _many(field, count: int, stack: ExitStack, **options) -> list[Actor]:
    return [stack.enter_context(Actor(field.root, clock=field.clock, **options)) for _ in range(count)]


def test_nobody_starves(shared):
    """Four processes write short transactions until one has made 150: nobody was turned away, nobody left behind."""
    with ExitStack() as stack:
        writers = _many(shared, 4, stack)
        for writer in writers:
            writer.call("bump", 1)  # so that all have started
        for writer in writers:
            writer.ask("bump_until", str(shared.base / "enough"), 150)
        done = [writer.answer()["ok"] for writer in writers]
    assert max(done) == 150
    assert min(done) >= 40, done


def test_transactions_of_many_are_counted_once(shared):
    start = shared.me.engine.read(lambda view: view.counters.position)
    with ExitStack() as stack:
        writers = _many(shared, 4, stack)
        for writer in writers:
            writer.ask("bump", 60)
        assert [writer.answer()["ok"] for writer in writers] == [60] * 4
    events = shared.me.log(after=start, limit=1000)
    assert [event.position for event in events] == list(range(start + 1, start + 241))


def test_a_stopped_holder_makes_others_busy_in_time(shared):
    with Actor(shared.root, clock=shared.clock) as holder:
        holder.ask("hold")
        holder.stopped()
        hurried = shared.open(lock_wait=0.2)
        outcomes: list[object] = []

        def try_it() -> None:
            started = time.monotonic()
            try:
                hurried.add_job("x", ["x"])
            except Busy as busy:
                outcomes.append((busy.code, busy.exit_status, busy.retryable, time.monotonic() - started < 5))

        try_it()
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join(20)
        assert outcomes == [("busy", 7, True, True)] * 2
        assert len(shared.open(lock_wait=0.2).jobs()) == 2
        holder.go_on()
        assert "ok" in holder.answer()
    assert hurried.add_job("x", ["x"]).jobs[0].id == 3


def test_who_gives_up_waiting_leaves_nobody_in_the_queue(shared):
    path = str(shared.store / "lock")
    with lock.exclusive(path, 1):
        for _ in range(3):
            with pytest.raises(Busy), lock.exclusive(path, 0.01):
                pass
    with lock.exclusive(path, 5):
        assert not lock.is_free(path)


def test_threads_each_with_a_store(shared):
    stores = [shared.open() for _ in range(4)]
    faults: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for each in range(10):
                stores[number].add_job(f"{number}/{each}", [f"t{number}/{each}"])
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []
    assert [line.job.id for line in shared.me.jobs()] == list(range(1, 43))


def test_a_forked_child_neither_holds_nor_drops_its_parents_lock(shared):
    path = str(shared.store / "lock")
    with lock.exclusive(path, 1):
        child, let_go = _fork_and_wait()
        held = not lock.is_free(path)
    free = lock.is_free(path)
    let_go()
    assert os.waitpid(child, 0)[1] == 0
    assert (held, free) == (True, True)
    with lock.exclusive(path, 1):
        child, let_go = _fork_and_wait()
        let_go()
        os.waitpid(child, 0)
        assert not lock.is_free(path)


def _fork_and_wait() -> tuple[int, Callable[[], None]]:
    """A child that lives until it is let go."""
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(go[1])
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    for end in (*ready, go[0]):
        os.close(end)
    return child, lambda: os.close(go[1])


def test_a_lock_file_made_anew_is_noticed(shared):
    """A lock on a removed file excludes nobody: whoever gets it looks whether it is still the one at its path."""
    path = shared.store / "lock"
    entered = []
    with lock.exclusive(str(path), 1):
        waiter = threading.Thread(target=lambda: _enter(str(path), entered))
        waiter.start()
        path.rename(path.with_suffix(".old"))
        path.touch()
        fresh = os.stat(path).st_ino
    waiter.join(20)
    assert entered == [fresh]
    path.with_suffix(".old").unlink()


def _enter(path: str, entered: list[int]) -> None:
    with lock.exclusive(path, 10) as descriptor:
        entered.append(os.fstat(descriptor).st_ino)


def test_a_reader_never_sees_half_of_a_transaction(shared, monkeypatch):
    """Counters, jobs and leases are of one moment every time, while others write; and mostly without taking the lock."""
    locked = []
    monkeypatch.setattr(
        FileEngine,
        "_read_locked",
        lambda self, look, plain=FileEngine._read_locked: locked.append(1) or plain(self, look),
    )
    store, looks = shared.open(), 0

    def look(view) -> tuple[int, int, int, int]:
        from draftfs import layout

        jobs = [view.get(key) for key in view.under(layout.JOBS)]
        leases = [view.get(key) for key in view.under(layout.LEASES)]
        counters = view.counters
        claimed = {(job.id, job.holder, job.epoch) for job in jobs if job.state == "claimed"}
        assert claimed == {(lease.job, lease.holder, lease.epoch) for lease in leases}
        assert counters.live == len(leases)
        assert counters.job == max(job.id for job in jobs)
        assert max(job.epoch for job in jobs) == counters.epoch
        assert len(view.events(0, counters.position)) == counters.position
        return counters.position

    with ExitStack() as stack:
        writers = [
            stack.enter_context(Actor(shared.worktree(name), name, clock=shared.clock)) for name in ("ann", "bob")
        ]
        seen = set()
        for _ in range(12):
            for number, writer in enumerate(writers, 1):
                writer.ask("claim", number, seen=shared.version(number))
            for _ in range(10):
                seen.add(store.engine.read(look))
                looks += 1
            for writer in writers:
                assert "ok" in writer.answer()
            seen.add(store.engine.read(look))
            for writer in writers:
                writer.ask("release")
            for _ in range(10):
                seen.add(store.engine.read(look))
                looks += 1
            for writer in writers:
                assert "ok" in writer.answer()
            seen.add(store.engine.read(look))
    assert len(seen) >= 24
    assert len(locked) < looks / 4
