"""Honest work, with the real git and the installed hooks: each test gets a copy of one prepared repository, and afterwards
what it made is verified, and the store examined."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from draftfs import Store, SystemClock
from draftfs.git import hooks
from tests.support import GIT_ENVIRONMENT, Field, git, make_field

SPEC, TEXT = "docs/spec.md", "a.txt"


@dataclass
class Ran:
    status: int
    out: str
    err: str


@dataclass
class Place:
    """The root of a person ("me"), and the worktrees of ann and bob.

    Agents' git runs without DRAFTFS_AGENT unless a test says otherwise: nothing is asked of their programs. Whatever it
    says of draftfs, where nothing should be said, fails the test.
    """

    base: Path
    start: str
    hand_made: bool = False
    """People changed reserved paths by hand, so that their own branch has what nothing admits."""
    unpassed: set[str] = field(default_factory=set)
    """Branches that are not expected to be admitted."""
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.base / "r"

    def where(self, who: str) -> Path:
        return {"me": self.root, "ann": self.base / "wa", "bob": self.base / "wb"}.get(who) or self.base / who

    def git(
        self,
        who: str,
        *arguments: str,
        status: int | None = 0,
        feed: str | bytes | None = None,
        says: bool = False,
        folder: str = ".",
        **environment: str,
    ) -> Ran:
        settings = {name: value for name, value in os.environ.items() if not name.startswith("DRAFTFS_")}
        settings |= GIT_ENVIRONMENT | {"GIT_EDITOR": "false", **self.environment, **environment}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.where(who) / folder,
            env=settings,
            check=False,
            capture_output=True,
            input=feed.encode() if isinstance(feed, str) else feed,
            stdin=subprocess.DEVNULL if feed is None else None,
            timeout=60,
        )
        ran = Ran(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))
        assert "Traceback" not in ran.err, ran.err
        if status is not None:
            assert ran.status == status, (arguments, ran.out, ran.err)
        assert ("draftfs:" in ran.err) is says, (arguments, ran.err)
        return ran

    def refused(self, who: str, *arguments: str, **options: Any) -> str:
        """Run what must be refused; what it said."""
        ran = self.git(who, *arguments, status=None, says=True, **options)
        assert ran.status != 0, ran.err
        assert "draftfs: refused" in ran.err
        return ran.err

    def store(self, who: str) -> Store:
        agent = None if who == "me" else who
        return Store.open(str(self.where(who)), clock=SystemClock(), agent=agent)

    def hold(self, who: str, *paths: str, **options: Any) -> Any:
        return self.store(who).claim_paths(list(paths), **options)

    def submit(self, who: str, **options: Any) -> Any:
        return self.store(who).submit(**options)

    def path(self, who: str, name: str) -> bytes:
        return os.path.join(os.fsencode(self.where(who)), os.fsencode(name))

    def write(self, who: str, name: str, data: str | bytes) -> None:
        path = self.path(who, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)

    def read(self, who: str, name: str) -> bytes:
        with open(self.path(who, name), "rb") as file:
            return file.read()

    def commit(self, who: str, name: str, data: str | bytes, message: str = "x", **options: Any) -> str:
        """Write, add, commit; the id of the commit."""
        self.write(who, name, data)
        self.git(who, "--literal-pathspecs", "add", "--", name)
        self.git(who, "commit", "-qm", message, **options)
        return self.tip(who)

    def tip(self, who: str, revision: str = "HEAD") -> str:
        return self.git(who, "rev-parse", "--verify", revision).out.strip()

    def message(self, who: str, revision: str = "HEAD") -> str:
        return self.git(who, "log", "-1", "--format=%B", revision).out

    def promote(self, *drafts: str, **options: Any) -> Any:
        me = self.store("me")
        return me.promote(me.draft_refs(drafts), **options)

    def draft(self, who: str, name: str, data: str | bytes) -> Any:
        self.write(who, name, data)
        return self.store(who).draft([name]).drafts[0]

    def findings(self, range_: str) -> list[tuple[str | None, str]]:
        return [(each.commit, each.change.path) for each in self.store("me").verify(range_).findings]

    def examine(self) -> None:
        """What was made is admitted, the store is whole, and every message has one pair of trailers at most."""
        checkup = self.store("me").doctor()
        assert not checkup.findings, checkup.findings
        branches = git("for-each-ref", "--format=%(refname)", "refs/heads", cwd=self.root).split()
        for branch in branches:
            if branch != "refs/heads/main" and branch not in self.unpassed:
                assert self.findings(f"main..{branch}") == [], branch
        if not self.hand_made:
            assert self.findings(f"{self.start}..main") == []
        keys = "".join(f"%(trailers:key={key},keyonly,separator=%x20)|" for key in ("Draftfs-Job", "Draftfs-Epoch"))
        for line in git("log", "--all", f"--format={keys}%H", f"^{self.start}", cwd=self.root).splitlines():
            assert line.split("|")[:2] in (["", ""], ["Draftfs-Job", "Draftfs-Epoch"]), line


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Path:
    """The set-up of the field cases, hooks installed, and some more files."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in GIT_ENVIRONMENT.items():
            patch.setenv(name, value)
        made: Field = make_field(tmp_path_factory.mktemp("template"), SystemClock())
        for number in range(5):
            (made.root / f"f{number}").write_text("".join(f"line {line}\n" for line in range(20)))
        git("add", "-A", cwd=made.root)
        git("commit", "-qm", "more", cwd=made.root)
        made.worktree("ann"), made.worktree("bob")
        hooks.install(str(made.root))
    return made.base


@pytest.fixture
def place(template, tmp_path, _plain_environment) -> Place:
    base = tmp_path / "p"
    shutil.copytree(template, base, symlinks=True)
    for name in ("wa", "wb"):
        (base / name / ".git").write_text(f"gitdir: {base}/r/.git/worktrees/{name}\n")
        (base / f"r/.git/worktrees/{name}/gitdir").write_text(f"{base}/{name}/.git\n")
    made = Place(base, git("rev-parse", "main", cwd=base / "r").strip())
    yield made
    made.examine()
