"""Waiting for the next event: woken at once, told of lapses in time, nearly no work while nothing happens."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
import time

import pytest

from draftfs import Busy, DraftfsError
from tests.cli.conftest import read_until
from tests.support import draftfs, heed_interrupts


def later(call, *arguments):
    """Run it in another thread, and give back when it was done."""
    done: list[float] = []

    def work():
        call(*arguments)
        done.append(time.monotonic())

    thread = threading.Thread(target=work)
    return thread, done


def test_it_wakes_within_a_tenth_of_a_second(real):
    reader, sender = real.open(agent="r"), real.open()
    reader.read(kinds=["message.sent"])
    late = []
    for _ in range(5):
        thread, done = later(lambda: (time.sleep(0.12), sender.add_job("no message", ["y"]), sender.send(None, "x")))
        thread.start()
        page = reader.read(wait=20)
        woken = time.monotonic()
        thread.join()
        late.append(woken - done[0])
        reader.acknowledge(page.page)
    assert sorted(late)[2] < 0.1, late


def test_when_the_wait_runs_out(field):
    r = field.open(agent="r")
    r.acknowledge(r.read().page)
    began = time.monotonic()
    with pytest.raises(Busy) as caught:
        r.read(wait=0.3)
    assert 0.25 < time.monotonic() - began < 5
    assert (caught.value.code, caught.value.exit_status) == ("timeout", 7)
    assert (caught.value.details["page"], caught.value.details["head"]) == ("r:1:2", 2)
    field.me.send(None, "x")
    assert r.read(wait=100).page == "r:1:3", "what is there needs no waiting"


def test_a_lapse_is_noticed_by_who_waits_for_it(real):
    """Nobody else looks: the reader itself puts it into the feed."""
    real.ann.claim(1, seen=1, ttl=1)
    (event,) = real.open(agent="ann").read(mine=True, wait=20).events
    assert (event.kind, event.data["holder"]) == ("claim.lapsed", "ann")


def test_waiting_goes_through_what_the_filter_passes_over(field, monkeypatch):
    monkeypatch.setattr("draftfs.rules.feed.SCANNED", 3)
    monkeypatch.setattr("draftfs.talk.LOOKS", 1)
    for _ in range(10):
        field.me.send(["bob"], "to bob")
    field.me.send(["r"], "to r")
    r = field.open(agent="r")
    assert (r.read(mine=True).last, r.read().last, r.read(wait=5).events[0].position) == (3, 6, 13)


def test_waiting_is_cheap(real):
    """Under a hundredth of a core while nothing happens."""
    r = real.open(agent="r")
    r.acknowledge(r.read().page)
    before = resource.getrusage(resource.RUSAGE_SELF)
    with pytest.raises(Busy):
        r.read(wait=2.5)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.05


def test_following_hands_out_each_event_once_and_acknowledges_nothing(field):
    r = field.open(agent="r")
    pages = r.follow(limit=1)
    assert [next(pages).events[0].position for _ in range(2)] == [1, 2]
    field.me.send(None, "x")
    assert next(pages).page == "r:1:3"
    assert r.read().acknowledged == 0
    field.open(agent="r").read(restart=True)
    with pytest.raises(DraftfsError) as caught:
        next(pages)
    assert caught.value.code == "page_fenced", "a follower that was replaced learns it"


def test_following_tells_once_what_was_trimmed(field):
    r = field.open(agent="r")
    r.read()
    for _ in range(3):
        field.me.send(None, "x")
    field.me.trim(4, overtake=True)
    pages = r.follow(limit=1)
    first, second = next(pages), next(pages)
    assert (first.lost.last, first.events[0].position) == (4, 5)
    assert (second.lost, second.events[0].kind) == (None, "feed.trimmed")


def test_on_the_command_line_it_flows_and_ends_with_an_interrupt(real):
    command = [sys.executable, "-m", "draftfs", "read", "--follow", "--json", "--as", "r"]
    settings = {"cwd": real.root, "stdout": subprocess.PIPE, "preexec_fn": heed_interrupts}
    with subprocess.Popen(command, **settings) as process:
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        real.me.send(["r"], "now", "two\nlines")
        lines.append(json.loads(process.stdout.readline()))
        process.send_signal(2)
        assert process.wait(20) == 0
    assert [line["page"] for line in lines] == ["r:1:1", "r:1:2", "r:1:3"]
    assert lines[2]["event"]["data"]["body"] == "two\nlines"
    ran = draftfs("read", "--as", "r", "--wait", "0.1", "--after", "r:1:3", "--json", cwd=real.root)
    assert (ran.status, json.loads(ran.out)["error"]["code"]) == (7, "timeout")


def test_the_log_goes_on_with_what_is_chosen(field):
    events = field.me.follow_log(0, kinds=["message.sent"], job=2)
    for subject, job in (("one", 1), ("two", 2), ("none", None), ("three", 2)):
        field.me.send(None, subject, job=job)
    assert [next(events).data["subject"] for _ in range(2)] == ["two", "three"]


@pytest.mark.parametrize("command", [("read", "--as", "r"), ("log", "--after", "0")])
def test_on_a_terminal_it_flows_and_ends_with_an_interrupt(real, command):
    leader, follower = os.openpty()
    settings = {"cwd": real.root, "stdout": follower, "stderr": follower, "preexec_fn": heed_interrupts}
    with subprocess.Popen([sys.executable, "-m", "draftfs", *command, "--follow"], **settings) as process:
        os.close(follower)
        shown = read_until(leader, b"added job 2")
        real.me.send(["r"], "now", "two\nli\033nes")
        shown += read_until(leader, b"nes\r\n")
        process.send_signal(2)
        assert process.wait(20) == 0
    os.close(leader)
    lines = [line for line in shown.decode().splitlines() if not line.startswith("\033[1m")]  # the day
    assert [line.partition(" ")[0] for line in lines[:3]] == ["1", "2", "3"]
    assert [line.rpartition("\033[0m ")[2] for line in lines[3:]] == ["two", "li\\x1bnes"]
