"""What the tests share: a clock that is told the time, and the set-up of the field cases."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from draftfs import Instant, Store, SystemClock
from tests.warm import Warm

GIT_ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "A Person",
    "GIT_AUTHOR_EMAIL": "person@example.invalid",
    "GIT_COMMITTER_NAME": "A Person",
    "GIT_COMMITTER_EMAIL": "person@example.invalid",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class ManualClock:
    """Stands still until it is told otherwise; wall time, awake time and boot move separately."""

    def __init__(self) -> None:
        self.instant = Instant(1_000_000_000_000, "boot-1", 1_800_000_000.0)

    def now(self) -> Instant:
        return self.instant

    def advance(self, seconds: float) -> None:
        """Time passes: both clocks go on."""
        now = self.instant
        self.instant = replace(now, awake_ns=now.awake_ns + int(seconds * 1e9), wall=now.wall + seconds)

    def jump_wall(self, seconds: float) -> None:
        self.instant = replace(self.instant, wall=self.instant.wall + seconds)

    def reboot(self) -> None:
        """The machine starts again: awake time from near zero, another boot id."""
        self.instant = replace(self.instant, awake_ns=5_000_000_000, boot=f"{self.instant.boot}'")


def git(*arguments: str, cwd: str | Path, check: bool = True) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=cwd,
        check=False,
        capture_output=True,
        env={**os.environ, **GIT_ENVIRONMENT},
        errors="surrogateescape",
    )
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(arguments)}: {done.stderr}")
    return done.stdout


@dataclass
class Field:
    """The set-up of the field cases: a repository with a store, `wa` and `wb` worktrees, jobs 1 and 2.

    Stores share one ManualClock. `me` is the person in the root, `ann` and `bob` are agents in their worktrees.
    """

    base: Path
    clock: ManualClock = field(default_factory=ManualClock)
    damaged: bool = False
    """A test that damages the store on purpose says so; no self-check is made of it then."""

    @property
    def root(self) -> Path:
        return self.base / "r"

    @property
    def store(self) -> Path:
        return self.root / ".git" / "draftfs"

    def worktree(self, name: str) -> Path:
        path = self.base / f"w{name[0]}" if name in ("ann", "bob") else self.base / f"w-{name}"
        if not path.exists():
            git("worktree", "add", str(path), "-b", path.name, cwd=self.root)
        return path

    def open(self, cwd: str | Path | None = None, **options: object) -> Store:
        options.setdefault("clock", self.clock)
        return Store.open(str(cwd or self.root), **options)

    @property
    def me(self) -> Store:
        return self.open()

    def agent(self, name: str) -> Store:
        """A store as this agent sees it, in a worktree of its own."""
        return self.open(self.worktree(name), agent=name)

    @property
    def ann(self) -> Store:
        return self.agent("ann")

    @property
    def bob(self) -> Store:
        return self.agent("bob")

    def write(self, name: str, path: str, data: str | bytes) -> Path:
        """Write into an agent's worktree (or "me": the root)."""
        where = (self.root if name == "me" else self.worktree(name)) / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(data.encode() if isinstance(data, str) else data)
        return where

    def put(self, name: str, path: str, data: str | bytes) -> object:
        """Write into the agent's worktree, and draft it."""
        self.write(name, path, data)
        return self.agent(name).draft([path])

    def version(self, job: int) -> int:
        return self.me.job(job).job.version


def make_field(base: Path, clock: ManualClock | None = None, *, template: bool = True) -> Field:
    """As a copy of one that was made once, where that is the same (its store has the same id): git and the store take ten
    times as long. On another file system, by a clock of its own, or of another user, a store is another."""
    made = Field(base, clock or ManualClock())
    if template and type(made.clock) in (ManualClock, SystemClock) and not made.root.exists():
        model = _template(type(made.clock))
        if os.access(model.base, os.W_OK) and model.root.stat().st_dev == base.stat().st_dev:
            shutil.copytree(model.root, made.root, symlinks=True)
            return made
    _make(made)
    return made


def _make(made: Field) -> None:
    git("init", "-q", "-b", "main", str(made.root), cwd=made.base)
    (made.root / "a.txt").write_text("one\n")
    (made.root / "docs").mkdir()
    (made.root / "docs" / "spec.md").write_text("v0\n")
    git("add", "-A", cwd=made.root)
    git("commit", "-q", "-m", "start", cwd=made.root)
    Store.init(str(made.root), clock=made.clock)
    made.me.add_job("write the spec", ["docs/spec.md"])
    made.me.add_job("write the text", ["a.txt"])


@cache
def _template(clock: type) -> Field:
    base = Path(tempfile.mkdtemp(prefix="draftfs-field-"))
    atexit.register(shutil.rmtree, base, ignore_errors=True)
    made = Field(base, clock())
    _make(made)
    return made


@dataclass
class Ran:
    status: int
    out: str
    err: str


def draftfs(*arguments: str, cwd: str | Path, agent: str | None = None, **environment: str) -> Ran:
    """Run the real command line as its own process (how it is started: `tests.warm`)."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("DRAFTFS_")}
    settings |= GIT_ENVIRONMENT | environment
    if agent is not None:
        settings["DRAFTFS_AGENT"] = agent
    if (warm := _warm()).fits(settings):
        return _ran_warm(warm, list(arguments), str(cwd), settings)
    command = [sys.executable, "-m", "draftfs", *arguments]
    done = subprocess.run(
        command, cwd=cwd, check=False, capture_output=True, env=settings, errors="surrogateescape", timeout=60
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@cache
def _warm() -> Warm:
    return Warm()


def _ran_warm(warm: Warm, arguments: list[str], cwd: str, settings: dict[str, str]) -> Ran:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        warm.start(arguments, cwd, settings, (0, out.fileno(), err.fileno()))
        status = warm.status()
        texts = [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0) for file in (out, err)]
    return Ran(
        status, *(text.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n") for text in texts)
    )


def heed_interrupts() -> None:
    """For `preexec_fn`: a background job ignores SIGINT, and so would whatever it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(condition, seconds: float = 20.0):
    """Poll until `condition()` is true, for what another process does; the test fails when it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError("waited in vain")
