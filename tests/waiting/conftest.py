"""Several who wait for claims at once, each in a thread with a store of its own."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from draftfs import DraftfsError, Store
from tests.support import Field, wait_for


@dataclass
class Waiter:
    """A claim in a thread; `outcome` is what it gave or raised, `told` the refusals that it said it waits for."""

    store: Store
    told: list[DraftfsError] = field(default_factory=list)
    outcome: Any = None
    thread: threading.Thread | None = None

    def start(self, method: str, *arguments: Any, **named: Any) -> None:
        def run() -> None:
            try:
                self.outcome = getattr(self.store, method)(*arguments, waits=self.told.append, **named)
            except DraftfsError as fault:
                self.outcome = fault

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def end(self) -> Any:
        """What came of it."""
        self.thread.join(30)
        assert not self.thread.is_alive(), "still waiting"
        return self.outcome

    @property
    def waits(self) -> bool:
        return self.thread.is_alive()


@dataclass
class Crowd:
    field: Field

    def waiting(self) -> list[str]:
        folder = self.field.store / "waiting"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def begin(self, name: str, method: str, *arguments: Any, wait: float = 1000.0, **named: Any) -> Waiter:
        """`name` claims, and has to wait: returns once it has its place in the queue."""
        waiter = Waiter(self.field.agent(name))
        waiter.start(method, *arguments, wait=wait, **named)
        wait_for(lambda: waiter.told)
        return waiter


@pytest.fixture
def crowd(field) -> Crowd:
    made = Crowd(field)
    yield made
    assert made.waiting() == []
