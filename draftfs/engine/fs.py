"""Every system call of draftfs that changes a disk, and nothing else.

Each function announces itself to `observer` before it acts, so that a test can stop, kill or cut the power between any
two of them. Failures are plain OSErrors. What a call promises after a power cut is said with it; where nothing is said,
nothing is promised (durability note §1).
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

observer: Callable[[str, str], None] | None = None
"""Called with the name of the call and the path it is about to change. For tests only."""

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def _announce(call: str, path: str) -> None:
    if observer is not None:
        observer(call, path)


def make_folder(path: str, mode: int = 0o777, *, sync: bool = True) -> None:
    """Make `path` and its missing parents, with `sync` each name durable. Already there is fine."""
    try:
        _announce("mkdir", path)
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    except FileNotFoundError:
        make_folder(os.path.dirname(path), mode, sync=sync)
        make_folder(path, mode, sync=sync)
        return
    if sync:
        sync_folder(os.path.dirname(path))


def create(path: str, mode: int = 0o666) -> int:
    """Open a new file for writing; FileExistsError when the name is taken. Returns the descriptor."""
    _announce("create", path)
    return os.open(path, _NEW | os.O_EXCL, mode)


def open_lasting(path: str, mode: int = 0o666) -> int:
    """Open a file that is made once and lives on (the lock), for reading and writing, making it where it is missing."""
    _announce("open", path)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, mode)


def write(descriptor: int, data: bytes, path: str) -> None:
    """Write all of `data` at the descriptor's position."""
    view = memoryview(data)
    while view:
        _announce("write", path)
        view = view[os.write(descriptor, view) :]


def write_at(descriptor: int, data: bytes, offset: int, path: str) -> None:
    """Write all of `data` at `offset`."""
    while data:
        _announce("pwrite", path)
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written


def append_whole(descriptor: int, data: bytes, end: int, path: str) -> None:
    """Append `data` in one write at `end`; a short write is cut off again and raises ENOSPC."""
    _announce("append", path)
    try:
        written = os.pwrite(descriptor, data, end)
    except OSError:
        truncate(descriptor, end, path)
        raise
    if written != len(data):
        truncate(descriptor, end, path)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def write_file(path: str, data: bytes, mode: int = 0o666, *, sync: bool = False) -> None:
    """Make or overwrite `path` in place: for files that nobody reads yet. With `sync` its bytes are durable."""
    _announce("create", path)
    descriptor = os.open(path, _NEW | os.O_TRUNC, mode)
    try:
        write(descriptor, data, path)
        if sync:
            sync_data(descriptor, path)
    finally:
        os.close(descriptor)


def replace_file(path: str, data: bytes, mode: int = 0o666) -> None:
    """Replace `path` whole and durably: a reader, or a power cut, finds the old bytes or the new."""
    temporary = f"{path}.new"
    write_file(temporary, data, mode, sync=True)
    rename(temporary, path)
    sync_folder(os.path.dirname(path))


def truncate(descriptor: int, size: int, path: str) -> None:
    _announce("truncate", path)
    os.ftruncate(descriptor, size)


def sync_data(descriptor: int, path: str) -> None:
    """Make the file's bytes durable. A failure is final: the kernel may have dropped the pages, so never try again."""
    _announce("fdatasync", path)
    _datasync(descriptor)


_datasync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


def sync_file(path: str) -> None:
    """Make the bytes of `path` durable; a file that is gone needs no sync."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        _announce("fsync", path)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: str) -> None:
    """Make the names in folder `path` durable; a folder that is gone needs no sync."""
    try:
        descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        _announce("fsync", path)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename(source: str, destination: str) -> None:
    _announce("rename", destination)
    os.rename(source, destination)


def link(source: str, destination: str) -> None:
    """Give the file a second name; FileExistsError when that is taken, so nothing is ever overwritten."""
    _announce("link", destination)
    os.link(source, destination, follow_symlinks=False)


def unlink(path: str) -> None:
    """Remove a file; already gone is fine."""
    _announce("unlink", path)
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def remove_empty_folders(folders: Sequence[str]) -> None:
    """Remove those of `folders` that are empty, in the order given."""
    for folder in folders:
        _announce("rmdir", folder)
        try:
            os.rmdir(folder)
        except OSError as fault:
            if fault.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise


def set_mode(descriptor: int, mode: int, path: str) -> None:
    _announce("chmod", path)
    os.fchmod(descriptor, mode)


def set_owner(descriptor: int, uid: int, gid: int, path: str) -> None:
    """Give the file to this user and group, where this process may."""
    _announce("chown", path)
    try:
        os.fchown(descriptor, uid, gid)
    except PermissionError:
        return


def exchange(a: str, b: str) -> None:
    """Swap two names in one step, so that neither is ever missing and whatever stood at `b` is afterwards at `a`.

    Raises OSError ENOSYS or EINVAL where the system or its file system cannot.
    """
    _announce("exchange", b)
    first, second = os.fsencode(a), os.fsencode(b)
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        failed = libc.renamex_np(first, second, 0x2)  # RENAME_SWAP
    elif hasattr(libc, "renameat2"):
        failed = libc.renameat2(-100, first, -100, second, 0x2)  # AT_FDCWD, RENAME_EXCHANGE
    else:
        ctypes.set_errno(errno.ENOSYS)
        failed = -1
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), b)
