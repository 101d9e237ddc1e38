"""Every system call of draftfs that changes a disk, and nothing else.

Each function announces itself to `observer` before it acts, so that a test can stop, kill or cut the power between any
two of them. Failures are plain OSErrors. What a call promises after a power cut is said with it; where nothing is said,
nothing is promised (durability note §1).
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from draftfs.frozen import frozen

observer: Callable[[str, str], None] | None = None
"""Called with the name of the call and the path it is about to change. For tests only."""

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def _announce(call: str, path: str) -> None:
    if observer is not None:
        observer(call, path)


# ── who else may use what is made ──


@frozen
class Sharing:
    """Whom a new file of a store belongs to, whatever umask and user id say here: `bits` are permissions that a folder
    has at least (a file those that fit it), `owner` is set for a store of somebody else that root works on (C37)."""

    bits: int = 0
    owner: tuple[int, int] | None = None


UNSHARED: Final = Sharing()


def sharing_of(folder: str) -> Sharing:
    """What is made in `folder` is as open as that itself where it was opened up for its group; never to all the world."""
    mode = os.stat(folder).st_mode
    bits = mode & 0o2775 if mode & (stat.S_IWGRP | stat.S_ISGID) else 0
    return Sharing(bits, owner_of(folder).owner)


def owner_of(folder: str) -> Sharing:
    """What root makes in somebody's folder (or in one that is still to be made there) is theirs; open to nobody else."""
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    facts = os.stat(folder)
    foreign = os.geteuid() == 0 and facts.st_uid != 0
    return Sharing(0, (facts.st_uid, facts.st_gid) if foreign else None)


def open_up(path: str, sharing: Sharing) -> None:
    """Give `sharing` to the file or folder at `path`, as far as this process may."""
    if sharing == UNSHARED:
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        _open_up(descriptor, sharing, path)
    finally:
        os.close(descriptor)


def _open_up(descriptor: int, sharing: Sharing, path: str) -> None:
    if sharing == UNSHARED:
        return
    facts = os.fstat(descriptor)
    if sharing.owner is not None and (facts.st_uid, facts.st_gid) != sharing.owner:
        set_owner(descriptor, *sharing.owner, path)
    bits = sharing.bits
    if not stat.S_ISDIR(facts.st_mode):
        bits &= 0o666 if facts.st_mode & stat.S_IWUSR else 0o444
    mode = stat.S_IMODE(facts.st_mode)
    if mode | bits != mode:
        with suppress(PermissionError):  # somebody else's, who has opened it up already or means it so
            set_mode(descriptor, mode | bits, path)


# ── files and folders ──


def make_folder(path: str, mode: int = 0o777, *, sync: bool = True, sharing: Sharing = UNSHARED) -> None:
    """Make `path` and its missing parents, with `sync` each name durable. Already there is fine."""
    try:
        _announce("mkdir", path)
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return
    except FileNotFoundError:
        make_folder(os.path.dirname(path), mode, sync=sync, sharing=sharing)
        make_folder(path, mode, sync=sync, sharing=sharing)
        return
    open_up(path, sharing)
    if sync:
        sync_folder(os.path.dirname(path))


def create(path: str, mode: int = 0o666, *, sharing: Sharing = UNSHARED) -> int:
    """Open a new file for writing; FileExistsError when the name is taken. Returns the descriptor."""
    _announce("create", path)
    return _shared(os.open(path, _NEW | os.O_EXCL, mode), sharing, path)


def open_lasting(path: str, mode: int = 0o666, *, sharing: Sharing = UNSHARED) -> int:
    """Open a file that is made once and lives on (the lock), for reading and writing, making it where it is missing."""
    _announce("open", path)
    return _shared(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, mode), sharing, path)


def _shared(descriptor: int, sharing: Sharing, path: str) -> int:
    try:
        _open_up(descriptor, sharing, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


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


def write_file(path: str, data: bytes, *, sync: bool = False, sharing: Sharing = UNSHARED) -> None:
    """Make a new file; FileExistsError when the name is taken. With `sync` its bytes are durable. What a failure leaves
    behind is for the caller to remove."""
    descriptor = create(path, sharing=sharing)
    try:
        write(descriptor, data, path)
        if sync:
            sync_data(descriptor, path)
    finally:
        os.close(descriptor)


def replace_file(path: str, data: bytes, *, sharing: Sharing = UNSHARED) -> None:
    """Replace `path` whole and durably: a reader, or a power cut, finds the old bytes or the new. One at a time."""
    temporary = f"{path}.new"
    unlink(temporary)  # of somebody who died half-way
    try:
        write_file(temporary, data, sync=True, sharing=sharing)
        rename(temporary, path)
    except OSError:
        unlink(temporary)
        raise
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


def sync_everything(path: str) -> None:
    """Make all that was ever written durable: where nobody knows any more what it was."""
    _announce("sync", path)
    os.sync()


def rename(source: str, destination: str) -> None:
    _announce("rename", destination)
    os.rename(source, destination)


def one_mount(folder: str, other: str) -> bool:
    """Whether a file could be renamed from one folder to the other. Changes nothing.

    Two bind mounts of one file system have one device number, and refuse it all the same.
    """
    if os.stat(folder).st_dev != os.stat(other).st_dev:
        return False
    nobody = os.urandom(16).hex()
    try:
        os.rename(f"{folder}/{nobody}", f"{other}/{nobody}")  # Linux compares the mounts before it misses the file
    except OSError as fault:
        return fault.errno != errno.EXDEV
    return True


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


def remove_folder(path: str) -> None:
    """Remove an empty folder; OSError when it holds anything."""
    _announce("rmdir", path)
    os.rmdir(path)


def remove_tree(path: str) -> None:
    """Remove a folder with all that is in it."""
    import shutil

    _announce("rmtree", path)
    shutil.rmtree(path)


def set_mode(descriptor: int, mode: int, path: str) -> None:
    _announce("chmod", path)
    os.fchmod(descriptor, mode)


def set_modified(path: str, nanoseconds: int) -> None:
    """Give the file this time of last change."""
    _announce("utime", path)
    os.utime(path, ns=(nanoseconds, nanoseconds), follow_symlinks=False)


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
    import ctypes  # only promotions need it

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
