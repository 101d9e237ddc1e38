"""Making the store of a repository; and making it possible to open again (§3)."""

from __future__ import annotations

import os
import re
import time
import uuid
from contextlib import suppress
from typing import Final

from draftfs import layout
from draftfs.clock import Clock
from draftfs.engine import fs, lock, salvage, yamlfile
from draftfs.engine.files import create
from draftfs.errors import EnvironmentFault, from_oserror
from draftfs.filesystems import SHARED_FILE_SYSTEMS, file_system, probe_fold
from draftfs.opening import CONFIG_KEY, default_folder, is_store, refuse_headless
from draftfs.records import Settings, StoreInfo
from draftfs.repo import Repo
from draftfs.workspace import ensure_lines
from draftfs.worktree import Kept, Worktree

_GIT_WAIT: Final = 5.0
_GIT_PAUSE: Final = 0.01
_EXCLUDED: Final = ("*.draft-[0-9][0-9][0-9][0-9]*@*", ".draftfs-*")


def mend(repo: Repo, clock: Clock, lock_wait: float, file: str) -> list[str]:
    """Mend what keeps the store from being opened at all; says in words what was done, nothing where it cannot be."""
    named = repo.config(CONFIG_KEY)
    folder = os.path.normpath(os.path.join(repo.common_dir, named)) if named is not None else default_folder(repo)
    try:
        if file == layout.JOURNAL:
            return salvage.renew_journal(folder, clock.now(), lock_wait)
        return _rewrite(repo, folder, clock, lock_wait) if file == layout.STORE.name else []
    except OSError as fault:
        raise from_oserror(fault, "mending the store") from fault


def _rewrite(repo: Repo, folder: str, clock: Clock, lock_wait: float) -> list[str]:
    """Write store.yaml anew: as the journal has it, or as `init` would, under the id that the store had."""
    root, path = repo.main_checkout(), f"{folder}/{layout.STORE.name}"
    if root is None:
        return []
    with lock.exclusive(f"{folder}/{layout.LOCK}", lock_wait):
        image, told = salvage.image_of(folder, layout.STORE.name), "put back from the journal, nothing is lost"
        if image is None:
            known = _id_in(path) or _id_of_kept_tokens(repo)
            info = _fresh_info(repo, root, clock, known or str(uuid.uuid4()))
            image, told = yamlfile.encode(info), "written anew; its settings are the first ones again: draftfs config"
            if known is None:
                told += (
                    "; its id is a new one, so tokens that worktrees keep count no more: pass --token, or claim anew"
                )
        aside = salvage.set_aside(folder, layout.STORE.name, clock.now().stamp)
        fs.replace_file(path, image, sharing=fs.sharing_of(folder))
    return [f"{layout.STORE.name}: {told}" + (f"; what was there is now {aside}" if aside is not None else "")]


def _id_in(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            found = re.search(rb'^id: "([0-9a-f-]{36})"$', file.read(1 << 16), re.MULTILINE)
    except OSError:
        return None
    return found[1].decode("ascii") if found else None


def _id_of_kept_tokens(repo: Repo) -> str | None:
    kept: list[Kept] = []
    for git_dir in repo.git_dirs():
        with suppress(EnvironmentFault):
            kept += Worktree(git_dir).kept()
    return max(kept, key=lambda each: each.epoch).store if kept else None


def _fresh_info(repo: Repo, root: str, clock: Clock, identity: str) -> StoreInfo:
    where = os.path.relpath(root, repo.common_dir)
    return StoreInfo(identity, where, "files", probe_fold(root), Settings(), clock.now().stamp)


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
    folder, made = default_folder(repo), False
    try:
        if not is_store(folder):
            refuse_headless(folder)
            info = _fresh_info(repo, root, clock, str(uuid.uuid4()))
            made = create(folder, clock, info, lock_wait, _shared_mode(repo.config("core.sharedRepository")))
        with lock.exclusive(f"{folder}/{layout.LOCK}", lock_wait):  # git's own config.lock makes others fail, not wait
            _register(repo, folder)
    except OSError as fault:
        raise from_oserror(fault, "making the store") from fault
    return made


def _register(repo: Repo, folder: str) -> None:
    """Tell git where the store is, and to leave drafts alone."""
    named = os.path.relpath(folder, repo.common_dir)
    end = time.monotonic() + _GIT_WAIT
    while repo.config(CONFIG_KEY) != named:
        try:
            repo.set_config(CONFIG_KEY, named)
        except EnvironmentFault:  # somebody else's git holds config.lock for a moment, and git does not wait
            if time.monotonic() > end:
                raise
            time.sleep(_GIT_PAUSE)
    ensure_lines(repo.exclude_file(), _EXCLUDED)


def _shared_mode(setting: str | None) -> int:
    """The permissions that git's core.sharedRepository gives a folder whatever the umask; 0 where that decides alone.

    Never any to write for all the world.
    """
    if setting in ("group", "true", "yes", "on", "1"):
        return 0o2770
    if setting in ("all", "world", "everybody", "2"):
        return 0o2775
    if setting is None or re.fullmatch(r"0[0-7]{3}", setting) is None:
        return 0
    files = int(setting, 8) & 0o664
    return 0o2000 | files | (files & 0o444) >> 2
