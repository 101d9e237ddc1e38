"""G5: the feed as its readers see it. Reading hands out a page and acknowledges nothing; only the reader acknowledges.

A page that holds events is handed out again as it was, until it is acknowledged. An empty page is one that is not full yet:
it may hold something the next time. What a reader's filter has passed over is never looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from draftfs import layout, names
from draftfs.answers import Acknowledged, Gap, Page, Sent, Trimmed
from draftfs.engine import Transaction, View
from draftfs.errors import BadRequest, Fenced, NotFound, Refused
from draftfs.frozen import frozen
from draftfs.records import Actor, Event, Filter, HandedOut, Reader
from draftfs.rules import jobs

SENT: Final = "message.sent"
SCANNED: Final = 2000
"""How many events one look sees at most: a filter may pass over a million, and a look that takes long holds writers up."""
_SCANNED_TEXT: Final = 8 << 20
_PAGE_TEXT: Final = 4 << 20
_PAGES: Final = 64

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "job.added": ("title", "paths", "after"),
    "job.edited": ("changed",),
    "job.retried": ("attempts",),
    "job.cancelled": ("because", "holder"),
    "job.rejected": ("because", "state", "holder"),
    "job.accepted": ("holder",),
    "job.returned": ("target", "number", "holder"),
    "claim.taken": ("epoch", "paths", "ttl"),
    "claim.renewed": ("epoch", "ttl"),
    "claim.released": ("epoch", "failed", "note", "state"),
    "claim.submitted": ("epoch", "drafts", "note"),
    "claim.lapsed": ("epoch", "holder", "state"),
    "claim.restarted": ("epoch", "ttl", "holder"),
    "claim.revoked": ("epoch", "because", "state", "holder"),
    "draft.added": ("target", "number", "epoch", "author", "merged", "conflicts"),
    "draft.promoted": ("target", "number", "author", "replaced", "kept"),
    "draft.undone": ("target", "number", "author", "chosen", "kept"),
    "draft.rejected": ("target", "number", "author", "because"),
    "draft.tidied": ("drafts",),
    "target.regenerated": ("target", "number", "kept"),
    "choice.rewritten": ("target", "number", "commit"),
    SENT: ("sender", "to", "subject", "body"),
    "commit.admitted": ("epoch", "changes"),
    "commit.vouched": ("commits", "changes", "because"),
    "hook.bypassed": ("hook", "reason"),
    "config.set": ("key", "value"),
    "root.moved": ("root",),
    "record.mended": ("file",),
    "record.lost": ("file",),
    "event.lost": ("file",),
    "feed.trimmed": ("first", "overtaken"),
}
"""Every kind of event, with the names in its data."""


@frozen
class Handle:
    """Names a page: `NAME:GENERATION:LAST`, LAST being the last position that the page counts."""

    name: str
    generation: int
    last: int

    def __str__(self) -> str:
        return f"{self.name}:{self.generation}:{self.last}"


_HANDLE: Final = re.compile(r"([^:]+):([1-9][0-9]{0,17}):(0|[1-9][0-9]{0,17})")


def handle(text: str) -> Handle:
    """The handle that is written so. Raises BadRequest `usage`, `bad_name`."""
    found = _HANDLE.fullmatch(text)
    if found is None:
        raise BadRequest(
            "usage", f"{text[:80]!r} is no page: its handle is NAME:GENERATION:POSITION", hint="draftfs read prints it"
        )
    return Handle(names.reader_name(found[1]), int(found[2]), int(found[3]))


@frozen
class Wanted:
    """What a reader asks for. `filter` is None where it names none; `after` is a page that was handed out to it."""

    name: str
    owner: str
    limit: int
    filter: Filter | None = None
    after: Handle | None = None
    restart: bool = False


@frozen
class Turn:
    """One turn of a reader: its page, and its record before and after. `first` is where the feed began when it was made."""

    page: Page
    before: Reader | None
    after: Reader
    first: int


def take(view: View, wanted: Wanted) -> Turn:
    """The page that the reader is to be handed. Nothing is changed: that is `hand_out`.

    Raises Refused `filter_fixed`, `not_handed_out`, Fenced `page_fenced`, NotFound `no_reader`.
    """
    counters, before = view.counters, view.get(layout.reader(wanted.name))
    if wanted.after is not None:
        check_handle(before, wanted.after, wanted.name)
    reader = _ready(view, before, wanted)
    trimmed = counters.first - 1
    asked = max(wanted.after.last if wanted.after is not None else 0, reader.acknowledged, trimmed)
    again = next((each for each in reader.pages if each.last > asked), None)
    start = max(asked, reader.handed_out if again is None else again.after)  # the filter passed over what lies before
    events, last = _collect(view, start, None if again is None else again.last, wanted.limit, reader)
    pages = (*reader.pages, HandedOut(start, last)) if events and again is None else reader.pages
    lost = Gap(reader.settled + 1, trimmed) if reader.settled < trimmed else None
    if lost is not None:  # it is a page of its own: it is said until the reader acknowledges that, not what came before
        before_it = [each for each in pages if each.last <= trimmed]
        rest = (replace(each, after=max(each.after, trimmed)) for each in pages if each.last > trimmed)
        begin = before_it[-1].last if before_it else reader.settled
        pages = (*before_it, *([HandedOut(begin, trimmed)] if begin < trimmed else []), *rest)
    after = replace(reader, handed_out=max(reader.handed_out, last), pages=_latest(pages))
    if after != before:
        after = replace(after, changed_at=view.now.stamp)
    name = str(Handle(reader.name, reader.generation, last))
    page = Page(name, tuple(events), last, after.acknowledged, after.handed_out, counters.position, lost)
    return Turn(page, before, after, counters.first)


def hand_out(transaction: Transaction, turn: Turn) -> bool:
    """Record that the page was handed out; False where the reader, or the feed's beginning, is no longer what it was."""
    key = layout.reader(turn.after.name)
    if transaction.get(key) != turn.before or transaction.counters.first != turn.first:
        return False
    transaction.put(key, turn.after)
    return True


def check_handle(reader: Reader | None, handle: Handle, name: str) -> Reader:
    """The reader `name`, if the page was handed out to it. Raises Refused `not_handed_out`, Fenced `page_fenced`, NotFound
    `no_reader`."""
    if handle.name != name:
        raise Refused(
            "not_handed_out",
            f"page {handle} belongs to {handle.name}, and you read as {name}",
            hint="--as NAME says who you are; draftfs read gives you a page of your own",
        )
    if reader is None:
        raise NotFound("no_reader", f"nobody has read the feed as {name} yet", hint="draftfs read")
    if handle.generation < reader.generation:
        raise Fenced(
            "page_fenced",
            f"page {handle} is from before the restart of this reader: it is at generation {reader.generation} now",
            hint=f"stop if somebody else reads as {name} now; else go on with draftfs read",
            generation=reader.generation,
        )
    if handle.generation > reader.generation or handle.last > reader.handed_out:
        raise Refused(
            "not_handed_out",
            f"page {handle} was not handed out: {name} was handed out positions up to {reader.handed_out}"
            f" in generation {reader.generation}",
            hint="draftfs read",
            handed_out=reader.handed_out,
        )
    return reader


def acknowledge(transaction: Transaction, handle: Handle, name: str) -> Acknowledged:
    """Everything up to the page's end is dealt with. An older page moves nothing back. Raises what `check_handle` raises."""
    key = layout.reader(name)
    reader = check_handle(transaction.get(key), handle, name)
    if handle.last > reader.acknowledged:
        pages = tuple(
            replace(each, after=max(each.after, handle.last)) for each in reader.pages if each.last > handle.last
        )
        now = transaction.now.stamp
        reader = replace(reader, acknowledged=handle.last, pages=pages, changed_at=now)
        transaction.put(key, reader)
    return Acknowledged(page=str(handle), acknowledged=reader.acknowledged, handed_out=reader.handed_out)


def send(
    transaction: Transaction, actor: Actor, to: Sequence[str] | None, subject: str, body: str, job: int | None
) -> Sent:
    """Put a message into the feed, about a job if one is named. Raises NotFound `no_job`."""
    if job is not None:
        jobs.find(transaction, job)
    names_of = None if to is None else tuple(to)
    sender = names.reader_of(actor)
    position = transaction.append(SENT, actor.name, job=job, sender=sender, to=names_of, subject=subject, body=body)
    return Sent(position=position, sender=sender, to=names_of, subject=subject, job=job)


def trim(transaction: Transaction, upto: int, actor: Actor, *, overtake: bool) -> Trimmed:
    """Forget the events up to a position. Raises Refused `reader_behind` where a reader has not come that far, unless it is
    to be overtaken; it learns that with its next page."""
    counters = transaction.counters
    if upto > counters.position:
        raise BadRequest("usage", f"the feed ends at position {counters.position}", hint="draftfs log")
    if upto < counters.first:
        return Trimmed(first=counters.first, overtaken=())
    behind = {each.name: each.settled for each in readers(transaction) if each.settled < upto}
    if behind and not overtake:
        free = max(min(behind.values()), counters.first - 1)
        told = "--overtake trims it all the same, and tells them what they missed"
        who = ", ".join(f"{name} is at {position}" for name, position in behind.items())
        raise Refused(
            "reader_behind",
            f"readers have not acknowledged everything up to position {upto}: {who}",
            hint=f"draftfs log --trim {free}; {told}" if free >= counters.first else told,
            readers=behind,
        )
    transaction.trim(upto)
    transaction.append("feed.trimmed", actor.name, first=upto + 1, overtaken=sorted(behind))
    return Trimmed(first=upto + 1, overtaken=tuple(sorted(behind)))


def readers(view: View) -> Iterator[Reader]:
    """Everybody who reads the feed. Raises Damaged."""
    for key in view.under(layout.READERS):
        reader = view.get(key)
        if reader is not None:
            yield reader


def is_sound(reader: Reader, head: int) -> bool:
    """Whether the reader's positions are in order, in a feed that ends at `head`."""
    ends = [end for page in reader.pages for end in (page.after, page.last)]
    places = [0, reader.acknowledged, *ends, reader.handed_out, head]
    return places == sorted(places) and all(page.after < page.last for page in reader.pages)


def check_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    """`kinds`, each once and in order, if they are kinds of events. Raises BadRequest `usage`."""
    for kind in kinds:
        if kind not in KINDS:
            known = [each for each in KINDS if each.partition(".")[0] == kind.partition(".")[0]] or list(KINDS)
            raise BadRequest(
                "usage", f"there is no kind {kind[:80]!r} of event", hint=f"one of these: {', '.join(known)}"
            )
    return tuple(sorted(set(kinds)))


def passes(event: Event, reader: Reader) -> bool:
    """Whether the reader's filter lets this event through. It depends on the event alone: a page is always the same."""
    wanted = reader.filter or Filter()
    if wanted.kinds and event.kind not in wanted.kinds:
        return False
    return not wanted.mine or concerns(event, reader)


def concerns(event: Event, reader: Reader) -> bool:
    """Whether it concerns this reader, and was not done by it: a message to it or to all; what became of its job, its claim
    or its draft."""
    if event.actor == reader.owner:
        return False
    if event.kind == SENT:
        to = event.data.get("to")
        return to is None or reader.name in to
    about = {event.data.get("holder"), event.data.get("author")} - {None}
    return bool(about & {reader.owner, reader.name, names.person_in_file_name(reader.owner)})


def _ready(view: View, kept: Reader | None, wanted: Wanted) -> Reader:
    """The reader as it is before it is handed anything: made, its filter fixed, begun anew where that is asked for."""
    if kept is None:
        now, start = view.now.stamp, view.counters.first - 1
        return Reader(wanted.name, wanted.owner, wanted.filter or Filter(), 1, start, start, (), now, now)
    fixed = kept.filter or wanted.filter or Filter()
    if wanted.filter not in (None, fixed):
        raise Refused(
            "filter_fixed",
            f"{wanted.name} reads {_in_words(fixed)} since {kept.since}, and that cannot be changed",
            hint="leave --kind and --mine away, or read by another name: --as NAME",
            kinds=list(fixed.kinds),
            mine=fixed.mine,
        )
    if wanted.restart:
        return replace(kept, filter=fixed, generation=kept.generation + 1, handed_out=kept.settled, pages=())
    return replace(kept, owner=wanted.owner, filter=fixed)


def _latest(pages: tuple[HandedOut, ...]) -> tuple[HandedOut, ...]:
    """So many pages are remembered each for itself; those before count as one."""
    if len(pages) <= _PAGES:
        return pages
    rest = pages[-_PAGES:]
    return (HandedOut(pages[0].after, rest[0].last), *rest[1:])


def _in_words(fixed: Filter) -> str:
    kinds = f"events of kind {', '.join(fixed.kinds)}" if fixed.kinds else "all events"
    return f"{kinds} that concern it (--mine)" if fixed.mine else kinds


def _collect(view: View, start: int, end: int | None, limit: int, reader: Reader) -> tuple[list[Event], int]:
    """The events that the reader is handed behind `start`, and the last position counted; up to `end`, where that page was
    handed out before."""
    found: list[Event] = []
    head = view.counters.position if end is None else min(end, view.counters.position)
    last, scanned, taken = start, 0, 0
    for event in view.feed(start) if start < head else ():
        last = event.position
        text = sum(len(value) for value in event.data.values() if isinstance(value, str))
        scanned += text
        if passes(event, reader):
            found.append(event)
            taken += text
        is_much = end is None and (last - start >= SCANNED or scanned >= _SCANNED_TEXT)
        if last >= head or len(found) >= limit or taken >= _PAGE_TEXT or is_much:
            break
    return found, last
