"""What the rules run on: a Transaction over named records, as plain protocols. Any engine that offers them will do (§12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol, TypeVar

from draftfs.clock import Instant
from draftfs.errors import DraftfsError
from draftfs.frozen import frozen
from draftfs.layout import Folder, Key
from draftfs.records import Content, Counters, Effect, Event, StoreInfo

R = TypeVar("R")


class PrepareAgain(Exception):
    """Raised by a rule in its transaction: what the caller prepared for is no longer so. Nothing was changed."""


class View(Protocol):
    """One consistent look at the store."""

    @property
    def now(self) -> Instant:
        """The one time at which all of this happens."""

    @property
    def store(self) -> StoreInfo:
        """Which store this is, and its settings."""

    @property
    def counters(self) -> Counters:
        """What only grows: the last job, epoch and position."""

    def get(self, key: Key[R]) -> R | None:
        """The record, or None when there is none. Raises Damaged when there is one that cannot be trusted."""

    def under(self, folder: Folder[R]) -> Iterator[Key[R]]:
        """The keys of all records in a folder, by number, then name; damaged ones too."""

    def events(self, after: int, limit: int) -> tuple[Event, ...]:
        """Up to `limit` events of the feed behind position `after`, in order."""

    def feed(self, after: int) -> Iterator[Event]:
        """All events of the feed behind position `after`, in order, each read when it is asked for. What was trimmed
        (counters.first) is passed over; raises Damaged for any other that is missing."""


class Transaction(View, Protocol):
    """A look that may change what it sees: everything it says happens, or nothing."""

    def put(self, key: Key[R], record: R, *, lives: float | None = None) -> None:
        """Write a record. `lives` says after how many seconds nobody needs it any more; an engine may ignore that."""

    def delete(self, key: Key[Any]) -> None:
        """Remove a record, if it is there."""

    def append(self, kind: str, actor: str, *, job: int | None = None, **data: Any) -> int:
        """Add one event to the feed and return its position: the order of commit. `data` holds plain values."""

    def trim(self, upto: int) -> None:
        """Forget the events of the feed up to this position."""

    def effect(self, effect: Effect, staged: str | None = None) -> None:
        """Have this done to the root after the commit, with the prepared file `staged` if there is one."""


def refusing(refusal: DraftfsError) -> Callable[..., Any]:
    """A rule that raises this and does nothing else: what was refused before the lock is to be said in the transaction, where
    the receipt comes first."""

    def refuse(*_: object) -> Any:
        raise refusal

    return refuse


@frozen
class Performed:
    """What became of one effect. `later` is tried again by whoever comes next, `failed` is not.

    `displaced` is a content, kept as an object, that stood in the target's place and nobody had seen before.
    """

    effect: Effect
    state: Literal["done", "later", "failed"]
    fault: DraftfsError | None = None
    displaced: Content | None = None


class Root(Protocol):
    """Who performs effects for an engine: the tree that people look at."""

    def perform(self, effect: Effect, staged: str | None) -> Performed:
        """Do it, durably. Never raises for what the disk refuses. What is left at `staged` goes once it is recorded as done."""

    def redo(self, effect: Effect, staged: str | None) -> Performed:
        """Do it if the disk shows that it is still to do; what a person put there stays."""

    def aftermath(self, transaction: Transaction, performed: tuple[Performed, ...]) -> None:
        """Record what each `displaced` was, in the transaction by which the effects count as done."""
