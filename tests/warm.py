"""The command line as a process of its own, without paying for Python's imports each time: they are nine tenths of what a
short command costs, and the suite runs thousands.

A process that has imported the program and done nothing else forks for each command. What a fork cannot change, the
interpreter's own settings, is started the slow way: see `fits`. Tests of starting, of signals and of streams do that, too.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_FDS: Final = 3
_CRASHED: Final = 70


class Warm:
    """The forking process, and how to ask it. One for each process of the tests; not for threads."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        started = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._settings = _settings(started)
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "tests.warm", str(theirs.fileno())]
        self._process = subprocess.Popen(
            command, cwd=ROOT, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL, env=started
        )
        theirs.close()
        self._socket = ours
        atexit.register(self._end)

    def fits(self, environment: dict[str, str]) -> bool:
        """Whether the interpreter would start in this environment as it has started here. Threads and forks of the tests
        start commands at once, and here there is one after the other."""
        alone = os.getpid() == self._owner and threading.current_thread() is threading.main_thread()
        return alone and _settings(environment) == self._settings

    def start(self, arguments: list[str], cwd: str, environment: dict[str, str], files: tuple[int, int, int]) -> None:
        """Run one command with these three standard streams."""
        umask = os.umask(0)
        os.umask(umask)
        request = json.dumps([arguments, cwd, environment, umask]).encode()
        socket.send_fds(self._socket, [len(request).to_bytes(8, "big")], files)
        self._socket.sendall(request)

    def status(self) -> int:
        """Wait for the command that was started last; its status as subprocess gives it."""
        said = self._socket.recv(64)
        if not said:
            raise AssertionError("the warm process is gone")
        return os.waitstatus_to_exitcode(int(said))

    def _end(self) -> None:
        if os.getpid() == self._owner:
            self._socket.close()
            self._process.wait()


def _settings(environment: dict[str, str] | os._Environ[str]) -> dict[str, str]:
    """What Python and the C library read while they start."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(("LC_", "LANG", "PYTHON", "LD_", "MALLOC_")) or name == "TZ"
    }


def _serve(asked: socket.socket) -> None:
    import draftfs.cli._run
    import draftfs.store  # noqa: F401

    while True:
        head, files, _, _ = socket.recv_fds(asked, 8, _FDS)
        if not head:
            return
        size = int.from_bytes(head, "big")
        request = bytearray()
        while len(request) < size:
            request += asked.recv(size - len(request))
        child = os.fork()
        if child == 0:
            asked.close()
            _become(*json.loads(bytes(request)), files)
        for each in files:
            os.close(each)
        _, status = os.waitpid(child, 0)
        asked.sendall(str(status).encode())


def _become(arguments: list[str], cwd: str, environment: dict[str, str], umask: int, files: list[int]) -> None:
    """Be the command, from here on as if it had been started."""
    try:
        for descriptor, file in enumerate(files):
            os.dup2(file, descriptor)
            os.close(file)
        os.umask(umask)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["draftfs", *arguments]
        from draftfs.cli import main

        status = main()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    finally:
        os._exit(_CRASHED)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
