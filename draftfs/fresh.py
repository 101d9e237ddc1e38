"""The worktree of one claim: made for it, filled with what people have, judged and removed when the claim is over (§8, run)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from itertools import chain, count
from typing import Final

from draftfs import layout, paths
from draftfs.answers import Claimed
from draftfs.engine import fs
from draftfs.engine.objects import CHUNK, Objects
from draftfs.errors import BadRequest, EnvironmentFault, from_oserror
from draftfs.frozen import frozen
from draftfs.git.command import run
from draftfs.records import Content
from draftfs.repo import Repo
from draftfs.sighting import Sighting, look
from draftfs.workspace import Filling, Workspace

DRAFT_SHAPED: Final = "*.draft-[0-9][0-9][0-9][0-9]*@*"


@frozen
class Fresh:
    """A claim, and the worktree made for it at `commit`. `filled` is what stood at the reserved paths once it was filled."""

    claimed: Claimed
    token: str = field(repr=False)
    folder: str
    branch: str
    commit: str
    filled: Mapping[str, Sighting]

    @property
    def job(self) -> int:
        return self.claimed.claim.job

    @property
    def epoch(self) -> int:
        return self.claimed.claim.epoch


@frozen
class Changed:
    """What is not as it was when the worktree was filled: files that can be drafted, files that are gone, what lies outside
    the claim, and what the claim covers but no draft can hold (path: why)."""

    written: tuple[str, ...]
    deleted: tuple[str, ...]
    outside: tuple[str, ...]
    unfit: Mapping[str, str]

    def but(self, drafted: Mapping[str, Content | None], top: str) -> Changed:
        """Without what is drafted just as it stands at `top` now."""
        written = tuple(
            path for path in self.written if path not in drafted or look(f"{top}/{path}")[0].content != drafted[path]
        )
        deleted = tuple(path for path in self.deleted if drafted.get(path, "never") is not None)
        return Changed(written, deleted, self.outside, self.unfit)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.written, *self.deleted, *self.unfit, *self.outside)


@frozen
class Removed:
    """What became of a worktree and its branch; `because` says why the folder stayed."""

    folder: bool
    branch: bool
    because: str | None = None


# ── making ──


def make(root: Repo, place: str, name: str, commit: str) -> tuple[str, str]:
    """Make a worktree called `name` in the folder `place`, on a new branch of that name; returns its top and branch.

    A name that a folder or a branch has already gets a number: whatever is there is somebody's, and may be work.
    """
    free = next(each for each in _names(name) if not _taken(root, place, each))
    folder = os.path.join(place, free)
    try:
        return root.worktree_add(folder, free, commit), free
    except BaseException:
        _unmake(root, folder, free, commit)
        raise


def unmake(root: Repo, fresh: Fresh) -> None:
    """Take away a worktree in which nobody has worked yet."""
    _unmake(root, fresh.folder, fresh.branch, fresh.commit)


def _unmake(root: Repo, folder: str, branch: str, commit: str) -> None:
    with suppress(EnvironmentFault):
        run(root.top, "worktree", "remove", "--force", "--", folder, accept=range(256))
        run(root.top, "update-ref", "-d", f"refs/heads/{branch}", commit, accept=range(256))


def _names(name: str) -> Iterator[str]:
    return chain([name], (f"{name}-{number}" for number in count(2)))


def _taken(root: Repo, place: str, name: str) -> bool:
    if os.path.lexists(os.path.join(place, name)):
        return True
    return bool(run(root.top, "for-each-ref", "--count=1", "--format=%(refname)", f"refs/heads/{name}").out)


def fill(top: str, filling: Filling, objects: Objects) -> dict[str, Sighting]:
    """Give the new worktree what the root has at the reserved paths; what then stands there. Raises EnvironmentFault."""
    try:
        for path, content in filling.files.items():
            if look(f"{top}/{path}")[0].content != content or _leads_elsewhere(top, path):
                _put(top, path, content, objects)
        return {path: look(f"{top}/{path}")[0] for path in filling.files}
    except OSError as fault:
        raise from_oserror(fault, "filling the worktree") from fault


def _put(top: str, path: str, content: Content | None, objects: Objects) -> None:
    parent = top
    for segment in path.split("/")[:-1]:
        parent = f"{parent}/{segment}"
        if os.path.islink(parent) or os.path.isfile(
            parent
        ):  # the commit has something else where the root has a folder
            if content is None:
                return
            fs.unlink(parent)
    full = f"{top}/{path}"
    if os.path.isdir(full) and not os.path.islink(full):
        fs.remove_tree(full)
    else:
        fs.unlink(full)
    if content is None:
        return
    fs.make_folder(os.path.dirname(full), sync=False)
    source, target = objects.open(content), fs.create(full, 0o777 if content.mode == "100755" else 0o666)
    try:
        while chunk := os.read(source, CHUNK):
            fs.write(target, chunk, full)
    finally:
        os.close(source)
        os.close(target)


def _leads_elsewhere(top: str, path: str) -> bool:
    """Whether a parent of `path` is a symlink: what can be read there is another file."""
    parent = os.path.dirname(f"{top}/{path}")
    return os.path.realpath(parent) != parent


# ── judging ──


def changed(workspace: Workspace, fresh: Fresh, fold: paths.Fold, author: str) -> Changed:
    """What differs from the filling in this worktree, which is the caller's checkout. Committed or not: files count.

    Ignored files do not, unless they are named by the claim or look like drafts.
    """
    top, reserved = workspace.repo.top, fresh.claimed.claim.paths
    written, deleted, outside, unfit = list[str](), list[str](), list[str](), dict[str, str]()
    candidates = set(workspace.repo.changed_under(fresh.commit, "."))
    for path in sorted(candidates | set(fresh.filled)):
        away = _leads_elsewhere(top, path)
        seen = Sighting("absent", None) if away or not os.path.lexists(f"{top}/{path}") else look(f"{top}/{path}")[0]
        if path in fresh.filled and _same(workspace, path, fresh.filled[path], seen):
            continue
        if not any(paths.covers(each, path, fold) for each in reserved):
            outside.append(path)
        elif seen.kind == "absent":
            deleted.append(path)
        elif seen.content is None:
            unfit[path] = seen.detail
        elif any(path.startswith(f"{each}/") for each in unfit):
            unfit[path] = "a file stood where its folder is"
        else:
            try:
                workspace.require_short_name(path, author)
                written.append(path)
            except BadRequest as fault:
                unfit[path] = fault.message
    for path, why in _strange(workspace.repo.top):
        if any(paths.covers(each, path.rstrip("/"), fold) for each in reserved):
            unfit[path] = why
        else:
            outside.append(path)
    return Changed(tuple(written), tuple(deleted), tuple(sorted(outside)), unfit)


def _same(workspace: Workspace, path: str, before: Sighting, now: Sighting) -> bool:
    if before.content is None or now.content is None:
        # A folder in the place of nothing is told by its files.
        return before.kind == now.kind or (before.kind == "absent" and now.detail == "it is a folder")
    if before.content.mode != now.content.mode:
        return False
    if before.content.sha256 == now.content.sha256:
        return True
    kept = workspace.objects.path(before.content.sha256)
    return workspace.repo.same_content(path, kept, f"{workspace.repo.top}/{path}")


def _strange(top: str) -> Iterator[tuple[str, str]]:
    """What is never drafted: repositories within this one, and files that are named like drafts."""
    listed = run(top, "ls-files", "-z", "--others", "--exclude-standard").out.split("\0")
    yield from ((name, "it is a repository of its own") for name in listed if name.endswith("/"))
    listed = run(top, "ls-files", "-z", "--others", "--ignored", f"--exclude={DRAFT_SHAPED}").out.split("\0")
    yield from (
        (name, "it is named like a draft") for name in listed if layout.parse_draft_name(os.path.basename(name))
    )


def unsaved(repo: Repo, fresh: Fresh, everything: Changed, drafted: Mapping[str, Content | None]) -> str | None:
    """Why the worktree must stay: what would be lost with it. None where nothing would."""
    left = everything.but(drafted, repo.top)
    if left.names:
        return f"not drafted: {listed(left.names)}"
    head = repo.head()
    if head.branch is None and head.commit not in (None, fresh.commit):
        on_branches = run(repo.top, "for-each-ref", "--count=1", f"--contains={head.commit}", "refs/heads").out
        if not on_branches:
            return f"its HEAD, {str(head.commit)[:12]}, is on no branch"
    if os.path.isdir(f"{repo.git_dir}/modules"):
        return "it holds submodules"
    if any(os.path.basename(path) == ".gitignore" for path in everything.names):
        ignored = run(repo.top, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory").out
        if ignored:
            return f"newly ignored, perhaps: {listed(ignored.split(chr(0))[:-1])}"
    return None


def listed(names: tuple[str, ...] | list[str], most: int = 20) -> str:
    """Names for a sentence, of very many the first ones."""
    from draftfs.names import shown

    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown(each) for each in names[:most]) + more


# ── removing ──


def remove(root: Repo, fresh: Fresh) -> Removed:
    """Remove the worktree, and its branch where that still stands at its start."""
    answer = run(root.top, "worktree", "remove", "--force", "--", fresh.folder, accept=range(256))
    if answer.status:
        said = (answer.err.strip().splitlines() or ["git worktree remove failed"])[0]
        return Removed(folder=False, branch=False, because=said)
    ref = f"refs/heads/{fresh.branch}"
    elsewhere = f"\0branch {ref}\0" in run(root.top, "worktree", "list", "--porcelain", "-z").out
    status = 1 if elsewhere else run(root.top, "update-ref", "-d", ref, fresh.commit, accept=range(256)).status
    return Removed(folder=True, branch=status == 0)
