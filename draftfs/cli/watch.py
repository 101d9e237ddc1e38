from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from draftfs.cli._call import Answer, Call, Line
from draftfs.cli._command import command, usage
from draftfs.cli._show import Paint
from draftfs.cli._streams import STDERR
from draftfs.clock import rfc3339
from draftfs.codec import to_plain
from draftfs.names import shown, shown_command

if TYPE_CHECKING:
    from draftfs.answers import Finding
    from draftfs.store import Store
    from draftfs.watch import Change, Watcher

_SCHEMA: Final = 1
_LONGEST_RUN: Final = 600.0


@command(
    "watch",
    "Keep saying what needs a person's eye",
    synopsis="[--exec CMD] [--quiet]",
    examples=[
        "draftfs watch",
        "draftfs watch --json >>findings.jsonl",
        "draftfs watch --quiet --exec 'notify-send \"$DRAFTFS_FINDING $DRAFTFS_FINDING_PATH\"'",
    ],
)
@click.option("--exec", "program", metavar="CMD", help="Have the shell run CMD for what is raised or changed.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def run(call: Call, program: str | None, quiet: bool) -> Answer:
    """Says at once what `draftfs check` finds, and then what changes: each finding once when it is raised, and once when it is
    over; meanwhile only where there is more to say than before (another draft waits, too). Changes are seen as they happen, but in git's own folder; and everything is looked at anew every 30 seconds. Where
    the system cannot tell of changes (a network file system, no inotify watches left), it says so and looks every 10
    seconds. Claims that lapse meanwhile are noticed, and get into the feed, as their time is over.

    With --json each line is an object: `event` is raised, changed, lowered (each with the `finding`, as check gives it) or
    note (with a `message`); `at` is the time.

    CMD finds DRAFTFS_FINDING (what kind), DRAFTFS_FINDING_EVENT (raised or changed), DRAFTFS_FINDING_PATH,
    DRAFTFS_FINDING_SUBJECT, DRAFTFS_FINDING_MESSAGE and DRAFTFS_FINDING_REPAIR (the command that helps) in its environment, and the finding as a JSON object on its standard
    input; what it prints goes to standard error. The commands run one after the other, in the folder that watch was started in, and
    the watch goes on meanwhile. One that fails, or is stopped because it took longer than ten minutes, is named.

    It ends with 0 by Ctrl-C, or when nobody reads its output any more; with 5 when the root, or its store, was removed, moved
    or replaced."""
    if program is not None and not program.strip():
        usage("--exec is given no command", "--exec 'CMD ARGUMENT…'")
    from draftfs.watch import Watcher

    place, root = os.path.abspath(call.folder), call.store().tree.top

    def opened() -> Store:
        call.folder = place if os.path.isdir(place) else root  # the folder may go, and come again
        return call.store()

    watcher = Watcher(opened)
    hooked = None if program is None else _Hook(call, program)
    begin = [] if quiet else [f"watching {shown(watcher.root)}; Ctrl-C ends it"]
    return Answer({}, begin, stream=_lines(call, watcher, hooked, quiet=quiet))


def _lines(call: Call, watcher: Watcher, hooked: _Hook | None, *, quiet: bool) -> Iterator[Line]:
    for change in watcher.changes():
        if not quiet:
            yield _line(change, call.paint)
        if hooked is not None and change.event in ("raised", "changed") and change.finding is not None:
            hooked.waiting.put((change.event, change.finding))


def _line(change: Change, paint: Paint) -> Line:
    data: dict[str, Any] = {"schema": _SCHEMA, "event": change.event, "at": rfc3339(time.time())}
    clock = time.strftime("%H:%M:%S")
    if change.finding is None:
        return Line({**data, "message": change.message}, f"{clock}  note     {shown(change.message or '')}")
    data["finding"] = to_plain(change.finding)
    return Line(data, f"{clock}  {_told(change.event, change.finding, paint)}")


def _told(event: str, finding: Finding, paint: Paint) -> str:
    if event == "lowered":
        return f"{paint('green', 'over')}     {finding.kind}: {shown(finding.message)}"
    colour = "red" if finding.severity == "error" else "yellow"
    repair = f" ({shown_command(finding.repair)})" if finding.repair else ""
    blanks = " " * (len("changed") - len(event))
    return f"{paint(colour, event)}{blanks}  {finding.kind}: {shown(finding.message)}{repair}"


class _Hook:
    """Runs the command of --exec for each event and finding in `waiting`, in a thread of its own, so that nothing is missed meanwhile.

    What waits when the watch ends is dropped; what runs then is left to itself.
    """

    def __init__(self, call: Call, program: str) -> None:
        self._call, self._program = call, program
        self.waiting: queue.SimpleQueue[tuple[str, Finding]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            event, finding = self.waiting.get()
            failed = self._run(event, finding)
            if failed:
                self._call.streams.say(f"error: --exec for {finding.kind} {shown(finding.path)}: {failed}\n")

    def _run(self, event: str, finding: Finding) -> str | None:
        """Why it failed, if it did."""
        environment = {os.fsencode(name): os.fsencode(value) for name, value in self._call.environment().items()}
        facts = {
            "": finding.kind,
            "_EVENT": event,
            "_PATH": finding.path,
            "_SUBJECT": finding.subject or "",
            "_MESSAGE": finding.message,
            "_REPAIR": finding.repair or "",
        }
        environment |= {f"DRAFTFS_FINDING{name}".encode(): _bytes(value) for name, value in facts.items()}
        plain = json.dumps(to_plain(finding), ensure_ascii=True).encode("ascii") + b"\n"
        try:
            running = subprocess.Popen(  # noqa: S602 - the command line is the user's own
                self._program,
                shell=True,
                cwd=self._call.folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=STDERR,
                process_group=0,
            )
        except OSError as fault:
            return fault.strerror or str(fault)
        with running:
            try:
                running.communicate(plain, _LONGEST_RUN)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)  # what the shell has started, too
                return f"stopped after {_LONGEST_RUN:.0f} s"
        return None if running.returncode == 0 else f"ended with {_status(running.returncode)}"


def _status(returned: int) -> int:
    """As a shell tells it."""
    return returned if returned >= 0 else 128 - returned


def _bytes(text: str) -> bytes:
    """The exact bytes that a name or a message stands for."""
    return text.replace("\0", "").encode("utf-8", "surrogateescape")
