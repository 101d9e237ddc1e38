"""Faults at the n-th system call that changes a disk, in this process: a kill, a full disk, a stop.

`fs.observer` sees every such call before it is made. A kill is an exception that nobody catches, raised from then on at
every call, so that no clean-up of the dying process reaches the disk either; closing its descriptors frees its locks, as
the kernel would.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from draftfs import Store
from draftfs.engine import fs

Call = tuple[str, str]


class Killed(BaseException):
    """This process is dead."""


@contextmanager
def observing(observer: Callable[[str, str], None]) -> Iterator[None]:
    fs.observer = observer
    try:
        yield
    finally:
        fs.observer = None


def calls_of(operation: Callable[[], object]) -> list[Call]:
    """The calls that the operation makes, in order."""
    seen: list[Call] = []
    with observing(lambda call, path: seen.append((call, path))):
        operation()
    return seen


def telling_points(calls: list[Call]) -> list[int]:
    """Where a kill is worth trying: before each call, but not right behind one that leaves what files hold as it was."""
    idle = [
        call in ("fsync", "fdatasync") or ((call, path) in calls[:at] and call == "mkdir")
        for at, (call, path) in enumerate(calls)
    ]
    return [0, *(number for number in range(1, len(calls) + 1) if not idle[number - 1])]


def killed_at(number: int, operation: Callable[[], object]) -> bool:
    """Run the operation, killed before its call `number` (from 0); False when it made fewer calls."""
    count = -1

    def observer(call: str, path: str) -> None:
        nonlocal count
        count += 1
        if count >= number:
            raise Killed

    with observing(observer):
        try:
            operation()
        except Killed:
            return True
    return False


NEEDS_SPACE = frozenset(("mkdir", "create", "open", "write", "pwrite", "append", "link", "rename", "exchange"))


@contextmanager
def failing(
    number: int, code: int = errno.ENOSPC, calls: frozenset[str] = NEEDS_SPACE, part: str = ""
) -> Iterator[list[Call]]:
    """From the `number`-th (from 0) of `calls` on paths with `part` in them, every such call fails. Yields those that did."""
    failed: list[Call] = []
    count = -1

    def observer(call: str, path: str) -> None:
        nonlocal count
        if call in calls and part in path:
            count += 1
            if count >= number:
                failed.append((call, path))
                raise OSError(code, os.strerror(code), path)

    with observing(observer):
        yield failed


class Snapshot:
    """All files below a folder but git's own objects, kept in memory, to be put back over and over."""

    def __init__(self, base: Path, leave: tuple[str, ...] = ()) -> None:
        self._base, self._leave = base, leave
        self._files = dict(self._walk())

    def _walk(self) -> Iterator[tuple[str, tuple[int, bytes | str | None]]]:
        for folder, folders, names in os.walk(self._base):
            relative = os.path.relpath(folder, self._base)
            folders[:] = [name for name in folders if not self._skipped(f"{relative}/{name}")]
            for name in (*folders, *names):
                path = os.path.join(folder, name)
                mode = os.lstat(path).st_mode
                where = os.path.normpath(os.path.join(relative, name))
                if self._skipped(where):
                    continue
                if stat.S_ISLNK(mode):
                    yield where, (mode, os.readlink(path))
                elif stat.S_ISDIR(mode):
                    yield where, (mode, None)
                else:
                    yield where, (mode, Path(path).read_bytes())

    def _skipped(self, where: str) -> bool:
        where = os.path.normpath(where)
        return where.endswith((".git/objects", ".git/hooks")) or where in self._leave

    def restore(self) -> None:
        now = dict(self._walk())
        for where in sorted(now, reverse=True):
            if where not in self._files or stat.S_IFMT(now[where][0]) != stat.S_IFMT(self._files[where][0]):
                path = self._base / where
                shutil.rmtree(path) if stat.S_ISDIR(now[where][0]) else path.unlink()
        for where, (mode, content) in self._files.items():
            path = self._base / where
            if content is None:
                path.mkdir(exist_ok=True)
            elif isinstance(content, str):
                if not path.is_symlink():
                    path.symlink_to(content)
            elif now.get(where) != (mode, content):
                path.unlink(missing_ok=True)
                path.write_bytes(content)
                path.chmod(stat.S_IMODE(mode))


def records(store: Store) -> dict[str, bytes]:
    """Every record and every event of the store, as one consistent look finds them, by file name."""
    folder = Path(store.folder)

    def look(view) -> dict[str, bytes]:
        found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.yaml")}
        found["feed"] = repr(view.events(0, view.counters.position)).encode()
        return found

    return store.engine.read(look)


def shown(root: Path) -> dict[str, tuple[int, bytes]]:
    """What people see: every file of the root, its mode and bytes, git's folder apart."""
    found = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = Path(folder, name)
            found[str(path.relative_to(root))] = stat.S_IMODE(path.lstat().st_mode), path.read_bytes()
    return found


def litter(store: Path) -> list[str]:
    """What should be gone once the next command has run: prepared bytes, and half-made files of the store."""
    return [*os.listdir(store / "staging"), *(path.name for path in store.glob("*.new"))]
