"""With a terminal, the program has it: it can read there, and the keys' signals reach it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import termios

import pytest

from tests.run.conftest import environment
from tests.support import heed_interrupts, wait_for


class Terminal:
    """`draftfs run` as the foreground job of a session of its own."""

    def __init__(self, runs, *arguments: str, script: str) -> None:
        self.leader, follower = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "draftfs", "run", *arguments, "--as", "ann", "--", "sh", "-c", script],
            cwd=runs.root,
            env=environment(OUT=str(runs.out)),
            stdin=follower,
            stdout=follower,
            stderr=follower,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - no other way in Python to get a controlling terminal
        )
        os.close(follower)
        self.shown = ""

    def until(self, text: str) -> None:
        """Wait until it has said that, and has the terminal: it may be quicker than whoever lends it."""
        wait_for(lambda: text in self._read() and _is_the_programs(self.leader))

    def _read(self) -> str:
        while select.select([self.leader], [], [], 0)[0]:
            try:
                self.shown += os.read(self.leader, 65536).decode()
            except OSError:
                break
        return self.shown

    def type(self, keys: bytes) -> None:
        os.write(self.leader, keys)

    def status(self) -> int:
        wait_for(lambda: (self._read(), self.process.poll())[1] is not None)
        return self.process.wait()


def _take_terminal() -> None:
    import fcntl

    heed_interrupts()
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def at_terminal(runs):
    made: list[Terminal] = []

    def start(*arguments: str, script: str) -> Terminal:
        made.append(Terminal(runs, *arguments, script=script))
        return made[-1]

    yield start
    for each in made:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()
        os.close(each.leader)


def test_the_program_reads_what_is_typed(runs, at_terminal):
    terminal = at_terminal("1", script='echo ask; read answer; echo "$answer" >docs/spec.md')
    terminal.until("ask")
    terminal.type(b"v1\n")
    assert terminal.status() == 0
    assert runs.job(1).state == "submitted"
    assert (runs.root / "docs/spec.md.draft-0001@ann").read_text() == "v1\n"


def test_ctrl_c_ends_the_program_and_gives_the_job_back(runs, at_terminal):
    terminal = at_terminal("1", script="echo ask; read answer")
    terminal.until("ask")
    terminal.type(b"\x03")
    assert terminal.status() == 130
    job = runs.job(1)
    assert (job.state, job.attempts.used, job.because) == ("open", 0, "interrupted by SIGINT")


def test_ctrl_c_is_the_programs_own_where_it_takes_it(runs, at_terminal):
    terminal = at_terminal("1", script="trap 'echo caught' INT; echo ask; read a; read b; echo \"$b\" >docs/spec.md")
    terminal.until("ask")
    terminal.type(b"\x03")
    terminal.until("caught")
    terminal.type(b"x\nv1\n")
    assert terminal.status() == 0
    assert runs.job(1).state == "submitted"


def test_the_program_is_suspended_together_with_us_and_goes_on_after(runs, at_terminal):
    """In a session without a shell nobody could wake us: both go on at once, and the terminal is the program's again."""
    terminal = at_terminal("1", script="echo ask; read a; echo got $a; read b")
    terminal.until("ask")
    terminal.type(b"\x1a")
    terminal.type(b"one\n")
    terminal.until("got one")
    terminal.type(b"two\n")
    assert terminal.status() == 0


def test_under_a_shell_with_jobs(runs, at_terminal):
    """Ctrl-Z stops the whole job, fg brings it back; renewals come back with it."""
    inner = "read a; echo $a >docs/spec.md"
    leader, follower = pty.openpty()
    command = f"{sys.executable} -m draftfs run 1 --as ann -- sh -c '{inner}'"
    shell = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        cwd=runs.root,
        env=environment(PS1="% "),
        stdin=follower,
        stdout=follower,
        stderr=follower,
        preexec_fn=_take_terminal,  # noqa: PLW1509 - as above
    )
    os.close(follower)
    shown = ""

    def seen(text: str) -> bool:
        nonlocal shown
        while select.select([leader], [], [], 0)[0]:
            shown += os.read(leader, 65536).decode()
        return text in shown

    try:
        os.write(leader, command.encode() + b"\n")
        wait_for(lambda: seen("draftfs: worktree"))
        wait_for(lambda: _is_the_programs(leader))
        os.write(leader, b"\x1a")
        wait_for(lambda: seen("Stopped"))
        os.write(leader, b"fg\n")
        wait_for(lambda: _is_the_programs(leader))
        os.write(leader, b"v1\n")
        wait_for(lambda: runs.job(1).state == "submitted")
        os.write(leader, b"exit\n")
        shell.wait(10)
    finally:
        shell.kill()
        shell.wait()
        os.close(leader)
    assert (runs.root / "docs/spec.md.draft-0001@ann").read_text() == "v1\n"


def _is_the_programs(leader: int) -> bool:
    """Whether the terminal's foreground group is neither the shell's nor that of `draftfs run`, but the program's."""
    import fcntl
    import struct

    group = struct.unpack("i", fcntl.ioctl(leader, termios.TIOCGPGRP, struct.pack("i", 0)))[0]
    try:
        with open(f"/proc/{group}/cmdline", "rb") as file:
            return file.read().startswith(b"sh\0-c")
    except OSError:
        return False
