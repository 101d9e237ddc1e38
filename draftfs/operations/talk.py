"""The feed: reading and acknowledging (G5), sending, looking back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from draftfs.answers import Acknowledged, Logged, Page, Sent, Trimmed
from draftfs.operations.desk import Desk
from draftfs.records import Event

if TYPE_CHECKING:
    from draftfs.talk import Talk


class TalkOperations(Desk):
    """What readers and senders do."""

    @cached_property
    def _talk(self) -> Talk:
        from draftfs.talk import Talk

        return Talk(self.engine, self._calls, self.actor)

    def read(
        self,
        *,
        limit: int = 50,
        kinds: Sequence[str] = (),
        mine: bool = False,
        after: str | None = None,
        restart: bool = False,
        wait: float = 0.0,
    ) -> Page:
        """Hand the actor, as a reader of the feed, its next page (G5); `after` is the handle of the page before it. `kinds`
        and `mine` are fixed when a reader first reads. Raises what `rules.feed.take` raises; with `wait` Busy `timeout`.
        """
        return self._talk.read(self._talk.wanted(limit, kinds, after, mine=mine, restart=restart), wait)

    def follow(
        self,
        *,
        limit: int = 50,
        kinds: Sequence[str] = (),
        mine: bool = False,
        after: str | None = None,
        restart: bool = False,
    ) -> Iterator[Page]:
        """As `read`, page after page, for ever; each is handed out, none acknowledged."""
        return self._talk.follow(self._talk.wanted(limit, kinds, after, mine=mine, restart=restart))

    def acknowledge(self, page: str, *, receipt: str | None = None) -> Acknowledged:
        """Everything up to the end of a page is dealt with. Raises what `rules.feed.check_handle` raises."""
        return self._talk.acknowledge(page, receipt)

    def send(
        self,
        to: Sequence[str] | None,
        subject: str,
        body: str = "",
        *,
        job: int | None = None,
        receipt: str | None = None,
    ) -> Sent:
        """Put a message to these readers (None: to everybody) into the feed."""
        return self._talk.send(to, subject, body, job, receipt)

    def log(
        self, *, after: int | None = None, limit: int = 50, kinds: Sequence[str] = (), job: int | None = None
    ) -> Logged:
        """Events of the feed: the last `limit`, or the first `limit` behind position `after`. Moves no reader."""
        return self._talk.log(after, limit, kinds, job)

    def follow_log(self, after: int, *, kinds: Sequence[str] = (), job: int | None = None) -> Iterator[Event]:
        """Events behind position `after` as they come, for ever."""
        return self._talk.follow_log(after, kinds, job)

    def trim(self, upto: int, *, overtake: bool = False, receipt: str | None = None) -> Trimmed:
        """Forget the events up to a position (a person's act). Raises Refused `reader_behind` without `overtake`."""
        self._require_person("trim the feed")
        return self._talk.trim(upto, receipt, overtake=overtake)
