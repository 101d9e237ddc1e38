"""Where git looks for hooks, in each worktree of a repository, and whose folder that is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from draftfs import opening
from draftfs.clock import SystemClock
from draftfs.engine.files import FileEngine
from draftfs.errors import DraftfsError
from draftfs.frozen import frozen
from draftfs.git.command import run
from draftfs.git.hooks.text import HOOKS
from draftfs.repo import Repo

_OTHERS: Final = {"global": "every repository of this user", "system": "every repository on this machine"}


@frozen
class ConfigHook:
    """A hook that git's config defines (git 2.54 and newer run it before the one in the folder)."""

    name: str
    event: str | None
    command: str | None
    enabled: bool


@frozen
class Place:
    """One worktree: its git folder, the folder that git starts hooks in, and the one it finds them in.

    `folder` is None where the config says that there is none; `setting` and `scope` are those of core.hooksPath.
    """

    git_dir: str
    top: str
    folder: str | None
    setting: str | None
    scope: str | None
    shared: str | None
    """In words why `folder` is not this repository's alone; None when it is."""
    config_hooks: tuple[ConfigHook, ...]


@frozen
class Folders:
    """A repository as its hooks see it. `places` has the caller's worktree first; `hooks` are those that it needs.

    `store` is the folder of its store, None without one; `agents` whether the caller is in a worktree that is not people's.
    """

    common_dir: str
    store: str | None
    agents: bool
    hooks: tuple[str, ...]
    places: tuple[Place, ...]

    @classmethod
    def find(cls, cwd: str, root: str | None = None) -> Folders:
        """The repository that `cwd` lies in, bare ones too. Its store is asked for the root, and so may be recovered, unless
        the caller knows it. Raises what `Repo.find` raises."""
        answer = (
            run(cwd, "rev-parse", "--is-bare-repository", "--absolute-git-dir", accept=(0, 128))
            if os.path.isdir(cwd)
            else None
        )
        if answer is not None and answer.out.startswith("true\n"):
            common = os.path.realpath(answer.out.removeprefix("true\n").removesuffix("\n"))
            linked = tuple(_linked(common))
            # Without a checkout nothing commits here: what arrives is pushed, and one refusal of that is enough.
            hooks = HOOKS if linked else ("pre-receive",)
            return cls(common, _store(common), False, hooks, (_place(common, common, common), *linked))
        repo = Repo.find(cwd)
        store = _store(repo.common_dir)
        root = root or (None if store is None else _root(store))
        agents = repo.linked and (root is None or opening.git_dir_of(root) != repo.git_dir)
        mine = _place(repo.git_dir, repo.top, repo.common_dir)
        others = [*_main(repo, root), *_linked(repo.common_dir)]
        places = (mine, *(each for each in others if each.git_dir != mine.git_dir))
        return cls(repo.common_dir, store, agents, HOOKS, places)


def _store(common_dir: str) -> str | None:
    with suppress(DraftfsError):
        return opening.store_of(common_dir, common_dir)
    return None


def _root(store: str) -> str | None:
    """The checkout that people look at; None where the store cannot say."""
    with suppress(DraftfsError):
        return opening.root_of(store, FileEngine(store, SystemClock()).read(lambda view: view.store))
    return None


def _main(repo: Repo, root: str | None) -> Iterator[Place]:
    top = repo.main_checkout()
    if top is None and root is not None and opening.git_dir_of(root) == repo.common_dir:
        top = root
    if top is not None and os.path.isdir(top):
        yield _place(repo.common_dir, top, repo.common_dir)


def _linked(common_dir: str) -> Iterator[Place]:
    """The linked worktrees that are there; not those that git would prune."""
    folder = f"{common_dir}/worktrees"
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        with suppress(OSError), open(f"{folder}/{name}/gitdir", "rb") as file:
            link = os.path.join(f"{folder}/{name}", os.fsdecode(file.read().rstrip(b"\n")))
            if os.path.lexists(link):
                yield _place(f"{folder}/{name}", os.path.realpath(os.path.dirname(link)), common_dir)


def _place(git_dir: str, top: str, common_dir: str) -> Place:
    here = (f"--git-dir={git_dir}",)
    keys = ("config", "-z", "--show-scope", "--get-regexp", r"^(core\.hookspath|hook\..*)$")
    words = run(top, *keys, options=here, accept=(0, 1)).out.split("\0")
    found = [(scope, *item.partition("\n")[::2]) for scope, item in zip(words[::2], words[1::2], strict=False)]
    scope, _, setting = next((each for each in reversed(found) if each[1] == "core.hookspath"), (None, None, None))
    folder: str | None = f"{common_dir}/hooks"
    if setting == "":
        folder = None
    elif setting is not None:
        asked = ("rev-parse", "--path-format=absolute", "--git-path", "hooks")
        folder = os.path.normpath(run(top, *asked, options=here).out.removesuffix("\n"))
    shared = None if folder is None else _shared(folder, top, common_dir, git_dir, scope)
    return Place(git_dir, top, folder, setting, scope, shared, _config_hooks(found))


def _shared(folder: str, top: str, common_dir: str, git_dir: str, scope: str | None) -> str | None:
    if scope in _OTHERS:
        return f"is that of {_OTHERS[scope]}"
    real = os.path.realpath(folder)
    if _below(os.path.realpath(common_dir), real) or scope is None:  # scope None: .git/hooks, a symlink perhaps
        return None
    if not _below(top, real):
        return "lies outside this repository"
    if run(top, "ls-files", "-z", "--", real, options=(f"--git-dir={git_dir}", f"--work-tree={top}")).out:
        return "is tracked: what is written there would be committed for everybody"
    return None


def _below(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _config_hooks(found: list[tuple[str, str, str]]) -> tuple[ConfigHook, ...]:
    hooks: dict[str, dict[str, str]] = {}
    for _, key, value in found:
        section, _, field = key.rpartition(".")
        if section.startswith("hook."):
            hooks.setdefault(section.removeprefix("hook."), {})[field] = value
    return tuple(
        ConfigHook(name, says.get("event"), says.get("command"), says.get("enabled", "true").lower() not in _NO)
        for name, says in hooks.items()
    )


_NO: Final = ("false", "no", "off", "0")
