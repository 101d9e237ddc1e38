"""What there is to decide, and what there is to do: the store at a glance, for a person and for one worker.

Each part is looked at on its own: where one is damaged, or cannot be read, the others are told all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeVar

from draftfs import layout, names
from draftfs.answers import (
    Checked,
    DraftInfo,
    Finding,
    HeldClaim,
    JobLine,
    Listed,
    MyStatus,
    Over,
    Queued,
    ReaderLine,
    Status,
    TargetLine,
    draft_info,
)
from draftfs.clock import NANOSECONDS, age_of
from draftfs.engine.files import FileEngine
from draftfs.engine.tickets import Queue
from draftfs.engine.transaction import FileView
from draftfs.errors import Damaged, DraftfsError, NotFound, from_oserror
from draftfs.frozen import frozen
from draftfs.listing import drafts_of, every_target, job_lines
from draftfs.paths import clash
from draftfs.records import Actor, Event, Filter, Lease, Reader, Waiting
from draftfs.rules import feed, jobs, receipts, turns
from draftfs.rules.reservations import remaining, until
from draftfs.worktree import Kept

T = TypeVar("T")

ELSEWHERE: Final = frozenset({"unpromoted", "outdated"})
"""The kinds of findings that are said of the drafts already."""
LOOKED: Final = 1000
"""How many events a count of the unread ones looks at."""
_BROKEN: Final = frozenset({"tampered", "missing", "stale"})
_SHOWN: Final = 50
_TRIES: Final = 3
_LOST: Final = frozenset({"lapsed", "revoked", "cancelled", "superseded"})


class Faults:
    """What could not be told, each once."""

    def __init__(self) -> None:
        self._found: dict[str, Finding] = {}

    def note(self, fault: DraftfsError) -> None:
        file = fault.details.get("file") or fault.details.get("path") or ""
        kind = "damaged" if isinstance(fault, Damaged) else fault.code
        self.add([Finding(kind, str(file), fault.message, fault.hint)])

    def add(self, findings: Iterable[Finding]) -> None:
        self._found |= {each.message: each for each in findings}

    def tried(self, look: Callable[[], T]) -> T | None:
        """What `look` gives, None where it fails."""
        try:
            return look()
        except DraftfsError as fault:
            self.note(fault)
        except OSError as fault:
            self.note(from_oserror(fault, "looking"))
        return None

    def listed(self, look: Callable[[], Listed[T]]) -> Listed[T]:
        found = self.tried(look)
        if found is None:
            return Listed()
        self.add(found.damaged)
        return found

    def all(self) -> tuple[Finding, ...]:
        return tuple(self._found.values())


@frozen
class _Records:
    """The part of it that is read off the store, in one look."""

    position: int
    claims: tuple[HeldClaim, ...]
    waiting: tuple[Queued, ...]
    readers: tuple[ReaderLine, ...]
    jobs: tuple[JobLine, ...]
    ready: tuple[JobLine, ...]
    faults: tuple[Finding, ...]


# ── for a person ──


def survey(
    engine: FileEngine, root: str, targets: Callable[[], Listed[TargetLine]], check: Callable[[], Checked]
) -> Status:
    """All of it. Targets and findings are looked at on the root's disk; where the store changes meanwhile, once more."""
    for left in reversed(range(_TRIES)):
        faults = Faults()
        waiting = faults.tried(Queue(engine).ahead) or ()
        found = engine.read(partial(_records, waiting=waiting))
        faults.add(found.faults)
        listed = faults.listed(targets)
        checked = faults.tried(check) or Checked(())
        if not left or engine.read(_position) == found.position:
            break
    faults.add(each for each in checked.findings if each.kind == "damaged")
    calling = tuple(line for line in listed if line.drafts or line.stale)
    undecided = tuple(line for line in found.jobs if line.job.state in ("failed", "submitted"))
    findings = tuple(each for each in checked.findings if each.kind != "damaged")
    counts: dict[str, int] = {}
    for line in found.jobs:
        counts[line.job.state] = counts.get(line.job.state, 0) + 1
    return Status(
        root=root,
        targets=calling,
        claims=found.claims,
        waiting=found.waiting,
        findings=findings,
        readers=found.readers,
        jobs=counts,
        ready=found.ready,
        undecided=undecided,
        next=_persons_next(faults.all(), calling, findings, undecided, counts),
        damaged=faults.all(),
        notes=checked.notes,
    )


def _persons_next(
    faults: Sequence[Finding],
    targets: Sequence[TargetLine],
    findings: Sequence[Finding],
    undecided: Sequence[JobLine],
    counts: dict[str, int],
) -> str | None:
    """The command to run next: what is broken first, then what others wait for, then what else was found."""
    broken = _repair([*faults, *(each for each in findings if each.kind in _BROKEN)])
    if broken is not None:
        return broken
    if any(line.drafts for line in targets):
        return "draftfs promote"
    if undecided:
        job = undecided[0].job
        if job.state == "failed":
            return f"draftfs job retry {job.id}"
        # Submitted, and no draft waits: it had none, or all of them were turned down.
        return f"draftfs job reject {job.id} --because TEXT" if job.drafts else f"draftfs job accept {job.id}"
    return _repair(findings) or (None if counts else "draftfs job add TITLE PATH…")


def _repair(findings: Iterable[Finding]) -> str | None:
    return next((each.repair for each in findings if each.repair is not None), None)


def _position(view: FileView) -> int:
    try:
        return view.counters.position
    except Damaged:
        return -1


def _records(view: FileView, waiting: tuple[Waiting, ...]) -> _Records:
    faults = Faults()
    lines = faults.listed(lambda: job_lines(view, everything=False))
    unfinished = {line.job.id: line for line in lines}
    free = faults.tried(lambda: turns.claimable_now(view, (line.job for line in lines), waiting)) or ()
    return _Records(
        _position(view),
        tuple(_claim(view, lease, waiting, faults) for lease in _leases(view, faults)),
        tuple(_queued(view, each) for each in waiting),
        tuple(sorted(_lagging(view, faults), key=lambda line: -line.age)),
        tuple(lines),
        tuple(unfinished[job.id] for job in free),
        faults.all(),
    )


# ── claims ──


def _leases(view: FileView, faults: Faults) -> list[Lease]:
    keys = faults.tried(lambda: list(view.under(layout.LEASES))) or ()
    found = (faults.tried(partial(view.get, key)) for key in keys)
    return sorted((lease for lease in found if lease is not None), key=lambda lease: remaining(view, lease))


def _claim(view: FileView, lease: Lease, waiting: Sequence[Waiting], faults: Faults) -> HeldClaim:
    fold, left = view.store.fold, remaining(view, lease)
    behind = (
        each.who for each in waiting if any(clash(mine, other, fold) for mine in lease.paths for other in each.paths)
    )
    return HeldClaim(
        job=lease.job,
        title=faults.tried(lambda: _title(view, lease.job)),
        holder=lease.holder,
        epoch=lease.epoch,
        paths=lease.paths,
        ttl=lease.ttl,
        expires_at=until(view, lease),
        expires_in=left,
        renew_in=left - lease.ttl * 2 / 3,
        drafts=len(lease.drafts),
        waiting=tuple(dict.fromkeys(behind)),
    )


def _title(view: FileView, number: int) -> str | None:
    try:
        return jobs.find(view, number).title
    except NotFound:
        return None


def _queued(view: FileView, each: Waiting) -> Queued:
    left = max(0.0, (each.until_ns - view.now.awake_ns) / NANOSECONDS)
    return Queued(each.who, each.job, each.paths, each.since, left)


# ── readers ──


def _lagging(view: FileView, faults: Faults) -> Iterable[ReaderLine]:
    keys = faults.tried(lambda: list(view.under(layout.READERS))) or ()
    for reader in (faults.tried(partial(view.get, key)) for key in keys):
        line = faults.tried(partial(_lag, view, reader)) if reader is not None else None
        if line is not None:
            yield line


def _lag(view: FileView, reader: Reader) -> ReaderLine | None:
    unread, more = _unread(view, reader, feed.passes)
    if not unread:
        return None
    age = age_of(unread[0].at, view.now.wall)
    return ReaderLine(reader.name, len(unread), more, age, reader.acknowledged, view.counters.position)


def _unread(view: FileView, reader: Reader, wanted: Callable[[Event, Reader], bool]) -> tuple[list[Event], bool]:
    """The events behind what the reader has acknowledged that are `wanted`, of the first LOOKED; whether there are more."""
    found: list[Event] = []
    start = reader.settled
    for looked, event in enumerate(view.feed(start) if start < view.counters.position else ()):
        if looked == LOOKED:
            return found, True
        found += [event] if wanted(event, reader) else []
    return found, False


# ── for one worker ──


def mine(
    engine: FileEngine, actor: Actor, kept: Callable[[], Sequence[Kept]], shows: Callable[[str], bool]
) -> MyStatus:
    """What is the actor's own: its live claims wherever they are; of those that are over, the latest whose token is `kept`
    here; its drafts that wait; what it has not acknowledged."""
    faults = Faults()
    queue = faults.tried(Queue(engine).ahead) or ()
    return engine.read(lambda view: _mine(view, actor, queue, kept, shows, faults))


def _mine(
    view: FileView,
    actor: Actor,
    queue: tuple[Waiting, ...],
    keeps: Callable[[], Sequence[Kept]],
    shows: Callable[[str], bool],
    faults: Faults,
) -> MyStatus:
    kept = faults.tried(keeps) or ()
    everybodys = [(lease, _claim(view, lease, queue, faults)) for lease in _leases(view, faults)]
    claims = [claim for lease, claim in everybodys if lease.holder == actor.name]
    live = {(claim.job, claim.epoch) for claim in claims}
    latest = kept[-1] if kept else None
    over = None
    if latest is not None and (latest.job, latest.epoch) not in live:
        over = faults.tried(partial(_over, view, latest))
    reader = faults.tried(lambda: view.get(layout.reader(names.reader_of(actor))))
    unread, more = faults.tried(lambda: _concerning(view, actor, reader)) or ([], False)
    here = tuple(each.job for each in kept if (each.job, each.epoch) in live)
    drafts = tuple(_drafts(view, actor, shows, faults))
    read = None if not unread else "draftfs read" if reader is not None else "draftfs read --mine"
    command = _due(claims, here, over) or read or _work(claims, here)
    command = command or faults.tried(lambda: _another(view, queue))
    return MyStatus(
        name=actor.name,
        claims=tuple(claims),
        kept=here,
        over=over,
        drafts=drafts,
        unread=tuple(unread[:_SHOWN]),
        more=more or len(unread) > _SHOWN,
        next=command,
        damaged=faults.all(),
    )


def _due(claims: Sequence[HeldClaim], here: Sequence[int], over: Over | None) -> str | None:
    """What does not wait: a claim that is to be renewed, or that was lost."""
    for claim in claims:
        if claim.job in here and claim.renew_in <= 0:
            return f"draftfs renew --job {claim.job}" if len(here) > 1 else "draftfs renew"
    return "draftfs claim --next" if over is not None and over.standing in _LOST and not claims else None


def _work(claims: Sequence[HeldClaim], here: Sequence[int]) -> str | None:
    claim = next((claim for claim in claims if claim.job in here), None)
    if claim is None:
        return None
    of = f" --job {claim.job}" if len(here) > 1 else ""
    return f"draftfs submit{of}" if claim.drafts else f"draftfs draft{of} PATH…"


def _another(view: FileView, queue: tuple[Waiting, ...]) -> str | None:
    damaged: list[Damaged] = []
    unfinished = list(jobs.open_jobs(view, damaged))
    if turns.claimable_now(view, unfinished, queue):
        return "draftfs claim --next"
    return "draftfs claim --next --wait 10m" if unfinished else None


def _over(view: FileView, kept: Kept) -> Over | None:
    standing = receipts.standing(view, kept.job, kept.epoch)
    ended = view.get(layout.ended_claim(kept.job, kept.epoch))
    if standing == "live" or ended is None:
        return None
    return Over(kept.job, kept.epoch, standing, ended.at, ended.note)


def _concerning(view: FileView, actor: Actor, reader: Reader | None) -> tuple[list[Event], bool]:
    """Unread events that concern the actor. One who has never read is shown the latest, as far as they are looked at."""
    if reader is None:
        start = max(view.counters.first - 1, view.counters.position - LOOKED)
        name, now = names.reader_of(actor), view.now.stamp
        reader = Reader(name, actor.name, Filter(), 1, start, start, (), now, now)
    return _unread(view, reader, feed.concerns)


def _drafts(view: FileView, actor: Actor, shows: Callable[[str], bool], faults: Faults) -> Iterable[DraftInfo]:
    author = names.author_of(actor)
    damaged: list[Damaged] = []
    for target in faults.tried(lambda: list(every_target(view, damaged))) or ():
        for draft in faults.tried(partial(drafts_of, view, target, damaged)) or ():
            if draft.author == author and draft.state == "waiting":
                yield draft_info(draft, shown=shows(layout.draft_name(draft)))
    faults.add(Listed.of((), damaged).damaged)
