"""A program in a process group of its own, the terminal lent to it, and the signals of whoever watches over it."""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, ClassVar, Final, Self

from draftfs.errors import BadRequest
from draftfs.names import shown

STOPPING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BY_TERMINAL: Final = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGHUP})
_TERMINAL: Final = 0
_LONGEST_LOOK: Final = 0.1
_AFTER_KILL: Final = 5.0


class CannotStart(BadRequest):
    """The command was found, and cannot be executed. The statuses are those of shells, `env` and `timeout`."""

    exit_status: ClassVar[int] = 126


class NoProgram(BadRequest):
    """There is no such command."""

    exit_status: ClassVar[int] = 127


class Signals:
    """SIGINT, SIGTERM and SIGHUP as facts to look at, not as exceptions; and waits that they, or a child, cut short.

    For the main thread, as a context: what stood before is put back in the end. Signals that were ignored stay ignored.
    """

    def __init__(self) -> None:
        self.received: list[signal.Signals] = []

    def __enter__(self) -> Self:
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) if hasattr(os, "pipe2") else _pipe()
        self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._before: dict[signal.Signals, Any] = {}
        for each in STOPPING:
            if signal.getsignal(each) is not signal.SIG_IGN:
                self._before[each] = signal.signal(each, self._note)
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _nothing)
        # Words on the terminal, and taking it back, while the program has it: the kernel would stop us for either.
        self._before[signal.SIGTTOU] = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self._reader)
        os.close(self._writer)

    def wait(self, seconds: float) -> None:
        """Wait, at most so long, for a signal."""
        if select.select([self._reader], [], [], max(seconds, 0))[0]:
            with suppress(BlockingIOError):
                os.read(self._reader, 4096)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.received.append(signal.Signals(number))


def _nothing(_: int, __: FrameType | None) -> None:
    """A handler, so that the signal ends a wait."""


def _pipe() -> tuple[int, int]:
    ends = os.pipe()
    for each in ends:
        os.set_blocking(each, False)
    return ends


class Program:
    """One program and its process group. Raises OSError where it cannot be started.

    Where this process has the terminal as its standard input, the group gets it: the keys' signals go there, and when it
    is suspended from the keyboard, so are we.
    """

    def __init__(
        self, command: Sequence[str], cwd: str, environment: Mapping[str, str], *, output: int | None = None
    ) -> None:
        self._terminal = os.isatty(_TERMINAL)
        self._modes = termios.tcgetattr(_TERMINAL) if self._terminal else None
        self.has_terminal = self._in_foreground()
        before = signal.signal(signal.SIGTTOU, signal.SIG_DFL)  # what is ignored would stay ignored in the program
        try:
            self._process = subprocess.Popen(command, cwd=cwd, env=dict(environment), stdout=output, process_group=0)
        finally:
            signal.signal(signal.SIGTTOU, before)
        self.pid = self._process.pid
        if self.has_terminal:  # where it reads before that, it is stopped and goes on, see _stopped
            self._lend_terminal()
        self.status: int | None = None
        self.killed_by: signal.Signals | None = None

    def look(self) -> int | None:
        """Its exit status, as a shell tells it, once it has ended. Others of its group may go on."""
        while self.status is None:
            pid, raw = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid == 0:
                return None
            if os.WIFSTOPPED(raw):
                self._stopped(os.WSTOPSIG(raw))
                continue
            if os.WIFSIGNALED(raw):
                self.killed_by = signal.Signals(os.WTERMSIG(raw))
            self.status = 128 + self.killed_by if self.killed_by else os.WEXITSTATUS(raw)
            self._process.returncode = self.status  # it has been waited for
            self._take_terminal(mend=self.killed_by is not None)
        return self.status

    @property
    def interrupted(self) -> signal.Signals | None:
        """The signal by which somebody at the terminal ended it, if so: the keyboard's signals never reach us then."""
        if not self.has_terminal:
            return None
        if self.killed_by in _BY_TERMINAL:
            return self.killed_by
        return signal.SIGINT if self.status == 128 + signal.SIGINT else None

    def alive(self) -> bool:
        """Whether anybody of its group still runs."""
        if self.look() is None:
            return True
        return self._signal(0) and not _only_zombies(self.pid)

    def stop(self, grace: float, signals: Signals, meanwhile: Callable[[], object]) -> None:
        """End the whole group: SIGTERM, and SIGKILL for what is left after `grace` seconds, or at once when a further
        signal comes. Descendants that left the group are not reached."""
        if not self.alive():
            return
        known, end = len(signals.received), time.monotonic() + grace
        self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)  # who is stopped would not notice
        self._await_end(signals, lambda: time.monotonic() < end and len(signals.received) <= known, meanwhile)
        if self.alive():
            self._signal(signal.SIGKILL)
            end = time.monotonic() + _AFTER_KILL
            self._await_end(signals, lambda: time.monotonic() < end, meanwhile)

    def _await_end(self, signals: Signals, going_on: Callable[[], bool], meanwhile: Callable[[], object]) -> None:
        pause = 0.005
        while self.alive() and going_on():
            meanwhile()
            signals.wait(pause)
            pause = min(pause * 2, _LONGEST_LOOK)

    def _signal(self, number: int) -> bool:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says EPERM where only zombies are left
            return False
        return True

    # ── the terminal ──

    def _in_foreground(self) -> bool:
        return self._terminal and _foreground() == os.getpgrp()

    def _stopped(self, by: int) -> None:
        """It was suspended. From the keyboard that means us, too: our shell waits for our group, not for this one."""
        if not self._terminal or by not in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            return
        if by != signal.SIGTSTP and _foreground() == self.pid:
            self._signal(signal.SIGCONT)  # it was quicker than the terminal
            return
        self._take_terminal(mend=True)
        os.killpg(os.getpgrp(), signal.SIGTSTP)
        # Here we go on, in the foreground or not; or nobody would ever have woken us, and the kernel let us pass.
        if self._in_foreground():
            self._lend_terminal()
            self.has_terminal = True
        else:
            time.sleep(_LONGEST_LOOK)
        self._signal(signal.SIGCONT)

    def _lend_terminal(self) -> None:
        with suppress(OSError):  # it may have ended already
            os.tcsetpgrp(_TERMINAL, self.pid)

    def _take_terminal(self, *, mend: bool) -> None:
        if not self._terminal or _foreground() != self.pid:
            return
        with suppress(OSError, termios.error):
            os.tcsetpgrp(_TERMINAL, os.getpgrp())
            if mend and self._modes is not None:  # as a shell does for a program that could not tidy up
                termios.tcsetattr(_TERMINAL, termios.TCSADRAIN, self._modes)


def not_started(name: str, fault: OSError, hint: str, **details: Any) -> BadRequest:
    """The error for a command `name` that could not be started."""
    missing = isinstance(fault, FileNotFoundError)
    kind, said = (NoProgram, "there is no such program") if missing else (CannotStart, fault.strerror or str(fault))
    if fault.errno == errno.E2BIG:
        said = "the job's text and paths are too long for the environment"
    elif fault.errno == errno.ENOEXEC:
        said = "it is no program, and its first line names none (#!)"
    return kind("bad_file", f"{shown(name)} cannot be started: {said}", hint=hint, **details)


def _foreground() -> int | None:
    try:
        return os.tcgetpgrp(_TERMINAL)
    except OSError:  # it is not our session's terminal
        return None


def _only_zombies(group: int) -> bool:
    """Whether all that is left of the group has ended, and only waits for an init that never comes (a container)."""
    if not sys.platform.startswith("linux"):
        return False
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, _, its_group = file.read().rpartition(b")")[2].split()[:3]
            except OSError as fault:
                if fault.errno in (errno.ENOENT, errno.ESRCH):
                    continue
                return False
            if int(its_group) == group and state not in (b"Z", b"X"):
                return False
    return True
