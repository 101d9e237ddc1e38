"""One invocation: who calls, from where, with which options, and the store opened for them.

The only module of draftfs that reads the environment.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from draftfs.cli import _show
from draftfs.cli._streams import STDERR, STDIN, STDOUT, Streams
from draftfs.errors import BadRequest, Damaged, EnvironmentFault, from_oserror
from draftfs.frozen import frozen

if TYPE_CHECKING:  # the store brings YAML and the engine along: a third of a second that `--help` need not spend
    from draftfs.store import Store
    from draftfs.worktree import PendingKeys

FINDINGS: Final = 6
"""The exit status of a command that looked, and found something."""

_MOMENT: Final = 0.2
_NAMES_PATHS: Final = re.compile(r"\b(?:(mv(?: -n)?|rm)(?= -- )|(draftfs|git)(?= [^,;]*(?: -- |worktree add )))")


@frozen
class Line:
    """One item of a stream: an object for --json, a line for people (None: nothing for them)."""

    data: dict[str, Any]
    text: str | None


@frozen
class Answer:
    """What a command answers: `data` for --json, `lines` for people (bytes go out as they are).

    `warnings` go to standard error, but with --json, where they are in the data. `changed` says that the answer is about a change, which stands whether or not anybody could read the answer. `paged`
    lines go through the user's pager on a terminal. With a `stream` the command goes on: behind `lines`, or with --json instead
    of `data`, each item is printed as it comes; a stream ends with Ctrl-C, or when nobody reads on.
    """

    data: dict[str, Any]
    lines: Iterable[str | bytes] = ()
    warnings: Iterable[str] = ()
    changed: bool = False
    status: int = 0
    paged: bool = False
    stream: Iterator[Line] | None = None


class LastingKeys:
    """Receipt keys that outlast a crash, kept in the worktree's own git folder; fresh ones where that cannot be written.

    `folder` is known once the store is open. `settle` and `leave` never fail: the answer has been given by then.
    """

    def __init__(self) -> None:
        self.folder: str | None = None
        self._pending: PendingKeys | None = None

    def take(self, fingerprint: str) -> tuple[str, bool]:
        from draftfs.tokens import new_receipt_key
        from draftfs.worktree import PendingKeys

        if self.folder is None:
            return new_receipt_key(), False
        self._pending = PendingKeys(self.folder, new_receipt_key)
        try:
            return self._pending.take(fingerprint)
        except Damaged:
            raise
        except EnvironmentFault:
            return new_receipt_key(), False

    def renew(self) -> str:
        from draftfs.tokens import new_receipt_key

        try:
            return self._pending.renew() if self._pending is not None else new_receipt_key()
        except EnvironmentFault:
            return new_receipt_key()

    def settle(self) -> None:
        """The definite answer has been seen: the same command is a new request from now on."""
        self._finish(lambda pending: pending.settle())

    def leave(self) -> None:
        """The same command, run again, asks for the answer to this one."""
        self._finish(lambda pending: pending.leave())

    def _finish(self, how: Callable[[PendingKeys], None]) -> None:
        if self._pending is not None:
            with suppress(EnvironmentFault, OSError):
                how(self._pending)


class Progress:
    """Bytes copied, on one line of standard error that is gone in the end; where the copying itself takes a moment."""

    def __init__(self, streams: Streams) -> None:
        self._streams, self._copied, self._at, self._visible = streams, 0, 0.0, False

    def __call__(self, step: int) -> None:
        if not self._copied:
            self._at = time.monotonic()
        self._copied += step
        if time.monotonic() - self._at >= _MOMENT:
            self._at, self._visible = time.monotonic(), True
            self._streams.say(f"\r\x1b[Kcopied {_show.size(self._copied)}")

    def clear(self) -> None:
        if self._visible:
            self._streams.say("\r\x1b[K")


@dataclass
class Call:
    """One invocation. `json` is a guess until the arguments are parsed (`json_given`): errors in them need it, too.
    `separated` says that the arguments had a `--` before those that are names whatever they look like: `behind`.
    """

    streams: Streams
    folder: str = "."
    name: str | None = None
    receipt: str | None = None
    given_token: str | None = None
    lock_wait: float = 10.0
    color: Literal["auto", "always", "never"] = "auto"
    json: bool = False
    json_given: bool = False
    separated: bool = False
    behind: tuple[str, ...] = ()
    keys: LastingKeys = field(default_factory=LastingKeys)
    progress: Progress | None = None

    def agent(self) -> str | None:
        """The agent who calls, None for a person: --as, else DRAFTFS_AGENT. Raises BadRequest `bad_name`."""
        if self.name is None and os.environ.get("DRAFTFS_AGENT") == "":
            raise BadRequest(
                "bad_name", "DRAFTFS_AGENT is set, but empty", hint="set it to the agent's name, or unset DRAFTFS_AGENT"
            )
        given = self.name if self.name is not None else os.environ.get("DRAFTFS_AGENT")
        if given is None:
            return None
        from draftfs.names import agent_name

        return agent_name(given)

    def token(self) -> str | None:
        """The token that the caller gives: --token, else DRAFTFS_TOKEN."""
        given = self.given_token if self.given_token is not None else os.environ.get("DRAFTFS_TOKEN")
        if given == "":
            raise BadRequest(
                "usage", "the token given by --token or DRAFTFS_TOKEN is empty", hint="unset DRAFTFS_TOKEN"
            )
        return given

    def options(self) -> dict[str, Any]:
        """What `Store.open` and `Store.init` take."""
        self.progress = Progress(self.streams) if self.narrates else None
        return {
            "agent": self.agent(),
            "lock_wait": self.lock_wait,
            "keys": self.keys,
            "progress": self.progress,
            "running": _running(),
        }

    def store(self) -> Store:
        from draftfs.store import Store

        opened = Store.open(self.folder, **self.options())
        self.keys.folder = opened.worktree.pending
        return opened

    def index(self) -> str | None:
        """The index that a hook of git's is to look at: of `commit -a`, or of a commit of some paths, it is not the usual one."""
        named = os.environ.get("GIT_INDEX_FILE")
        return os.path.abspath(named) if named else None

    def environment(self) -> dict[str, str]:
        """The variables that a program is started with."""
        return dict(os.environ)

    # ── where output goes ──

    @property
    def interactive(self) -> bool:
        """Whether somebody can be asked."""
        return not self.json and self.streams.is_terminal(STDIN) and self.terminal

    @property
    def terminal(self) -> bool:
        return self.streams.is_terminal(STDOUT)

    @property
    def narrates(self) -> bool:
        return not self.json and self.streams.is_terminal(STDERR) and os.environ.get("TERM") != "dumb"

    @property
    def paint(self) -> _show.Paint:
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return _show.Paint(self.color == "always" or (self.color == "auto" and self.terminal and not plain))

    def from_here(self, hint: str) -> str:
        """A hint of the library's, whose paths are seen from the top of the checkout, as a command for the caller's folder."""
        found = _NAMES_PATHS.search(hint)
        if found is None:
            return hint
        from draftfs.errors import DraftfsError, pasteable
        from draftfs.repo import Repo

        try:
            top, here = Repo.find(self.folder).top, os.path.realpath(os.getcwd())
        except (DraftfsError, OSError):
            return hint
        if here == top:
            return hint
        below = os.path.commonpath((here, top)) == top
        where = pasteable(os.path.relpath(top, here) if below else top)
        if found[1]:
            return f"cd {where} && {hint}"
        return _NAMES_PATHS.sub(lambda each: f"{each[0]} -C {where}", hint)

    # ── files that options name ──

    def path(self, name: str) -> str:
        """A file that an option names, as seen from the caller's folder."""
        return os.path.join(self.folder, name)

    def read(self, name: str) -> bytes:
        """The bytes of a file that an option names; `-` is standard input. Raises BadRequest `bad_file`."""
        try:
            if name == "-":
                return b"".join(iter(lambda: os.read(self.stdin(), 1 << 20), b""))
            with open(self.path(name), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as fault:
            raise BadRequest(
                "bad_file", f"{name} cannot be read: {fault.strerror}", hint="name a file, or -"
            ) from fault
        except OSError as fault:
            raise from_oserror(fault, "reading the file") from fault

    def read_text(self, name: str) -> str:
        """As `read`; bytes that are not UTF-8 are kept as surrogates."""
        return self.read(name).decode("utf-8", "surrogateescape")

    def stdin(self) -> int:
        """The descriptor of standard input. Raises BadRequest `bad_file` where it is closed: that is no empty file."""
        if not self.streams.is_open(STDIN):
            raise BadRequest("bad_file", "standard input is closed", hint="name a file instead of -")
        return STDIN


def _running() -> tuple[int, int] | None:
    """The claim that `draftfs run` started this program under. Raises BadRequest `usage` where it cannot be read."""
    job, epoch = os.environ.get("DRAFTFS_JOB"), os.environ.get("DRAFTFS_EPOCH")
    if job is None or epoch is None:
        return None
    if not all(each.isascii() and each.isdecimal() and len(each) <= 18 for each in (job, epoch)):
        hint = "unset DRAFTFS_JOB DRAFTFS_EPOCH"
        raise BadRequest("usage", f"DRAFTFS_JOB={job!r} and DRAFTFS_EPOCH={epoch!r} are no numbers", hint=hint)
    return int(job), int(epoch)
