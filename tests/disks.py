"""Disks of our own for the tests: small, full, read-only. They need the right to mount; without it those tests are skipped
(`unshare -Urm` gives it to anybody where user namespaces are allowed)."""

from __future__ import annotations

import os
import pickle
import subprocess
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from draftfs import DraftfsError


def mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"mount {' '.join(arguments)}: {done.stderr.strip()}")


@contextmanager
def mounted(point: Path, *arguments: str) -> Iterator[Path]:
    point.mkdir(exist_ok=True)
    mount(*arguments, str(point))
    try:
        yield point
    finally:
        subprocess.run(["umount", "-l", str(point)], check=True)


@contextmanager
def small_disk(point: Path, size: str = "8m", **options: object) -> Iterator[Path]:
    settings = ",".join([f"size={size}", *(f"{name}={value}" for name, value in options.items())])
    with mounted(point, "-t", "tmpfs", "-o", settings, "tmpfs") as disk:
        yield disk


def fill(disk: Path, leave: int = 0) -> Path:
    """Use up the disk but for `leave` bytes; removing the file returned frees it again."""
    ballast = disk / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass
        for size in (4096, 512, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass
        file.truncate(max(file.tell() - leave, 0) // 4096 * 4096)
    return ballast


def use_up_inodes(disk: Path, leave: int = 0) -> Path:
    folder = disk / "ballast"
    folder.mkdir()
    names = []
    try:
        while True:
            names.append(folder / str(len(names)))
            names[-1].touch()
    except OSError:
        names.pop()
    for _ in range(leave):
        names.pop().unlink()
    return folder


def needs_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")


def as_user(
    uid: int, gid: int, operation: Callable[[], object], umask: int = 0o022, groups: Sequence[int] = ()
) -> object:
    """What the operation gives when somebody else does it: a forked process of theirs, so that it needs no interpreter that
    they can start. A refusal of ours comes back as itself, anything else that is raised fails the test."""
    import ctypes  # noqa: F401 - they may not be able to read these later

    import portalocker  # noqa: F401

    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            os.setgroups([gid, *groups])
            os.setgid(gid)
            os.setuid(uid)
            os.umask(umask)
            outcome: object = operation()
        except DraftfsError as refusal:
            outcome = refusal
        except BaseException as fault:
            outcome = f"{type(fault).__name__}: {fault}\n{traceback.format_exc()}"
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(outcome, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        outcome = pickle.load(pipe)
    assert os.waitpid(child, 0)[1] == 0
    assert not (isinstance(outcome, str) and "Traceback" in outcome), outcome
    return outcome


def give(path: Path, uid: int, gid: int) -> None:
    """Give all of a folder to somebody."""
    for folder, folders, names in os.walk(path):
        for name in (".", *folders, *names):
            os.chown(os.path.join(folder, name), uid, gid, follow_symlinks=False)
