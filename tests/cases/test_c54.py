"""C54: a page was handed out and its reader died."""

from __future__ import annotations

import json

from draftfs.engine import fs
from tests.actors import Actor
from tests.faults import Snapshot


class Died(BaseException):
    """Raised in place of a kill."""


def filled(field, events=12):
    for number in range(3, events + 1):
        field.me.send(None, f"message {number}")


def read(site, *options, status=0):
    return site.run("me", "read --as r", *options, status=status)


def positions(page):
    return [event["position"] for event in page["events"]]


def test_pages_by_the_command_line(site):
    """Each command is a process of its own."""
    filled(site.field)
    first = read(site, "--limit", "5")
    assert (first["page"], positions(first)) == ("r:1:5", [1, 2, 3, 4, 5])
    assert read(site, "--limit", "5") == first
    follows = read(site, "--limit", "5", "--after", "r:1:5")
    assert (positions(follows), follows["acknowledged"]) == ([6, 7, 8, 9, 10], 0)
    assert read(site, "--limit", "5", "--after", "r:1:5") == follows
    site.run("me", "ack --as r r:1:3")
    assert positions(read(site, "--limit", "5"))[0] == 4
    last = read(site, "--limit", "5", "--after", "r:1:10")["page"]
    answers = [site.run("me", "ack --as r", last) for _ in range(2)]
    assert last == "r:1:12"
    assert [{**each, "receipt": ""} for each in answers] == [{**answers[0], "receipt": ""}] * 2
    assert site.run("me", "ack --as r r:1:3")["acknowledged"] == 12
    site.refused("me", "not_handed_out", "ack --as r r:1:99")
    again = read(site, "--restart")
    assert (again["page"], again["events"]) == ("r:2:12", [])
    site.refused("me", "page_fenced", "ack --as r r:1:12", status=4)
    site.refused("me", "filter_fixed", "read --as r --kind message.sent")
    assert "all events" in site.refused("me", "filter_fixed", "read --as r --mine")["message"]
    assert site.refused("me", "no_reader", "ack --as s s:1:1", status=5)["hint"] == "draftfs read"


def test_mine_behind_a_thousand_messages_to_others(field):
    """An empty page can be acknowledged, and nothing is skipped twice."""

    def step(tx):
        for number in range(1000):
            tx.append("message.sent", "bob", sender="bob", to=["zoe"], subject=f"{number}", body="")

    field.me.engine.write(step)
    r = field.open(agent="r")
    page = r.read(mine=True)
    assert (page.events, page.page, page.acknowledged) == ((), "r:1:1002", 0)
    assert r.acknowledge(page.page).acknowledged == 1002
    field.bob.send(["r"], "at last")
    assert [event.position for event in r.read().events] == [1003]


def killed_at_every_call(field, run, check):
    """Run it, killed before each call that changes the disk, from the same start; `check` is told whether it came through."""
    field.me.engine.checkpoint()
    before = Snapshot(field.base)
    for number in range(40):
        left = number

        def observer(_call, _path):
            nonlocal left
            left -= 1
            if left < 0:
                raise Died

        fs.observer = observer
        try:
            run()
        except Died:
            done = False
        else:
            done = True
        finally:
            fs.observer = None
        check()
        before.restore()
        if done:
            assert number > 4
            return
    raise AssertionError("it never came through")


def test_killed_while_a_page_is_handed_out(field):
    """Whatever was recorded of it, the page comes again, and can be acknowledged."""
    filled(field)

    def check():
        page = field.open(agent="r").read(limit=5)
        assert (page.page, page.acknowledged, page.handed_out) == ("r:1:5", 0, 5)
        assert [event.position for event in page.events] == [1, 2, 3, 4, 5]
        assert field.open(agent="r").acknowledge(page.page).acknowledged == 5
        assert not field.me.doctor().findings

    killed_at_every_call(field, lambda: field.open(agent="r").read(limit=5), check)


def test_killed_while_it_acknowledges(field):
    """The page comes again, or what follows; the repeated call gives the same answer."""
    filled(field)
    field.open(agent="r").read(limit=5)
    seen = set()

    def check():
        page = field.open(agent="r").read(limit=5)
        seen.add(page.acknowledged)
        assert page.events[0].position == page.acknowledged + 1
        answer = field.open(agent="r").acknowledge("r:1:5", receipt="key")
        assert (answer.acknowledged, answer.replayed) == (5, page.acknowledged == 5)
        assert field.open(agent="r").read(limit=5).events[0].position == 6

    killed_at_every_call(field, lambda: field.open(agent="r").acknowledge("r:1:5", receipt="key"), check)
    assert seen == {0, 5}


def test_a_process_killed_between_commit_and_answer(real):
    """Handing out and acknowledging each end with the mark in the lock file, after the commit: killed there."""
    filled(real)

    def calls(method, *arguments, **named):
        made = []
        fs.observer = lambda call, _: made.append(call)
        try:
            getattr(real.open(agent="other"), method)(*arguments, **named)
        finally:
            fs.observer = None
        return len(made)

    last = {"read": calls("read", limit=5) - 1}
    last["acknowledge"] = calls("acknowledge", "other:1:5") - 1
    for method, arguments, named in (("read", (), {"limit": 5}), ("acknowledge", ("r:1:5",), {})):
        with Actor(real.root, "r") as actor:
            actor.ask(method, *arguments, at=last[method], **named)
            assert actor.answer() is None
        with Actor(real.root, "r") as actor:
            answer = actor.call(method, *arguments, **named)["ok"]
        assert answer["acknowledged"] == (0 if method == "read" else 5)
    assert json.dumps(answer["page"]) == '"r:1:5"'
    assert real.open(agent="r").read(limit=1).page == "r:1:6"
