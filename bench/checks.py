"""What `check` costs in a large tree, beside `git status` there."""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from field import git
from figures import Row, median_ratio, spread, times

from draftfs import Store, layout
from draftfs.records import Choice, Content, Draft, Target

_FOLDER = 100
"""Files of one folder."""


def checks(base: Path, effort) -> Iterator[Row]:
    """A tree of which some files are chosen and committed, their drafts still beside them; all warm, in turns."""
    root = _tree(base, effort.files, effort.chosen)
    commands = {
        "git status": ["git", "status"],
        "check": [sys.executable, "-m", "draftfs", "check"],
        "check, without its cache": [sys.executable, "-m", "draftfs", "check"],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(effort.starts // 2 + 3):
        for name, command in commands.items():
            if "without" in name:
                (root / ".git/draftfs" / layout.STAMPS).unlink(missing_ok=True)
            begin = time.perf_counter()
            done = subprocess.run(command, cwd=root, check=False, capture_output=True)
            taken[name].append(time.perf_counter() - begin)
            if done.returncode:
                raise RuntimeError(f"{command}: {done.returncode}\n{done.stdout.decode()}{done.stderr.decode()}")
    plain = taken["git status"][2:]
    size = f"{effort.files:,} files, {effort.chosen:,} chosen"
    for name, seconds in taken.items():
        mine = seconds[2:]
        ratio = "1" if mine == plain else times(median_ratio(mine, plain), "git status")
        yield Row(f"{size}: {name} (p50 / p99 / max)", spread(mine), ratio)


def _tree(base: Path, files: int, chosen: int) -> Path:
    """A repository whose records are put as promotions and a commit would have left them."""
    root = base / "root"
    names = [f"d{at // _FOLDER // 50}/s{at // _FOLDER % 50}/f{at % _FOLDER}.md" for at in range(files)]
    for name in names[::_FOLDER]:
        (root / name).parent.mkdir(parents=True)
    for name in names:
        (root / name).write_text(f"{name}\n" * 5)
    git("init", "-q", "-b", "main", ".", cwd=root)
    git("add", "-A", cwd=root)
    git("commit", "-q", "-m", "start", cwd=root)
    store, _ = Store.init(str(root))
    targets = names[:: files // chosen][:chosen]
    listed = subprocess.run(["git", "ls-files", "-s", "-z"], cwd=root, check=True, capture_output=True).stdout
    blobs = {
        os.fsdecode(path): about.split()[1].decode()
        for about, _, path in (each.partition(b"\t") for each in listed.split(b"\0")[:-1])
    }
    for start in range(0, chosen, 500):
        store.engine.write(
            lambda tx, some=targets[start : start + 500]: [_choose(tx, root, each, blobs[each]) for each in some]
        )
    store.engine.checkpoint()
    subprocess.run([sys.executable, "-m", "draftfs", "hooks", "install"], cwd=root, check=True, capture_output=True)
    return root


def _choose(tx, root: Path, name: str, blob: str) -> None:
    data = (root / name).read_bytes()
    content = Content(hashlib.sha256(data).hexdigest(), len(data), "100644")
    draft = Draft(name, 1, "ann", "promoted", None, None, content, None, None, None, tx.now.stamp)
    choice = Choice(1, content, "A Person", tx.now.stamp, "main", None, None, blob, None)
    tx.put(layout.draft(name, 1), draft)
    tx.put(layout.target(name), Target(name, 1, (), choice))
    (root / layout.draft_name(draft)).write_bytes(data)


SECTIONS: dict[str, Callable] = {"checks": checks}
