"""The file engine by itself: transactions, views, the mark, leftovers, checkpoints."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from draftfs import layout
from draftfs.engine import fs
from draftfs.engine import mark as marks
from draftfs.engine import session as sessions
from draftfs.engine.files import FileEngine, create
from draftfs.engine.mark import Mark
from draftfs.errors import BadRequest, Busy, Damaged, EnvironmentFault, Refused
from draftfs.records import Attempts, Job
from tests.faults import calls_of, failing


def job(number: int, title: str = "a job") -> Job:
    return Job(number, title, "open", 1, ("x",), (), Attempts(0, 3), (), None, 0, (), "", None, "me", "now", "now")


def put(engine, *jobs: Job) -> None:
    def step(tx) -> None:
        for each in jobs:
            tx.put(layout.job(each.id), each)

    engine.write(step)


def titles(engine) -> list[str]:
    return engine.read(lambda view: [view.get(key).title for key in view.under(layout.JOBS)])


# ── transactions ──


def test_a_transaction_sees_its_own_changes_and_others_do_not(plain):
    engine = plain.engine()

    def step(tx) -> list[str]:
        tx.put(layout.job(1), job(1))
        tx.put(layout.job(2), job(2))
        tx.delete(layout.job(1))
        assert tx.get(layout.job(1)) is None
        assert titles_of(tx) == ["a job"]
        tx.put(layout.job(3), job(3))
        assert len(titles_of(tx)) == 2
        tx.append("test", "me")
        assert tx.counters.position == 1
        return os.listdir(plain.file("jobs"))

    assert engine.write(step)[0].value == []
    assert len(titles(plain.engine())) == 2


def titles_of(view) -> list[str]:
    return [view.get(key).title for key in view.under(layout.JOBS)]


def test_what_a_step_raises_undoes_that_step_alone(plain):
    engine = plain.engine()

    def bad(tx) -> None:
        tx.put(layout.job(2), job(2))
        raise Refused("all_done", "no")

    with pytest.raises(Refused):
        engine.write(lambda tx: tx.put(layout.job(1), job(1)), bad, lambda tx: tx.put(layout.job(3), job(3)))
    assert titles(plain.engine()) == ["a job"]


def test_trying_out_changes_nothing(plain):
    engine = plain.engine()
    before = (Path(plain.file("journal")).read_bytes(), engine.now())
    assert engine.try_out(lambda tx: tx.append("test", "me")) == 1
    assert plain.positions() == []
    assert len(Path(plain.file("journal")).read_bytes()) >= len(before[0])


def test_looking_on_writes_nothing(plain):
    plain.add(3)
    assert calls_of(plain.positions) == []


def test_a_request_too_large_for_one_transaction(plain, monkeypatch):
    monkeypatch.setattr(sessions.journal, "LARGEST", 1000)
    with pytest.raises(BadRequest):
        put(plain.engine(), job(1, "x" * 2000))
    assert titles(plain.engine()) == []
    assert os.listdir(plain.file("staging")) == []


def test_two_engines_see_each_others_changes(plain):
    """Each keeps what it decoded; a file that came back with the same size, times and inode is read anew all the same."""
    first, second = plain.engine(), plain.engine()
    for number in range(50):
        put(first, job(1, f"title {number:02d}"))
        assert titles(second) == [f"title {number:02d}"]
        times = os.stat(plain.file("jobs/0001.yaml"))
        put(second, job(1, f"other {number:02d}"))
        os.utime(plain.file("jobs/0001.yaml"), ns=(times.st_atime_ns, times.st_mtime_ns))
        assert titles(first) == [f"other {number:02d}"]


def test_the_cache_does_not_grow_without_end(plain, monkeypatch):
    monkeypatch.setattr("draftfs.engine.transaction._CACHED", 5)
    engine = plain.engine()
    put(engine, *(job(number) for number in range(1, 20)))
    assert len(titles(engine)) == 19
    assert len(engine._cache) <= 5


# ── the mark ──


def test_a_mark_says_what_it_said():
    mark = Mark(5, 1000, 3, "ab12", 2, 66, "boot-1'")
    assert len(mark.encode()) == marks.MARK_BYTES
    assert marks.decode(mark.encode()) == mark
    for at in range(len(mark.encode().rstrip())):
        altered = bytearray(mark.encode())
        altered[at] ^= 1
        assert marks.decode(bytes(altered)) is None


@pytest.mark.parametrize("spoil", [b"", bytes(256), bytes(356), b"DFL1 9 9 9 x 0 0 y 00000000\n"])
def test_a_lock_file_that_was_spoilt_does_no_harm(plain, spoil):
    plain.add(5)
    Path(plain.file("lock")).write_bytes(spoil)
    assert plain.positions() == [1, 2, 3, 4, 5]
    plain.add()
    Path(plain.file("lock")).write_bytes(spoil)
    plain.add()
    assert plain.positions() == [1, 2, 3, 4, 5, 6, 7]


def test_a_lock_file_with_something_behind_the_mark(plain):
    plain.add(2)
    with open(plain.file("lock"), "ab") as file:
        file.write(bytes(100))
    assert calls_of(plain.positions) == []
    plain.add()
    assert plain.positions() == [1, 2, 3]


def test_a_settled_store_is_not_recovered_again(plain):
    plain.add(5)
    calls = calls_of(plain.add)
    assert [call for call, _ in calls if call == "rename"] == ["rename"]
    assert not any(call == "fsync" for call, _ in calls)
    assert sum(call == "fdatasync" for call, _ in calls) == 1


def test_a_mark_that_cannot_be_written_does_not_undo_the_answer(plain):
    plain.add(2)
    with failing(0, errno.ENOSPC, frozenset({"pwrite"}), "/lock") as failed:
        plain.add()
    assert failed
    assert plain.positions() == [1, 2, 3]


# ── checkpoints ──


def test_the_journal_stays_short(plain):
    engine = plain.engine()
    for _ in range(3):
        plain.add(sessions.CHECKPOINT_RECORDS, engine)
        assert os.path.getsize(plain.file("journal")) < sessions.CHECKPOINT_BYTES
    assert len(plain.positions()) == 3 * sessions.CHECKPOINT_RECORDS
    plain.clock.reboot()
    assert len(plain.positions()) == 3 * sessions.CHECKPOINT_RECORDS


def test_a_checkpoint_syncs_every_file_and_folder_it_relies_on(plain):
    engine = plain.engine()
    put(engine, job(1), job(2))
    engine.write(lambda tx: tx.put(layout.done(7), job(7)), lambda tx: tx.delete(layout.job(2)))
    engine.write(lambda tx: tx.append("test", "me"))
    calls = calls_of(engine.checkpoint)
    synced = {os.path.relpath(path, plain.folder) for call, path in calls if call == "fsync"}
    assert {"jobs/0001.yaml", "done/0007.yaml", "counters.yaml", "feed/0000001.jsonl"} <= synced
    assert {"jobs", "done", "feed", "."} <= synced
    assert "jobs/0002.yaml" not in synced
    order = [call for call, path in calls if path.endswith(("/journal", "/journal.new", "/store"))]
    assert order[-4:] == ["fdatasync", "rename", "fsync", "fsync"] or order[-3:] == ["fdatasync", "rename", "fsync"]
    first = next(at for at, (_, path) in enumerate(calls) if "journal" in path)
    assert all(call != "fsync" or path == plain.folder for call, path in calls[first:])


def test_a_due_checkpoint_without_space_waits(plain, monkeypatch):
    monkeypatch.setattr(sessions, "CHECKPOINT_RECORDS", 3)
    plain.add(3)
    size = os.path.getsize(plain.file("journal"))
    with failing(0, errno.ENOSPC, frozenset({"create"}), "/journal.new") as failed:
        plain.add(3)
    assert failed
    assert os.path.getsize(plain.file("journal")) > size
    assert not os.path.exists(plain.file("journal.new"))
    plain.add()
    assert os.path.getsize(plain.file("journal")) < size
    assert plain.positions() == list(range(1, 8))


def test_a_feed_of_many_segments(plain, monkeypatch):
    monkeypatch.setattr("draftfs.engine.transaction.SEGMENT_BYTES", 300)
    plain.add(20)
    assert len(os.listdir(plain.file("feed"))) > 3
    assert plain.positions() == list(range(1, 21))
    with failing(0, errno.ENOSPC, frozenset({"append"})), pytest.raises(EnvironmentFault):
        plain.add()
    plain.clock.reboot()
    assert plain.positions() == list(range(1, 21))
    plain.add()
    assert plain.positions() == list(range(1, 22))


# ── what is left lying about ──


def test_leftovers_go_and_what_is_held_stays(plain):
    from contextlib import ExitStack

    from draftfs.engine.objects import Objects

    for name in ("record-0", "record-77", "0123456789abcdef"):
        Path(plain.file(f"staging/{name}")).write_bytes(b"left")
    Path(plain.file("staging/record-0")).chmod(0)
    os.mkdir(plain.file("staging/folder"))
    with ExitStack() as stack:
        held, _ = Objects(plain.folder).stage(stack, plain.file("staging"), 0o444)
        plain.add()
        assert sorted(os.listdir(plain.file("staging"))) == sorted([os.path.basename(held), "folder"])
    assert os.listdir(plain.file("staging")) == ["folder"]


def test_a_store_cut_short_in_the_making_is_completed(plain):
    info = plain.engine().read(lambda view: view.store)
    os.unlink(plain.file("store.yaml"))
    os.unlink(plain.file("journal"))
    assert create(plain.folder, plain.clock, info)
    assert not create(plain.folder, plain.clock, info)
    plain.add()
    assert plain.positions() == [1]


def test_one_damaged_record_spoils_only_itself(plain):
    engine = plain.engine()
    put(engine, job(1), job(2))
    Path(plain.file("jobs/0001.yaml")).write_bytes(b"")
    with pytest.raises(Damaged):
        engine.read(lambda view: view.get(layout.job(1)))
    assert engine.read(lambda view: view.get(layout.job(2))).title == "a job"
    plain.add()


# ── readers ──


def test_a_look_is_begun_again_when_somebody_writes_meanwhile(plain):
    engine, other, looks = plain.engine(), plain.engine(), []

    def look(view) -> tuple[int, int]:
        before = view.counters.position
        if not looks:
            plain.add(1, other)
        looks.append(before)
        return before, view.counters.position

    assert engine.read(look) == (1, 1)
    assert looks == [0, 1]


@pytest.mark.parametrize("fault", [Damaged("damaged", "half of it"), KeyError("job"), AssertionError()])
def test_what_a_look_raises_counts_only_when_nobody_wrote_meanwhile(plain, fault):
    engine, looks = plain.engine(), []

    def look(view) -> int:
        looks.append(1)
        if len(looks) == 1:
            plain.add()
            raise fault
        return view.counters.position

    assert engine.read(look) == 1


def test_at_every_call_of_a_transaction_a_reader_sees_all_or_nothing(plain):
    """Between the commit and the mark there is nothing to see without waiting."""
    plain.add()
    reader = FileEngine(plain.folder, plain.clock, 0.001)
    seen: list[object] = []

    def look(view) -> tuple:
        counters = view.counters
        return counters.job, tuple(titles_of(view)), len(view.events(0, counters.position))

    def observer(call: str, path: str) -> None:
        fs.observer = None
        try:
            seen.append(reader.read(look))
        except Busy:
            seen.append("busy")
        fs.observer = observer

    def step(tx) -> None:
        tx.append("test", "me")
        for number in (1, 2, 3):
            tx.put(layout.job(number), job(number))
        tx.put(layout.COUNTERS, replace(tx.counters, job=3))

    fs.observer = observer
    try:
        plain.engine().write(step)
    finally:
        fs.observer = None
    old, new = (0, (), 1), (3, ("a job",) * 3, 2)
    assert reader.read(look) == new
    assert [each for at, each in enumerate(seen) if at == 0 or seen[at - 1] != each] == [old, "busy"]
