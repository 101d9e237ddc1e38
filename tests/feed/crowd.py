"""Sixteen writers and four readers of one feed, each a process of its own. `python -m tests.feed.crowd ROOT NOTES`.

Whoever is killed is replaced by another of the same name. Each notes in a file what it was answered. When NOTES/stop is there, the
writers end, and then the readers, once they have acknowledged all.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

from draftfs import Store

WRITERS = [f"writer-{number}" for number in range(16)]
READERS = [f"reader-{number}" for number in range(4)]


def main(root: str, notes: Path) -> None:
    running = {_start(name, root, notes): name for name in (*WRITERS, *READERS)}
    while running:
        if not {*running.values()} & {*WRITERS}:
            (notes / "written").touch()
        pid, status = os.wait()
        name = running.pop(pid)
        if os.WIFSIGNALED(status):
            running[_start(name, root, notes)] = name
        elif status:
            raise SystemExit(f"{name} failed")


def _start(name: str, root: str, notes: Path) -> int:
    pid = os.fork()
    if pid:
        return pid
    fresh = notes / f"{name}.new"
    fresh.write_text(str(os.getpid()))
    fresh.rename(notes / f"{name}.pid")
    with open(notes / f"{name}.jsonl", "a", buffering=1) as file:
        file.write("\n")  # the line that the one before was killed in is not to be glued to ours

        def note(*facts: object) -> None:
            file.write(json.dumps(facts) + "\n")

        try:
            store = Store.open(root, agent=name)
            _write(store, notes / "stop", note) if name in WRITERS else _read(store, notes / "written", note)
        except BaseException as fault:
            note("failed", repr(fault))
            os._exit(1)
    os._exit(0)


def _write(store: Store, stop: Path, note: Callable[..., None]) -> None:
    life = os.getpid()
    number = 0
    while not stop.exists():
        number += 1
        subject = f"{store.actor.name} {life} {number}"
        note("sent", store.send(None, subject, receipt=subject).position, subject)


def _read(store: Store, written: Path, note: Callable[..., None]) -> None:
    dice = random.Random(os.getpid())
    while True:
        is_last = written.exists()
        page = store.read(limit=dice.choice((3, 20)))
        note(
            "page", page.page, page.acknowledged, [[event.position, event.data.get("subject")] for event in page.events]
        )
        if page.events and dice.random() < 0.8:
            handle = page.page if dice.random() < 0.8 else page.page.rpartition(":")[0] + f":{page.events[0].position}"
            note("ack", store.acknowledge(handle).acknowledged)
        elif not page.events and is_last:
            return


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
