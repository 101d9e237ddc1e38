"""G5: reading hands out and acknowledges nothing; a page is the same until it is acknowledged; only its reader does that."""

from __future__ import annotations

import pytest

from draftfs import DraftfsError
from draftfs.engine import fs
from draftfs.names import reader_of
from draftfs.records import Actor, Reader
from draftfs.rules import feed


@pytest.fixture
def talk(field):
    """A feed of twelve events, ten of them messages; and r, who reads it."""
    for number in range(3, 13):
        field.me.send(["r"] if number % 3 == 0 else None, f"message {number}")
    return field.open(agent="r")


def positions(page):
    return [event.position for event in page.events]


def refused(code, call, *arguments, **named):
    with pytest.raises(DraftfsError) as caught:
        call(*arguments, **named)
    assert caught.value.code == code
    return caught.value


def kept(field, name="r") -> Reader:
    return field.me.engine.read(lambda view: view.get(feed.layout.reader(name)))


def test_a_page_comes_again_until_it_is_acknowledged(talk):
    first = talk.read(limit=5)
    assert (first.page, positions(first), first.last) == ("r:1:5", [1, 2, 3, 4, 5], 5)
    assert talk.read(limit=5) == first
    assert (first.acknowledged, first.handed_out, first.head) == (0, 5, 12)
    second = talk.read(limit=5, after="r:1:5")
    assert (second.page, positions(second)) == ("r:1:10", [6, 7, 8, 9, 10])
    assert talk.read(limit=5, after="r:1:5") == second
    assert positions(talk.read(limit=5)) == positions(first)
    answer = talk.acknowledge("r:1:5")
    assert (answer.acknowledged, answer.handed_out) == (5, 10)
    assert positions(talk.read(limit=5)) == positions(second)


def test_a_page_keeps_its_end_whatever_comes_later(field, talk):
    """Between pages that were handed out, nothing moves: not by new events, not by another limit."""
    assert talk.read(limit=5).page == "r:1:5"
    assert talk.read(limit=100, after="r:1:5").page == "r:1:12"
    field.me.send(None, "later")
    assert talk.read(limit=100, after="r:1:5").page == "r:1:12"
    assert talk.read(limit=100).page == "r:1:5", "a greater limit makes no page longer"
    assert talk.read(limit=2).page == "r:1:2", "a smaller one gives its beginning"
    assert talk.read(limit=100, after="r:1:2").page == "r:1:5"
    assert talk.read(after="r:1:12").page == "r:1:13"
    field.me.send(None, "later still")
    assert talk.read(after="r:1:12").page == "r:1:13"
    assert [page.last for page in kept(field).pages] == [5, 12, 13]


def test_an_empty_page_is_one_that_is_not_full_yet(field, talk):
    talk.acknowledge(talk.read().page)
    empty = talk.read()
    assert (empty.page, empty.events) == ("r:1:12", ())
    assert talk.acknowledge(empty.page).acknowledged == 12
    field.me.send(None, "at last")
    assert positions(talk.read()) == [13]
    assert positions(talk.read(after="r:1:12")) == [13]


def test_acknowledging_a_part_twice_backwards_and_ahead(talk):
    talk.read(limit=5)
    answer = talk.acknowledge("r:1:3")
    assert positions(talk.read(limit=5)) == [4, 5]
    again = talk.acknowledge("r:1:3")
    assert (again.acknowledged, again.handed_out) == (answer.acknowledged, answer.handed_out) == (3, 5)
    assert talk.acknowledge("r:1:5").acknowledged == 5
    assert talk.acknowledge("r:1:3").acknowledged == 5, "an older page moves nothing back"
    for ahead in ("r:1:6", "r:1:99", "r:2:5"):
        assert "up to 5 in generation 1" in refused("not_handed_out", talk.acknowledge, ahead).message
    assert positions(talk.read(limit=5, after="r:1:2")) == [6, 7, 8, 9, 10], "what is acknowledged does not come again"


def test_a_restart_makes_every_page_of_before_void(field, talk):
    talk.read(limit=5)
    talk.acknowledge("r:1:3", receipt="the ack")
    page = talk.read(restart=True, limit=3)
    assert (page.page, positions(page), page.acknowledged) == ("r:2:6", [4, 5, 6], 3)
    for stale in ("r:1:3", "r:1:5", "r:1:99"):
        assert refused("page_fenced", talk.acknowledge, stale).exit_status == 4
        refused("page_fenced", talk.read, after=stale)
    assert talk.acknowledge("r:1:3", receipt="the ack").replayed, "that call happened, and is told so"
    assert (kept(field).acknowledged, talk.read(restart=True).page) == (3, "r:3:12")
    refused("page_fenced", talk.acknowledge, "r:2:6")
    assert talk.acknowledge("r:3:12").acknowledged == 12


def test_nobody_acknowledges_for_another(field, talk):
    talk.read()
    bob = field.open(agent="bob")
    assert "belongs to r" in refused("not_handed_out", bob.acknowledge, "r:1:5").message
    refused("not_handed_out", bob.read, after="r:1:5")
    assert refused("no_reader", bob.acknowledge, "bob:1:5").exit_status == 5
    refused("no_reader", bob.read, after="bob:1:0")
    assert kept(field, "bob") is None, "nothing was made by being refused"
    assert kept(field).acknowledged == 0


def test_what_is_no_handle(talk):
    for bad in ("", "r", "r:1", "r:1:", "r:0:1", "r:1:01", "r:1:-1", "r:1:1:1", "r:1:x", "r:1:\u0663", "r:1:5\n"):
        assert refused("usage", talk.acknowledge, bad).exit_status == 2
        refused("usage", talk.read, after=bad)


def test_how_a_reader_is_asked_wrongly(field, talk):
    refused("bad_name", talk.acknowledge, "../x:1:1")
    refused("usage", talk.read, limit=0)
    refused("usage", talk.read, after="r:1:1", restart=True)
    assert "message.sent" in refused("usage", talk.read, kinds=["message.send"]).hint
    assert kept(field) is None


def test_the_filter_is_that_of_the_first_read(field, talk):
    page = talk.read(kinds=["message.sent"], mine=True, limit=2)
    assert positions(page) == [3, 4]
    assert talk.read(limit=2) == page, "it applies where none is given"
    assert talk.read(kinds=["message.sent", "message.sent"], mine=True, limit=2) == page
    for other in ({"mine": True}, {"kinds": ["message.sent"]}, {"kinds": ["job.added"], "mine": True}):
        fault = refused("filter_fixed", talk.read, **other)
        assert "message.sent that concern it" in fault.message
    plain = field.open(agent="plain")
    plain.read()
    refused("filter_fixed", plain.read, mine=True)


def test_positions_count_what_the_filter_passed_over(field, talk):
    page = talk.read(kinds=["job.added"])
    assert (positions(page), page.page) == ([1, 2], "r:1:12")
    talk.acknowledge(page.page)
    field.me.send(None, "not of that kind")
    empty = talk.read()
    assert (empty.events, empty.page, empty.acknowledged) == ((), "r:1:13", 12)
    assert talk.acknowledge(empty.page).acknowledged == 13
    field.me.add_job("third", ["x"])
    assert talk.read().page == "r:1:14"


def test_polling_for_nothing_new_writes_nothing(field, talk, monkeypatch):
    talk.acknowledge(talk.read().page)
    same, other = talk.read(), field.open(agent="other").read(mine=True)
    calls: list[str] = []
    monkeypatch.setattr(fs, "observer", lambda call, _: calls.append(call))
    assert talk.read() == same
    assert talk.read(after=same.page) == same
    assert field.open(agent="other").read() == other, "nor does handing out the same page again"
    assert calls == []


def test_two_processes_of_one_name_are_one_reader(field, talk):
    twin = field.open(agent="r")
    assert talk.read(limit=5) == twin.read(limit=5)
    twin.acknowledge("r:1:5")
    assert positions(talk.read(limit=5)) == [6, 7, 8, 9, 10]
    assert talk.acknowledge("r:1:5").acknowledged == 5


def test_a_restart_between_the_look_and_the_hand_out(field, talk, monkeypatch):
    """Between the look and the hand-out the reader is restarted by its twin: the page would be of a dead generation."""
    looked = feed.take
    twin = field.open(agent="r")
    talk.read(limit=5)

    def take(view, wanted):
        monkeypatch.setattr(feed, "take", looked)
        turn = looked(view, wanted)
        twin.read(restart=True, limit=3)
        return turn

    monkeypatch.setattr(feed, "take", take)
    fault = refused("page_fenced", talk.read, limit=100, after="r:1:5")
    assert fault.details["generation"] == 2
    assert kept(field).handed_out == 3


def test_large_messages_make_smaller_pages(field, monkeypatch):
    monkeypatch.setattr(feed, "_PAGE_TEXT", 2000)
    for _ in range(4):
        field.me.send(["r"], "long", "x" * 1500)
    r = field.open(agent="r")
    pages = [r.read(limit=100)]
    while pages[-1].last < pages[-1].head:
        pages.append(r.read(limit=100, after=pages[-1].page))
    assert [positions(page) for page in pages] == [[1, 2, 3, 4], [5, 6]]
    assert positions(r.read(limit=100)) == [1, 2, 3, 4]


def test_a_person_reads_by_a_name_that_no_agent_can_have(field):
    page = field.me.read()
    assert page.page == f"{reader_of(field.me.actor)}:1:2"
    with pytest.raises(DraftfsError):
        field.open(agent=page.page.partition(":")[0])
    names = {reader_of(Actor(name, is_agent=False)) for name in ("Ann Lee", "李明", "王芳", "../x\ny", "x" * 200)}
    assert len(names) == 5
    assert "_Ann-Lee" in names
    for name in names:
        assert feed.names.reader_name(name) == name
        assert feed.handle(f"{name}:1:2").name == name
