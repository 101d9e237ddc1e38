"""The feed's segments and readers, and the contents of drafts."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from draftfs import layout
from draftfs.audit import event_of, segment_lines
from draftfs.codec import to_plain
from draftfs.engine import fs
from draftfs.engine.journal import Contents
from draftfs.engine.session import read_journal
from draftfs.engine.transaction import FileTransaction
from draftfs.errors import EnvironmentFault
from draftfs.records import Content, Event, Reader
from draftfs.repair.bench import DOCTOR, MENDED, Bench, kept_aside
from draftfs.rules.feed import is_sound
from draftfs.sighting import look


def rebuild_segment(bench: Bench, name: str) -> None:
    """Whole lines stay, and come back from the journal; each position that is lost says so. What comes next begins a new
    segment, for the sizes differ."""
    first = layout.first_of(name.removeprefix("feed/"))
    if first is not None and name in bench.records.feed.faults:
        bench.say(name, _rebuilt(bench.tx, bench.log, name, first))


def mend_torn(tx: FileTransaction, name: str) -> bool:
    """As `rebuild_segment`, for whoever reads the feed and meets a segment that has lost its end, and nothing else; False
    where that is not what is wrong."""
    first = layout.first_of(name.removeprefix("feed/"))
    if first is None or not os.path.isfile(f"{tx.folder}/{name}"):
        return False
    events = [event_of(line) for line in segment_lines(tx, first, None, tail=True)]
    positions = [event.position if event is not None else None for event in events]
    whole = next((at for at, position in enumerate(positions) if position != first + at), len(positions))
    if any(positions[whole:]):
        return False
    _rebuilt(tx, read_journal(tx.folder), name, first)
    tx.append(MENDED, DOCTOR, file=name)
    return True


def _rebuilt(tx: FileTransaction, log: Contents, name: str, first: int) -> str:
    """Write the segment anew; says in words what came of it."""
    counters = tx.counters
    later = [each for each in tx.segments() if first < each <= counters.segment]
    due = range(first, later[0] if later else counters.position + 1)
    known = {event.position: line for event, line in _whole_lines(tx, log, first)}
    lost = [position for position in due if position not in known]
    aside = kept_aside(tx, name)
    whole = b"".join(known.get(position, _stub(tx, name, position)) + b"\n" for position in due)
    fs.replace_file(f"{tx.folder}/{name}", whole, sharing=fs.sharing_of(tx.folder))
    if not later:
        tx.put(layout.COUNTERS, replace(counters, segment=counters.position + 1, segment_bytes=0))
    what = "put in order, nothing is lost"
    if lost:
        what = f"{len(lost)} events are lost (positions {lost[0]} to {lost[-1]})"
    return f"{what}{aside}"


def _whole_lines(tx: FileTransaction, log: Contents, first: int) -> Iterator[tuple[Event, bytes]]:
    journalled = [payload["feed"][2].encode("ascii") for _, payload in log.records if "feed" in payload]
    for line in (*segment_lines(tx, first, None, tail=True), *b"".join(journalled).split(b"\n")):
        event = event_of(line)
        if event is not None:
            yield event, line


def _stub(tx: FileTransaction, name: str, position: int) -> bytes:
    event = Event(position, tx.now.stamp, "event.lost", DOCTOR, None, {"file": name})
    return json.dumps(to_plain(event), separators=(",", ":")).encode("ascii")


def mend_reader(bench: Bench, name: str) -> None:
    """Where a reader was is lost: it begins with the feed again, in a generation that no page of before can belong to. What
    it wants to be handed it says when it reads again."""
    kept, counters, now = bench.records.readers.get(name), bench.tx.counters, bench.tx.now
    if kept is not None and is_sound(kept, counters.position):
        return
    if kept is None and name not in bench.records.faults:
        return
    stem = name.removeprefix("readers/").removesuffix(".yaml")
    own = re.sub(r"\+(.)", lambda found: found[1].upper(), stem)
    start, generation = counters.first - 1, int(now.wall)  # nobody restarts once a second since 1970
    if kept is not None:
        generation = max(generation, kept.generation + 1)
    owner, chosen, since = (kept.owner, kept.filter, kept.since) if kept is not None else (own, None, now.stamp)
    aside = bench.set_aside(name)
    bench.tx.put(layout.reader(own), Reader(own, owner, chosen, generation, start, start, (), since, now.stamp))
    bench.say(name, f"begins with the feed again, in generation {generation}{aside}")


def recover_object(bench: Bench, name: str) -> None:
    """Bytes that are lost may stand in a draft's file, or in the target."""
    digest = name.rpartition("/")[2]
    for path in _places(bench, digest):
        seen: Content | None = None
        with suppress(OSError, EnvironmentFault):
            seen = look(bench.tree.path(path))[0].content
        if seen is None or seen.sha256 != digest:
            continue
        aside = bench.set_aside(name)
        fs.unlink(bench.tree.objects.path(digest))
        with open(bench.tree.path(path), "rb") as file:
            bench.tree.objects.add(file.fileno(), seen.mode)
        bench.said.append(f"{name}: put back from {path}{aside}")
        return


def _places(bench: Bench, digest: str) -> list[str]:
    places = []
    for draft in bench.records.drafts.values():
        if draft.content is not None and draft.content.sha256 == digest:
            places.append(layout.draft_name(draft))
        places.append(draft.target)
    return list(dict.fromkeys(places))
