"""Reading the feed, acknowledging, sending, looking back: what the actor of a store says and hears (§5, Feed)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Final

from draftfs import layout, names
from draftfs.answers import Acknowledged, Logged, Page, Sent, Trimmed
from draftfs.calls import Calls
from draftfs.engine import Transaction, View
from draftfs.engine.files import FileEngine
from draftfs.engine.wake import Waker
from draftfs.errors import BadRequest, Busy, Damaged
from draftfs.records import Actor, Event, Filter
from draftfs.rules import feed
from draftfs.rules.feed import Wanted

SUBJECT_BYTES: Final = 1000
BODY_BYTES: Final = 1 << 20
SEARCHED: Final = 100_000
"""How far back `log` looks for the latest events of some kind, or of some job."""
_WINDOW: Final = 5000
LOOKS: Final = 10
"""How often a read that does not wait goes on where the filter let nothing through."""
_BATCH: Final = 500


class Talk:
    """The feed as one actor reads and writes it."""

    def __init__(self, engine: FileEngine, calls: Calls, actor: Actor) -> None:
        self._engine, self._calls, self._actor = engine, calls, actor
        self.name = names.reader_of(actor)

    def wanted(self, limit: int, kinds: Sequence[str], after: str | None, *, mine: bool, restart: bool) -> Wanted:
        """What this reader asks for. Raises BadRequest `usage`."""
        if limit < 1:
            raise BadRequest("usage", f"--limit takes a whole number from 1 on, not {limit}", hint="--limit 50")
        if restart and after is not None:
            raise BadRequest("usage", "--after and --restart exclude each other", hint="draftfs read --help")
        chosen = Filter(feed.check_kinds(kinds), mine) if kinds or mine else None
        page = feed.handle(after) if after is not None else None
        return Wanted(self.name, self._actor.name, limit, chosen, page, restart)

    def read(self, wanted: Wanted, wait: float) -> Page:
        """The page that the reader is to be handed; with `wait`, in seconds, one that holds something. Raises Busy `timeout`
        with the empty page in its details."""
        page = None
        for _ in self._rounds(wait):
            page = self._turn(wanted)
            wanted = replace(wanted, restart=False)
            looks = count(1)
            while not _says(page) and page.last < page.head and (wait or next(looks) < LOOKS):
                page = self._turn(wanted)
            if _says(page) or not wait:
                return page
        assert page is not None, "there is always one round"
        raise Busy(
            "timeout",
            f"nothing for {self.name} came in {wait:g} s",
            hint="run the same command again",
            page=page.page,
            acknowledged=page.acknowledged,
            handed_out=page.handed_out,
            head=page.head,
        )

    def follow(self, wanted: Wanted) -> Iterator[Page]:
        """Page after page, each that holds something, for ever. Handed out, and never acknowledged."""
        told = None
        for _ in self._rounds(math.inf):
            while True:
                page = self._turn(wanted)
                wanted = replace(wanted, restart=False, after=feed.handle(page.page))
                if page.lost == told:
                    page = replace(page, lost=None)
                told = page.lost or told
                if _says(page):
                    yield page
                elif page.last >= page.head:
                    break

    def acknowledge(self, page: str, receipt: str | None) -> Acknowledged:
        handle = feed.handle(page)

        def rule(tx: Transaction, _: str) -> Acknowledged:
            return feed.acknowledge(tx, handle, self.name)

        return self._calls.write("ack", {"page": str(handle), "reader": self.name}, Acknowledged, rule, receipt)

    def send(self, to: Sequence[str] | None, subject: str, body: str, job: int | None, receipt: str | None) -> Sent:
        """Put a message into the feed; `to` None is for everybody. Raises BadRequest `bad_name`, `usage`."""
        whom = None if to is None else tuple(dict.fromkeys(names.reader_name(name) for name in to))
        if whom == ():
            raise BadRequest("usage", "a message goes to somebody", hint="--to NAME, or --all")
        names.free_text(subject, "a subject", SUBJECT_BYTES)
        names.free_text(body, "a message", BODY_BYTES)
        if not subject.strip():
            raise BadRequest("usage", "a message needs a subject", hint="--subject TEXT")
        request = {"to": whom, "subject": subject, "body": body, "job": job}

        def rule(tx: Transaction, _: str) -> Sent:
            return feed.send(tx, self._actor, whom, subject, body, job)

        return self._calls.write("send", request, Sent, rule, receipt)

    def log(self, after: int | None, limit: int, kinds: Sequence[str], job: int | None) -> Logged:
        """The last `limit` events, or the first `limit` behind position `after`; of these kinds, about this job."""
        chosen = frozenset(feed.check_kinds(kinds))
        self._calls.notice()

        def passes(event: Event) -> bool:
            return (not chosen or event.kind in chosen) and job in (None, event.job)

        def look(view: View) -> Logged:
            first, head = view.counters.first, view.counters.position
            if after is not None:
                found = []
                for event in view.feed(after) if after < head else ():
                    found += [event] if passes(event) else []
                    if len(found) == limit:
                        break
                return Logged.of(found, first, head, max(after + 1, first))
            found, end = [], head
            width = limit if not chosen and job is None else _WINDOW
            while len(found) < limit and end >= first and head - end < SEARCHED:
                start = max(end - width, first - 1)
                found = [*filter(passes, view.events(start, end - start)), *found]
                end = start
            return Logged.of(found[-limit:], first, head, end + 1)

        return self._engine.read(look)

    def follow_log(self, after: int, kinds: Sequence[str], job: int | None) -> Iterator[Event]:
        """Every event behind position `after` as it comes, for ever."""
        for _ in self._rounds(math.inf):
            while True:
                logged = self.log(after, _BATCH, (), None)
                for event in logged:
                    if (not kinds or event.kind in kinds) and job in (None, event.job):
                        yield event
                after = logged[-1].position if logged else after
                if after >= logged.head:
                    break

    def trim(self, upto: int, receipt: str | None, *, overtake: bool) -> Trimmed:
        request = {"upto": upto, "overtake": overtake}

        def rule(tx: Transaction, _: str) -> Trimmed:
            return feed.trim(tx, upto, self._actor, overtake=overtake)

        return self._calls.write("log --trim", request, Trimmed, rule, receipt)

    def _turn(self, wanted: Wanted) -> Page:
        """One page. Where nothing new is handed out, nothing is written."""
        while True:
            try:
                turn = self._engine.read(lambda view: feed.take(view, wanted))
            except Damaged as fault:
                if not self._is_mended(str(fault.details.get("file"))):
                    raise
                continue
            if turn.after == turn.before or self._engine.write(partial(feed.hand_out, turn=turn))[-1].value:
                return turn.page

    def _is_mended(self, name: str) -> bool:
        """Mend a segment of the feed that has lost its end: readers go on, and are told of what is lost in its place."""
        from draftfs.repair.files import mend_torn

        if not name.startswith(layout.FEED) or not self._engine.write(partial(mend_torn, name=name))[-1].value:
            return False
        self._engine.checkpoint()  # a replay must not write what the journal holds into a segment that was rebuilt
        return True

    def _rounds(self, seconds: float) -> Iterator[None]:
        """At once, then whenever the feed may have grown, until `seconds` are over. Lapses are noticed in time."""
        waker, end = Waker(self._engine.folder), time.monotonic() + seconds
        while True:
            seen = waker.seen()
            self._calls.notice()
            yield
            left = end - time.monotonic()
            if left <= 0:
                return
            waker.wait(seen, left)


def _says(page: Page) -> bool:
    return bool(page.events) or page.lost is not None
