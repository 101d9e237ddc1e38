from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, command
from draftfs.cli._show import columns, count, local, tsv
from draftfs.clock import span
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.records import Event


@command(
    "log",
    "Show what happened",
    synopsis="[--limit N] [--after POSITION]",
    examples=["draftfs log", "draftfs log --after 120 --limit 1000"],
)
@click.option("--limit", type=Number(1), default=50, metavar="N", help="Show at most N events, 50 by default.")
@click.option(
    "--after", type=Number(), metavar="POSITION", help="Begin behind this position, not with the latest events."
)
def run(call: Call, limit: int, after: int | None) -> Answer:
    """One line per event, in the order in which the changes were committed: position, time, who, what. In a pipe, tabs stand
    between these columns."""
    events = call.store().log(after=after, limit=limit)
    rows = [(str(each.position), local(each.at), each.actor, in_words(each)) for each in events]
    for_people = [tuple(map(shown, row)) for row in rows]
    lines = columns(for_people, call.paint, right=frozenset({0})) if call.terminal else tsv(rows)
    return Answer({"events": [to_plain(each) for each in events]}, lines if rows else _nothing(call))


def _nothing(call: Call) -> Iterator[str]:
    if call.terminal:
        yield "nothing has happened"


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


def _list(values: Sequence[Any] | None) -> str:
    return ", ".join(map(str, values or ()))


def _left(data: dict[str, Any]) -> str:
    """What became of the job, where that is not the usual."""
    return ", and no attempt is left" if data.get("state") == "failed" else ""


_WORDS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "job.added": lambda data: f"added job {data['job']}, {data.get('title')} ({_list(data.get('paths'))})",
    "job.edited": lambda data: f"changed the {_list(data.get('changed'))} of job {data['job']}",
    "job.retried": lambda data: f"granted job {data['job']} {count(data.get('attempts', 0), 'more attempt')}",
    "job.cancelled": lambda data: f"cancelled job {data['job']}",
    "job.rejected": lambda data: f"turned job {data['job']} down{_left(data)}",
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
    "draft.added": lambda data: f"drafted {data.get('target')}, number {data.get('number')}",
    "draft.promoted": lambda data: f"promoted {_of(data)}, by {data.get('author')}",
    "draft.rejected": lambda data: f"turned down {_of(data)}, by {data.get('author')}",
    "record.mended": lambda data: f"mended {data.get('file')}",
    "record.lost": lambda data: f"found {data.get('file')} lost",
    "event.lost": lambda data: f"found the event of this position lost ({data.get('file')})",
    "root.moved": lambda data: f"made {data.get('root')} the root",
    "config.set": lambda data: f"set {data.get('key')} to {data.get('value')}",
}
