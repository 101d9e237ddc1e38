"""The words of the field cases, by the real command line: WHO$ draftfs …, hold, put."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from draftfs.git import hooks
from tests.support import GIT_ENVIRONMENT, Field, Ran, draftfs


class Site:
    """`me` stands in the root, everybody else is an agent in a worktree of their own."""

    def __init__(self, field: Field) -> None:
        self.field, self.root, self.environment = field, field.root, {}

    def where(self, who: str) -> Any:
        return self.root if who == "me" else self.field.worktree(who)

    def raw(self, who: str, *arguments: str, folder: str = "."):
        """The command as it is, no flag added."""
        agent = None if who == "me" else who
        return draftfs(*arguments, cwd=self.where(who) / folder, agent=agent, **self.environment)

    def run(self, who: str, command: str, *arguments: str, status: int = 0, folder: str = ".") -> Any:
        """`data` of the command's JSON answer, or `error` where `status` says that it is refused."""
        words = command.split()
        ran = self.raw(who, *words, "--json", *arguments, folder=folder)
        assert ran.status == status, (ran.out, ran.err)
        assert "Traceback" not in ran.out + ran.err
        answer = json.loads(ran.out)
        assert answer["ok"] is (status in (0, 6))
        return answer["data"] if answer["ok"] else answer["error"]

    def refused(self, who: str, code: str, command: str, *arguments: str, status: int = 3, folder: str = ".") -> Any:
        error = self.run(who, command, *arguments, status=status, folder=folder)
        assert error["code"] == code, error
        return error

    def path(self, who: str, name: str) -> bytes:
        return os.fsencode(f"{self.where(who)}/{name}")

    def write(self, who: str, name: str, data: bytes | str) -> None:
        path = self.path(who, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)

    def read(self, name: str) -> bytes:
        with open(self.path("me", name), "rb") as file:
            return file.read()

    def hold(self, who: str, *paths: str) -> Any:
        return self.run(who, "claim", "--", *paths)

    def put(self, who: str, name: str, data: bytes | str) -> Any:
        self.write(who, name, data)
        return self.run(who, "draft", "--", name)["drafts"][0]

    def hand_in(self, who: str, name: str, data: bytes | str) -> Any:
        self.hold(who, name)
        drafted = self.put(who, name, data)
        self.run(who, "submit")
        return drafted

    def line(self, name: str) -> Any:
        """What `ls` says about one target."""
        return next((each for each in self.run("me", "ls")["targets"] if each["target"] == name), None)

    def check(self, *kinds: str, who: str = "me") -> list[tuple[str, str]]:
        """Kind and path of what `check` finds: of these kinds, or of all but the hooks."""
        ran = self.raw(who, "check", "--json", *(word for kind in kinds for word in ("--kind", kind)))
        found = json.loads(ran.out)["data"]["findings"]
        assert ran.status == (6 if found else 0), ran
        return [(each["kind"], each["path"]) for each in found if kinds or each["kind"] != "hook"]

    def guard(self) -> None:
        """Install the hooks, as the set-up of the cases has it."""
        hooks.install(str(self.root))

    def git(self, who: str, *arguments: str, status: int | None = 0, feed: str | None = None, **more: str) -> Ran:
        """git as this agent, or person, runs it."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DRAFTFS_")}
        environment |= (
            GIT_ENVIRONMENT | {"GIT_EDITOR": "false"} | ({} if who == "me" else {"DRAFTFS_AGENT": who}) | more
        )
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.where(who),
            check=False,
            capture_output=True,
            env=environment,
            errors="surrogateescape",
            input=feed,
            timeout=60,
        )
        ran = Ran(done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in ran.err, ran.err
        assert status is None or ran.status == status, ran
        return ran

    def tip(self, who: str) -> str:
        return self.git(who, "rev-parse", "HEAD").out.strip()

    def commit(self, who: str, *options: str, **more: str) -> Ran:
        """Commit what is staged; it passes, and draftfs has nothing to say."""
        ran = self.git(who, "commit", "-qm", "x", *options, **more)
        assert "draftfs:" not in ran.err, ran.err
        return ran

    def blocked(self, who: str, *arguments: str, **more: str) -> str:
        """Run git (`commit -am x` unless told otherwise), which is refused, and moves nothing. What it said."""
        before = self.tip(who)
        ran = self.git(who, *(arguments or ("commit", "-qam", "x")), status=None, **more)
        assert ran.status != 0, ran
        assert "draftfs: refused" in ran.err, ran
        assert self.tip(who) == before
        return ran.err
