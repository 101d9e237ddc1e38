from __future__ import annotations

import pytest

from draftfs.engine.files import FileEngine, create
from draftfs.paths import Fold
from draftfs.records import Settings, StoreInfo
from tests.support import ManualClock


class Plain:
    """A store without a repository: engines over one folder, and one clock."""

    def __init__(self, folder: str) -> None:
        self.folder, self.clock = folder, ManualClock()
        info = StoreInfo("id", "..", "files", Fold(case=False, form=False), Settings(), self.clock.now().stamp)
        create(folder, self.clock, info)
        self.engine().checkpoint()

    def engine(self) -> FileEngine:
        return FileEngine(self.folder, self.clock, 5.0)

    def add(self, count: int = 1, engine: FileEngine | None = None) -> None:
        for _ in range(count):
            (engine or self.engine()).write(lambda tx: tx.append("test", "somebody"))

    def positions(self) -> list[int]:
        return self.engine().read(lambda view: [event.position for event in view.events(0, view.counters.position)])

    def file(self, name: str) -> str:
        return f"{self.folder}/{name}"


@pytest.fixture
def plain(tmp_path) -> Plain:
    return Plain(str(tmp_path / "store"))
