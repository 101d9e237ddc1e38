"""The root: the checkout that people look at. Drafts are shown there, targets are installed there (§5, §6).

Nothing a person or an editor put there is ever overwritten unseen: a draft takes a free name or none, and what a target
held is looked at once more after it has been swapped out.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Final, Literal

from draftfs import layout
from draftfs.answers import DraftInfo
from draftfs.engine import Performed, Transaction, fs
from draftfs.engine.objects import Objects
from draftfs.errors import Damaged, DraftfsError, EnvironmentFault, Refused, from_oserror
from draftfs.records import Content, Draft, Effect, InstallTarget, PlaceDraft, RemoveDraft
from draftfs.sighting import (
    Sighting,
    Stamp,
    existing_folder,
    is_draft,
    look,
    same_bytes,
    stamp,
    wait_for_writers,
    with_executable,
)

_LARGE: Final = 16 << 20
_RECENT_NS: Final = 2_000_000_000
_TEMPORARY: Final = ".draftfs-"
_CANNOT_SWAP: Final = frozenset((errno.ENOSYS, errno.EINVAL, errno.ENOENT))
_OLD: Final = "-old"
_DOING: Final = {
    PlaceDraft: "showing draft {0.number} of {0.target}",
    RemoveDraft: "removing draft {0.number} of {0.target}",
    InstallTarget: "replacing {0.target}",
}
FAR_NUMBER: Final = 10**9
"""No store counts this far: a dropped file with such a number must not push the next draft's name over every limit."""

KeepHandEdit = Callable[[Transaction, str, Content, Content | None, int], None]


class Tree:
    """The root at `top`. `branch` tells which branch it is on; `keep` records a hand edit that was displaced."""

    def __init__(self, top: str, objects: Objects, branch: Callable[[], str | None], keep: KeepHandEdit) -> None:
        self.top, self.objects = top, objects
        self._branch, self._keep = branch, keep
        self._seen: dict[str, Stamp] = {}
        self._ready: dict[tuple[str, int], str] = {}

    def path(self, target: str) -> str:
        return f"{self.top}/{target}"

    def require(self) -> None:
        """Raises EnvironmentFault `git` where the root is gone: then it does not hold nothing, it was moved or removed."""
        if not os.path.isdir(self.top):
            hint = "a person, where it is now: draftfs init --root ."
            raise EnvironmentFault("git", f"the root is gone: {self.top}", hint=hint, path=self.top)

    # ── looking ──

    def observe(self, target: str) -> Sighting:
        """What stands in the target's place now, read to its end."""
        before = time.time_ns()
        linked = self.linked_parent(target)
        if linked is not None:
            return Sighting("other", None, f"{linked} is a symlink to {os.readlink(self.path(linked))}")
        sighting, found = look(self.path(target))
        # Under the lock a large file is known again by its stamp, and any other read again. An edit in the same tick
        # would leave the same times.
        if found is not None and found.size >= _LARGE and found.latest < before - _RECENT_NS:
            self._seen[target] = found
        else:
            self._seen.pop(target, None)
        return sighting

    def linked_parent(self, target: str) -> str | None:
        """The outermost folder of the target that is a symlink: what lies behind it is another place, maybe outside."""
        parents = (target[:at] for at, letter in enumerate(target) if letter == "/")
        return next((parent for parent in parents if os.path.islink(self.path(parent))), None)

    def highest_number(self, target: str) -> int:
        """The highest number that a draft-shaped file beside the target has, whoever put it there; 0 without any."""
        try:
            numbers = [each.number for each in self._drafts_beside(target)]
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return 0
        return max((number for number in numbers if number < FAR_NUMBER), default=0)

    def draft_files(self, target: str, number: int) -> list[str]:
        """The files beside the target that are named like its draft of this number."""
        try:
            return [str(each) for each in self._drafts_beside(target) if each.number == number]
        except OSError:
            return []

    def _drafts_beside(self, target: str) -> list[layout.DraftName]:
        """What the draft-shaped files beside the target say, by root-relative name, sorted. Raises OSError."""
        folder, slash, name = target.rpartition("/")
        listed = sorted(each for each in os.listdir(self.path(folder) if folder else self.top) if each.startswith(name))
        parsed = (layout.parse_draft_name(f"{folder}{slash}{each}") for each in listed)
        return [each for each in parsed if each is not None and each.target == target]

    def shows(self, name: str) -> bool:
        """Whether a file of this name (a draft's) is there."""
        return os.path.lexists(self.path(name))

    def with_shown(self, infos: Iterable[DraftInfo]) -> tuple[DraftInfo, ...]:
        """The same drafts, with whether their files are there now."""
        return tuple(replace(info, shown=self.shows(info.file)) for info in infos)

    def file_state(self, draft: Draft) -> Literal["whole", "missing", "tampered"]:
        """Whether the draft's file holds what was recorded. Its mode on disk does not count."""
        path = self.path(layout.draft_name(draft))
        sighting, _ = look(path)
        if sighting.kind == "absent" or not os.path.isdir(os.path.dirname(path)):
            return "missing"
        return "whole" if is_draft(sighting, draft.content) else "tampered"

    def holds(self, name: str, content: Content | None) -> bool:
        """Whether the file of this name (a draft's) is what was recorded."""
        return is_draft(self.observe(name), content)

    # ── preparing, before the lock ──

    def stage_draft(self, stack: ExitStack, target: str, content: Content | None) -> str:
        """A copy to show beside the target, durable; its path relative to the store. Raises OSError."""
        executable = content is not None and content.mode == "100755"
        staged, descriptor = self._stage(stack, target, 0o555 if executable else 0o444, sharing=self.objects.sharing)
        self._fill(content, descriptor, staged)
        return os.path.relpath(staged, self.objects.folder)

    def stage_target(self, stack: ExitStack, target: str, content: Content | None) -> str:
        """A copy to put in the target's place, durable: executable bit from the draft, the rest of the mode and the owner
        from what stands there; a new target gets the umask's mode. For a deletion just a free name, to move the target
        to. Its path relative to the store. Raises OSError."""
        if content is None:
            folder, prefix = self._staging_folder(target)
            return os.path.relpath(f"{folder}/{prefix}{os.urandom(8).hex()}", self.objects.folder)
        executable = content.mode == "100755"
        staged, descriptor = self._stage(stack, target, 0o777 if executable else 0o666)
        try:
            old = os.stat(self.path(target), follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            folder_facts = os.stat(existing_folder(os.path.dirname(self.path(target))))
            if folder_facts.st_mode & stat.S_ISGID:  # a file made in there would have its group
                fs.set_owner(descriptor, -1, folder_facts.st_gid, staged)
        else:
            new = os.fstat(descriptor)
            if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
                fs.set_owner(descriptor, old.st_uid, old.st_gid, staged)
            fs.set_mode(descriptor, with_executable(stat.S_IMODE(old.st_mode), executable=executable), staged)
        self._fill(content, descriptor, staged)
        return os.path.relpath(staged, self.objects.folder)

    def make_ready(self, stack: ExitStack, effects: Iterable[Effect]) -> None:
        """Copy the drafts that could not be shown so far and can be now, before the lock is taken. Raises OSError."""
        for effect in effects:
            name = layout.draft_name(effect) if isinstance(effect, PlaceDraft) else None
            if name is not None and not self.shows(name) and self.is_writable(effect.target):
                with suppress(Damaged):
                    self._ready[effect.target, effect.number] = self.stage_draft(stack, effect.target, effect.content)

    def is_writable(self, target: str) -> bool:
        """Whether files can be made where the target is."""
        folder = existing_folder(os.path.dirname(self.path(target)))
        return os.access(folder, os.W_OK | os.X_OK)

    def require_writable(self, target: str, doing: str) -> None:
        """Raise `permission` where nothing can be made or removed beside the target: before anything is changed."""
        if not self.is_writable(target):
            folder = existing_folder(os.path.dirname(self.path(target)))
            number = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
            raise from_oserror(OSError(number, os.strerror(number), folder), doing)

    def _stage(self, stack: ExitStack, target: str, mode: int, *, sharing: fs.Sharing = fs.UNSHARED) -> tuple[str, int]:
        """Prepare in the store where that is on the target's file system: no crash can then leave litter in the root."""
        folder, prefix = self._staging_folder(target)
        return self.objects.stage(stack, folder, mode, prefix, sharing=sharing)

    def _staging_folder(self, target: str) -> tuple[str, str]:
        inside = f"{self.objects.folder}/{layout.STAGING}"
        beside = existing_folder(os.path.dirname(self.path(target)))
        return (inside, "") if fs.one_mount(inside, beside) else (beside, _TEMPORARY)

    def _fill(self, content: Content | None, descriptor: int, staged: str) -> None:
        if content is not None:
            source = self.objects.open(content)
            try:
                digest, _ = self.objects.copy(source, descriptor, staged)
            finally:
                os.close(source)
            if digest != content.sha256:
                name = layout.object_file(content.sha256)
                raise Damaged("damaged", f"{name} does not hold what its name says", file=name)
        fs.sync_data(descriptor, staged)

    # ── effects ──

    def perform(self, effect: Effect, staged: str | None) -> Performed:
        """Do it, durably. What the disk refuses is an answer: a draft is shown later, anything else has failed."""
        try:
            if isinstance(effect, RemoveDraft):
                return self._remove(effect)
            return self._place(effect, staged) if isinstance(effect, PlaceDraft) else self._install(effect, staged)
        except (OSError, DraftfsError) as fault:
            later = isinstance(effect, PlaceDraft)
            return Performed(effect, "later" if later else "failed", _told(fault, _DOING[type(effect)].format(effect)))

    def redo(self, effect: Effect, staged: str | None) -> Performed:
        """Do what a crash, or a root that could not be written, left undone, if the disk shows that it still is."""
        if not isinstance(effect, InstallTarget):
            return self.perform(effect, None)
        try:
            fs.sync_folder(os.path.dirname(self.path(effect.target)))  # the swap may have come, and the sync not
            displaced = self._left_over(effect, staged)
            held = self.observe(effect.target)
            if displaced is not None or (held.kind != "other" and held.content == effect.content):
                return Performed(effect, "done", displaced=displaced)
            if self._branch() != effect.branch:
                return Performed(effect, "later")
            if held.kind == "other" or not same_bytes(held.content, effect.replaces):
                return Performed(effect, "failed")
            with ExitStack() as stack:
                fresh = self.stage_target(stack, effect.target, effect.content)
                return self.perform(effect, self._absolute(fresh))
        except (OSError, DraftfsError) as fault:
            return Performed(effect, "later", _told(fault, f"replacing {effect.target}"))

    def aftermath(self, transaction: Transaction, performed: tuple[Performed, ...]) -> None:
        for each in performed:
            if each.displaced is not None and isinstance(each.effect, InstallTarget):
                target = each.effect.target
                self._keep(transaction, target, each.displaced, each.effect.replaces, self.highest_number(target))

    def _place(self, effect: PlaceDraft, staged: str | None) -> Performed:
        self.require()
        name = layout.draft_name(effect)
        final = self.path(name)
        ready = self._ready.pop((effect.target, effect.number), None)
        with ExitStack() as stack:
            if staged is None:
                if self.shows(name):
                    fs.sync_folder(os.path.dirname(final))  # whoever made it may not have come to that yet
                    return Performed(effect, "done")
                self.require_writable(effect.target, _DOING[PlaceDraft].format(effect))
                staged = self._absolute(ready or self.stage_draft(stack, effect.target, effect.content))
            self._require_straight(effect.target)
            fs.make_folder(os.path.dirname(final))
            try:
                fs.link(staged, final)
            except FileExistsError:
                taken = Refused("tampered", f"{name} was there already, and stays as it is", target=effect.target)
                return Performed(effect, "failed", taken)
            fs.sync_folder(os.path.dirname(final))
            fs.unlink(staged)
        return Performed(effect, "done")

    def _remove(self, effect: RemoveDraft) -> Performed:
        self.require()
        name = layout.draft_name(effect)
        self._require_straight(effect.target)
        seen, now = self._seen.pop(name, None), stamp(self.path(name))
        if now is not None:
            if seen != now and not self.holds(name, effect.content):
                other = Refused("tampered", f"{name} does not hold what was recorded, and stays", target=effect.target)
                return Performed(effect, "failed", other)
            fs.unlink(self.path(name))
        fs.sync_folder(existing_folder(os.path.dirname(self.path(name))))
        return Performed(effect, "done")

    def _install(self, effect: InstallTarget, staged: str | None) -> Performed:
        assert staged is not None, "an install is always prepared"
        final = self.path(effect.target)
        self._require_straight(effect.target)
        fs.make_folder(os.path.dirname(final))
        seen, now = self._seen.pop(effect.target, None), stamp(final)
        aside = _take_away(final, staged) if effect.content is None else _swap_in(staged, final)
        displaced: Content | None = None
        if aside is not None:
            try:
                displaced = self._displaced(effect, aside, seen if seen == now else None)
            except (OSError, Refused) as fault:
                displaced = self._put_back(effect, aside)
                return Performed(effect, "failed", _told(fault, f"replacing {effect.target}"), displaced)
        fs.sync_folder(os.path.dirname(final))
        for leftover in {staged, aside or staged}:
            if displaced is None or not (leftover == staged or self._in_store(leftover)):  # else recorded first
                fs.unlink(leftover)
        return Performed(effect, "done", displaced=displaced)

    def _displaced(self, effect: InstallTarget, aside: str, untouched: Stamp | None) -> Content | None:
        """What came out of the target's place, kept, if it is not what the promotion saw there: an editor wrote in
        between. Raises Refused `not_a_file` for what is no regular file, OSError where it cannot be kept."""
        wait_for_writers(aside)
        now = stamp(aside)
        if untouched is not None and now is not None and untouched.same_bytes(now):
            return None
        sighting, _ = look(aside)
        if sighting.kind == "other":
            raise Refused("not_a_file", f"{effect.target} cannot be replaced: {sighting.detail}", target=effect.target)
        return self._unseen(aside, sighting, (effect.replaces,))

    def _put_back(self, effect: InstallTarget, aside: str) -> Content | None:
        """Give what was swapped out its place again; returns what stood there meanwhile, kept, if nobody had seen it."""
        final = self.path(effect.target)
        if look(final)[0].kind == "other":  # somebody put another folder or link there: both must stay
            fs.rename(aside, f"{final}.put-aside-{os.urandom(4).hex()}")
            return None
        try:
            fs.exchange(aside, final)
        except OSError as fault:
            if fault.errno not in _CANNOT_SWAP:
                raise
            fs.rename(aside, final)
            return None
        meanwhile = self._unseen(aside, look(aside)[0], (effect.content, effect.replaces))
        fs.unlink(aside)
        return meanwhile

    def _left_over(self, effect: InstallTarget, staged: str | None) -> Content | None:
        """What an interrupted install left at `staged`: unseen bytes are kept (and stay there, too, until that has been
        recorded), a folder or link gets its place again, everything else is removed."""
        displaced: Content | None = None
        for path in () if staged is None else (staged, f"{staged}{_OLD}"):
            sighting, _ = look(path)
            if sighting.kind == "other":
                displaced = self._put_back(effect, path) or displaced
            elif sighting.kind == "file":
                unseen = self._unseen(path, sighting, (effect.content, effect.replaces))
                displaced = unseen or displaced
                if unseen is None:
                    fs.unlink(path)
        return displaced

    def _unseen(self, path: str, sighting: Sighting, known: tuple[Content | None, ...]) -> Content | None:
        """The file's content, kept as an object, unless it is one of those `known`."""
        if sighting.content is None or any(same_bytes(sighting.content, each) for each in known):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return self.objects.add(descriptor, sighting.content.mode)
        finally:
            os.close(descriptor)

    def _require_straight(self, target: str) -> None:
        linked = self.linked_parent(target)
        if linked is not None:
            raise Refused("not_a_file", f"{target} cannot be written: {linked} is a symlink", target=target)

    def _in_store(self, staged: str) -> bool:
        return os.path.dirname(staged) == f"{self.objects.folder}/{layout.STAGING}"

    def _absolute(self, staged: str) -> str:
        return os.path.normpath(os.path.join(self.objects.folder, staged))


def _swap_in(staged: str, final: str) -> str | None:
    """Put `staged` in `final`'s place; returns where what stood there is now, None when nothing did.

    Where two names cannot be exchanged in one step, what stands there gets a second name first.
    """
    while True:
        with suppress(FileExistsError):
            fs.link(staged, final)
            return None
        try:
            fs.exchange(staged, final)
        except OSError as fault:
            if fault.errno not in _CANNOT_SWAP:
                raise
            if fault.errno == errno.ENOENT:
                continue  # it has gone this very moment
            aside = f"{staged}{_OLD}"
            fs.link(final, aside)
            fs.rename(staged, final)
            return aside
        return staged


def _take_away(final: str, aside: str) -> str | None:
    try:
        fs.rename(final, aside)
    except FileNotFoundError:
        return None
    return aside


def _told(fault: OSError | DraftfsError, doing: str) -> DraftfsError:
    return from_oserror(fault, doing) if isinstance(fault, OSError) else fault
