"""`draftfs watch --json` as a process, and what it has said so far."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import Any

from tests.support import heed_interrupts, wait_for


class Watch:
    def __init__(
        self, site: Any, *options: str, before: tuple[str, ...] = (), output: str | None = None, who: str = "me"
    ) -> None:
        self.site = site
        self._file = output or str(site.field.base / f"watch-{len(os.listdir(site.field.base))}.jsonl")
        self._errors = f"{site.field.base}/errors.txt"
        with open(self._file, "wb") as out, open(self._errors, "wb") as errors:
            self.process = subprocess.Popen(
                [*before, sys.executable, "-m", "draftfs", "watch", "--json", *options],
                cwd=site.where(who),
                stdout=out,
                stderr=errors,
                preexec_fn=heed_interrupts,  # noqa: PLW1509
            )

    @property
    def lines(self) -> list[dict[str, Any]]:
        """But for what is said of hooks that are not installed."""
        with open(self._file, "rb") as file:
            whole = file.read().rpartition(b"\n")[0]
        said = [json.loads(line) for line in whole.splitlines()]
        return [each for each in said if each.get("finding", {}).get("kind") != "hook"]

    @property
    def errors(self) -> str:
        with open(self._errors, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()

    @property
    def standing(self) -> set[tuple[str, str, str | None]]:
        """What was raised and not lowered since. Nothing is raised or lowered twice in a row."""
        now: set[tuple[str, str, str | None]] = set()
        for each in self.lines:
            if "finding" in each:
                key = tuple(each["finding"][name] for name in ("kind", "path", "subject"))
                assert (each["event"] == "raised") == (key not in now), self.lines
                (now.remove if each["event"] == "lowered" else now.add)(key)
        return now

    def told(self, kind: str, path: str) -> list[str]:
        """What became of the findings of this kind about a path: raised, lowered, …"""
        found = [each for each in self.lines if "finding" in each and each["event"] != "changed"]
        return [each["event"] for each in found if (each["finding"]["kind"], each["finding"]["path"]) == (kind, path)]

    def notes(self) -> list[str]:
        return [each["message"] for each in self.lines if each.get("event") == "note"]

    def wait(self, kind: str, path: str, *events: str, seconds: float = 20.0) -> None:
        wait_for(lambda: self.told(kind, path) == list(events), seconds)

    def catch_up(self, seconds: float = 30.0) -> set[tuple[str, str, str | None]]:
        """Wait until what stands is what `check` finds; returns it."""
        found = self.site.field.me.check().findings
        expected = {(each.kind, each.path, each.subject) for each in found if each.kind != "hook"}
        wait_for(lambda: self.standing == expected, seconds)
        return expected

    def seconds_used(self) -> float:
        """The processor time of the process so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_listening(self) -> bool:
        """Whether it has made its watches: before that no event can be lost."""
        return bool(self.watched())

    def watched(self) -> set[int]:
        """The inodes of the folders that it watches."""
        folder, found = f"/proc/{self.process.pid}/fdinfo", set()
        for name in os.listdir(folder):
            with suppress(FileNotFoundError), open(f"{folder}/{name}", encoding="ascii") as file:
                found |= {int(each, 16) for each in re.findall(r"^inotify wd:\S+ ino:(\S+)", file.read(), re.MULTILINE)}
        return found


@contextmanager
def watching(site: Any, *options: str, listening: bool = True, **more: Any):
    watch = Watch(site, *options, **more)
    try:
        if listening:
            wait_for(watch.is_listening)
        yield watch
    finally:
        watch.process.send_signal(signal.SIGCONT)
        watch.process.terminate()
        watch.process.wait(10)
        assert "Traceback" not in watch.errors
