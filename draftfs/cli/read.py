from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli._call import Answer, Call, Line
from draftfs.cli._command import Number, Seconds, command, usage
from draftfs.cli.log import flowing, told
from draftfs.codec import to_plain
from draftfs.errors import pasteable

if TYPE_CHECKING:
    from draftfs.answers import Page
    from draftfs.store import Store


@command(
    "read",
    "Read the feed from where you left off",
    synopsis="[--limit N] [--kind K]… [--mine] [--after H | --restart] [--wait S | --follow]",
    examples=["draftfs read --mine", "draftfs ack ann:1:42", "draftfs read --mine --wait 60 --json"],
)
@click.option("--limit", type=Number(1), default=50, metavar="N", help="Hand out at most N events, 50 by default.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Hand out this kind only; give it once for each.")
@click.option("--mine", is_flag=True, help="Hand out what concerns you: messages to you, your claims, jobs and drafts.")
@click.option("--after", metavar="HANDLE", help="Hand out the page that follows this one.")
@click.option("--restart", is_flag=True, help="Begin anew behind what is acknowledged; pages from before are void.")
@click.option("--wait", type=Seconds(), default=0.0, metavar="SECONDS", help="Wait for something to come.")
@click.option("--follow", is_flag=True, help="Go on, event by event, until Ctrl-C.")
def run(
    call: Call,
    limit: int,
    kinds: tuple[str, ...],
    mine: bool,
    after: str | None,
    restart: bool,
    wait: float,
    follow: bool,
) -> Answer:
    """Hands out the page behind what you have acknowledged, and prints its handle. The same page comes again until you
    acknowledge it, or a part of it, with draftfs ack HANDLE: after a crash, just read again. You are who you are to all
    commands: --as NAME, or DRAFTFS_AGENT, or the holder of this worktree. Each name is a reader with positions of its own.

    What --kind and --mine say is fixed when you first read, and applies where neither is given. When --wait runs out, the
    status is 7. With --follow and --json, each line holds an event and the handle that acknowledges up to it; following
    hands out, and acknowledges nothing.

    In a pipe, events are as in draftfs log, and the last line is `page`, a tab, and the handle."""
    if follow and wait:
        usage("--follow waits by itself", "draftfs read --follow")
    asked = {"limit": limit, "kinds": kinds, "mine": mine, "after": after, "restart": restart}
    store = call.store()
    if follow:
        return Answer({}, stream=_stream(store, asked, call))
    page = store.read(**asked, wait=wait)  # type: ignore[arg-type]
    return Answer(to_plain(page), _lines(page, call), warnings=_lost(page))


def _stream(store: Store, asked: dict[str, object], call: Call) -> Iterator[Line]:
    for page in store.follow(**asked):  # type: ignore[arg-type]
        reader, generation, _ = page.page.split(":")
        if page.lost is not None:
            yield Line({"page": page.page, "lost": to_plain(page.lost)}, "".join(_lost(page)))
        for event in page.events:
            handle = f"{reader}:{generation}:{event.position}"
            yield Line({"page": handle, "event": to_plain(event)}, flowing(event, call, full=True))


def _lost(page: Page) -> Iterator[str]:
    if page.lost is not None:
        name = page.page.partition(":")[0]
        yield f"warning: positions {page.lost.first} to {page.lost.last} were trimmed before {name} acknowledged them"


def _lines(page: Page, call: Call) -> Iterator[str | bytes]:
    yield from told(page.events, call, full=True)
    if not call.terminal:
        yield f"page\t{page.page}"
        return
    name = page.page.partition(":")[0]
    if not page.events:
        what = "nothing new" if page.last >= page.head else f"nothing up to position {page.last} of {page.head}"
        yield f"{what} for {name}" + ("" if page.last >= page.head else ": read again")
    if page.last > page.acknowledged:
        yield f"next: draftfs ack {page.page}{f' --as {pasteable(call.name)}' if call.name is not None else ''}"
