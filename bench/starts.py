"""What the command line costs from start to end, and what a checkpoint costs."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from field import Field, Raw
from figures import Row, median_ratio, milliseconds, percentile, times

import draftfs
from draftfs.engine.session import CHECKPOINT_RECORDS

WAITING = 3


def command_line(base: Path, effort) -> Iterator[Row]:
    """Each command once per round, beside the bare interpreter; Python may cache byte code, as it does for users."""
    field = Field.make(base, "starts")
    worker = field.worker(warm_up=WAITING)
    (job,) = worker.store.add_job("claim me", ["claimed.md"]).jobs
    program, environment = _program()
    agent = {**environment, "DRAFTFS_AGENT": "worker-0"}
    taken: dict[str, list[float]] = {}

    def run(name: str, command: list[str], cwd: Path, env: dict[str, str]) -> None:
        begin = time.perf_counter()
        done = subprocess.run(command, cwd=cwd, env=env, check=False, stdin=subprocess.DEVNULL, capture_output=True)
        taken.setdefault(name, []).append(time.perf_counter() - begin)
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr.decode()}")

    def claim() -> None:
        nonlocal job
        command = [*program, "claim", str(job.id), "--seen", str(job.version)]
        run("`draftfs claim`", command, field.root.parent / "worker-0", agent)
        job = worker.store.release(job=job.id).job

    bare = "`python -c ''`"
    reads = {"--version": "", "ls": f", {WAITING} drafts wait", "job list": f", {WAITING + 1} jobs"}
    runs: list[Callable[[], None]] = [lambda: run(bare, [sys.executable, "-c", ""], field.root, environment)]
    for words, about in reads.items():
        name, command = f"`draftfs {words}`{about}", [*program, *words.split()]
        runs.append(lambda name=name, command=command: run(name, command, field.root, environment))
    runs.append(claim)
    for number in range(effort.starts + 1):
        for each in runs[number % len(runs) :] + runs[: number % len(runs)]:
            each()
        if number == 0:
            taken.clear()  # the first round wrote the byte code
    for name in [bare, *(each for each in taken if each != bare)]:
        ratio = "1" if name == bare else times(median_ratio(taken[name], taken[bare]), "the interpreter")
        yield Row(name, f"{milliseconds(statistics.median(taken[name]))} ms", ratio)


def _program() -> tuple[list[str], dict[str, str]]:
    """How to call draftfs: as installed beside this Python, else as a module. And the environment to do it in."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    script = Path(sys.executable).with_name("draftfs")
    if script.exists():
        return [str(script)], environment
    return [sys.executable, "-m", "draftfs"], {**environment, "PYTHONPATH": str(Path(draftfs.__file__).parents[1])}


def checkpoints(base: Path, effort) -> Iterator[Row]:
    """As many cycles as fit between two checkpoints, then one by hand, in turns with the baseline."""
    worker = Field.make(base, "checkpoints").worker()
    taken, raws = [], []
    with closing(Raw(base, worker)) as raw:
        cycles = (CHECKPOINT_RECORDS - 1) // len(raw.sizes)
        for _ in range(effort.checkpoints):
            worker.store.engine.checkpoint()
            for _ in range(cycles):
                worker.cycle()
            begin = time.perf_counter()
            worker.store.engine.checkpoint()
            taken.append(time.perf_counter() - begin)
            raws.append(statistics.mean(raw.cycle() for _ in range(10)))
    ratio = times(median_ratio(taken, raws), "the appends of one cycle")
    transactions = cycles * len(raw.sizes)
    yield Row(f"checkpoint of {transactions} transactions, p50", f"{milliseconds(percentile(taken, 50))} ms", ratio)
