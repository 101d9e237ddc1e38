"""Whole cycles: in one process over stores of different size, and in many processes over one store."""

import multiprocessing
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import history
from field import Field, Raw, Worker, git
from figures import Row, median_ratio, milliseconds, percentile, rate, spread, times

PROCESSES = 8


class _Variant:
    """A store of one kind, with the seconds of its blocks of cycles and of each claim."""

    def __init__(self, name: str, worker: Worker) -> None:
        self.name, self._worker = name, worker
        self.blocks: list[float] = []
        self.claims: list[float] = []

    def block(self, cycles: int) -> None:
        taken = [self._worker.cycle() for _ in range(cycles)]
        self.blocks.append(sum(whole for whole, _ in taken))
        self.claims += [claim for _, claim in taken]


def one_process(base: Path, effort) -> Iterator[Row]:
    """Blocks of the baseline and of every variant, in turn, so that all see the same machine."""
    history.verify(base)
    variants = [_Variant(name, worker) for name, worker in _stores(base, effort)]
    raws: list[float] = []
    gits: list[float] = []
    with closing(Raw(base, Field.make(base, "sizes").worker())) as raw:
        for number in range(effort.rounds):
            raw.settle()
            raws.append(sum(raw.cycle() for _ in range(effort.block)))
            gits.append(_one_git(base / "empty" / "root"))
            for variant in variants[number % len(variants) :] + variants[: number % len(variants)]:
                variant.block(effort.block)
    records, size = len(raw.sizes), sum(raw.sizes) / 1000
    per_second = effort.block / statistics.median(raws)
    yield Row(f"append + fdatasync of a cycle's {records} journal records, {size:.1f} kB", rate(per_second), "1")
    empty = variants[0]
    for variant in variants:
        speed = rate(effort.block / statistics.median(variant.blocks))
        against_raw = times(median_ratio(variant.blocks, raws), "the appends")
        against_empty = times(median_ratio(variant.blocks, empty.blocks), "the empty store")
        yield Row(f"cycle, {variant.name}", speed, against_raw if variant is empty else against_empty)
        ratio = "" if variant is empty else times(_p50_ratio(variant, empty), "the empty store")
        yield Row(f"claim, {variant.name}: p50 / p99 / max", spread(variant.claims), ratio)
    one = statistics.median(gits)
    yield Row("one `git rev-parse HEAD`, for scale", f"{milliseconds(one)} ms", "")


def _p50_ratio(mine: _Variant, other: _Variant) -> float:
    return percentile(mine.claims, 50) / percentile(other.claims, 50)


def _stores(base: Path, effort) -> Iterator[tuple[str, Worker]]:
    yield "empty store", Field.make(base, "empty").worker()
    for count in (10, 1000):
        field = Field.make(base, f"claims-{count}")
        history.live_claims(field.store, count)
        yield f"{count:,} live claims", field.worker()
    field = Field.make(base, "history")
    history.finished_jobs(field.store, effort.history)
    yield f"{effort.history:,} receipts, finished jobs and events", field.worker()


def _one_git(root: Path) -> float:
    begin = time.perf_counter()
    git("rev-parse", "HEAD", cwd=root)
    return time.perf_counter() - begin


# ── many processes ──


def processes(base: Path, effort) -> Iterator[Row]:
    """Windows of time in which all processes work on one store, each after a window of the baseline and one of a single
    process."""
    field = Field.make(base, "processes", PROCESSES)
    context = multiprocessing.get_context("spawn")
    pipes: list[Connection] = []
    started = []
    for number in range(PROCESSES):
        ours, theirs = context.Pipe()
        started.append(context.Process(target=_serve, args=(theirs, field, number), daemon=True))
        started[-1].start()
        theirs.close()
        pipes.append(ours)
    with closing(Raw(base, Field.make(base, "alone").worker())) as raw:
        raws, alone, together, counts, claims = [], [], [], [0] * PROCESSES, []
        for pipe in pipes:
            pipe.recv()  # it is ready
        for _ in range(effort.windows):
            raw.settle()
            raws.append(statistics.mean(raw.cycle() for _ in range(50)))
            alone.append(_per_cycle(_window(pipes[:1], effort.window / 2), effort.window / 2))
            answers = _window(pipes, effort.window)
            together.append(_per_cycle(answers, effort.window))
            counts = [before + done for before, (done, _) in zip(counts, answers, strict=True)]
            claims += [each for _, its in answers for each in its]
    for pipe, process in zip(pipes, started, strict=True):
        pipe.send(None)
        process.join()
    name = f"{PROCESSES} processes, each in its own worktree"
    speed = rate(1 / statistics.median(together))
    yield Row(f"cycles in all, {name}", speed, times(median_ratio(together, raws), "the appends"))
    yield Row(
        "… fewest and most of one process",
        f"{min(counts)} and {max(counts)}",
        times(max(counts) / max(min(counts), 1), "the fewest"),
    )
    yield Row(
        "… cycles a second beside one process",
        rate(1 / statistics.median(alone)),
        times(median_ratio(alone, together), "one process"),
    )
    yield Row(f"claim, {PROCESSES} processes: p50 / p99 / max", spread(claims), "")


def _per_cycle(answers: list[tuple[int, list[float]]], seconds: float) -> float:
    return seconds / max(sum(done for done, _ in answers), 1)


def _window(pipes: list[Connection], seconds: float) -> list[tuple[int, list[float]]]:
    """Let these processes work at once; how many cycles each ended in time, and what its claims took."""
    start = time.monotonic() + 0.05
    for pipe in pipes:
        pipe.send((start, start + seconds))
    return [pipe.recv() for pipe in pipes]


def _serve(pipe: Connection, field: Field, number: int) -> None:
    """One process: work from start to end of each window that it is sent."""
    worker = field.worker(number)
    pipe.send("ready")
    while (window := pipe.recv()) is not None:
        start, end = window
        done, claims = 0, []
        time.sleep(max(start - time.monotonic(), 0))
        while time.monotonic() < end:
            claims.append(worker.cycle()[1])
            done += time.monotonic() < end
        pipe.send((done, claims))
