"""The feed in many segments: every event is found, and what a read costs does not grow with history (G8)."""

from __future__ import annotations

import os

import pytest

from draftfs import Damaged, layout
from draftfs.engine import transaction
from draftfs.rules import feed


@pytest.fixture
def long(field, monkeypatch):
    """Sixty events in some twenty segments."""
    monkeypatch.setattr(transaction, "SEGMENT_BYTES", 500)
    for number in range(3, 61):
        field.me.send(["bob"], f"message {number}")
    assert len(os.listdir(field.store / "feed")) > 15
    return field


def test_every_window_of_it(long):
    view = long.me.engine.read(lambda view: view)
    for after in range(-1, 62):
        for limit in (0, 1, 3, 100):
            found = [event.position for event in view.events(after, limit)]
            assert found == [*range(max(after, 0) + 1, 61)][:limit], (after, limit)


@pytest.mark.parametrize("which", ["first", "middle", "last"])
def test_a_segment_that_is_missing_or_short_is_damage_for_who_needs_it(long, which):
    long.damaged = True
    me = long.me
    me.engine.checkpoint()
    names = sorted(os.listdir(long.store / "feed"))
    name = names[{"first": 0, "middle": len(names) // 2, "last": -1}[which]]
    first = layout.first_of(name)
    path = long.store / "feed" / name
    whole = path.read_bytes()
    for there in (whole[: len(whole) // 2], None):
        path.unlink() if there is None else path.write_bytes(there)
        with pytest.raises(Damaged) as caught:
            me.log(after=first - 1, limit=30)
        assert caught.value.details["file"] in (f"feed/{name}", f"feed/{names[max(names.index(name) - 1, 0)]}")
        if which != "first":
            assert me.log(after=0, limit=2)[1].position == 2
    assert me.doctor(fix=True).fixed
    assert len(long.me.log(limit=1000)) == long.me.log().head


def test_whatever_stands_in_a_segment_s_place_is_damage_and_no_wait(long):
    path, real = long.store / layout.segment(1), long.store / "real"
    for stand in (lambda: path.symlink_to(real), path.mkdir, lambda: os.mkfifo(path)):
        long.me.engine.checkpoint()
        path.rename(real)
        stand()
        with pytest.raises(Damaged) as caught:
            long.me.log(after=0)
        assert (caught.value.details["file"], caught.value.hint) == (layout.segment(1), "draftfs doctor --fix")
        assert long.me.log(limit=1)[0].position >= 60, "who does not need it is not held up"
        assert long.me.doctor(fix=True).fixed
        assert long.me.log(after=0, limit=1)[0].position == 1
        real.unlink()


def test_the_last_page_needs_one_segment_and_no_listing(long, monkeypatch):
    r = long.open(agent="r")
    r.acknowledge(r.read(limit=1000).page)
    monkeypatch.setattr(transaction, "SEGMENT_BYTES", 10_000)
    for _ in range(2):
        long.me.send(["r"], "new")
    opened: list[str] = []
    kept = transaction.FileView._segment_bytes

    def segment_bytes(view, name, size):
        opened.append(name)
        return kept(view, name, size)

    with monkeypatch.context() as patch:
        patch.setattr(transaction.FileView, "_segment_bytes", segment_bytes)
        patch.setattr(transaction.FileView, "segments", None)  # nobody lists the folder
        pages = [r.read(limit=1), r.read(limit=1)]
        latest = long.me.log(limit=1)
    assert [event.position for event in (*pages[0].events, *latest)] == [61, 62]
    assert pages[0] == pages[1]
    assert len(set(opened)) == 1


def test_a_filter_that_passes_over_much_goes_on_where_it_was(long, monkeypatch):
    """Bounded work for each read, nothing looked at twice, and no need to acknowledge empty pages."""
    monkeypatch.setattr(feed, "SCANNED", 5)
    monkeypatch.setattr("draftfs.talk.LOOKS", 2)
    looked: list[int] = []
    passes = feed.passes
    monkeypatch.setattr(feed, "passes", lambda event, reader: looked.append(event.position) or passes(event, reader))
    long.me.send(["ann"], "to ann")
    ann = long.open(agent="ann")
    pages = [ann.read(mine=True)]
    while not pages[-1].events:
        pages.append(ann.read())
    assert [page.last for page in pages] == [10, 20, 30, 40, 50, 60, 61]
    assert looked == [*range(1, 62)]
    assert (pages[-1].acknowledged, ann.read()) == (0, pages[-1])
    assert ann.read(restart=True).page == "ann:2:61"


def test_the_log_of_one_kind_looks_back_and_says_how_far(long, monkeypatch):
    monkeypatch.setattr("draftfs.talk._WINDOW", 7)
    assert [event.position for event in long.me.log(kinds=["job.added"])] == [1, 2]
    assert [event.position for event in long.me.log(kinds=["message.sent"], limit=3)] == [58, 59, 60]
    assert [event.position for event in long.me.log(job=2)] == [2]
    monkeypatch.setattr("draftfs.talk.SEARCHED", 20)
    log = long.me.log(kinds=["job.added"])
    assert (tuple(log), log.searched) == ((), 40)
