"""The feed's segments, and the contents of drafts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from draftfs import layout
from draftfs.audit import event_of, segment_lines
from draftfs.codec import to_plain
from draftfs.engine import fs
from draftfs.errors import EnvironmentFault
from draftfs.records import Content, Event
from draftfs.repair.bench import DOCTOR, Bench
from draftfs.sighting import look


def rebuild_segment(bench: Bench, name: str) -> None:
    """Whole lines stay, and come back from the journal; each position that is lost says so. What comes next begins a new
    segment, for the sizes differ."""
    first, counters = layout.first_of(name.removeprefix("feed/")), bench.tx.counters
    if first is None or name not in bench.records.feed.faults:
        return
    later = [each for each in bench.tx.segments() if first < each <= counters.segment]
    due = range(first, later[0] if later else counters.position + 1)
    known = {event.position: line for event, line in _whole_lines(bench, first)}
    lost = [position for position in due if position not in known]
    aside = bench.set_aside(name)
    whole = b"".join(known.get(position, _stub(bench, name, position)) + b"\n" for position in due)
    fs.replace_file(f"{bench.tx.folder}/{name}", whole, sharing=fs.sharing_of(bench.tx.folder))
    if not later:
        bench.tx.put(layout.COUNTERS, replace(counters, segment=counters.position + 1, segment_bytes=0))
    what = "put in order, nothing is lost"
    if lost:
        what = f"{len(lost)} events are lost (positions {lost[0]} to {lost[-1]})"
    bench.say(name, f"{what}{aside}")


def _whole_lines(bench: Bench, first: int) -> Iterator[tuple[Event, bytes]]:
    journalled = [payload["feed"][2].encode("ascii") for _, payload in bench.log.records if "feed" in payload]
    for line in (*segment_lines(bench.tx, first, None, tail=True), *b"".join(journalled).split(b"\n")):
        event = event_of(line)
        if event is not None:
            yield event, line


def _stub(bench: Bench, name: str, position: int) -> bytes:
    event = Event(position, bench.tx.now.stamp, "event.lost", DOCTOR, None, {"file": name})
    return json.dumps(to_plain(event), separators=(",", ":")).encode("ascii")


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
