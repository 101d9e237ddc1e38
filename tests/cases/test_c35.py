"""C35: a torn last line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from draftfs import BadRequest
from draftfs.talk import BODY_BYTES
from tests.support import draftfs, wait_for


@pytest.mark.parametrize("journalled", [True, False])
@pytest.mark.parametrize("cut", [40, 1])
def test_nothing_is_glued_to_half_a_record(real, cut, journalled):
    """Cut in the middle of the last record, or just its line end: it is put back while the journal holds it, and said to be
    lost once where nothing does; the next event is whole and has the next position."""
    real.me.send(None, "the last one")
    if not journalled:
        real.me.engine.checkpoint()
    path = real.store / "feed/0000001.jsonl"
    os.truncate(path, path.stat().st_size - cut)
    bob = real.open(agent="bob")
    assert draftfs("send", "--to", "bob", "--subject", "x", cwd=real.worktree("ann"), agent="ann").status == 0
    events = bob.read().events
    kinds = [event.kind for event in events]
    lost = not journalled and cut > 1
    assert kinds[:4] == ["job.added", "job.added", "event.lost" if lost else "message.sent", "message.sent"]
    assert [event.position for event in events] == [*range(1, len(events) + 1)]
    assert events[3].data["subject"] == "x"
    assert "record.mended" in [event.kind for event in bob.read(after="bob:1:4").events] or "record.mended" in kinds
    assert bob.read().events == events
    assert json.loads(draftfs("read", "--as", "zoe", "--json", cwd=real.root).out)["ok"]
    assert not real.me.doctor().findings


def test_a_reader_finds_the_torn_line_first(real):
    real.me.send(None, "the last one")
    path = real.store / "feed/0000001.jsonl"
    os.truncate(path, path.stat().st_size - 10)
    assert [event.kind for event in real.open(agent="bob").read(limit=3).events][2] == "message.sent"


def test_damage_elsewhere_is_damage(field):
    """Only what is missing at the end is passed over."""
    field.damaged = True
    for number in range(3):
        field.me.send(None, f"{number}")
    field.me.engine.checkpoint()
    path = field.store / "feed/0000001.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"position":3', b'"position":x'))
    ran = draftfs("read", "--as", "bob", "--json", cwd=field.root)
    assert (ran.status, json.loads(ran.out)["error"]["code"]) == (8, "damaged")


def test_a_killed_sender_has_sent_it_or_not(real, tmp_path):
    text = tmp_path / "text"
    text.write_bytes(b"\xff" + "naïve 💥\n".encode() * 80_000)
    assert 900_000 < text.stat().st_size < BODY_BYTES
    whole = text.read_bytes().decode("utf-8", "surrogateescape")
    command = [sys.executable, "-m", "draftfs", "send", "--all", "--subject", "long", "--body-file", str(text)]
    happened = []
    for number in range(5):
        settings = {"cwd": real.root, "stdout": subprocess.DEVNULL}
        with subprocess.Popen([*command, "--receipt", f"{number}"], **settings) as process:
            wait_for(lambda: os.listdir(real.store / "staging") or process.poll() is not None)
            process.send_signal(signal.SIGKILL)
        happened.append(len(real.me.log()) > 2 + number)
        assert real.me.send(None, "long", whole, receipt=f"{number}").replayed is happened[-1]
    events = real.me.log()
    assert [event.position for event in events] == [*range(1, 8)]
    assert all(event.data["body"] == whole for event in events[2:])


def test_too_long_a_text_is_refused_before_anything_is_written(field):
    for subject, body in (
        ("x", "b" * (BODY_BYTES + 1)),
        ("x" * 1001, ""),
        ("", ""),
        (" \n", ""),
        ("\0", ""),
        ("x", "\0"),
    ):
        with pytest.raises(BadRequest) as caught:
            field.me.send(None, subject, body)
        assert caught.value.code == "usage"
    assert field.me.log().head == 2


def test_two_long_senders_and_a_reader_who_polls(real):
    """No mixing, no error for the reader, never half an event."""
    rounds = 12
    texts = {name: name * 350_000 for name in ("ab", "cd")}

    def send(name):
        store = real.open(agent=name)
        for number in range(rounds):
            store.send(None, f"{name} {number}", texts[name])

    senders = [threading.Thread(target=send, args=(name,)) for name in texts]
    for sender in senders:
        sender.start()
    reader, seen = real.open(agent="r"), []
    while len(seen) < 2 + 2 * rounds:
        page = reader.read(wait=30)
        for event in page.events:
            if event.kind == "message.sent":
                assert event.data["body"] == texts[event.actor]
        assert len(page.events) < 10, "pages of long messages are short"
        seen += [event.position for event in page.events]
        reader.acknowledge(page.page)
    for sender in senders:
        sender.join()
    assert seen == [*range(1, 3 + 2 * rounds)]
