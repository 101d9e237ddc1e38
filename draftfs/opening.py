"""Finding the store of a repository, and making one (§3)."""

from __future__ import annotations

import os
import uuid
from typing import Final

from draftfs import layout, names
from draftfs.clock import Clock
from draftfs.engine import lock
from draftfs.engine.files import create
from draftfs.errors import EnvironmentFault, NotFound, from_oserror
from draftfs.filesystems import SHARED_FILE_SYSTEMS, file_system, probe_fold
from draftfs.records import Actor, Settings, StoreInfo
from draftfs.repo import Repo
from draftfs.workspace import ensure_lines
from draftfs.worktree import Worktree

CONFIG_KEY: Final = "draftfs.store"
_EXCLUDED: Final = ("*.draft-[0-9][0-9][0-9][0-9]*@*", ".draftfs-*")


def locate(repo: Repo) -> str:
    """The store's folder. Raises NotFound `no_store`, saying so when git's config names one that is gone."""
    folder = _default(repo)
    if _is_store(folder):
        return folder
    named = repo.config(CONFIG_KEY)
    if named is None:
        raise NotFound("no_store", f"{repo.top} has no draftfs store", hint="draftfs init")
    folder = os.path.normpath(os.path.join(repo.common_dir, named))
    if _is_store(folder):
        return folder
    raise NotFound(
        "no_store",
        f"git's config says that the store is {folder}, but it is gone or incomplete",
        hint="put it back from a backup, or start anew with draftfs init (every old token is dead then)",
        folder=folder,
    )


def make(repo: Repo, clock: Clock, lock_wait: float) -> bool:
    """Make the store of `repo`, or complete what is there; True when this call made it.

    Raises EnvironmentFault `filesystem` where two kernels may share the file system, `git` without a main checkout.
    """
    root = repo.main_checkout()
    if root is None:
        raise EnvironmentFault(
            "git", "git does not say where the main checkout is", hint="run draftfs init in the main checkout"
        )
    kind = file_system(repo.common_dir)
    if kind in SHARED_FILE_SYSTEMS:
        raise EnvironmentFault(
            "filesystem",
            f"{repo.common_dir} lies on {kind}: two machines would each have a lock of their own there",
            hint="keep the repository on a local disk",
        )
    folder, made = _default(repo), False
    try:
        if not _is_store(folder):
            where = os.path.relpath(root, repo.common_dir)
            info = StoreInfo(str(uuid.uuid4()), where, "files", probe_fold(root), Settings(), clock.now().stamp)
            made = create(folder, clock, info, lock_wait)
        with lock.exclusive(f"{folder}/{layout.LOCK}", lock_wait):  # git's own config.lock makes others fail, not wait
            _register(repo, folder)
    except OSError as fault:
        raise from_oserror(fault, "making the store") from fault
    return made


def _register(repo: Repo, folder: str) -> None:
    """Tell git where the store is, and to leave drafts alone."""
    named = os.path.relpath(folder, repo.common_dir)
    if repo.config(CONFIG_KEY) != named:
        repo.set_config(CONFIG_KEY, named)
    ensure_lines(repo.exclude_file(), _EXCLUDED)


def actor(repo: Repo, agent: str | None) -> Actor:
    """Who is calling: the agent named; else, in a linked worktree, the holder recorded there; else the person."""
    if agent is not None:
        return Actor(names.agent_name(agent), is_agent=True)
    holder = Worktree(repo.git_dir).holder() if repo.linked else None
    return Actor(holder, is_agent=True) if holder else Actor(repo.person(), is_agent=False)


def _default(repo: Repo) -> str:
    return f"{repo.common_dir}/draftfs"


def _is_store(folder: str) -> bool:
    return os.path.exists(f"{folder}/{layout.STORE.name}")
