"""C55: two readers of one name."""

from __future__ import annotations

import random
import threading
import time

import pytest

from draftfs import DraftfsError


def test_twins_with_senders(real):
    """Both are one reader: the same page until either acknowledges it; together they have seen everything."""
    total, printed, fell, faults = 150, {"p": [], "q": []}, [], []

    def send():
        store = real.open(agent="sender")
        for number in range(total - 2):
            store.send(None, f"{number}")

    def read(name):
        dice, store, acknowledged = random.Random(name), real.open(agent="r"), 0
        try:
            while acknowledged < total:
                page = store.read(limit=5)
                fell.append(page.acknowledged < acknowledged)
                printed[name] += [event.position for event in page.events]
                time.sleep(dice.choice((0, 0.001, 0.004)))
                acknowledged = store.acknowledge(page.page).acknowledged
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=send), *(threading.Thread(target=read, args=(name,)) for name in printed)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (faults, any(fell)) == ([], False), "the acknowledged position never falls"
    assert {*printed["p"], *printed["q"]} == {*range(1, total + 1)}
    assert all(printed.values())


def test_by_hand(field):
    for number in range(10):
        field.me.send(None, f"{number}")
    p, q = field.open(agent="r"), field.open(agent="r")
    old = p.read(limit=5)
    new = q.read(limit=5, restart=True)
    assert (old.page, new.page, old.events) == ("r:1:5", "r:2:5", new.events)
    fenced(p, old.page)
    assert p.read(limit=5) == new, "a plain read shows the page of the new generation"
    assert q.acknowledge(new.page).acknowledged == 5
    fenced(p, old.page)
    assert p.read(limit=5).page == "r:2:10"


def test_restarting_in_turn(field):
    p, q = field.open(agent="r"), field.open(agent="r")
    pages = [store.read(restart=True).page for _ in range(4) for store in (p, q)]
    assert pages == [f"r:{generation}:2" for generation in range(1, 9)]
    for page in pages[:-1]:
        fenced(p, page)
        fenced(q, page)
    assert p.read().acknowledged == 0
    assert q.acknowledge(pages[-1]).acknowledged == 2
    assert p.read(restart=True).acknowledged == 2


def fenced(store, page):
    with pytest.raises(DraftfsError) as caught:
        store.acknowledge(page)
    assert (caught.value.code, caught.value.exit_status) == ("page_fenced", 4)
