"""Runs a page's examples as one session at a terminal. `python -m tests.docs.session README.md` writes their output anew.

A block marked `console` holds commands behind `$ ` and what they print; one marked `python` is run as a program, and what
it prints stands behind `# prints `. They run in the order of the page, each where the one before left off, in a
throw-away folder that the page calls /tmp/tour.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from draftfs.demo.stage import on_terminal
from tests.support import GIT_ENVIRONMENT

ROOT = Path(__file__).parents[2]
TOUR = "/tmp/tour"

_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PRINTS = re.compile(r"# prints (.*)$", re.MULTILINE)
_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+Z)?"), "TIME"),
    (re.compile(r"^\d{4}-\d\d-\d\d$", re.MULTILINE), "DAY"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "TIME"),
    (re.compile(r"\b\d+[smhd]\b( \d+[smh]\b)?"), "DURATION"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "SHA256"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "PLAN"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "COMMIT"),
    (re.compile(r" {2,}"), "  "),
)


@dataclass
class Step:
    """One command of a page, or one program, with what the page says it prints; `line` is where it begins."""

    kind: str
    text: str
    shown: str
    line: int


def steps(page: str) -> list[Step]:
    """Everything on the page that is to be run, in order."""
    found: list[Step] = []
    for block in _BLOCK.finditer(page):
        first = page.count("\n", 0, block.start()) + 2
        if block[1] == "python":
            found.append(Step("python", block[2], "\n".join(_PRINTS.findall(block[2])), first))
            continue
        for number, line in enumerate(block[2].splitlines()):
            if line.startswith("$ "):
                found.append(Step("console", line.removeprefix("$ "), "", first + number))
            else:
                found[-1].shown += f"{line}\n"
    return found


def alike(text: str) -> str:
    """`text` without what differs from run to run: times, durations, ids, and the widths of columns that follow."""
    for pattern, name in _VARIES:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


@dataclass
class Session:
    """Somebody's terminal in the folder `base`, with the repository's own draftfs on PATH, in a copy of the sources."""

    base: Path
    status: int = 0
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.base = self.base.resolve()
        self.folder = self.base / "draftfs"
        shutil.copytree(ROOT / "sample_repo", self.folder / "sample_repo")
        program = self.base / "bin" / "draftfs"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m draftfs "$@"\n')
        program.chmod(0o755)
        settings = self.base / "gitconfig"
        settings.write_text("[user]\n\tname = you\n\temail = you@example.invalid\n[color]\n\tui = false\n")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRAFTFS_", "GIT_", "LC_"))}
        names = {name: "you" for name in GIT_ENVIRONMENT if name.endswith("_NAME")}
        self._environment = {
            **kept,
            **GIT_ENVIRONMENT,
            **names,
            "GIT_CONFIG_GLOBAL": str(settings),
            "GIT_PAGER": "cat",
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
            "COLUMNS": "110",
        }

    def run(self, step: Step) -> str:
        """What the step prints, with the session's folder as the page calls it."""
        text = step.text.replace(TOUR, f"{self.base}/tour")
        printed = self._program(text) if step.kind == "python" else self._command(text)
        return printed.replace(f"{self.base}/tour", TOUR)

    def _program(self, text: str) -> str:
        done = subprocess.run(
            [sys.executable, "-"],
            cwd=self.folder,
            env=self._environment,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.status = done.returncode
        return done.stdout + done.stderr

    def _command(self, text: str) -> str:
        where = self.base / "where"
        script = f'(exit {self.status})\n{text}\nended=$?\npwd -P >"{where}"\nexit $ended\n'
        self.status, written = on_terminal(["sh", "-c", script], self.folder, self._environment)
        self.folder = Path(where.read_text().removesuffix("\n"))
        return written


def played(name: str, base: Path) -> tuple[Session, int]:
    """Run a page's examples: each prints what the page shows. The session, and how many there were."""
    session = Session(base)
    ran = [(step, session.run(step)) for step in steps((ROOT / name).read_text("utf-8"))]
    for step, printed in ran:
        assert alike(printed) == alike(step.shown), f"{name}:{step.line}: {step.text}\n{printed}"
    return session, len(ran)


def renewed(page: str, base: Path) -> str:
    """The page with all output of its console blocks anew, where any of it differs in more than what varies."""
    session = Session(base)
    ran = [(step, session.run(step)) for step in steps(page)]
    for step, printed in ran:
        if "a fault in draftfs itself" in printed:
            raise SystemExit(f"line {step.line}: {step.text}\n{printed}")
    different = [step for step, printed in ran if alike(printed) != alike(step.shown)]
    lines = page.splitlines(keepends=True)
    for step, printed in reversed(ran if different else []):
        if step.kind == "console":
            lines[step.line : step.line + step.shown.count("\n")] = [printed]
        elif step in different:
            sys.stderr.write(f"line {step.line}: the program prints\n{printed}")
    return "".join(lines)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            Path(name).write_text(renewed(Path(name).read_text("utf-8"), Path(folder)), "utf-8")
