"""What the operations of draftfs cost, as a Markdown table: `make bench`, or `python bench/bench.py --help`.

Every figure stands beside a baseline that was measured in turns with it, in the same run on the same file system. Only
the ratios mean something elsewhere: `3 x the appends` took three times as long as the appends did. Nothing is asserted.

- **append + fdatasync**: the baseline of all writing. The journal records of one cycle (their number and sizes are taken
  from a real one), appended to a file and synced one by one, nothing else: a cycle cannot be cheaper.
- **cycle**: one worker adds a job, claims it, drafts 4 kB and submits, in one long-lived process, in its own worktree of
  a real git repository. Checkpoints that fall due are part of it. **claim**: the claim's part of it.
- **N live claims**: the same in a store in which others hold that many claims: the part that costs by what is live.
- **N receipts, finished jobs and events**: the same in a store with that much behind it. History should cost nothing:
  the aim is 1.2 times the empty store at most.
- **8 processes**: eight such workers at once, each with its own worktree and Store, all on one store and its one lock.
  Fewest and most cycles of one process say whether the lock is fair; beside one process, how many times as many cycles
  eight get done in all.
- **command line**: wall time of a whole command beside that of an interpreter that does nothing. The aims: under 5 times
  for reading, under 10 times for writing.
- **checkpoint**: what a transaction pays on top when so many have gathered (128 trigger it), to make their records
  durable in their own files and start a new journal; beside the baseline of one cycle.
- **commits**: one file, under a live claim, in a worktree: without hooks, with sh hooks that do nothing, with hooks that
  only start Python, with those of draftfs. The aim: 100 ms more than without at the median.
- **refs**: fetching many new refs, and packing them, with the hooks; the aim is what a trivial sh hook costs.
- **judging**: `verify`, and a push through pre-receive, of many commits and of one with many paths; beside `git log` and
  a push without a hook. The aim: 1,000 commits in under a second.
- **checks**: `draftfs check` in a large tree with many chosen targets, warm, beside `git status` there; with its cache of
  file stamps and without. The aim: 3 times `git status` at most.
- **feed**: reading, acknowledging and sending in a store with many events behind it, beside one with a hundred. The aim: the
  same.
"""

import argparse
import os
import platform
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import checks
import feeds
import gates
from cycles import one_process, processes
from field import ENVIRONMENT
from figures import Row, table
from starts import checkpoints, command_line

from draftfs.filesystems import file_system

SECTIONS = {
    "cycles": one_process,
    "processes": processes,
    "start": command_line,
    "checkpoint": checkpoints,
    **gates.SECTIONS,
    **checks.SECTIONS,
    **feeds.SECTIONS,
}


@dataclass(frozen=True)
class Effort:
    """How long to measure. `rounds` of `block` cycles; `windows` of `window` seconds; rounds of starts and of
    commits; checkpoints; refs to fetch; commits to judge; files of a tree, and how many of them are chosen;
    events of a feed."""

    rounds: int
    block: int
    history: int
    windows: int
    window: float
    starts: int
    checkpoints: int
    refs: int
    commits: int
    files: int
    chosen: int
    events: int


FULL = Effort(
    rounds=60,
    block=5,
    history=100_000,
    windows=8,
    window=4,
    starts=40,
    checkpoints=15,
    refs=10_000,
    commits=1000,
    files=100_000,
    chosen=1000,
    events=1_000_000,
)
QUICK = Effort(
    rounds=6,
    block=3,
    history=10_000,
    windows=2,
    window=2,
    starts=5,
    checkpoints=3,
    refs=200,
    commits=100,
    files=10_000,
    chosen=100,
    events=20_000,
)


def main() -> None:
    arguments = _arguments()
    for name in [each for each in os.environ if each.startswith(("DRAFTFS_", "GIT_"))]:
        del os.environ[name]
    os.environ |= ENVIRONMENT
    load, rows = os.getloadavg()[0], []
    base = Path(tempfile.mkdtemp(prefix="draftfs-bench-", dir=arguments.dir))
    kind = file_system(str(base)) or "an unknown file system"
    if kind in ("tmpfs", "ramfs"):
        _say(f"{base} is in memory, where a sync costs nothing: name a folder on a disk with --dir")
    try:
        for name in arguments.only or SECTIONS:
            rows += _section(name, base, QUICK if arguments.quick else FULL)
    finally:
        _say("clearing away")
        shutil.rmtree(base, ignore_errors=True)
    print(table(rows))
    print(f"\n{_machine(kind)}; load {load:.1f} at the start{'; a quick run' if arguments.quick else ''}.")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds and a shorter history, in under a minute")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="only this part (may be given several times)")
    parser.add_argument("--dir", default=tempfile.gettempdir(), help="measure in a new folder in DIR (%(default)s)")
    return parser.parse_args()


def _section(name: str, base: Path, effort: Effort) -> list[Row]:
    _say(name)
    begin = time.monotonic()
    folder = base / name
    folder.mkdir()
    rows = list(SECTIONS[name](folder, effort))
    _say(f"{name} took {time.monotonic() - begin:.0f} s")
    return rows


def _machine(kind: str) -> str:
    cores = os.cpu_count() or 1
    with suppress(AttributeError):  # what this process may use, where the system says so
        cores = len(os.sched_getaffinity(0))
    system = f"{platform.system()} {platform.release().partition('-')[0]} {platform.machine()}"
    return f"{cores} cores, {system}, {kind}, Python {platform.python_version()}"


def _say(what: str) -> None:
    print(f"bench: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
