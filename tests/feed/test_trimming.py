"""Trimming: by a person, exact, never silent, and never below the slowest reader unless it is said."""

from __future__ import annotations

import json

import pytest

from draftfs import DraftfsError, layout
from draftfs.answers import Gap
from draftfs.engine import fs, transaction
from tests.faults import Snapshot


@pytest.fixture
def talk(field, monkeypatch):
    """Twenty events in several segments, and r, who reads them."""
    monkeypatch.setattr(transaction, "SEGMENT_BYTES", 700)
    for number in range(3, 21):
        field.me.send(None, f"message {number}")
    assert len(segments(field)) > 3
    return field.open(agent="r")


def segments(field):
    return sorted(layout.first_of(path.name) for path in (field.store / "feed").iterdir())


def refused(code, call, *arguments, **named):
    with pytest.raises(DraftfsError) as caught:
        call(*arguments, **named)
    assert caught.value.code == code
    return caught.value


def test_only_a_person_and_not_beyond_the_end(field, talk):
    refused("agents_cannot_promote", talk.trim, 1)
    refused("usage", field.me.trim, 21)
    assert segments(field)[0] == 1


def test_it_stops_at_the_slowest_reader(field, talk):
    talk.read(limit=8)
    talk.acknowledge("r:1:6")
    quick = field.open(agent="quick")
    quick.acknowledge(quick.read().page)
    fault = refused("reader_behind", field.me.trim, 7)
    assert (fault.details["readers"], "--trim 6" in fault.hint) == ({"r": 6}, True)
    trimmed = field.me.trim(6)
    assert (trimmed.first, trimmed.overtaken) == (7, ())
    log = field.me.log(limit=1000)
    assert ([event.position for event in log], log.first) == ([*range(7, 22)], 7)
    assert (log[-1].kind, log[-1].data) == ("feed.trimmed", {"first": 7, "overtaken": []})
    assert segments(field)[0] <= 7 < segments(field)[1], "what holds nothing else is gone"
    page = talk.read()
    assert (page.events[0].position, page.last, page.lost) == (7, 8, None)
    assert field.me.trim(3).first == 7, "what is gone is gone"
    assert field.open(agent="new").read().lost is None, "who begins now has missed nothing"


def test_a_filter_that_passed_events_over_does_not_hold_them(field, talk):
    assert talk.read(kinds=["config.set"]).events == ()
    assert field.me.trim(20).first == 21
    assert talk.read().lost is None


def test_who_was_overtaken_is_told_until_it_acknowledges(field, talk):
    talk.read(limit=5)
    talk.acknowledge("r:1:2")
    assert field.me.trim(12, overtake=True).overtaken == ("r",)
    for _ in range(2):
        page = talk.read(limit=3)
        assert (page.lost, page.acknowledged, page.page) == (Gap(3, 12), 2, "r:1:15")
        assert [event.position for event in page.events] == [13, 14, 15]
    assert talk.acknowledge("r:1:4").acknowledged == 4, "what was handed out then was handed out"
    assert talk.read(limit=3).lost == Gap(5, 12)
    assert talk.read(restart=True, limit=3).lost == Gap(5, 12)
    assert talk.acknowledge("r:2:15").acknowledged == 15
    assert talk.read().lost is None


def test_acknowledging_what_came_before_does_not_hide_that_it_was_overtaken(field, talk):
    r = field.open(agent="r")
    page = r.read(limit=1).page
    for _ in range(3):
        field.me.send(None, "x")
    field.me.trim(3, overtake=True)
    told = r.read(after=page)  # and it dies, with the first page in hand
    assert (told.lost.first, told.lost.last, told.events[0].position) == (1, 3, 4)
    r.acknowledge(page)
    assert (r.read().lost.first, r.read().lost.last) == (2, 3)
    r.acknowledge(told.page)
    assert r.read().lost is None


def test_a_filter_makes_nobody_miss_that_it_was_overtaken(field, talk):
    """Also where the page that tells it is empty, and where nothing was handed out before."""
    talk.read(mine=True, limit=1)
    field.open(agent="s").read(kinds=["config.set"])
    for _ in range(3):
        field.bob.send(["bob"], "to others")
    assert field.me.trim(23, overtake=True).overtaken == ("r", "s")
    r, s = talk.read(), field.open(agent="s")
    assert (r.events, r.lost) == ((), Gap(1, 23))
    assert talk.read().lost == Gap(1, 23)
    assert (s.read().lost, s.read(wait=0.2).lost) == (Gap(21, 23), Gap(21, 23))
    talk.acknowledge(r.page)
    assert talk.read().lost is None


def test_trimming_everything_keeps_the_positions(field, talk):
    field.me.trim(20, overtake=True)
    assert [event.position for event in field.me.log()] == [21]
    assert field.me.send(None, "next").position == 22
    field.me.engine.checkpoint()
    assert [event.position for event in field.me.log(after=0)] == [21, 22]


def test_the_doctor_reads_a_trimmed_store_and_mends_its_counters(field, talk):
    field.ann.claim(1, seen=1)
    field.me.trim(21, overtake=True)
    field.me.engine.checkpoint()
    assert not field.me.doctor().findings
    (field.store / "counters.yaml").unlink()
    assert field.me.doctor().findings
    assert not field.me.doctor(fix=True).findings
    assert field.me.send(None, "next").position == 24
    assert field.ann.renew().claim.epoch == 1


def test_killed_at_every_call_it_has_happened_or_not(field, talk):
    """Killed before each call that changes the disk, then found by the next command, which may only be a look."""
    run = field.me
    run.engine.checkpoint()
    before = Snapshot(field.base)
    seen: list[str] = []
    outcomes = set()

    class Killed(BaseException):
        pass

    def at(number):
        def observer(call, path):
            seen.append(call)
            if len(seen) - 1 == number:
                raise Killed

        return observer

    for number in range(100):
        seen.clear()
        fs.observer = at(number)
        try:
            field.me.trim(12, receipt="key", overtake=True)
        except Killed:
            pass
        else:
            break
        finally:
            fs.observer = None
        log = field.me.log(limit=1000)
        outcomes.add(log.first)
        assert [event.position for event in log] == [*range(log.first, log.head + 1)]
        assert (log.first, log.head) in ((1, 20), (13, 21))
        assert field.me.trim(12, receipt="key", overtake=True).first == 13
        assert not field.me.doctor().findings
        before.restore()
    else:
        raise AssertionError("it never came through")
    assert (number > 5, outcomes) == (True, {1, 13})


def test_a_store_that_cannot_be_written_shows_the_trimmed_feed(field, talk, monkeypatch):
    """What the journal holds is laid over the files: also that a segment is gone."""
    from draftfs.engine.session import read_journal

    me = field.me
    me.trim(12, overtake=True)
    overlay = me.engine._overlay(read_journal(me.engine.folder))
    view = me.engine._view(overlay)
    assert [event.position for event in view.events(0, 1000)] == [*range(13, 22)]
    assert view.segments() == segments(field)


def test_a_store_of_an_older_version(field):
    """No folder of readers, and counters that do not say where the feed begins."""
    me = field.me
    me.engine.checkpoint()
    (field.store / "readers").rmdir()
    path = field.store / "counters.yaml"
    from tests.damage.lived import rechecked

    lines = [line for line in path.read_bytes().splitlines(keepends=True) if not line.startswith(b"first:")]
    path.write_bytes(rechecked(b"".join(lines)))
    assert [event.position for event in me.log()] == [1, 2]
    assert not me.doctor().findings
    r = field.open(agent="r")
    assert r.acknowledge(r.read().page).acknowledged == 2
    assert (field.store / "readers/r.yaml").is_file()
    assert json.loads((field.store / "feed/0000001.jsonl").read_text().splitlines()[0])["position"] == 1
