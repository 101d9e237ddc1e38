"""Contents by digest: every drafted, based-on or replaced content once, read-only, in `objects/` (G6).

Bytes are prepared in `staging/` under a lock of their maker, so that only leftovers are ever cleared away, and reach
`objects/` durably before any record names them. All of it in constant memory, and none of it under the store's lock.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from draftfs import layout
from draftfs.engine import fs, lock
from draftfs.errors import Damaged
from draftfs.records import Content

CHUNK: Final = 1 << 20
_ZEROS: Final = bytes(CHUNK)

Progress = Callable[[int], None]


class Objects:
    """The contents of one store. `progress` is told how many bytes each step of a copy took."""

    def __init__(self, folder: str, progress: Progress | None = None) -> None:
        self.folder, self._progress = folder, progress
        self.sharing = fs.sharing_of(folder)

    def path(self, sha256: str) -> str:
        return f"{self.folder}/{layout.object_file(sha256)}"

    def has(self, content: Content) -> bool:
        """Whether the object is there at its full size; `doctor` reads the bytes, too."""
        try:
            return os.stat(self.path(content.sha256)).st_size == content.size
        except FileNotFoundError:
            return False

    def open(self, content: Content) -> int:
        """A descriptor to read the content from. Raises Damaged when the object is gone or cut short."""
        if not self.has(content):
            name = layout.object_file(content.sha256)
            raise Damaged("damaged", f"{name} is missing or cut short", file=name)
        return os.open(self.path(content.sha256), os.O_RDONLY | os.O_CLOEXEC)

    def add(self, source: int, mode: str) -> Content:
        """Read descriptor `source` to its end and keep what came, durably. Raises OSError."""
        with ExitStack() as stack:
            staged, descriptor = self.stage(stack, f"{self.folder}/{layout.STAGING}", 0o444, sharing=self.sharing)
            digest, size = self.copy(source, descriptor, staged)
            content = Content(digest, size, mode)
            final = self.path(digest)
            if self.has(content):
                fs.sync_folder(os.path.dirname(final))  # whoever put it there may not have come to that yet
            else:
                fs.sync_data(descriptor, staged)
                fs.make_folder(os.path.dirname(final), sharing=self.sharing)
                self._install(staged, final)
            return content

    def _install(self, staged: str, final: str) -> None:
        try:
            fs.link(staged, final)
        except FileExistsError:
            fs.rename(staged, final)  # what stood there was cut short, or came this very moment: ours is whole
        fs.sync_folder(os.path.dirname(final))

    def stage(
        self, stack: ExitStack, folder: str, mode: int, prefix: str = "", *, sharing: fs.Sharing = fs.UNSHARED
    ) -> tuple[str, int]:
        """A new file in `folder`, locked for the life of `stack`; returns its path and descriptor.

        It is removed with the stack, unless another file has taken its name by then (see Tree: what an install displaced).
        """
        while True:
            path = f"{folder}/{prefix}{os.urandom(8).hex()}"
            descriptor = fs.create(path, mode, sharing=sharing)
            if lock.hold(descriptor) and os.fstat(descriptor).st_nlink:
                stack.callback(os.close, descriptor)
                stack.callback(_remove_own, path, os.fstat(descriptor).st_ino)
                return path, descriptor
            os.close(descriptor)  # somebody cleared it away between its making and its lock

    def copy(self, source: int, destination: int, path: str) -> tuple[str, int]:
        """Copy to the end of `source`, holes staying holes; returns digest and size. Raises OSError."""
        digest, size = hashlib.sha256(), 0
        while chunk := os.read(source, CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if chunk == _ZEROS:
                os.lseek(destination, CHUNK, os.SEEK_CUR)
            else:
                fs.write(destination, chunk, path)
            if self._progress is not None:
                self._progress(len(chunk))
        if os.fstat(destination).st_size != size:
            fs.truncate(destination, size, path)
        return digest.hexdigest(), size


def digest_of(descriptor: int) -> tuple[str, int]:
    """SHA-256 and size of what is left to read."""
    digest, size = hashlib.sha256(), 0
    while chunk := os.read(descriptor, CHUNK):
        digest.update(chunk)
        size += len(chunk)
    return digest.hexdigest(), size


def _remove_own(path: str, inode: int) -> None:
    try:
        if os.stat(path, follow_symlinks=False).st_ino == inode:
            fs.unlink(path)
    except FileNotFoundError:
        return
