"""A power cut takes what was never synced: record files fall back to older versions, the synced journal stays (G6)."""

from __future__ import annotations

import pytest

from draftfs import EnvironmentFault
from draftfs.engine import files, mark
from draftfs.layout import JOURNAL, LOCK
from draftfs.records import DraftRef
from tests.crash.operations import PREPARED, SPEC, make_ready
from tests.faults import Snapshot, calls_of, killed_at, records

KEPT = ("journal", "objects")


def cut(field, old: Snapshot) -> None:
    """The store's files as they were at `old`, but for what is synced before any commit; another boot."""
    journal = (field.store / JOURNAL).read_bytes()
    objects = {path: path.read_bytes() for path in (field.store / "objects").rglob("*") if path.is_file()}
    old.restore()
    (field.store / JOURNAL).write_bytes(journal)
    for path, data in objects.items():
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(data)
    field.clock.reboot()


@pytest.fixture
def worked(field):
    """A store with some history, snapshots of its files along the way, and what it holds now."""
    snapshots = [Snapshot(field.store)]

    def then(_: object) -> None:
        snapshots.append(Snapshot(field.store))

    then(field.ann.claim(1, seen=1))
    then(field.put("ann", SPEC, "v1\n"))
    then(field.put("ann", SPEC, "v2\n"))
    then(field.bob.claim(2, seen=1))
    then(field.bob.release())
    then(field.ann.submit())
    then(field.me.promote([DraftRef(SPEC, 2)]))
    then(field.me.add_job("more", ["docs"]))
    return snapshots, records(field.me)


@pytest.mark.parametrize("back", range(9))
def test_files_of_any_age_come_back_to_the_newest(field, worked, back):
    snapshots, newest = worked
    cut(field, snapshots[back])
    assert records(field.me) == newest
    assert field.me.ls()[0].chosen == 2
    assert field.me.engine.pending_effects() == []


def test_files_of_different_ages_come_back_to_the_newest(field, worked):
    """The page cache is written out in no order: each file falls back to a version of its own, or was never written."""
    snapshots, newest = worked
    cut(field, snapshots[-1])
    for number, name in enumerate(sorted(newest)):
        age = snapshots[number % len(snapshots)]._files.get(name)
        if name == "feed":
            (field.store / "feed" / "0000001.jsonl").write_bytes(b"")
        elif age is None:
            (field.store / name).unlink()
        elif number % 3 == 0:
            (field.store / name).write_bytes(b"")
        else:
            (field.store / name).write_bytes(age[1])
    assert records(field.me) == newest


def test_a_reader_who_cannot_write_sees_the_newest_too(field, worked, monkeypatch):
    snapshots, newest = worked
    cut(field, snapshots[2])
    before = Snapshot(field.store)

    def refuse(*_: object, **__: object) -> None:
        raise EnvironmentFault("permission", "the store cannot be written")

    monkeypatch.setattr(files.Session, "hold", refuse)
    store = field.me
    log = store.engine.read(lambda view: (view.counters.position, view.events(0, 1000)))
    assert log[0] == len(log[1]) == log[1][-1].position
    assert [job.job.state for job in store.jobs(everything=True)] == ["accepted", "open", "open"]
    monkeypatch.undo()
    assert Snapshot(field.store)._files == before._files
    assert records(field.me) == newest


@pytest.mark.parametrize("name", PREPARED)
def test_the_power_fails_at_every_call(field, name):
    """What the files held before the operation, and the journal as far as it was written: whole or not at all."""
    operation = make_ready(field, name)
    boot = field.clock.instant
    calls = calls_of(operation.run)
    append = next(at for at, (call, path) in enumerate(calls) if call == "append" and path.endswith(JOURNAL))
    for number in (*range(append, append + 5), len(calls) - 1):
        for whole in (True, False):
            operation.before.restore()
            field.clock.instant = boot
            length = (field.store / JOURNAL).stat().st_size
            killed_at(number, operation.run)
            written = (field.store / JOURNAL).read_bytes()
            shown = Snapshot(field.root, leave=(".git",))
            cut(field, operation.before)
            if number == len(calls) - 1:  # by then the journal says that the root was synced
                shown.restore()
            synced = number > append + 1
            if not whole and not synced:
                (field.store / JOURNAL).write_bytes(written[: (length + len(written)) // 2])
            happened = operation.check_whole_or_not()
            assert happened is (synced or (whole and number > append))
            assert operation.run().replayed is happened
            assert field.me.doctor().findings == ()
            assert field.me.engine.pending_effects() == []


def test_an_old_mark_of_another_boot_is_not_trusted(field, worked):
    """The mark says where the files were, in the page cache of its boot. The same bytes of a marked store, rebooted."""
    snapshots, newest = worked
    settled = (field.store / LOCK).read_bytes()
    cut(field, snapshots[0])
    (field.store / LOCK).write_bytes(settled)
    assert mark.decode(settled) is not None
    assert records(field.me) == newest


def test_a_journal_that_lost_marked_records_is_damage_after_a_reboot(field, worked):
    """No torn tail: the mark came after the sync. Replaying the rest over newer files would mix two times."""
    field.damaged = True
    journal = field.store / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-10])
    field.clock.reboot()
    with pytest.raises(EnvironmentFault) as refused:
        field.me  # noqa: B018
    assert refused.value.code == "damaged"
    assert "doctor" in refused.value.hint


def test_a_journal_that_lost_marked_records_is_replaced_in_the_same_boot(field, worked):
    """The files hold all of it, and are made to last; no number is given twice."""
    _, newest = worked
    journal = field.store / JOURNAL
    last = mark.decode((field.store / LOCK).read_bytes()).sequence
    journal.write_bytes(journal.read_bytes()[:-10])
    assert records(field.me) == newest
    assert mark.decode((field.store / LOCK).read_bytes()).sequence == last
    field.me.add_job("one more", ["x"])
    field.clock.reboot()
    assert len(field.me.jobs()) == 3
