from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from draftfs.cli._call import Answer, Call, Line
from draftfs.cli._command import Number, command, usage
from draftfs.cli._show import Paint, columns, count, local, shown_line, terminal_width, tsv
from draftfs.cli._words import written
from draftfs.clock import span
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import Logged, Trimmed
    from draftfs.records import Event
    from draftfs.store import Store

_BODY_LINES: Final = 6


@command(
    "log",
    "Show what happened, to people",
    synopsis="[--limit N] [--after POSITION] [--kind K]… [--job N] [--follow] | --trim P",
    examples=["draftfs log", "draftfs log --job 7 --full", "draftfs log --kind message.sent --follow"],
    writes=True,
)
@click.option("--limit", type=Number(1), default=50, metavar="N", help="Show at most N events, 50 by default.")
@click.option(
    "--after", type=Number(), metavar="POSITION", help="Begin behind this position, not with the latest events."
)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Show events of this kind; give it once for each.")
@click.option("--job", type=Number(1), metavar="N", help="Show what is about this job.")
@click.option("--full", is_flag=True, help="Show messages to their end.")
@click.option("--follow", is_flag=True, help="Go on with what happens from now on, until Ctrl-C.")
@click.option("--trim", type=Number(1), metavar="POSITION", help="Forget the events up to here, for good.")
@click.option("--overtake", is_flag=True, help="Trim what readers have not acknowledged yet, too.")
def run(
    call: Call,
    limit: int,
    after: int | None,
    kinds: tuple[str, ...],
    job: int | None,
    full: bool,
    follow: bool,
    trim: int | None,
    overtake: bool,
) -> Answer:
    """One line per event, in the order in which the changes were committed: position, time, who, what; messages with their
    first lines. It moves no reader: agents read with draftfs read. In a pipe, tabs stand between position, time, who, what
    and, where there is one, a message's text. With --follow and --json each line is an object with an `event`.

    --trim makes the feed begin behind POSITION. It is for people, and refused while a reader has not acknowledged all of
    that. With --overtake it is done all the same, and each such reader is told with its next page what it missed."""
    if trim is not None:
        if after is not None or kinds or job is not None or follow:
            usage("--trim stands alone, or with --overtake", "draftfs log --help")
        trimmed = call.store().trim(trim, overtake=overtake, receipt=call.receipt)
        return written(trimmed, _trimmed(trimmed))
    if overtake or call.receipt is not None:
        usage("--overtake and --receipt go with --trim", "draftfs log --help")
    store = call.store()
    logged = store.log(after=after, limit=limit, kinds=kinds, job=job)
    data = {"events": [to_plain(each) for each in logged], "first": logged.first, "head": logged.head}
    lines = _lines(logged, after, call, full=full)
    if not follow:
        return Answer(data, lines, warnings=_unseen(logged, after, limit))
    position = logged[-1].position if after is not None and logged else after if after is not None else logged.head
    if call.json:  # then the stream is all there is
        position = logged[0].position - 1 if logged else position
    return Answer(data, lines, stream=_stream(store, position, kinds, job, call, full=full))


def _stream(
    store: Store, position: int, kinds: tuple[str, ...], job: int | None, call: Call, *, full: bool
) -> Iterator[Line]:
    for event in store.follow_log(position, kinds=kinds, job=job):
        yield Line({"event": to_plain(event)}, flowing(event, call, full=full))


def _trimmed(trimmed: Trimmed) -> Iterator[str]:
    yield f"the feed begins at position {trimmed.first} now"
    if trimmed.overtaken:
        yield f"overtaken: {', '.join(trimmed.overtaken)}"


def _lines(logged: Logged, after: int | None, call: Call, *, full: bool) -> Iterator[str | bytes]:
    if call.terminal and logged.first > 1 and after is not None and after < logged.first - 1:
        yield f"what came before position {logged.first} was trimmed"
    yield from told(logged, call, full=full)
    if call.terminal and not logged:
        yield "nothing has happened" if not logged.head else "nothing of that kind has happened"


def _unseen(logged: Logged, after: int | None, limit: int) -> Iterator[str]:
    if after is None and len(logged) < limit and logged.searched > logged.first:
        yield f"warning: looked back to position {logged.searched} only"
        yield f"hint: draftfs log --after {logged.first - 1}, with the same options, begins with the first event"


# ── events, for people ──


def told(events: Sequence[Event], call: Call, *, full: bool, days: bool = True) -> Iterator[str | bytes]:
    """The events, a line each: on a terminal under the days on which they happened, with the first lines of messages."""
    if not call.terminal:
        yield from tsv(_row(each) for each in events)
        return
    day = ""
    rows = [(str(each.position), *local(each.at).split(), each.actor, in_words(each)) for each in events]
    cells = [tuple(map(shown, (row[0], row[2], *row[3:]))) for row in rows]
    table = columns(cells, call.paint, right=frozenset({0})) if cells else iter(())
    for event, row, line in zip(events, rows, table, strict=True):
        if days and row[1] != day:
            day = row[1]
            yield call.paint("bold", day)
        yield line
        yield from _body(event, call.paint, full=full)


def flowing(event: Event, call: Call, *, full: bool) -> str:
    """One event that has just come, as one that stands among others is told."""
    lines = told([event], call, full=full, days=False)
    return "\n".join(each if isinstance(each, str) else os.fsdecode(each.rstrip(b"\n")) for each in lines)


def _row(event: Event) -> tuple[str, ...]:
    row = (str(event.position), local(event.at), event.actor, in_words(event))
    body = event.data.get("body") if event.kind == "message.sent" else None
    return (*row, str(body)) if body else row


def _body(event: Event, paint: Paint, *, full: bool) -> Iterator[str]:
    body = event.data.get("body") if event.kind == "message.sent" else None
    if not body:
        return
    bar = paint("cyan", "      |")
    lines = str(body).rstrip("\n").split("\n")
    width = max(terminal_width() - 9, 20)
    for line in lines if full else lines[:_BODY_LINES]:
        text = shown_line(line)
        yield f"{bar} {text}" if full or len(text) <= width else f"{bar} {text[: width - 1]}…"
    cut = len(lines) > _BODY_LINES or any(len(shown_line(line)) > width for line in lines)
    if cut and not full:
        yield f"{bar} … all {count(len(lines), 'line')}: draftfs log --after {event.position - 1} --limit 1 --full"


def in_words(event: Event) -> str:
    """What happened, as a sentence without its subject. Kinds that this version does not know are shown as they are."""
    told = _WORDS.get(event.kind)
    data = {**event.data, "job": event.job}
    if told is None:
        facts = ", ".join(f"{name} {value}" for name, value in data.items() if value is not None)
        return f"{event.kind}: {facts}" if facts else event.kind
    sentence = told(data)
    reason = event.data.get("because") or event.data.get("note")
    return f"{sentence}: {reason}" if reason else sentence


def _of(data: dict[str, Any]) -> str:
    return f"draft {data.get('number')} of {data.get('target')}"


def _drafted(data: dict[str, Any]) -> str:
    if data.get("merged") is None:
        return "drafted"
    conflicts = f" ({count(data['conflicts'], 'conflict')})" if data.get("conflicts") else ""
    return f"merged draft {data['merged']}{conflicts} with its target, for"


def _list(values: Sequence[Any] | None) -> str:
    return ", ".join(map(str, values or ()))


def _back_to(data: dict[str, Any]) -> str:
    """What counts again instead."""
    return f", to draft {data['chosen']}" if data.get("chosen") is not None else ""


def _left(data: dict[str, Any]) -> str:
    """What became of the job, where that is not the usual."""
    return ", and no attempt is left" if data.get("state") == "failed" else ""


_WORDS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "job.added": lambda data: f"added job {data['job']}, {data.get('title')} ({_list(data.get('paths'))})",
    "job.edited": lambda data: f"changed the {_list(data.get('changed'))} of job {data['job']}",
    "job.retried": lambda data: f"granted job {data['job']} {count(data.get('attempts', 0), 'more attempt')}",
    "job.cancelled": lambda data: f"cancelled job {data['job']}",
    "job.rejected": lambda data: f"turned job {data['job']} down{_left(data)}",
    "job.returned": lambda data: f"took the acceptance of job {data['job']} back",
    "job.accepted": lambda data: f"accepted job {data['job']}",
    "claim.taken": lambda data: f"claimed job {data['job']} for {span(data.get('ttl', 0))} (epoch {data.get('epoch')})",
    "claim.renewed": lambda data: f"renewed the claim of job {data['job']} for {span(data.get('ttl', 0))}",
    "claim.released": lambda data: (
        f"{'gave up on' if data.get('failed') else 'released'} job {data['job']}{_left(data)}"
    ),
    "claim.submitted": lambda data: f"submitted job {data['job']} with {count(len(data.get('drafts') or ()), 'draft')}",
    "claim.lapsed": lambda data: f"{data.get('holder')}'s claim of job {data['job']} lapsed{_left(data)}",
    "claim.restarted": lambda data: f"after a reboot the claim of job {data['job']} has its full time once more",
    "claim.revoked": lambda data: f"took job {data['job']} from its holder{_left(data)}",
    "commit.admitted": lambda data: (
        f"committed {count(data.get('changes', 0), 'change')} under the claim of job {data['job']}"
    ),
    "commit.vouched": lambda data: f"vouched for {count(data.get('changes', 0), 'change')}",
    "hook.bypassed": lambda data: f"went past an error of the hook {data.get('hook')} ({data.get('reason')})",
    "draft.added": lambda data: f"{_drafted(data)} {data.get('target')}, number {data.get('number')}",
    "draft.tidied": lambda data: f"took {count(len(data.get('drafts') or ()), 'decided draft')} out of the listing",
    "draft.promoted": lambda data: f"promoted {_of(data)}, by {data.get('author')}",
    "draft.undone": lambda data: f"took the promotion of {_of(data)} back{_back_to(data)}",
    "target.regenerated": lambda data: f"made {data.get('target')} again what was chosen, draft {data.get('number')}",
    "choice.rewritten": lambda data: f"committed {_of(data)} as hooks rewrote it",
    "draft.rejected": lambda data: f"turned down {_of(data)}, by {data.get('author')}",
    "message.sent": lambda data: (
        f"to {_list(data['to']) if data.get('to') is not None else 'all'}: {data.get('subject')}"
        + (f" (job {data['job']})" if data.get("job") else "")
    ),
    "feed.trimmed": lambda data: (
        f"trimmed the feed: it begins at position {data.get('first')}"
        + (f"; overtook {_list(data['overtaken'])}" if data.get("overtaken") else "")
    ),
    "record.mended": lambda data: f"mended {data.get('file')}",
    "record.lost": lambda data: f"found {data.get('file')} lost",
    "event.lost": lambda data: f"found the event of this position lost ({data.get('file')})",
    "root.moved": lambda data: f"made {data.get('root')} the root",
    "config.set": lambda data: f"set {data.get('key')} to {data.get('value')}",
}
