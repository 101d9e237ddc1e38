"""What the hooks add to git, and what judging many commits costs."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from field import Field, git
from figures import Row, median_ratio, milliseconds, percentile, spread, times

REPOSITORIES = ("no hooks", "sh hooks that do nothing", "hooks that only start Python", "draftfs")
HOOKS = ("prepare-commit-msg", "reference-transaction", "pre-push", "pre-receive")
_NOTHING = "#!/bin/sh\nexit 0\n"
_PYTHON = f'#!/bin/sh\n[ "$1" = aborted ] || [ "$1" = committed ] || exec \'{sys.executable}\' -I -S -c pass\n'


def commits(base: Path, effort) -> Iterator[Row]:
    """Commits of one file under a live claim, in four repositories in turns; the same files, the same worktrees."""
    worktrees = {name: _repository(base, name) for name in REPOSITORIES}
    taken: dict[str, list[float]] = {name: [] for name in REPOSITORIES}
    for turn in range(effort.starts + 1):
        for name, worktree in worktrees.items():
            (worktree / "work/0/0/000.md").write_text(f"turn {turn}\n")
            begin = time.perf_counter()
            git("commit", "-q", "-a", "-m", f"turn {turn}", cwd=worktree)
            taken[name].append(time.perf_counter() - begin)
    bare = taken["no hooks"][1:]
    for name in REPOSITORIES:
        mine = taken[name][1:]
        more = percentile(mine, 50) - percentile(bare, 50)
        ratio = f"{times(median_ratio(mine, bare), 'no hooks')}, + {milliseconds(more)} ms" if mine != bare else "1"
        yield Row(f"commit in a worktree: {name} (p50 / p99 / max)", spread(mine), ratio)


def refs(base: Path, effort) -> Iterator[Row]:
    """Fetching many new refs, and packing them, in the same three ways."""
    many = effort.refs
    source = base / "source"
    _initial(source)
    names = "".join(f"create refs/heads/b/{number} HEAD\n" for number in range(many))
    subprocess.run(["git", "update-ref", "--stdin"], cwd=source, input=names.encode(), check=True)
    seconds: dict[tuple[str, str], float] = {}
    for name in ("no hooks", "sh hooks that do nothing", "draftfs"):
        worktree = _repository(base, f"refs, {name}", hooks=name)
        git("remote", "add", "origin", str(source), cwd=worktree)
        for what, command in (("fetch", ("fetch", "-q", "origin")), ("pack-refs", ("pack-refs", "--all"))):
            begin = time.perf_counter()
            git(*command, cwd=worktree)
            seconds[what, name] = time.perf_counter() - begin
    for (what, name), taken in seconds.items():
        beside = times(taken / seconds[what, "sh hooks that do nothing"], "sh hooks that do nothing")
        yield Row(f"{what} of {many:,} refs: {name}", f"{taken:.2f} s", beside)


def judging(base: Path, effort) -> Iterator[Row]:
    """`verify`, and a push to a repository with pre-receive, beside one `git log` of the same commits."""
    for what, commits_, files in (
        (f"{effort.commits:,} commits", effort.commits, 3),
        ("a commit of 5,000 paths", 1, 5000),
    ):
        folder = base / what
        folder.mkdir()
        worktree = _repository(folder, "draftfs", hooks="no hooks")
        _history(worktree, commits_, files)
        log = ["git", "log", "--raw", "-z", "--no-renames", "--no-abbrev", "main..HEAD"]
        verify = [sys.executable, "-m", "draftfs", "verify", "main..HEAD"]
        baseline, mine = [], []
        for _ in range(max(3, effort.starts // 8)):
            baseline.append(_timed(log, worktree))
            mine.append(_timed(verify, worktree, status=6))
        for name, values in (("git log", baseline), ("verify", mine)):
            yield Row(
                f"{what}: {name} (p50)",
                f"{milliseconds(percentile(values, 50))} ms",
                times(median_ratio(values, baseline), "git log"),
            )
        yield from _pushes(folder, worktree, what, effort)


def _pushes(folder: Path, worktree: Path, what: str, effort) -> Iterator[Row]:
    """The commits are vouched for first: else the push is refused."""
    root = worktree.parent / "root"
    git("update-ref", "refs/heads/late", "HEAD", cwd=worktree)
    subprocess.run(
        [sys.executable, "-m", "draftfs", "admit", "main..late", "--because", "bench"],
        cwd=root,
        check=True,
        capture_output=True,
    )
    taken: dict[str, list[float]] = {"push without a hook": [], "push through pre-receive": []}
    for turn in range(max(3, effort.starts // 8)):
        for name, seconds in taken.items():
            bare = folder / f"{name} {turn}.git"
            git("clone", "-q", "--bare", str(root), str(bare), cwd=folder)
            git("update-ref", "-d", "refs/heads/late", cwd=bare)
            git("update-ref", "-d", f"refs/heads/{worktree.name}", cwd=bare)
            if "through" in name:
                git("config", "draftfs.store", str(root / ".git" / "draftfs"), cwd=bare)
                subprocess.run(
                    [sys.executable, "-m", "draftfs", "hooks", "install"], cwd=bare, check=True, capture_output=True
                )
            seconds.append(_timed(["git", "push", "-q", str(bare), "HEAD:refs/heads/new"], worktree))
            shutil.rmtree(bare)
    plain = taken["push without a hook"]
    for name, values in taken.items():
        yield Row(
            f"{what}: {name} (p50)",
            f"{milliseconds(percentile(values, 50))} ms",
            times(median_ratio(values, plain), "without"),
        )


def _repository(base: Path, name: str, hooks: str | None = None) -> Path:
    """A repository with a store and one worktree whose agent holds all of `work`; returns the worktree."""
    root = Field.make(base, name).root
    worker = Field(root).worker(warm_up=0)
    worker.store.claim_paths(["work"], ttl=24 * 3600)
    texts: dict[str, str] = {"sh hooks that do nothing": _NOTHING, "hooks that only start Python": _PYTHON}
    kind = hooks or name
    if kind in texts:
        for hook in HOOKS:
            (root / ".git/hooks" / hook).write_text(texts[kind])
            (root / ".git/hooks" / hook).chmod(0o755)
    elif kind == "draftfs":
        subprocess.run([sys.executable, "-m", "draftfs", "hooks", "install"], cwd=root, check=True, capture_output=True)
    return root.parent / "worker-0"


def _initial(folder: Path) -> None:
    folder.mkdir()
    git("init", "-q", "-b", "main", ".", cwd=folder)
    git("commit", "-q", "--allow-empty", "-m", "start", cwd=folder)


def _history(worktree: Path, commits_: int, files: int) -> None:
    """So many commits of so many files each, of paths that are held: every change is judged, none is recorded."""
    lines = []
    for number in range(commits_):
        lines.append(
            f"commit refs/heads/made\ncommitter A <a@example.invalid> {1_700_000_000 + number} +0000\ndata 1\nx\n"
        )
        if number == 0:
            lines.append("from refs/heads/main^0\n")
        for each in range(files):
            text = f"{number} {each}\n"
            lines.append(f"M 100644 inline work/0/made/{each}.md\ndata {len(text)}\n{text}\n")
    subprocess.run(["git", "fast-import", "--quiet"], cwd=worktree, input="".join(lines).encode(), check=True)
    git("checkout", "-q", "--detach", "made", cwd=worktree)


def _timed(command: list[str], cwd: Path, status: int = 0) -> float:
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, env={**os.environ})
    taken = time.perf_counter() - begin
    if done.returncode != status:
        raise RuntimeError(f"{command}: {done.returncode}\n{done.stderr.decode()}")
    return taken


SECTIONS: dict[str, Callable] = {"commits": commits, "refs": refs, "judging": judging}
