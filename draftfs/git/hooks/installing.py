"""Installing the hooks, and taking them away: both may be repeated, and the second changes no byte."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from draftfs import layout
from draftfs.engine import fs, lock
from draftfs.errors import EnvironmentFault, NotFound, Refused, from_oserror, pasteable
from draftfs.frozen import frozen
from draftfs.git.command import require_version
from draftfs.git.hooks import files
from draftfs.git.hooks.folders import Folders, Place


@frozen
class HookChange:
    """What became of one hook. `kept` is the file that holds the hook that was there before, and runs after ours.

    `action`: installed, updated, unchanged; or restored, removed, foreign (somebody else's, left alone), absent.
    """

    hook: str
    file: str
    action: str
    kept: str | None = None


@frozen
class Installed:
    """`skipped` says in words which other worktrees have their hooks in a folder that was left alone."""

    hooks: tuple[HookChange, ...]
    skipped: tuple[str, ...]


@frozen
class Uninstalled:
    hooks: tuple[HookChange, ...]


def install(cwd: str, *, shared: bool = False, lock_wait: float = 10.0) -> Installed:
    """Put the hooks where git looks for them in this worktree and, where that is another folder, in the others.

    A folder that is not this repository's alone is only written when `shared`. Raises NotFound `no_store`, Refused
    `shared_hooks`, EnvironmentFault `git` where git runs no hooks, or as the disk fails.
    """
    require_version()
    found = Folders.find(cwd)
    if found.store is None:
        raise NotFound("no_store", f"{found.common_dir} has no draftfs store", hint=_how_to_get_a_store(found))
    mine = _folder(found.places[0], shared=shared)
    folders, skipped = [mine], list[str]()
    for place in found.places[1:]:
        if place.folder is None or not os.path.isdir(place.folder):
            skipped += [] if place.folder == mine else [f"{place.top}: {place.folder or 'core.hooksPath is empty'}"]
        elif place.shared is None or shared:
            folders.append(place.folder)
        else:
            skipped.append(f"{place.top}: {place.folder} {place.shared}")
    with _alone(found.store, lock_wait, "installing the hooks"):
        made = not os.path.isdir(mine)
        if made:
            fs.make_folder(mine, sharing=fs.sharing_of(found.common_dir))
        changed = [
            HookChange(hook, os.path.join(folder, hook), *files.put(folder, hook, made=made and folder == mine))
            for folder in dict.fromkeys(folders)
            for hook in found.hooks
        ]
    return Installed(tuple(changed), tuple(skipped))


def uninstall(cwd: str, *, agent: str | None = None, lock_wait: float = 10.0) -> Uninstalled:
    """Put back what was there before the hooks, in every folder where a worktree has them. A person's act.

    Raises Refused `agents_cannot_promote`, or as the disk fails.
    """
    found = Folders.find(cwd)
    if agent is not None or found.agents:
        where = "in an agent's worktree" if found.agents else f"as the agent {agent}"
        raise Refused(
            "agents_cannot_promote",
            f"only a person can take the hooks away, and this command runs {where}",
            hint="stop, and leave it to a person: they do it in their own checkout",
        )
    changed: list[HookChange] = []
    with _alone(found.store, lock_wait, "taking the hooks away"):
        for folder in dict.fromkeys(place.folder for place in found.places):
            if folder is not None and os.path.isdir(folder):
                changed += _clear(folder, found.hooks)
    return Uninstalled(tuple(changed))


def _clear(folder: str, hooks: tuple[str, ...]) -> Iterator[HookChange]:
    ours = False
    for hook in hooks:
        action, made = files.take_away(folder, hook)
        ours = ours or made
        yield HookChange(hook, os.path.join(folder, hook), action)
    if ours and not os.listdir(folder):
        fs.remove_folder(folder)


def _folder(place: Place, *, shared: bool) -> str:
    """The folder to write for the caller's own worktree."""
    if place.folder is None:
        raise EnvironmentFault(
            "git",
            f"core.hooksPath is empty, so git runs no hooks in {place.top}",
            hint=f"git config --{place.scope} --unset core.hooksPath",
        )
    if os.path.lexists(place.folder) and not os.path.isdir(place.folder):
        raise EnvironmentFault(
            "git",
            f"git looks for hooks in {place.folder}, and that is no folder",
            hint=f"git config --{place.scope} --unset core.hooksPath" if place.scope else "make it a folder",
        )
    if place.shared is not None and not shared:
        raise Refused(
            "shared_hooks",
            f"git looks for hooks in {place.folder}, which {place.shared}",
            hint=f"git config --local core.hooksPath {pasteable(own_folder(place))}, or: draftfs hooks install --shared-folder",
            folder=place.folder,
        )
    return place.folder


def own_folder(place: Place) -> str:
    """The folder that git has by itself for the hooks of this repository."""
    common, _, name = place.git_dir.rpartition("/worktrees/")
    return f"{common if name else place.git_dir}/hooks"


def _how_to_get_a_store(found: Folders) -> str:
    if found.places[0].top == found.common_dir:
        return f"git -C {pasteable(found.common_dir)} config draftfs.store FOLDER, with the store of the repository it is for"
    return "draftfs init"


@contextmanager
def _alone(store: str | None, wait: float, doing: str) -> Iterator[None]:
    """Under the store's lock; without a store there is none, and each file is still replaced in one step."""
    try:
        if store is None:
            yield
            return
        with lock.exclusive(f"{store}/{layout.LOCK}", wait):
            yield
    except OSError as fault:
        raise from_oserror(fault, doing) from fault
