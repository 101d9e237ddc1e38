"""What the tables of docs/ENFORCEMENT.md are measured on: one prepared repository, copied for each row, with the real git and
the really installed hooks. Rows are lines of shell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from draftfs import Store, SystemClock
from draftfs.git import hooks
from tests.support import GIT_ENVIRONMENT, git

SPEC, FREE = "docs/spec.md", "free.txt"
ROOT = Path(__file__).parents[2]

PRELUDE = """\
exec </dev/null
draftfs() { "$PYTHON" -m draftfs "$@"; }
no_hooks() { GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/dev/null "$@"; }
edit() { sed -i "${1:-2}s/.*/by ann ${1:-2}/" "$P"; }
person() { (unset DRAFTFS_AGENT; cd "$R" && "$@"); }
bob() { (export DRAFTFS_AGENT=bob; cd "$WB" && "$@"); }
late=refs/made/$PATHNAME main=$(git rev-parse refs/heads/main)
"""
"""`edit [LINE]` changes the path of the row; $late is a commit on main that does so too, made with the hooks off."""

SHORT = {"prepare-commit-msg": "msg", "reference-transaction": "ref", "pre-push": "push", "pre-receive": "recv"}


def _environment(base: Path, extra: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRAFTFS_", "GIT_"))}
    places = {"R": f"{base}/r", "S": f"{base}/s.git", "WB": f"{base}/wb", "T": str(base), "PYTHON": sys.executable}
    return kept | GIT_ENVIRONMENT | places | {"PYTHONPATH": str(ROOT), "GIT_EDITOR": "true", "LC_ALL": "C"} | extra


def _build(base: Path) -> None:
    """r: people's, with the worktrees wa (ann), wb (bob) and wc (nobody's yet); s.git: what they push to."""
    root = base / "r"
    git("init", "-q", "-b", "main", str(root), cwd=base)
    (root / "docs").mkdir()
    for path in (SPEC, FREE):
        (root / path).write_text("".join(f"line {n}\n" for n in range(1, 13)))
    git("add", "-A", cwd=root)
    git("commit", "-q", "-m", "start", cwd=root)
    git("config", "gc.auto", "0", cwd=root)
    Store.init(str(root), clock=SystemClock())
    for name in ("wa", "wb", "wc"):
        git("worktree", "add", "-q", "-b", name, str(base / name), cwd=root)
    for path, name in ((SPEC, "spec"), (FREE, "free")):
        text = (root / path).read_text().replace("line 3\n", "late\n")
        (root / path).write_text(text)
        git("commit", "-q", "-a", "-m", "late", cwd=root)
        git("update-ref", f"refs/made/{name}", "HEAD", cwd=root)
        git("reset", "-q", "--hard", "HEAD~1", cwd=root)
    git("init", "-q", "--bare", "-b", "main", str(base / "s.git"), cwd=base)
    git("config", "draftfs.store", "../r/.git/draftfs", cwd=base / "s.git")
    git("remote", "add", "origin", "../s.git", cwd=root)
    git("push", "-q", "-u", "origin", "main", cwd=root)
    hooks.install(str(root))
    hooks.install(str(base / "s.git"))


def store(base: Path, name: str | None = None) -> Store:
    place = base / ("r" if name is None else f"w{name[0]}")
    return Store.open(str(place), clock=SystemClock(), agent=name)


@cache
def template(role: str) -> Path:
    """The prepared repository: ann holds docs/spec.md ("holder"), or held it until bob took over ("late")."""
    base = Path(tempfile.mkdtemp(prefix="enforcement-")) / "t"
    _MADE.append(base.parent)
    if role == "plain":
        base.mkdir()
        _build(base)
        return base
    _copy(template("plain"), base)
    if role == "holder":
        store(base, "ann").claim_paths([SPEC])
    else:
        store(base, "ann").claim_paths([SPEC], ttl=1)
        time.sleep(1.1)
        store(base, "bob").claim_paths([SPEC])
    return base


_MADE: list[Path] = []


def remove_templates() -> None:
    for made in _MADE:
        shutil.rmtree(made, ignore_errors=True)
    _MADE.clear()
    template.cache_clear()


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True)
    for file in (*target.glob("w?/.git"), *target.glob("r/.git/worktrees/*/gitdir")):
        file.write_text(file.read_text().replace(f"{source}/", f"{target}/"))


@dataclass
class Ran:
    """What a line of shell came to. `hooks` are ours that git ran, in the order of their first run, `by` the one of them
    that refused."""

    status: int
    said: str
    hooks: tuple[str, ...] = ()
    by: str = ""


@dataclass
class Scene:
    """One copy, in which ann works in wa on `path`."""

    base: Path
    path: str = SPEC
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, base: Path, role: str, path: str = SPEC) -> Scene:
        _copy(template(role), base)
        return cls(base, path)

    def run(self, line: str, *, hooked: bool = True, trace: bool = True, agent: str | None = "ann") -> Ran:
        """Run shell in ann's worktree, as ann."""
        where = self.base / "wa"
        traced = self.base / "trace"
        traced.unlink(missing_ok=True)
        extra = {"P": self.path, "PATHNAME": "spec" if self.path == SPEC else "free", **self.environment}
        if agent is not None:
            extra["DRAFTFS_AGENT"] = agent
        if trace:
            extra["GIT_TRACE2_EVENT"] = str(traced)
        if not hooked:
            key = {"GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": os.devnull}
            extra |= {"GIT_CONFIG_COUNT": "1", **key}
        done = subprocess.run(
            ["sh", "-ec", PRELUDE + line],
            cwd=where,
            env=_environment(self.base, extra),
            capture_output=True,
            check=False,
            errors="surrogateescape",
            timeout=60,
        )
        return Ran(done.returncode, done.stdout + done.stderr, *_hooks(traced))

    def git(self, *arguments: str, where: str = "wa", check: bool = True) -> str:
        return git(*arguments, cwd=self.base / where, check=check).strip()

    def store(self, name: str | None = None) -> Store:
        return store(self.base, name)

    def take_back(self) -> None:
        """A person takes the path from bob, and ann claims it again."""
        for job in self.store().jobs():
            if job.job.state == "claimed":
                self.store().revoke_job(job.job.id, because="ann goes on")
        self.store("ann").claim_paths([SPEC], adopt=True)


def _hooks(traced: Path) -> tuple[tuple[str, ...], str]:
    started: dict[tuple[str, int], str] = {}
    ran: dict[str, None] = {}
    by = ""
    lines = traced.read_text(errors="replace").splitlines() if traced.exists() else []
    for event in map(json.loads, lines):
        if event["event"] == "child_start" and event.get("hook_name") in SHORT:
            started[event["sid"], event["child_id"]] = event["hook_name"]
            ran[event["hook_name"]] = None
        elif event["event"] == "child_exit":
            name = started.get((event["sid"], event["child_id"]))
            if name is not None and event["code"] != 0:
                by = by or name
    return tuple(name for name in SHORT if name in ran), by
