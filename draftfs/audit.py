"""Everything a store holds, read as far as it can be read: what `doctor` judges, and mends by.

The feed is the history against which the records are held: it names every job, claim and draft there ever was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from draftfs import layout, paths
from draftfs.codec import from_plain
from draftfs.engine.transaction import FileView
from draftfs.errors import Damaged, EnvironmentFault
from draftfs.layout import Folder, Key
from draftfs.records import (
    Admissions,
    Counters,
    Draft,
    DraftRef,
    EndedClaim,
    Event,
    Job,
    Lease,
    Reader,
    Receipt,
    Target,
)

R = TypeVar("R")
Claim = tuple[int, int]
"""A claim, by its job and epoch."""
DraftKey = tuple[str, int]
"""A draft, by its target's path as Fold.key gives it, and its number."""

LOST: Final = "record.lost"
UNDECIDED: Final = frozenset({"waiting", "abandoned"})
_ENDINGS: Final = frozenset({"claim.released", "claim.submitted", "claim.lapsed", "claim.revoked"})


@dataclass
class Feed:
    """The feed's events by position, as far as they can be read, and what is wrong with which segment."""

    events: dict[int, Event] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    jobs: dict[int, Event] = field(default_factory=dict)
    finished: dict[int, Event] = field(default_factory=dict)
    claims: dict[Claim, Event] = field(default_factory=dict)
    endings: dict[Claim, Event] = field(default_factory=dict)
    drafts: dict[DraftKey, Event] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    def learn(self, fold: paths.Fold) -> None:
        """Sort the events by what they are about."""
        for _, event in sorted(self.events.items()):
            job, epoch = event.job or 0, event.data.get("epoch")
            if event.kind == "job.added":
                self.jobs[job] = event
            elif event.kind in ("job.accepted", "job.cancelled"):
                self.finished[job] = event
            elif event.kind == "job.returned":
                self.finished.pop(job, None)
            elif event.kind == "claim.taken" and type(epoch) is int:
                self.claims[job, epoch] = event
            elif event.kind in _ENDINGS and type(epoch) is int:
                self.endings[job, epoch] = event
            elif event.kind == "draft.added":
                self.drafts[fold.key(str(event.data.get("target"))), int(event.data.get("number", 0))] = event
            elif event.kind == LOST:
                self.lost.add(str(event.data.get("file")))


class Records:
    """Every record of the store that can be read; `faults` says of each other file why it cannot.

    Raises Damaged where the store's own record, by which all others are read, cannot be (see `Store.examine`).
    """

    def __init__(self, view: FileView) -> None:
        self.view = view
        self.faults: dict[str, EnvironmentFault] = {}
        self.fold = view.store.fold
        self.counters: Counters | None = self._one(layout.COUNTERS)
        self.jobs: dict[str, Job] = self._all(layout.JOBS) | self._all(layout.DONE)
        self.leases: dict[str, Lease] = self._all(layout.LEASES)
        self.ended: dict[str, EndedClaim] = self._below("claims", EndedClaim)
        self.receipts: dict[str, Receipt] = self._below("receipts", Receipt)
        self.admissions: dict[str, Admissions] = self._all(Folder("admitted", Admissions))
        self.readers: dict[str, Reader] = self._all(layout.READERS)
        self.drafts: dict[str, Draft] = {}
        self.targets: dict[str, Target] = {}
        for folder in view.subfolders("drafts"):
            keys = list(view.under(Folder(folder, Draft)))
            self.drafts |= self._read(key for key in keys if layout.number_of(key) is not None)
            if keys:
                self.targets |= self._read([Key(f"{folder}/target.yaml", Target)])
        self.strays = tuple(self._strays())
        self.feed = read_feed(view, self.counters, self.fold)
        self._note_missing()

    def job(self, number: int) -> Job | None:
        return self.jobs.get(layout.job(number).name) or self.jobs.get(layout.done(number).name)

    def lease(self, number: int) -> Lease | None:
        return self.leases.get(layout.lease(number).name)

    def draft(self, ref: DraftRef) -> Draft | None:
        return self.drafts.get(self.draft_name(ref))

    def draft_name(self, ref: DraftRef) -> str:
        return layout.draft(self.fold.key(ref.target), ref.number).name

    def index_of(self, draft_file: str) -> str:
        """The name of the record of the target that this draft's record belongs to."""
        return f"{draft_file.rpartition('/')[0]}/target.yaml"

    def drafts_of(self, index: str) -> dict[int, Draft]:
        """The drafts of the target with this record, by number."""
        return {each.number: each for name, each in self.drafts.items() if self.index_of(name) == index}

    def claims(self) -> dict[Claim, Lease | EndedClaim]:
        """Every claim there is a record of."""
        records: Iterable[Lease | EndedClaim] = [*self.ended.values(), *self.leases.values()]
        return {(each.job, each.epoch): each for each in records}

    def tally(self, kept_epochs: Iterable[int] = ()) -> Counters:
        """The least that the counters must be: ahead of whatever they count. `kept_epochs` are those of tokens that
        worktrees of this store keep."""
        unread = [name for name, fault in self.faults.items() if fault.details.get("cause") != "misplaced"]
        numbers = [_number(name) for name in [*self.jobs, *unread] if name.startswith(("jobs/", "done/"))]
        claims: list[Lease | EndedClaim] = [*self.leases.values(), *self.ended.values()]
        numbers += [each.job for each in claims]
        epochs = [each.epoch for each in claims] + [each.epoch for each in self.jobs.values()]
        epochs += [*(epoch for _, epoch in self.feed.claims), *kept_epochs]
        epochs += [_number(name) for name in unread if name.startswith("claims/")]
        epochs += [epoch for _, epoch in self._claims_named()]
        position = max([*self.feed.events, *(each.position for each in self.receipts.values())], default=0)
        live = {_number(key.name) for key in self.view.under(layout.LEASES)}
        live |= {job.id for job in self.jobs.values() if job.state == "claimed"}
        segment, size, last = self._feed_end()
        return Counters(
            job=max([*numbers, *self.feed.jobs], default=0),
            epoch=max(epochs, default=0),
            position=position,
            live=len(live),
            boot=self.view.now.boot,
            segment=segment if last == position else position + 1,
            segment_bytes=size if last == position else 0,
            first=self.counters.first if self.counters is not None else min(self.feed.events, default=1),
        )

    def raised(self, kept_epochs: Iterable[int] = ()) -> Counters:
        """The counters as they must be."""
        least, now = self.tally(kept_epochs), self.counters
        if now is None:
            return least
        job, epoch = max(now.job, least.job), max(now.epoch, least.epoch)
        raised = replace(now, job=job, epoch=epoch, live=least.live)
        if least.position <= now.position:
            return raised
        return replace(raised, position=least.position, segment=least.segment, segment_bytes=least.segment_bytes)

    # ── reading ──

    def _one(self, key: Key[R]) -> R | None:
        return self._read([key]).get(key.name)

    def _all(self, folder: Folder[R]) -> dict[str, R]:
        return self._read(self.view.under(folder))

    def _below(self, folder: str, kind: type[R]) -> dict[str, R]:
        found: dict[str, R] = {}
        for each in self.view.subfolders(folder):
            found |= self._all(Folder(each, kind))
        return found

    def _read(self, keys: Iterable[Key[R]]) -> dict[str, R]:
        found: dict[str, R] = {}
        for key in keys:
            try:
                record = self.view.get(key)
            except EnvironmentFault as fault:
                self.faults[key.name] = fault
            else:
                if record is None:
                    self._miss(key.name, "is missing from the store")
                else:
                    found[key.name] = record
        return found

    def _miss(self, name: str, problem: str) -> None:
        if name not in self.faults:
            self.faults[name] = Damaged("damaged", f"{name} {problem}", file=name, cause="missing")

    def _strays(self) -> Iterator[str]:
        folder = self.view.folder
        for top in layout.FOLDERS:
            for where, _, names in os.walk(f"{folder}/{top}"):
                for name in sorted(names):
                    path = os.path.relpath(os.path.join(where, name), folder)
                    if layout.is_stray(path) or (top == layout.FEED and layout.first_of(name) is None):
                        yield path

    def _note_missing(self) -> None:
        """Records that others, or the feed, say there are."""
        counted = self.counters.job if self.counters is not None else 0
        for number in {*range(1, counted + 1), *self.feed.jobs}:
            names = layout.job(number).name, layout.done(number).name
            if self.job(number) is None and not self.faults.keys() & set(names):
                self._miss(names[number in self.feed.finished], "is missing from the store")
        for job in self.jobs.values():
            if job.state == "claimed" and self.lease(job.id) is None:
                self._miss(layout.lease(job.id).name, f"is missing, though {job.holder} has claimed job {job.id}")
        known = self.claims()
        for claim in self._claims_named() - known.keys():
            if layout.lease(claim[0]).name not in self.faults or self._is_over(claim):
                self._miss(layout.ended_claim(*claim).name, "is missing: nothing says how that claim ended")
        for name in self._drafts_named() - self.drafts.keys() - self.feed.lost:
            self._miss(name, "is missing from the store")
        for name, path in self.reserved().items():
            if name not in self.admissions:
                self._miss(name, f"is missing: commits of {path} pass without a claim")

    def reserved(self) -> dict[str, str]:
        """Every path that was ever reserved, by the name of the record of its admissions."""
        paths = [path for lease in self.leases.values() for path in lease.paths]
        paths += [str(path) for event in self.feed.claims.values() for path in event.data.get("paths", ())]
        return {layout.admitted(self.fold.key(path)).name: path for path in paths}

    def _is_over(self, claim: Claim) -> bool:
        """Whether this claim cannot be the one whose lease cannot be read."""
        job = self.job(claim[0])
        return claim in self.feed.endings or (job is not None and (job.state, job.epoch) != ("claimed", claim[1]))

    def _claims_named(self) -> set[Claim]:
        named = set(self.feed.claims)
        named |= {(job.id, job.epoch) for job in self.jobs.values() if job.epoch}
        about: list[Receipt | Draft] = [*self.receipts.values(), *self.drafts.values()]
        claims = {(each.job, each.epoch) for each in about if each.job is not None and each.epoch is not None}
        return named | {(job, epoch) for job, epoch in claims if self.counters is None or job <= self.counters.job}

    def _drafts_named(self) -> set[str]:
        named = {layout.draft(*draft).name for draft in self.feed.drafts}
        owners: list[Lease | Job] = [*self.leases.values(), *self.jobs.values()]
        for owner in owners:
            named |= {self.draft_name(ref) for ref in owner.drafts}
        for target in self.targets.values():
            numbers = {*target.undecided, *([target.choice.number] if target.choice is not None else ())}
            named |= {self.draft_name(DraftRef(target.path, number)) for number in numbers}
        return named

    def _feed_end(self) -> tuple[int, int, int]:
        """Where the feed ends by itself: the first position of its last segment, the size of what is whole there, and the
        last position in that."""
        first, size, last = (self.view.segments() or [1])[-1], 0, 0
        for position, line in enumerate(segment_lines(self.view, first, None), first):
            event = event_of(line)
            if event is None or event.position != position:
                break
            size, last = size + len(line) + 1, position
        return first, size, last


def _number(name: str) -> int:
    return layout.number_of(Key(name, object)) or 0


# ── the feed ──


def read_feed(view: FileView, counters: Counters | None, fold: paths.Fold) -> Feed:
    """Every event that can be read, also trimmed ones. Without counters, whatever the files hold."""
    feed = Feed()
    end = counters.position if counters is not None else None
    firsts = [first for first in view.segments() if counters is None or first <= counters.segment]
    for at, first in enumerate(firsts):
        following = firsts[at + 1] if at + 1 < len(firsts) else None if end is None else end + 1
        if os.path.islink(os.path.join(view.folder, layout.segment(first))):
            feed.faults[layout.segment(first)] = "is a symlink, not a record"
        size = counters.segment_bytes if counters is not None and first == counters.segment else None
        lines = segment_lines(view, first, size)
        for position, line in enumerate(lines, first):
            event = event_of(line)
            if event is None or event.position != position:
                problem = "no event" if event is None else f"position {event.position}"
                feed.faults.setdefault(layout.segment(first), f"holds {problem} where position {position} is due")
            if event is not None and first <= event.position and (following is None or event.position < following):
                feed.events.setdefault(event.position, event)
    for position in range(counters.first if counters is not None else 1, (end or 0) + 1):
        if position not in feed.events:
            name = layout.segment(max((first for first in firsts if first <= position), default=1))
            feed.faults.setdefault(name, f"is missing or cut short: position {position} is not there")
    feed.learn(fold)
    return feed


def segment_lines(view: FileView, first: int, size: int | None, *, tail: bool = False) -> list[bytes]:
    """The lines of a segment, up to `size` bytes of it. What follows the last line end is one only with `tail`."""
    path = os.path.join(view.folder, layout.segment(first))
    if not os.path.isfile(path):
        return []
    try:
        with open(path, "rb") as file:
            return file.read(-1 if size is None else size).split(b"\n")[: None if tail else -1]
    except OSError:
        return []  # what cannot be read is missing: the positions tell


def event_of(line: bytes) -> Event | None:
    """The event that a line of the feed holds, None when it is none."""
    try:
        event: Any = from_plain(Event, json.loads(line))
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, Event) else None
