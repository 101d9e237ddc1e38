"""Real processes on one feed, stopped and killed at random (R29, R31): nobody misses anything, and all see the same."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from tests.feed.crowd import READERS, WRITERS
from tests.support import wait_for

ROUNDS = 80


def notes_of(folder: Path, name: str) -> list[list]:
    """What a name noted, over all its lives; the last line of a life may be cut."""
    found = []
    for line in (folder / f"{name}.jsonl").read_text().splitlines():
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def test_every_reader_sees_the_same_rising_list(real, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    dice = random.Random(29)
    killed = dict.fromkeys((*WRITERS, *READERS), 0)
    command = [sys.executable, "-m", "tests.feed.crowd", str(real.root), str(notes)]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2]) as crowd:
        try:
            wait_for(lambda: len(list(notes.glob("*.pid"))) == len(killed))
            for _ in range(ROUNDS):
                name = dice.choice((*WRITERS, *READERS, *READERS))
                pid = int((notes / f"{name}.pid").read_text())
                how = dice.choice((signal.SIGKILL, signal.SIGSTOP))
                with suppress(ProcessLookupError):
                    os.kill(pid, how)
                    time.sleep(dice.uniform(0, 0.03))
                    if how == signal.SIGSTOP:
                        os.kill(pid, signal.SIGCONT)
                    else:
                        killed[name] += 1
        finally:
            (notes / "stop").touch()
        assert crowd.wait(60) == 0
    assert sum(killed[name] for name in READERS) > 3
    assert sum(killed[name] for name in WRITERS) > 10
    feed = real.me.log(limit=1_000_000)
    assert [event.position for event in feed] == [*range(1, len(feed) + 1)]
    said = {event.position: event.data.get("subject") for event in feed}
    assert len(set(said.values())) == len(feed) - 1, "each was sent once (two jobs have no subject)"
    for name in WRITERS:
        for _, position, subject in notes_of(notes, name):
            assert said[position] == subject, "what was answered for is there"
    for name in READERS:
        check_reader(notes_of(notes, name), said)


def check_reader(noted: list[list], said: dict[int, str | None]) -> None:
    """Every page begins behind what is acknowledged, which only rises, goes up without a gap, and together they are all."""
    acknowledged, seen = 0, set()
    for kind, *facts in noted:
        if kind == "ack":
            assert facts[0] >= acknowledged
            acknowledged = facts[0]
            continue
        _, before, events = facts
        assert before >= acknowledged, "nothing acknowledged returns"
        acknowledged = before
        assert [position for position, _ in events] == [*range(before + 1, before + 1 + len(events))]
        for position, subject in events:
            assert said[position] == subject
            seen.add(position)
    assert seen == set(said)
    assert acknowledged == max(said)
