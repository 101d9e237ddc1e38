"""Finding the store of a repository, and who is calling (§3, §9)."""

from __future__ import annotations

import os
from typing import Final

from draftfs import layout, names
from draftfs.errors import Damaged, NotFound
from draftfs.records import Actor
from draftfs.repo import Repo
from draftfs.worktree import Worktree

CONFIG_KEY: Final = "draftfs.store"


def locate(repo: Repo) -> str:
    """The store's folder. Raises NotFound `no_store`, saying so when git's config names one that is gone; Damaged where
    only the store's own record is missing."""
    folder = default_folder(repo)
    if is_store(folder):
        return folder
    refuse_headless(folder)
    named = repo.config(CONFIG_KEY)
    if named is None:
        raise NotFound("no_store", f"{repo.top} has no draftfs store", hint="draftfs init")
    folder = os.path.normpath(os.path.join(repo.common_dir, named))
    if is_store(folder):
        return folder
    refuse_headless(folder)
    raise NotFound(
        "no_store",
        f"git's config says that the store is {folder}, but it is gone or incomplete",
        hint="put it back from a backup, or start anew with draftfs init (every old token is dead then)",
        folder=folder,
    )


def refuse_headless(folder: str) -> None:
    """A store in use without its own record is damaged: making it anew would give every number a second time."""
    for name in (layout.FEED, "jobs", "done"):
        if os.path.isdir(f"{folder}/{name}") and os.listdir(f"{folder}/{name}"):
            raise Damaged("damaged", f"{layout.STORE.name} is missing from the store", file=layout.STORE.name)


def actor(repo: Repo, agent: str | None) -> Actor:
    """Who is calling: the agent named; else, in a linked worktree, the holder recorded there; else the person."""
    if agent is not None:
        return Actor(names.agent_name(agent), is_agent=True)
    holder = Worktree(repo.git_dir).holder() if repo.linked else None
    return Actor(holder, is_agent=True) if holder else Actor(repo.person(), is_agent=False)


def default_folder(repo: Repo) -> str:
    """Where the store of a git repository is made."""
    return f"{repo.common_dir}/draftfs"


def is_store(folder: str) -> bool:
    """Whether the making of a store there was completed."""
    return os.path.exists(f"{folder}/{layout.STORE.name}")
