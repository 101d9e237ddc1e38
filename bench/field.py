"""What is measured on: a git repository with a store and worktrees, a worker that goes through cycles, the baseline."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from draftfs import Store
from draftfs.engine import journal

DRAFT_BYTES = 4096
TARGETS = 100
"""Files of each worker. It goes through them again and again, so that few drafts wait beside any of them."""

WARM_UP = 20
"""Cycles until a worker is as slow as it gets: it has imported all, and keeps as many tokens of ended claims as it may."""

ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "A Person",
    "GIT_AUTHOR_EMAIL": "person@example.invalid",
    "GIT_COMMITTER_NAME": "A Person",
    "GIT_COMMITTER_EMAIL": "person@example.invalid",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def text(title: str) -> bytes:
    """A file of 4 kB, different for every title."""
    line = f"{title}: what a worker may have written here, and once more.\n".encode()
    return (line * (DRAFT_BYTES // len(line) + 1))[: DRAFT_BYTES - 1] + b"\n"


def git(*arguments: str, cwd: Path) -> None:
    subprocess.run(["git", *arguments], cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def targets(worker: int) -> list[str]:
    """The files of one worker, a few per folder, as in a real project."""
    return [f"work/{worker}/{number // 10}/{number:03d}.md" for number in range(TARGETS)]


@dataclass(frozen=True)
class Field:
    """A repository with a store and a linked worktree for each worker."""

    root: Path

    @classmethod
    def make(cls, base: Path, name: str, workers: int = 1) -> "Field":
        root = base / name / "root"
        for target in (each for worker in range(workers) for each in targets(worker)):
            (root / target).parent.mkdir(parents=True, exist_ok=True)
            (root / target).write_bytes(text(target))
        git("init", "-q", "-b", "main", ".", cwd=root)
        git("add", "-A", cwd=root)
        git("commit", "-q", "-m", "start", cwd=root)
        made, _ = Store.init(str(root))
        for worker in range(workers):
            made.add_worktree(str(root.parent / f"worker-{worker}"), agent=f"worker-{worker}")
        return cls(root)

    @property
    def store(self) -> Store:
        """The store as the person in the root has it."""
        return Store.open(str(self.root))

    def worker(self, number: int = 0, warm_up: int = WARM_UP) -> "Worker":
        return Worker(self.root.parent / f"worker-{number}", number, warm_up)


class Worker:
    """One long-lived process of an agent in its own worktree. Its first `warm_up` cycles are done before anybody counts."""

    def __init__(self, worktree: Path, number: int, warm_up: int) -> None:
        self._worktree, self._targets, self._done = worktree, targets(number), 0
        self.store = Store.open(str(worktree), agent=f"worker-{number}", lock_wait=60)
        for _ in range(warm_up):
            self.cycle()

    def cycle(self) -> tuple[float, float]:
        """Add a job, claim it, write and draft 4 kB, submit. Returns the seconds it took, and its claim alone."""
        turn, target = self._done // TARGETS, self._targets[self._done % TARGETS]
        file = self._worktree / target
        if turn:
            file.write_bytes(text(target))  # as git has it: a claim refuses a worktree with somebody's old edit
        self._done += 1
        begin = time.perf_counter()
        (job,) = self.store.add_job(f"write {target}", [target]).jobs
        before = time.perf_counter()
        self.store.claim(job.id, seen=job.version)
        after = time.perf_counter()
        file.write_bytes(text(f"{target}, version {turn}"))
        self.store.draft([target])
        self.store.submit(job=job.id)
        return time.perf_counter() - begin, after - before


class Raw:
    """The baseline: what the journal records of one cycle cost as bytes that are appended and synced, nothing else."""

    def __init__(self, folder: Path, worker: Worker) -> None:
        self.sizes = record_sizes(worker)
        self._path, self._end = folder / "raw", 0
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    def close(self) -> None:
        os.close(self._file)
        self._path.unlink()

    def settle(self) -> None:
        """Sync once: what others have left to the file system is not to be paid by the baseline's first sync."""
        self._append(1)

    def cycle(self) -> float:
        """Append and fdatasync as many records, of the same sizes, as one cycle does. Returns the seconds it took."""
        begin = time.perf_counter()
        for size in self.sizes:
            self._append(size)
        return time.perf_counter() - begin

    def _append(self, size: int) -> None:
        os.pwrite(self._file, b"x" * size, self._end)
        getattr(os, "fdatasync", os.fsync)(self._file)
        self._end += size


def record_sizes(worker: Worker) -> list[int]:
    """The journal records of one cycle, in bytes."""
    worker.store.engine.checkpoint()
    worker.cycle()
    with open(f"{worker.store.folder}/journal", "rb") as file:
        found = journal.parse(file.read(), "journal")
    return [len(journal.frame(found.head["salt"], number, payload)) for number, payload in found.records]
