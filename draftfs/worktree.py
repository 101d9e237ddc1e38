"""What one worktree keeps in its own git folder: its id, its holder, its claims' tokens, its pending receipt keys.

The folder `draftfs-worktree` goes when git prunes the worktree, and comes along when it is moved. Tokens and receipt
keys are secrets: 0700 and 0600, whatever the umask and `core.sharedRepository` say. Not records of the store.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any, Final

from draftfs.engine import fs
from draftfs.engine.lock import hold
from draftfs.errors import Damaged, from_oserror
from draftfs.frozen import frozen

_FORMAT: Final = 1
_KEPT: Final[dict[str, type]] = {"job": int, "epoch": int, "token": str, "holder": str, "store": str}
_CLAIM: Final = re.compile(r"claim-([0-9]+)-([0-9]+)\.json")


@frozen
class Kept:
    """A claim's token, kept so that hooks and later commands find it. `store` is the id of the store that gave it."""

    job: int
    epoch: int
    token: str
    holder: str
    store: str


class Worktree:
    """The notes of one worktree. Reading one that is damaged raises Damaged `damaged`, naming it."""

    def __init__(self, git_dir: str) -> None:
        self.folder = os.path.join(git_dir, "draftfs-worktree")

    @property
    def pending(self) -> str:
        """The folder for PendingKeys."""
        return os.path.join(self.folder, "pending")

    def id(self) -> str | None:
        return self._text("id")

    def ensure_id(self) -> str:
        """The worktree's random id, made at the first call; of two first calls at once both get the same."""
        fresh = os.urandom(16).hex()
        self._note("id", fresh, once=True)
        return self.id() or fresh

    def take_id(self, identity: str) -> None:
        """Give a worktree that was just made the id under which its claim was taken."""
        self._note("id", identity, once=True)

    def holder(self) -> str | None:
        """The agent that this worktree was last claimed for."""
        return self._text("holder")

    def remember_holder(self, name: str) -> None:
        if self.holder() != name:
            self._note("holder", name)

    def kept(self) -> tuple[Kept, ...]:
        """The newest token of each job, oldest epoch first."""
        newest: dict[tuple[str, int], Kept] = {}
        for name, job, epoch in self._claims():
            found = _read(self._path(name), _KEPT)
            if found is not None:
                kept = newest[found["store"], job] = Kept(**found)
                if (kept.job, kept.epoch) != (job, epoch):
                    raise _damaged(self._path(name), "it is about another claim")
        return tuple(sorted(newest.values(), key=lambda kept: kept.epoch))

    def keep(self, kept: Kept) -> None:
        """Keep this token beside those of other jobs. Of one job, the highest epoch stands, in whatever order they come."""
        self._note("held", "once", once=True)
        # One file per epoch: a worker that stalled before this line must not write over its successor's token.
        self._write(f"claim-{kept.job}-{kept.epoch}.json", asdict(kept))
        self.forget(kept.job, before=kept.epoch)

    def forget(self, job: int, *, before: int | None = None) -> None:
        """Drop the tokens of this job, or only those of epochs lower than `before`."""
        for name, its_job, epoch in self._claims():
            if its_job == job and (before is None or epoch < before):
                _remove(self._path(name))

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _claims(self) -> list[tuple[str, int, int]]:
        """File name, job and epoch of every kept token, lower epochs first."""
        found = [_CLAIM.fullmatch(name) for name in _names(self.folder)]
        return sorted(((each[0], int(each[1]), int(each[2])) for each in found if each), key=lambda claim: claim[2])

    def _text(self, name: str) -> str | None:
        found = _read(self._path(f"{name}.json"), {name: str})
        return None if found is None else str(found[name])

    def _note(self, name: str, text: str, *, once: bool = False) -> None:
        if not (once and os.path.lexists(self._path(f"{name}.json"))):
            self._write(f"{name}.json", {name: text}, once=once)

    def _write(self, name: str, values: dict[str, Any], *, once: bool = False) -> None:
        _write_whole(self._path(name), _encoded(values), 0o600, once=once)


class PendingKeys:
    """A made-up receipt key, kept with its request's fingerprint until a definite answer has been printed (§5).

    Whoever made or took over a key holds a lock on its file, which the kernel drops when the process dies. So the same
    command run again after a crash finds the key free, and two equal commands at once have two keys.
    """

    def __init__(self, folder: str, make: Callable[[], str]) -> None:
        self._folder, self._make = folder, make
        self._fingerprint, self._path, self._held = "", "", -1

    def take(self, fingerprint: str) -> tuple[str, bool]:
        """A key for the request with this fingerprint (hex), and whether it was taken over from a process that died."""
        self._fingerprint = fingerprint
        for name in sorted(_names(self._folder)):
            if name.startswith(f"{fingerprint}-") and name.endswith(".json"):
                key = self._take_over(os.path.join(self._folder, name))
                if key is not None:
                    return key, True
        return self._fresh(), False

    def renew(self) -> str:
        """Drop the key in hand, whose claim has ended, for a fresh one of the same request."""
        self.settle()
        return self._fresh()

    def settle(self) -> None:
        """The definite answer has been printed: the key goes."""
        if self._held >= 0:
            _remove(self._path)
        self.leave()

    def leave(self) -> None:
        """The answer was `unknown` or `busy`: the key stays, free for the same command run again."""
        if self._held >= 0:
            os.close(self._held)
        self._held = -1

    def _take_over(self, path: str) -> str | None:
        """The key at `path`, locked from now on; None when another holds it, or settled it meanwhile."""
        with _disk():
            try:
                held = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            except FileNotFoundError:
                return None
        try:
            # Its owner removes the file before letting go of the lock: who gets the lock then has a file without a name.
            found = _read(path, {"key": str}) if hold(held) and os.fstat(held).st_nlink else None
        except BaseException:
            os.close(held)
            raise
        if found is None:
            os.close(held)
            return None
        self._path, self._held = path, held
        return str(found["key"])

    def _fresh(self) -> str:
        key = self._make()
        self._path = os.path.join(self._folder, f"{self._fingerprint}-{os.urandom(8).hex()}.json")
        self._held = _write_whole(self._path, _encoded({"key": key}), 0o600, lock=True)
        return key


def _encoded(values: dict[str, Any]) -> bytes:
    return (json.dumps({"format": _FORMAT, **values}) + "\n").encode("ascii")


def _read(path: str, expected: dict[str, type]) -> dict[str, Any] | None:
    """What the file holds, None when there is none. Exactly these fields, of these types."""
    with _disk():
        try:
            with open(path, "rb") as stream:
                found = json.loads(stream.read())
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as fault:
            raise _damaged(path, "it is no JSON text") from fault
    if not isinstance(found, dict) or found.pop("format", None) != _FORMAT:
        raise _damaged(path, f"it is not of format {_FORMAT}")
    if {name: type(value) for name, value in found.items()} != expected:
        raise _damaged(path, "its fields are not the expected ones")
    return found


def _damaged(path: str, why: str) -> Damaged:
    return Damaged("damaged", f"{path} cannot be trusted: {why}", path=path)


def _names(folder: str) -> list[str]:
    with _disk():
        try:
            return os.listdir(folder)
        except FileNotFoundError:
            return []


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise from_oserror(fault, "keeping this worktree's notes") from fault


def _write_whole(path: str, data: bytes, mode: int, *, once: bool = False, lock: bool = False) -> int:
    """Put a file with `data` at `path`, durably: a reader, or a power cut, finds nothing (the old bytes) or all of it.

    With `once` a file that is there already stays. With `lock` the file is locked before it can be seen, and its
    descriptor, which is returned, stays open.
    """
    folder = os.path.dirname(path)
    temporary = os.path.join(folder, f".{os.urandom(8).hex()}.new")
    with _disk():
        owner = fs.owner_of(folder)
        fs.make_folder(folder, 0o700, sharing=owner)
        descriptor = fs.create(temporary, mode, sharing=owner)
        try:
            fs.set_mode(descriptor, mode, temporary)
            if lock:
                hold(descriptor)
            fs.write(descriptor, data, temporary)
            fs.sync_data(descriptor, temporary)
            if once:
                with suppress(FileExistsError):
                    fs.link(temporary, path)
                fs.unlink(temporary)
            else:
                fs.rename(temporary, path)
            fs.sync_folder(folder)
        except BaseException:
            os.close(descriptor)
            fs.unlink(temporary)
            raise
    if not lock:
        os.close(descriptor)
    return descriptor


def _remove(path: str) -> None:
    """Remove the file; already gone is fine. What a power cut brings back is a dead token or an answered request."""
    with _disk():
        fs.unlink(path)
