"""The redo log: what is a torn tail, what is damage, and what neither may lose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from draftfs.engine import journal, salvage, session
from draftfs.errors import BadRequest, Damaged
from tests.faults import calls_of

PENDING = [{"id": [1, 0]}]


def log(count: int) -> tuple[bytes, list[int]]:
    """A journal of so many records, and where each begins; the end last."""
    data = journal.new(7, PENDING)
    salt, starts = journal.parse(data, "journal").head["salt"], [len(data)]
    for number in range(count):
        data += journal.frame(salt, 8 + number, {"images": {"x": "y" * number, "LF": "\nDFJ1 00000002 "}})
        starts.append(len(data))
    return data, starts


def test_records_come_back_in_order():
    contents = journal.parse(log(3)[0], "journal")
    assert [sequence for sequence, _ in contents.records] == [8, 9, 10]
    assert (contents.head["base"], contents.head["pending"], contents.last) == (7, PENDING, 10)
    assert not contents.has_tail


def test_cut_at_every_byte():
    data, starts = log(3)
    for length in range(starts[0], len(data) + 1):
        contents = journal.parse(data[:length], "journal")
        assert len(contents.records) == sum(start <= length for start in starts[1:])
        assert contents.end == max(start for start in starts if start <= length)
        assert contents.has_tail == (length not in starts)


def test_a_head_is_never_cut_by_a_crash():
    data, starts = log(0)
    for length in range(starts[0]):
        with pytest.raises(Damaged):
            journal.parse(data[:length], "journal")


@pytest.mark.parametrize("byte", [0, 0xFF])
def test_any_altered_byte_is_noticed(byte):
    data, starts = log(3)
    for at in range(len(data)):
        altered = bytearray(data)
        altered[at] = byte if altered[at] != byte else 0x41
        if at >= starts[2]:
            assert len(journal.parse(bytes(altered), "journal").records) == 2
        else:
            with pytest.raises(Damaged) as fault:
                journal.parse(bytes(altered), "journal")
            assert fault.value.details["file"] == "journal"


def test_zeros_and_rubbish_behind_the_end_are_a_tail():
    data, _ = log(3)
    for tail in (bytes(100), b"\n", b"DFJ1 ", b"DFJ1 ffffffff 000000000000000b 00000000\n", b"x" * 5000):
        contents = journal.parse(data + tail, "journal")
        assert (len(contents.records), contents.end, contents.has_tail) == (3, len(data), True)


def test_records_of_another_journal_are_not_of_this_one():
    """Each journal has a salt of its own: an old one showing through is no record."""
    data, starts = log(2)
    other, others = log(3)
    contents = journal.parse(data + other[others[2] :], "journal")
    assert (len(contents.records), contents.has_tail) == (2, True)
    assert starts[-1] == contents.end


def test_a_request_of_any_size_is_refused_before_it_is_written():
    with pytest.raises(BadRequest):
        journal.frame("salt", 1, {"images": {"x": "y" * (journal.LARGEST + 1)}})


# ── in a store ──


@pytest.mark.parametrize("tail", [bytes(100), b"\0", b"DFJ1 00000010 0000000000000009 12345678\nhalf"])
def test_a_tail_is_cut_off(plain, tail):
    plain.add(5)
    with open(plain.file("journal"), "ab") as file:
        file.write(tail)
    assert plain.positions() == [1, 2, 3, 4, 5]
    plain.add()
    assert plain.positions() == [1, 2, 3, 4, 5, 6]
    assert not journal.parse(Path(plain.file("journal")).read_bytes(), "journal").has_tail


@pytest.mark.parametrize("rubbish", [b"", bytes(300), b"nonsense"])
def test_a_journal_without_a_head_stops_everything(plain, rubbish):
    plain.add(5)
    Path(plain.file("journal")).write_bytes(rubbish)
    for attempt in (plain.positions, plain.add):
        with pytest.raises(Damaged) as fault:
            attempt()
        assert (fault.value.code, fault.value.details["file"]) == ("damaged", "journal")
        assert "doctor" in fault.value.hint
    assert salvage.renew_journal(plain.folder, plain.clock.now(), 5.0)
    assert plain.positions() == [1, 2, 3, 4, 5]
    plain.add()
    assert plain.positions()[-1] == 6


def test_a_journal_that_is_gone_stops_everything(plain):
    Path(plain.file("journal")).unlink()
    with pytest.raises(Damaged):
        plain.positions()


def test_damage_in_the_middle_stops_recovery(plain):
    """A whole record behind a broken one: no crash leaves that, and cutting there would undo what was acknowledged."""
    plain.add(5)
    data = bytearray(Path(plain.file("journal")).read_bytes())
    data[len(data) // 2] ^= 1
    Path(plain.file("journal")).write_bytes(data)
    plain.clock.reboot()
    for attempt in (plain.positions, plain.add):
        with pytest.raises(Damaged) as fault:
            attempt()
        assert fault.value.details["file"] == "journal"
    assert Path(plain.file("journal")).read_bytes() == data


def test_damage_in_the_middle_is_found_before_the_journal_is_renewed(plain, monkeypatch):
    """Where the mark fits nobody reads the journal, until it is time to start a new one: that is before the next change."""
    monkeypatch.setattr(session, "CHECKPOINT_RECORDS", 8)
    plain.add(5)
    data = bytearray(Path(plain.file("journal")).read_bytes())
    data[len(data) // 2] ^= 1
    Path(plain.file("journal")).write_bytes(data)
    with pytest.raises(Damaged):
        plain.add(20)
    assert plain.positions() == list(range(1, 9))


def test_what_is_replayed_is_synced_first(plain):
    """Whoever wrote it may have died before the sync, or the sync failed: until then no file may show it."""
    before = Path(plain.file("lock")).read_bytes()
    plain.add(3)
    Path(plain.file("lock")).write_bytes(before)
    calls = [(call, os.path.relpath(path, plain.folder)) for call, path in calls_of(plain.positions)]
    first = next(at for at, (call, path) in enumerate(calls) if call == "rename" and path.endswith(".yaml"))
    assert calls[:first].count(("fdatasync", "journal.new")) == 1
    assert ("rename", "journal") in calls[:first]
    assert ("fsync", ".") in calls[:first]
