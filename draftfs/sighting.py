"""What stands at a path: looked at without following a link, without disturbing anybody."""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
import time
from typing import Final, Literal

from draftfs.engine.objects import digest_of
from draftfs.errors import from_oserror
from draftfs.frozen import frozen
from draftfs.records import Content

_WRITER_WAIT: Final = 1.0


@frozen
class Sighting:
    """What stands at a path. `content` is None unless it is a regular file; `detail` says what else it is, `names` how
    many names the file has."""

    kind: Literal["file", "absent", "other"]
    content: Content | None
    detail: str = ""
    names: int = 1


@frozen
class Stamp:
    """By which a file is known again without reading it."""

    inode: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, facts: os.stat_result) -> Stamp:
        return cls(facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)

    @property
    def latest(self) -> int:
        return max(self.modified, self.changed)

    def same_bytes(self, other: Stamp) -> bool:
        """Whether nothing was written in between; a new name changes only `changed`."""
        return (self.inode, self.size, self.modified) == (other.inode, other.size, other.modified)


def look(path: str) -> tuple[Sighting, Stamp | None]:
    """What stands at `path`, read to its end, and the stamp that a regular file had when the reading began."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return Sighting("absent", None), None
    except NotADirectoryError:
        return Sighting("other", None, "one of its parents is a file"), None
    except OSError as fault:
        if fault.errno == errno.ELOOP:
            return Sighting("other", None, f"it is a symlink{_leading(path)}"), None
        if fault.errno == errno.ENXIO:
            return Sighting("other", None, "it is a special file"), None
        raise from_oserror(fault, "reading") from fault
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            what = "a folder" if stat.S_ISDIR(facts.st_mode) else "a special file"
            return Sighting("other", None, f"it is {what}"), None
        digest, size = digest_of(descriptor)
        content = Content(digest, size, git_mode(facts.st_mode))
        return Sighting("file", content, names=facts.st_nlink), Stamp.of(facts)
    finally:
        os.close(descriptor)


def _leading(path: str) -> str:
    try:
        return f" to {os.readlink(path)}"
    except OSError:
        return ""


def stamp(path: str) -> Stamp | None:
    """The stamp of what stands at `path`, None when nothing does."""
    try:
        return Stamp.of(os.stat(path, follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return None


def git_mode(mode: int) -> str:
    """A file's mode as git keeps it: executable for its owner, or not."""
    return "100755" if mode & stat.S_IXUSR else "100644"


def with_executable(mode: int, *, executable: bool) -> int:
    """`mode` with the executable bit set for whoever may read, or taken from everybody; as it is where it fits already."""
    if executable == bool(mode & stat.S_IXUSR):
        return mode
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


def existing_folder(folder: str) -> str:
    """The innermost folder on the way to `folder` that is there."""
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def same_bytes(a: Content | None, b: Content | None) -> bool:
    return a is b if a is None or b is None else a.sha256 == b.sha256


def is_draft(seen: Sighting, content: Content | None) -> bool:
    """Whether it is the file of a draft with this content: its bytes; where None, a deletion, the empty file."""
    return seen.content is not None and (
        seen.content.size == 0 if content is None else same_bytes(seen.content, content)
    )


def wait_for_writers(path: str) -> None:
    """Give whoever has the file open for writing up to a second to finish: an editor that saves in place may have opened
    it before it was swapped out. Where the system cannot tell, it is taken for nobody."""
    if sys.platform != "linux":
        return
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # the default, SIGIO, would end this process
        end = time.monotonic() + _WRITER_WAIT
        while not _leased(descriptor) and time.monotonic() < end:
            time.sleep(0.001)
    finally:
        os.close(descriptor)


def _leased(descriptor: int) -> bool:
    """Whether nobody has the file open for writing: the kernel grants a read lease only then."""
    import fcntl

    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
