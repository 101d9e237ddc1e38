"""One hook's file: ours, somebody else's, or theirs that runs ours; replaced and put back without a gap."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from itertools import count
from typing import Final

from draftfs.engine import fs
from draftfs.errors import EnvironmentFault
from draftfs.frozen import frozen
from draftfs.git.hooks.text import Text, parse

_BEFORE: Final = "before-draftfs"
_RUNS_LEGACY: Final = b"hook-impl"
"""In the hooks of pre-commit and prek: they keep the hook that was there as NAME.legacy, and run it before their own."""


@frozen
class Found:
    """What is at a hook's name. `ours` is where our text is (the name itself, or NAME.legacy, which a hook manager runs),
    None where git would not come to it; `theirs` whether something else stands at the name."""

    path: str
    ours: str | None
    text: Text | None
    data: bytes | None
    theirs: bool


def look(folder: str, hook: str) -> Found:
    """What is in `folder` for this hook."""
    path = os.path.join(folder, hook)
    data = _read(path)
    text = None if data is None else parse(data)
    if text is not None:
        return Found(path, path, text, data, theirs=False)
    legacy = f"{path}.legacy"
    kept = _read(legacy) if data is not None and _RUNS_LEGACY in data and runs(path) else None
    text = None if kept is None else parse(kept)
    return Found(path, None if text is None else legacy, text, kept, theirs=os.path.lexists(path))


def runs(path: str) -> bool:
    """Whether git would start the file: one that is not executable, a dangling link, or a noexec mount it passes over."""
    return os.path.isfile(path) and os.access(path, os.X_OK)


def put(folder: str, hook: str, *, made: bool) -> tuple[str, str | None]:
    """Have our hook there, before whatever was: ("unchanged" | "updated" | "installed", the name that is kept for that)."""
    found = look(folder, hook)
    place, kept = found.ours, found.text.kept if found.text else ""
    made = made or (found.text is not None and found.text.made)
    if place is None:
        place, kept = found.path, _keep(found.path) if found.theirs else ""
    data = Text(hook, kept=kept, made=made).encoded()
    if found.data == data and runs(place):
        return "unchanged", kept or None
    _write(place, data)
    return "installed" if found.ours is None else "updated", kept or None


def take_away(folder: str, hook: str) -> tuple[str, bool]:
    """Have there what was before our hook: ("restored" | "removed" | "foreign" | "absent", whether we made the folder)."""
    found = look(folder, hook)
    if found.ours is None or found.text is None:
        return ("foreign" if found.theirs else "absent"), False
    before = os.path.join(folder, found.text.kept)
    restored = bool(found.text.kept) and os.path.lexists(before)
    if restored:
        fs.rename(before, found.ours)
    else:
        fs.unlink(found.ours)
    fs.sync_folder(folder)
    return ("restored" if restored else "removed"), found.text.made


def _keep(path: str) -> str:
    """Give the foreign hook a second name that nothing else has, and return it. Its bytes, mode and kind stay as they are."""
    if os.path.isdir(path) and not os.path.islink(path):
        raise EnvironmentFault("filesystem", f"{path} is a folder, not a hook", hint="move it away", path=path)
    for name in _names(path):
        kept = os.path.join(os.path.dirname(path), name)
        try:
            fs.link(path, kept)
        except FileExistsError:
            if _same(path, kept):
                return name
        except PermissionError:  # no second names on this file system; for a moment there is no hook
            if not os.path.lexists(kept):
                fs.rename(path, kept)
                return name
        else:
            return name
    raise AssertionError("a name is always free")


def _names(path: str) -> Iterator[str]:
    content = os.fsencode(os.readlink(path)) if os.path.islink(path) else (_read(path) or b"")
    name = f"{os.path.basename(path)}.{_BEFORE}-{hashlib.sha256(content).hexdigest()[:16]}"
    yield name
    for number in count(2):
        yield f"{name}-{number}"


def _same(a: str, b: str) -> bool:
    """Whether two hooks are alike in kind, mode and bytes."""
    first, second = os.lstat(a), os.lstat(b)
    if first.st_mode != second.st_mode:
        return False
    return os.readlink(a) == os.readlink(b) if stat.S_ISLNK(first.st_mode) else _read(a) == _read(b)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _write(path: str, data: bytes) -> None:
    """Replace the file whole: git finds the old hook or the new one. One at a time."""
    folder = os.path.dirname(path)
    temporary, sharing = f"{path}.draftfs-new", fs.sharing_of(folder)
    fs.unlink(temporary)  # of somebody who died half-way
    try:
        descriptor = fs.create(temporary, 0o777, sharing=sharing)
        try:
            # Who may read it may run it, whatever the umask: git passes over a hook that it may not run.
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            fs.set_mode(descriptor, mode | 0o100 | (mode & 0o444) >> 2, temporary)
            fs.write(descriptor, data, temporary)
            fs.sync_data(descriptor, temporary)
        finally:
            os.close(descriptor)
        fs.rename(temporary, path)
    except OSError:
        fs.unlink(temporary)
        raise
    fs.sync_folder(folder)
