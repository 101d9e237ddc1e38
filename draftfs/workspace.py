"""What the caller's checkout and the root hold, found out before any lock is taken: what a claim starts from, the bytes of
a draft, what stands in a target's place.
"""

from __future__ import annotations

import errno
import functools
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from draftfs import layout
from draftfs.engine import fs
from draftfs.engine.objects import Objects
from draftfs.errors import BadRequest, DraftfsError, EnvironmentFault, Refused, from_oserror, pasteable
from draftfs.frozen import frozen
from draftfs.records import HAND_EDIT, Actor, Base, Choice, Content, Lease, TreeEntry
from draftfs.repo import Head, Repo
from draftfs.rules.claims import Start
from draftfs.rules.promotion import Observed
from draftfs.sighting import Sighting, git_mode, look
from draftfs.stamps import Stamps
from draftfs.tree import Tree

NAME_BYTES: Final = 255


@frozen
class Filling:
    """What a fresh worktree is made of: a commit, and over it the root's files; None where the root has nothing."""

    commit: str
    files: dict[str, Content | None]


@frozen
class Workspace:
    """One caller: the checkout they stand in, the root, and the store's contents."""

    repo: Repo
    tree: Tree
    objects: Objects

    @property
    def in_root(self) -> bool:
        return self.repo.top == self.tree.top

    def head(self) -> Head:
        """Where the root's history stands."""
        return self.repo.head(self.tree.top)

    # ── claims ──

    def start(self, paths: tuple[str, ...], actor: Actor, worktree: str | None, *, adopt: bool) -> Start:
        """What the claimant starts from at `paths` (§5, Claim)."""
        self.tree.require()
        if self.in_root:
            if actor.is_agent:
                return Start(paths, (), refusal=_claim_in_root(actor))
            return Start(paths, tuple(self._root_base(path) for path in paths), worktree=worktree)
        common = functools.cache(self._merge_base)  # three processes of git that most claims need not wait for
        bases: list[Base] = []
        newer: list[str] = []
        dirty: list[str] = []
        for path in paths:
            self._judge(path, common, bases, newer, dirty)
        refusal = None if adopt or not dirty else _dirty(dirty)
        return Start(paths, tuple(bases), tuple(newer), worktree, refusal)

    def _judge(
        self, path: str, common: Callable[[], str | None], bases: list[Base], newer: list[str], dirty: list[str]
    ) -> None:
        """The base of one reserved path: the root's bytes if this worktree holds the same, else the merge base's."""
        here = f"{self.repo.top}/{path}"
        if os.path.isdir(here) or os.path.isdir(self.tree.path(path)):
            self._judge_folder(path, common(), bases, newer, dirty)
            return
        mine, people = look(here)[0], self.tree.observe(path)
        if self._same(path, mine, people):
            bases.append(Base(path, self._kept_in_root(path, people)))
            return
        shared = common()
        entry = self.repo.entry(shared, path) if shared else None
        if entry is not None and entry.mode == "040000":
            self._judge_folder(path, shared, bases, newer, dirty)
            return
        if not self._same_as_commit(path, mine, entry):
            dirty.append(path)
        if not self._same_as_commit(path, people, entry, self.tree.top):
            newer.append(path)
        bases.append(Base(path, self.committed(path, entry)))

    def _judge_folder(
        self, folder: str, common: str | None, bases: list[Base], newer: list[str], dirty: list[str]
    ) -> None:
        """A folder's base is the merge base's tree, but for files in which this worktree holds the root's bytes."""
        if common is None:
            bases.append(Base(folder, None))
            return
        bases.append(Base(folder, None, common))
        for path in self.repo.changed_under(common, folder):
            mine, people = look(f"{self.repo.top}/{path}")[0], self.tree.observe(path)
            if self._same(path, mine, people):
                bases.append(Base(path, self._kept_in_root(path, people)))
            else:
                dirty.append(path)
        theirs = self.head().commit
        if theirs and self.repo.entry(theirs, folder) != self.repo.entry(common, folder):
            newer.append(folder)

    def _root_base(self, path: str) -> Base:
        if os.path.isdir(self.tree.path(path)):
            return Base(path, None, self.head().commit)
        return Base(path, self._kept_in_root(path, self.tree.observe(path)))

    def start_fresh(self, paths: tuple[str, ...], worktree: str) -> tuple[Start, Filling]:
        """What a worktree starts from that is still to be made: the root's bytes, those of every file in a folder too.

        For the root's own checkout.
        """
        commit = self.head().commit
        if commit is None:
            raise EnvironmentFault("git", "the repository has no commit yet", hint="git commit, then try again")
        bases: list[Base] = []
        files: dict[str, Content | None] = {}
        for path in paths:
            folder = os.path.isdir(self.tree.path(path)) and not os.path.islink(self.tree.path(path))
            if folder:
                bases.append(Base(path, None, commit))
            for each in self.repo.changed_under(commit, path) if folder else (path,):
                seen = self.tree.observe(each)
                bases.append(Base(each, self._kept_in_root(each, seen)))
                if seen.kind != "other":  # a symlink, say, is left as the commit has it
                    files[each] = bases[-1].content
        return Start(paths, tuple(bases), worktree=worktree), Filling(commit, files)

    def _merge_base(self) -> str | None:
        mine, theirs = self.repo.head().commit, self.head().commit
        if mine is None or theirs is None or mine == theirs:
            return mine and theirs
        return self.repo.merge_base(mine, theirs)

    def _same(self, path: str, mine: Sighting, people: Sighting) -> bool:
        """The same bytes, or the same clean form for git, with the same executable bit."""
        if mine.content is None or people.content is None:
            return mine.kind == people.kind and mine.detail == people.detail
        if mine.content.mode != people.content.mode:
            return False
        if mine.content.sha256 == people.content.sha256:
            return True
        return self.repo.clean_blob(path, f"{self.repo.top}/{path}") == self.repo.clean_blob(
            path, self.tree.path(path), self.tree.top
        )

    def _same_as_commit(self, path: str, seen: Sighting, entry: TreeEntry | None, checkout: str | None = None) -> bool:
        if entry is None or seen.content is None:
            return entry is None and seen.kind == "absent"
        top = checkout or self.repo.top
        return seen.content.mode == entry.mode and self.repo.clean_blob(path, f"{top}/{path}", top) == entry.oid

    def committed(self, path: str, entry: TreeEntry | None) -> Content | None:
        """The file that a commit holds at `path`, kept as an object, as a checkout would have it."""
        if entry is None or not entry.mode.startswith("100"):
            return None
        with ExitStack() as stack:
            staged, descriptor = self.objects.stage(stack, f"{self.objects.folder}/{layout.STAGING}", 0o600)
            self.repo.smudged(entry.oid, path, descriptor)
            return self.add(staged, entry.mode)

    def base_under_folder(self, lease: Lease, target: str) -> Content | None:
        """The base of a file in a folder that the claim reserved as a whole."""
        for base in lease.bases:
            if base.commit is not None and target.startswith(base.path + "/"):
                return self.committed(target, self.repo.entry(base.commit, target))
        return None

    def _kept_in_root(self, path: str, seen: Sighting) -> Content | None:
        return None if seen.content is None else self.add(self.tree.path(path), seen.content.mode)

    def add(self, path: str, mode: str) -> Content:
        """Keep the bytes of the file at `path`, durably. Raises OSError."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            return self.objects.add(descriptor, mode)
        finally:
            os.close(descriptor)

    # ── drafts ──

    def drafted(self, target: str, source: str | int | None, *, delete: bool) -> Content | None:
        """The bytes that are to become a draft of `target`, kept as an object; None with `delete`.

        From the caller's checkout; or from a file (a path relative to the caller's folder), or an open descriptor. Raises
        BadRequest `bad_file` for everything that is not a regular file, and where the target is none.
        """
        here = self._regular_mode(target)
        if delete:
            return None
        if isinstance(source, int):
            return self.objects.add(source, here or "100644")
        name = source or target
        path = os.path.join(self.repo.cwd, source) if source is not None else f"{self.repo.top}/{target}"
        descriptor = _open_regular(path, name, target)
        try:
            return self.objects.add(descriptor, git_mode(os.fstat(descriptor).st_mode))
        finally:
            os.close(descriptor)

    def _regular_mode(self, target: str) -> str | None:
        """The mode of the target in the caller's checkout, None where there is no file."""
        path = f"{self.repo.top}/{target}"
        try:
            mode = os.stat(path, follow_symlinks=False).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISREG(mode):
            return git_mode(mode)
        what = f"a symlink to {os.readlink(path)}" if stat.S_ISLNK(mode) else "not a regular file"
        hint = "claim and draft the file it points to" if stat.S_ISLNK(mode) else "name a file, not a folder"
        raise BadRequest("bad_file", f"{target} is {what}: only regular files are drafted", hint=hint, path=target)

    def require_short_name(self, target: str, author: str) -> None:
        """Raise BadRequest `bad_path` where a draft of `target` by `author`, or a hand edit kept as one, has too long a
        file name."""
        longest = max(author, HAND_EDIT, key=len)
        name = str(layout.DraftName(os.path.basename(target), 10**6, longest, True))
        length = len(os.fsencode(name))
        if length > NAME_BYTES:
            raise BadRequest(
                "bad_path",
                f"a draft of {target} would need a file name of {length} bytes; the file system takes {NAME_BYTES}",
                hint="give the target a shorter name",
                path=target,
            )

    # ── promotion ──

    def observe(self, target: str, known: Sequence[Content | None], head: Head, *, keep: bool) -> Observed:
        """What stands in the target's place, and which of the `known` contents it is the same as (§5, Same bytes).

        With `keep` its bytes become an object, to be had back whatever becomes of the file (G6).
        """
        seen = self.kept_sighting(target) if keep else self.tree.observe(target)
        alike = set[str]()
        if seen.content is not None:
            alike.add(seen.content.sha256)
            others = {each.sha256: each for each in known if each is not None and self.objects.has(each)}
            if seen.content.sha256 not in others:
                kept = self.objects.path(seen.content.sha256)
                alike |= self._same_clean_form(target, kept if keep else self.tree.path(target), list(others))
        entry = self.repo.entry(head.commit, target) if head.commit else None
        return Observed(
            kind=seen.kind,
            content=seen.content,
            alike=frozenset(alike),
            taken=self.tree.highest_number(target),
            branch=head.branch,
            head=head.commit,
            head_entry=entry,
            detail=seen.detail,
            names=seen.names,
        )

    def _same_clean_form(self, target: str, file: str, digests: list[str]) -> set[str]:
        mine = self.repo.clean_blob(target, file, self.tree.top)
        return {
            each for each in digests if self.repo.clean_blob(target, self.objects.path(each), self.tree.top) == mine
        }

    def kept_sighting(self, target: str) -> Sighting:
        """What stands in the target's place, its bytes kept as an object."""
        while True:
            seen = self.tree.observe(target)
            if seen.content is None or self.objects.has(seen.content):
                return seen
            try:
                return replace(seen, content=self.add(self.tree.path(target), seen.content.mode))
            except OSError as fault:
                if fault.errno not in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.EISDIR):
                    raise  # else it was replaced this very moment

    def blob(self, target: str, content: Content | None) -> str | None:
        """Git's clean form of a content that the store keeps, by the root's attributes."""
        if content is None:
            return None
        return self.repo.clean_blob(target, self.objects.path(content.sha256), self.tree.top)

    def standing_now(self, choices: Mapping[str, Choice], stamps: Stamps | None = None) -> frozenset[str]:
        """The targets whose choices count now, by the root's HEAD; what `stamps` know of it is not asked again."""
        head = self.head()
        if head.commit is None or not choices:
            return self.standing(choices, head, {})
        ask = functools.partial(self.repo.entries, head.commit)
        entries = ask([*choices]) if stamps is None else stamps.committed(head.commit, [*choices], ask)
        return self.standing(choices, head, entries)

    def standing(self, choices: Mapping[str, Choice], head: Head, entries: Mapping[str, TreeEntry]) -> frozenset[str]:
        """The targets whose choices count (§5, Choice and git): on its own branch a choice does while HEAD holds what it held
        when it was made and no commit has touched the path, or holds what was chosen. `entries` is what HEAD holds at them.
        Git is asked once for all choices that were made at one commit, and only about those that are not committed."""
        found: set[str] = set()
        unsure: dict[str, list[str]] = {}
        for target, choice in choices.items():
            entry = entries.get(target)
            blob = entry.oid if entry is not None else None
            if head.branch != choice.branch:
                continue
            if blob == choice.blob:
                found.add(target)
            elif blob == choice.head_blob:
                if head.commit == choice.head or choice.head is None or head.commit is None:
                    found.add(target)
                else:
                    unsure.setdefault(choice.head, []).append(target)
        for commit, targets in unsure.items():
            assert head.commit is not None, "else nothing is unsure"
            found.update(set(targets) - self.repo.touched_since(commit, head.commit, targets))
        return frozenset(found)


def _claim_in_root(actor: Actor) -> DraftfsError:
    return Refused(
        "claim_in_root",
        "this is the checkout that people look at: an agent claims in a worktree of its own",
        hint=f"draftfs worktree add ../{actor.name} --as {actor.name}, and claim there",
    )


def _dirty(paths: list[str]) -> DraftfsError:
    return Refused(
        "dirty_worktree",
        f"{', '.join(paths)}: this worktree holds neither what people have nor what the two histories share",
        hint="take the edit back (git checkout -- PATH, git merge), or take it over as your own with --adopt",
        paths=paths,
    )


def _open_regular(path: str, name: str, target: str) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as fault:
        if fault.errno == errno.ELOOP:
            where = os.readlink(path)
            raise BadRequest(
                "bad_file",
                f"{name} is a symlink to {where}: only regular files are drafted",
                hint="claim and draft the file it points to",
                path=name,
            ) from fault
        if fault.errno in (errno.ENOENT, errno.ENOTDIR):
            raise BadRequest(
                "bad_file",
                f"{name} is not there",
                hint=f"write it first, or propose its deletion: draftfs draft --delete -- {pasteable(target)}",
                path=name,
            ) from fault
        raise from_oserror(fault, "reading the draft") from fault
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadRequest("bad_file", f"{name} is not a regular file", hint="name a file, not a folder", path=name)
    return descriptor


def ensure_lines(path: str, lines: Sequence[str]) -> None:
    """Append those of `lines` that the text file at `path` does not have yet; make it where it is missing."""
    old, sharing = _text_file(path)
    missing = [line.encode() for line in lines if line.encode() not in old.splitlines()]
    if missing:
        glue = b"" if not old or old.endswith(b"\n") else b"\n"
        new = old + glue + b"".join(line + b"\n" for line in missing)
        fs.make_folder(os.path.dirname(os.path.realpath(path)))
        fs.replace_file(os.path.realpath(path), new, sharing=sharing)


def remove_lines(path: str, lines: Sequence[str]) -> None:
    """Take `lines` out of the text file at `path`, wherever they stand; every other byte of it stays."""
    old, sharing = _text_file(path)
    unwanted = {line.encode() for line in lines}
    new = b"".join(line for line in old.splitlines(keepends=True) if line.rstrip(b"\r\n") not in unwanted)
    if new != old:
        fs.replace_file(os.path.realpath(path), new, sharing=sharing)


def _text_file(path: str) -> tuple[bytes, fs.Sharing]:
    """What the file holds, and who may use it; nothing where it is missing."""
    try:
        with open(path, "rb") as file:
            facts = os.fstat(file.fileno())
            owner = (facts.st_uid, facts.st_gid) if os.geteuid() == 0 else None
            return file.read(), fs.Sharing(stat.S_IMODE(facts.st_mode), owner)
    except FileNotFoundError:
        return b"", fs.UNSHARED
