"""Finding the store of a repository, and who is calling (§3, §9)."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from draftfs import layout, names
from draftfs.errors import Damaged, NotFound
from draftfs.git.command import run
from draftfs.records import Actor, StoreInfo
from draftfs.repo import Repo
from draftfs.worktree import Worktree

CONFIG_KEY: Final = "draftfs.store"


def locate(repo: Repo) -> str:
    """The store's folder. Raises what `store_of` raises."""
    return store_of(repo.common_dir, repo.top)


def store_of(common_dir: str, where: str) -> str:
    """The folder of the store that belongs to a git common folder; `where` names the repository to people.

    Raises NotFound `no_store`, saying so when git's config names one that is gone; Damaged where only the store's own
    record is missing.
    """
    folder = default_folder(common_dir)
    if is_store(folder):
        return folder
    refuse_headless(folder)
    answer = run(common_dir, "config", "-z", "--get", CONFIG_KEY, options=(f"--git-dir={common_dir}",), accept=(0, 1))
    if answer.status:
        raise NotFound("no_store", f"{where} has no draftfs store", hint="draftfs init")
    folder = os.path.normpath(os.path.join(common_dir, answer.out.removesuffix("\0")))
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


def actor(repo: Repo, agent: str | None, *, in_root: bool) -> Actor:
    """Who is calling: the agent named; else, but in the root, the holder recorded in the worktree; else the person."""
    if agent is not None:
        return Actor(names.agent_name(agent), is_agent=True)
    holder = None if in_root else Worktree(repo.git_dir).holder()
    return Actor(holder, is_agent=True) if holder else Actor(repo.person(), is_agent=False)


def default_folder(common_dir: str) -> str:
    """Where the store of a git repository is made."""
    return f"{common_dir}/draftfs"


def is_store(folder: str) -> bool:
    """Whether the making of a store there was completed."""
    return os.path.exists(f"{folder}/{layout.STORE.name}")


def root_of(folder: str, info: StoreInfo) -> str:
    """The top of the checkout that people look at, by the store's record of it."""
    return os.path.normpath(os.path.join(os.path.dirname(folder), info.root))


def git_dir_of(checkout: str) -> str | None:
    """The git folder of a checkout, without symlinks; None where there is no checkout. No process of git is needed."""
    link = f"{checkout}/.git"
    if os.path.isdir(link):
        return os.path.realpath(link)
    with suppress(OSError), open(link, "rb") as file:
        named = os.fsdecode(file.read().removeprefix(b"gitdir: ").rstrip(b"\n"))
        return os.path.realpath(os.path.join(checkout, named))
    return None
