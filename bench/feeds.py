"""What reading and writing the feed costs in a store with a long past, beside a young one."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import history
from field import Field
from figures import Row, percentile, spread, times

from draftfs import Store, layout
from draftfs.engine import Transaction
from draftfs.records import Filter, Reader

_PAGE = 50


def feeds(base: Path, effort) -> Iterator[Row]:
    """The same operations in a store with a hundred events and in one with very many, in turns."""
    young, old = Field.make(base, "young").store, Field.make(base, "old").store
    history.messages(young, 2 * _PAGE)
    history.messages(old, effort.events)
    taken: dict[str, tuple[list[float], list[float]]] = {}
    for number in range(effort.rounds):
        for store, column in ((young, 0), (old, 1)) if number % 2 else ((old, 1), (young, 0)):
            for name, seconds in _round(store, f"reader-{number}"):
                taken.setdefault(name, ([], []))[column].append(seconds)
    for name, (short, long) in taken.items():
        ratio = times(percentile(long, 50) / percentile(short, 50), "a feed of 100")
        yield Row(f"{name}, {effort.events:,} events: p50 / p99 / max", spread(long), ratio)


def _round(store: Store, name: str) -> Iterator[tuple[str, float]]:
    yield "send", _timed(lambda: store.send(None, "a message"))
    yield "log, the last 50", _timed(lambda: store.log(limit=_PAGE))
    _come_so_far(store, name)
    reader = Store.open(store.repo.top, agent=name)
    yield "read, the last 50", _timed(lambda: reader.read(limit=_PAGE))
    page = reader.read(limit=_PAGE).page
    yield "ack", _timed(lambda: reader.acknowledge(page))
    yield "read, nothing new", _timed(reader.read)


def _come_so_far(store: Store, name: str) -> None:
    """There is a reader who has acknowledged everything but the last page."""

    def rule(tx: Transaction) -> None:
        at, now = tx.counters.position - _PAGE, tx.now.stamp
        tx.put(layout.reader(name), Reader(name, name, Filter(), 1, at, at, (), now, now))

    store.engine.write(rule)


def _timed(operation: Callable[[], object]) -> float:
    begin = time.perf_counter()
    operation()
    return time.perf_counter() - begin


SECTIONS = {"feed": feeds}
