"""The root: the checkout that people look at. Drafts are shown there, targets are installed there (§5, §6).

Nothing a person or an editor put there is ever overwritten unseen: a draft takes a free name or none, and what a target
held is looked at once more after it has been swapped out.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Final, Literal

from draftfs import layout
from draftfs.engine import Performed, Transaction, fs
from draftfs.engine.objects import Objects, digest_of
from draftfs.errors import Refused, from_oserror
from draftfs.records import Content, Draft, Effect, InstallTarget, PlaceDraft

_RECENT_NS: Final = 2_000_000_000
_TEMPORARY: Final = ".draftfs-"

KeepHandEdit = Callable[[Transaction, str, Content, Content | None, int], None]


@dataclass(frozen=True)
class Sighting:
    """What stands at a path. `content` is None unless it is a regular file; `detail` says what else it is."""

    kind: Literal["file", "absent", "other"]
    content: Content | None
    detail: str = ""


class Tree:
    """The root at `top`. `branch` tells which branch it is on; `keep` records a hand edit that was displaced."""

    def __init__(self, top: str, objects: Objects, branch: Callable[[], str | None], keep: KeepHandEdit) -> None:
        self.top, self.objects = top, objects
        self._branch, self._keep = branch, keep
        self._seen: dict[str, tuple[int, int, int]] = {}

    def path(self, target: str) -> str:
        return f"{self.top}/{target}"

    # ── looking ──

    def observe(self, target: str) -> Sighting:
        """What stands in the target's place now, read to its end."""
        before = time.time_ns()
        sighting, signature = look(self.path(target))
        if signature is not None and signature[2] < before - _RECENT_NS:
            self._seen[target] = signature
        else:
            self._seen.pop(target, None)  # an edit in the same tick would leave the same times: read it again later
        return sighting

    def open(self, target: str) -> int:
        return os.open(self.path(target), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)

    def highest_number(self, target: str) -> int:
        """The highest number that a draft-shaped file beside the target has, whoever put it there; 0 without any."""
        folder, _, name = target.rpartition("/")
        try:
            listed = os.listdir(self.path(folder) if folder else self.top)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return 0
        drafts = (layout.parse_draft_name(each) for each in listed if each.startswith(name))
        return max((each.number for each in drafts if each is not None and each.target == name), default=0)

    def shows(self, name: str) -> bool:
        """Whether a file of this name (a draft's) is there."""
        return os.path.lexists(self.path(name))

    def file_state(self, draft: Draft) -> Literal["whole", "missing", "tampered"]:
        """Whether the draft's file holds what was recorded. Its mode on disk does not count."""
        sighting, _ = look(self.path(layout.draft_name(draft)))
        if sighting.kind == "absent":
            return "missing"
        if sighting.content is None:
            return "tampered"
        if draft.content is None:
            return "whole" if sighting.content.size == 0 else "tampered"
        return "whole" if sighting.content.sha256 == draft.content.sha256 else "tampered"

    # ── preparing, before the lock ──

    def stage_draft(self, stack: ExitStack, target: str, content: Content | None) -> str:
        """A copy to show beside the target, durable; its path relative to the store. Raises OSError."""
        executable = content is not None and content.mode == "100755"
        staged, descriptor = self._stage(stack, target, 0o555 if executable else 0o444)
        self._fill(content, descriptor, staged)
        return os.path.relpath(staged, self.objects.folder)

    def stage_target(self, stack: ExitStack, target: str, content: Content | None) -> str:
        """A copy to put in the target's place, durable: executable bit from the draft, the rest of the mode and the owner
        from what stands there; a new target gets the umask's mode. For a deletion just a free name, to move the target
        to. Its path relative to the store. Raises OSError."""
        if content is None:
            return os.path.relpath(f"{self._staging_folder(target)[0]}/{secrets.token_hex(8)}", self.objects.folder)
        executable = content.mode == "100755"
        staged, descriptor = self._stage(stack, target, 0o777 if executable else 0o666)
        try:
            old = os.stat(self.path(target), follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            pass
        else:
            new = os.fstat(descriptor)
            if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
                fs.set_owner(descriptor, old.st_uid, old.st_gid, staged)
            fs.set_mode(descriptor, _with_executable(stat.S_IMODE(old.st_mode), executable=executable), staged)
        self._fill(content, descriptor, staged)
        return os.path.relpath(staged, self.objects.folder)

    def is_writable(self, target: str) -> bool:
        """Whether files can be made where the target is."""
        folder = _existing(os.path.dirname(self.path(target)))
        return os.access(folder, os.W_OK | os.X_OK)

    def require_writable(self, target: str) -> None:
        """Raise `permission` when the target could not be replaced: before anything is changed."""
        if not self.is_writable(target):
            folder = _existing(os.path.dirname(self.path(target)))
            number = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
            raise from_oserror(OSError(number, os.strerror(number), folder), f"replacing {target}")

    def _stage(self, stack: ExitStack, target: str, mode: int) -> tuple[str, int]:
        """Prepare in the store where that is on the target's file system: no crash can then leave litter in the root."""
        folder, prefix = self._staging_folder(target)
        return self.objects.stage(stack, folder, mode, prefix)

    def _staging_folder(self, target: str) -> tuple[str, str]:
        inside = f"{self.objects.folder}/{layout.STAGING}"
        beside = _existing(os.path.dirname(self.path(target)))
        return (inside, "") if os.stat(beside).st_dev == os.stat(inside).st_dev else (beside, _TEMPORARY)

    def _fill(self, content: Content | None, descriptor: int, staged: str) -> None:
        if content is not None:
            source = self.objects.open(content)
            try:
                self.objects.copy(source, descriptor, staged)
            finally:
                os.close(source)
        fs.sync_data(descriptor, staged)

    # ── effects ──

    def perform(self, effect: Effect, staged: str | None) -> Performed:
        """Do it, durably. What the disk refuses is an answer: a draft is shown later, an install has failed."""
        try:
            if isinstance(effect, PlaceDraft):
                return self._place(effect, staged)
            return self._install(effect, staged)
        except OSError as fault:
            later = isinstance(effect, PlaceDraft)
            doing = f"showing draft {effect.number} of" if later else "replacing"
            return Performed(effect, "later" if later else "failed", from_oserror(fault, f"{doing} {effect.target}"))

    def redo(self, effect: Effect, staged: str | None) -> Performed:
        """Do what a crash, or a root that could not be written, left undone, if the disk shows that it still is."""
        if isinstance(effect, PlaceDraft):
            return self.perform(effect, None)
        displaced = self._left_over(effect, staged)
        held = self.observe(effect.target)
        if held.kind != "other" and held.content == effect.content:
            return Performed(effect, "done", displaced=displaced)
        if held.kind == "other" or not _same_bytes(held.content, effect.replaces):
            return Performed(effect, "failed", displaced=displaced)
        if self._branch() != effect.branch:
            return Performed(effect, "later", displaced=displaced)
        with ExitStack() as stack:
            try:
                fresh = self.stage_target(stack, effect.target, effect.content)
            except OSError as fault:
                return Performed(effect, "later", from_oserror(fault, f"replacing {effect.target}"), displaced)
            outcome = self.perform(effect, os.path.normpath(os.path.join(self.objects.folder, fresh)))
            return replace(outcome, displaced=outcome.displaced or displaced)

    def aftermath(self, transaction: Transaction, performed: tuple[Performed, ...]) -> None:
        for each in performed:
            if each.displaced is not None and isinstance(each.effect, InstallTarget):
                target = each.effect.target
                self._keep(transaction, target, each.displaced, each.effect.replaces, self.highest_number(target))

    def _place(self, effect: PlaceDraft, staged: str | None) -> Performed:
        delete = effect.content is None
        name = str(layout.DraftName(effect.target, effect.number, effect.author, delete))
        final = self.path(name)
        with ExitStack() as stack:
            if staged is None:
                if self.shows(name):
                    return Performed(effect, "done")
                relative = self.stage_draft(stack, effect.target, effect.content)
                staged = os.path.normpath(os.path.join(self.objects.folder, relative))
            fs.make_folder(os.path.dirname(final))
            try:
                fs.link(staged, final)
            except FileExistsError:
                taken = Refused("tampered", f"{name} was there already, and stays as it is", target=effect.target)
                return Performed(effect, "failed", taken)
            fs.sync_folder(os.path.dirname(final))
            fs.unlink(staged)
        return Performed(effect, "done")

    def _install(self, effect: InstallTarget, staged: str | None) -> Performed:
        assert staged is not None, "an install is always prepared"
        final = self.path(effect.target)
        fs.make_folder(os.path.dirname(final))
        aside: str | None = staged
        if effect.content is None:
            with suppress(FileNotFoundError):
                fs.rename(final, staged)
        elif effect.replaces is None and _link_free(staged, final):
            aside = None
        else:
            aside = _swap(staged, final)
        displaced = self._displaced(effect, aside) if aside is not None else None
        fs.sync_folder(os.path.dirname(final))
        for leftover in {staged, aside or staged}:
            fs.unlink(leftover)
        return Performed(effect, "done", displaced=displaced)

    def _displaced(self, effect: InstallTarget, aside: str) -> Content | None:
        """What came out of the target's place, if it is not what the promotion saw there: an editor wrote in between."""
        try:
            facts = os.stat(aside, follow_symlinks=False)
        except FileNotFoundError:
            return None  # the target was deleted in between
        if self._seen.pop(effect.target, None) == (facts.st_ino, facts.st_size, facts.st_mtime_ns):
            return None
        sighting, _ = look(aside)
        if sighting.content is None or _same_bytes(sighting.content, effect.replaces):
            return None
        return self._kept(aside, sighting.content)

    def _left_over(self, effect: InstallTarget, staged: str | None) -> Content | None:
        """What an interrupted install left at `staged`: unseen bytes are kept, everything else is removed."""
        if staged is None:
            return None
        sighting, _ = look(staged)
        known = (effect.content, effect.replaces)
        displaced = None
        if sighting.content is not None and not any(_same_bytes(sighting.content, each) for each in known):
            displaced = self._kept(staged, sighting.content)
        fs.unlink(staged)
        return displaced

    def _kept(self, path: str, content: Content) -> Content:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return self.objects.add(descriptor, content.mode)
        finally:
            os.close(descriptor)


def look(path: str) -> tuple[Sighting, tuple[int, int, int] | None]:
    """What stands at `path`, without following a link, and (inode, size, mtime in ns) of a regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return Sighting("absent", None), None
    except NotADirectoryError:
        return Sighting("other", None, "one of its parents is a file"), None
    except OSError as fault:
        if fault.errno == errno.ELOOP:
            return Sighting("other", None, f"it is a symlink to {os.readlink(path)}"), None
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
        return Sighting("file", content), (facts.st_ino, facts.st_size, facts.st_mtime_ns)
    finally:
        os.close(descriptor)


def git_mode(mode: int) -> str:
    """A file's mode as git keeps it: executable for its owner, or not."""
    return "100755" if mode & stat.S_IXUSR else "100644"


def _with_executable(mode: int, *, executable: bool) -> int:
    """`mode` with the executable bit set for whoever may read, or taken from everybody; as it is where it fits already."""
    if executable == bool(mode & stat.S_IXUSR):
        return mode
    return mode | (mode & 0o444) >> 2 if executable else mode & ~0o111


def _same_bytes(a: Content | None, b: Content | None) -> bool:
    return a is b if a is None or b is None else a.sha256 == b.sha256


def _link_free(staged: str, final: str) -> bool:
    try:
        fs.link(staged, final)
    except FileExistsError:
        return False
    return True


def _swap(staged: str, final: str) -> str:
    """Put `staged` in `final`'s place; returns where what stood there is now.

    Where two names cannot be exchanged in one step, what stands there gets a second name first.
    """
    try:
        fs.exchange(staged, final)
    except OSError as fault:
        if fault.errno not in (errno.ENOSYS, errno.EINVAL, errno.ENOENT):
            raise
    else:
        return staged
    aside = f"{staged}-old"
    with suppress(FileNotFoundError):
        fs.link(final, aside)
    fs.rename(staged, final)
    return aside


def _existing(folder: str) -> str:
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder
