"""Waiting for a claim that is refused now: for a bounded time, behind those who began to wait before, looking only when
something has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Self

from draftfs import layout
from draftfs.clock import NANOSECONDS
from draftfs.engine import View
from draftfs.engine.files import FileEngine
from draftfs.engine.tickets import Queue, Ticket
from draftfs.engine.wake import RECHECK, Waker
from draftfs.errors import Busy, Refused, from_oserror
from draftfs.frozen import frozen
from draftfs.records import Waiting
from draftfs.rules import lapses, turns

Told = Callable[[Refused], None]

_LONGEST: Final = 366 * 24 * 3600.0
_MOMENT: Final = 0.005
"""Just behind a deadline the lapse can be noticed."""


@frozen
class Wish:
    """What is waited for, by whom. `judge` raises why one who is behind those in its second argument cannot have it now."""

    who: str
    worktree: str | None
    job: int | None
    paths: tuple[str, ...]
    judge: Callable[[View, Sequence[Waiting]], object]


class Patience:
    """The waiting of one claim, for at most `seconds` in all. `told` hears once what it waits for. Its place in the queue goes
    with the block."""

    def __init__(
        self, engine: FileEngine, notice: Callable[[], None], queue: Queue, seconds: float, told: Told | None
    ) -> None:
        self._engine, self._notice, self._queue, self._told = engine, notice, queue, told
        self._seconds, self._end = seconds, engine.now().awake_ns + int(min(seconds, _LONGEST) * NANOSECONDS)
        self._waker = Waker(engine.folder, layout.WAITING)
        self._ticket: Ticket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, fault: BaseException | None, __: object) -> None:
        if self._ticket is not None:
            self._ticket.close()
        if isinstance(fault, OSError):
            raise from_oserror(fault, "waiting for a claim") from fault

    def wait(self, wish: Wish, refusal: Refused) -> tuple[Waiting, ...]:
        """Return once it is the turn of what was refused, with those who are ahead of it all the same.

        Raises the refusal where no waiting mends it, Busy `timeout`.
        """
        if not self._engine.read(lambda view: _has_hope(view, refusal, wish)):
            raise refusal
        while True:
            seen = self._waker.seen()
            with suppress(Busy):
                self._notice()
            if self._ticket is not None:
                self._ticket.looks(self._engine.now())
            ahead = self._queue.ahead(self._ticket)
            still, lapse = self._engine.read(partial(_look, wish=wish, ahead=ahead))
            if still is None:
                return ahead
            left = (self._end - self._engine.now().awake_ns) / NANOSECONDS
            if left <= 0:
                raise self._timeout(still)
            if self._ticket is None:
                self._ticket = self._join(wish)
                if self._told is not None:
                    self._told(still)
                continue
            self._waker.wait(seen, min(left, lapse))

    def _join(self, wish: Wish) -> Ticket:
        now = self._engine.now()
        return self._queue.join(Waiting(wish.who, wish.worktree, wish.job, wish.paths, now.stamp, self._end))

    def _timeout(self, refusal: Refused) -> Busy:
        return Busy(
            "timeout",
            f"waited for {self._seconds:g} s, and {refusal.message}",
            hint="run the same command again to wait on, or take another job: draftfs claim --next",
            refused=refusal.code,
            waited=self._seconds,
            **refusal.details,
        )


def _look(view: View, wish: Wish, ahead: Sequence[Waiting]) -> tuple[Refused | None, float]:
    """Why it cannot be had now, if so, and the seconds until a claim lapses. Raises what no waiting mends."""
    try:
        wish.judge(view, ahead)
    except Refused as still:
        if not _has_hope(view, still, wish):
            raise
        lapse = lapses.next_due(view)
        return still, RECHECK if lapse is None else lapse + _MOMENT
    return None, 0.0


def _has_hope(view: View, refusal: Refused, wish: Wish) -> bool:
    return turns.is_worth_waiting(view, refusal, wish.who, wish.worktree)
