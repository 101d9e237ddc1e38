"""Making the store of a repository; and making it possible to open again (§3)."""

from __future__ import annotations

import os
import re
import time
import uuid
from contextlib import suppress
from dataclasses import replace
from typing import Final

from draftfs import layout
from draftfs.clock import Clock
from draftfs.engine import Transaction, fs, lock, salvage, yamlfile
from draftfs.engine.files import FileEngine, create
from draftfs.errors import BadRequest, EnvironmentFault, NotFound, Refused, from_oserror, pasteable
from draftfs.filesystems import SHARED_FILE_SYSTEMS, file_system, probe_fold
from draftfs.git.command import require_version
from draftfs.opening import CONFIG_KEY, default_folder, git_dir_of, is_store, refuse_headless
from draftfs.records import Actor, Settings, StoreInfo
from draftfs.repo import Repo
from draftfs.workspace import ensure_lines, remove_lines
from draftfs.worktree import Kept, Worktree

_GIT_WAIT: Final = 5.0
_GIT_PAUSE: Final = 0.01
_DRAFTS: Final = "*.draft-[0-9][0-9][0-9][0-9]*@*"
_TEMPORARIES: Final = ".draftfs-*"
_AGAIN: Final = "mend that, then run the same command again"


def mend(repo: Repo, clock: Clock, lock_wait: float, file: str) -> list[str]:
    """Mend what keeps the store from being opened at all; says in words what was done, nothing where it cannot be."""
    named = repo.config(CONFIG_KEY)
    folder = (
        os.path.normpath(os.path.join(repo.common_dir, named)) if named is not None else default_folder(repo.common_dir)
    )
    try:
        if file == layout.JOURNAL:
            return salvage.renew_journal(folder, clock.now(), lock_wait)
        return _rewrite(repo, folder, clock, lock_wait) if file == layout.STORE.name else []
    except OSError as fault:
        raise from_oserror(fault, "mending the store") from fault


def _rewrite(repo: Repo, folder: str, clock: Clock, lock_wait: float) -> list[str]:
    """Write store.yaml anew: as the journal has it, or as `init` would, under the id that the store had."""
    path = f"{folder}/{layout.STORE.name}"
    root = repo.main_checkout() or _root_in(path, repo)
    if root is None:
        return []
    with lock.exclusive(f"{folder}/{layout.LOCK}", lock_wait):
        image, told = salvage.image_of(folder, layout.STORE.name), "put back from the journal, nothing is lost"
        if image is None:
            known = _found_in(path, rb"([0-9a-f-]{36})", "id") or _id_of_kept_tokens(repo)
            info = _fresh_info(repo, root, clock, known or str(uuid.uuid4()))
            image, told = yamlfile.encode(info), "written anew; its settings are the first ones again: draftfs config"
            if known is None:
                told += (
                    "; its id is a new one, so tokens that worktrees keep count no more: pass --token, or claim anew"
                )
        aside = salvage.set_aside(folder, layout.STORE.name, clock.now().stamp)
        fs.replace_file(path, image, sharing=fs.sharing_of(folder))
    return [f"{layout.STORE.name}: {told}" + (f"; what was there is now {aside}" if aside is not None else "")]


def _root_in(path: str, repo: Repo) -> str | None:
    """The root that a damaged record of the store names, if that is a checkout of this repository."""
    found = _found_in(path, rb'([^"\\\n]+)', "root")
    root = os.path.normpath(os.path.join(repo.common_dir, found)) if found is not None else None
    return root if root is not None and git_dir_of(root) in repo.git_dirs() else None


def _found_in(path: str, value: bytes, field: str) -> str | None:
    try:
        with open(path, "rb") as file:
            found = re.search(b'^%b: "%b"$' % (field.encode(), value), file.read(1 << 16), re.MULTILINE)
    except OSError:
        return None
    return os.fsdecode(found[1]) if found else None


def _id_of_kept_tokens(repo: Repo) -> str | None:
    kept: list[Kept] = []
    for git_dir in repo.git_dirs():
        with suppress(EnvironmentFault):
            kept += Worktree(git_dir).kept()
    return max(kept, key=lambda each: each.epoch).store if kept else None


def _fresh_info(repo: Repo, root: str, clock: Clock, identity: str) -> StoreInfo:
    where = os.path.relpath(root, repo.common_dir)
    return StoreInfo(identity, where, "files", probe_fold(root), Settings(), clock.now().stamp)


def place(cwd: str, root: str | None) -> Repo:
    """The checkout to make the store from: the one that `cwd` lies in, or the one that the user names as the root, which
    may also be named from a bare repository's folder.

    Raises BadRequest `bad_path` where `root` is no checkout of the same repository, `usage` where it cannot be its root.
    """
    if root is None:
        return Repo.find(cwd)
    named, common = os.path.join(cwd, root), Repo.common_dir_of(cwd)
    repo: Repo | None = None
    with suppress(BadRequest, NotFound):
        repo = Repo.find(named)
    if repo is None or repo.common_dir != common:
        raise BadRequest("bad_path", f"{root!r} is no checkout of this repository", hint="git worktree list")
    if repo.linked and not repo.is_bare():
        raise BadRequest(
            "usage",
            f"{repo.top} is a linked worktree: an agent's. The root of this repository is its main checkout",
            hint=f"draftfs init --root {pasteable(repo.main_checkout() or 'CHECKOUT')}",
        )
    return repo


def make(repo: Repo, clock: Clock, lock_wait: float, *, named: bool = False) -> bool:
    """Make the store of `repo`, or complete what is there; True when this call made it. `named`: `repo` is to be the root.

    Raises EnvironmentFault `filesystem` where two kernels may share the file system, `git` where git is too old, BadRequest
    `usage` where the root has to be named.
    """
    require_version()
    folder, made = default_folder(repo.common_dir), False
    root = repo.top if named else repo.main_checkout()
    if root is None and not is_store(folder):
        bare = repo.is_bare()
        raise BadRequest(
            "usage",
            "this repository is bare" if bare else "git does not say where the main checkout is",
            hint=f"name the checkout that people look at: draftfs init --root {'WORKTREE' if bare else 'CHECKOUT'}",
        )
    kind = file_system(repo.common_dir)
    if kind in SHARED_FILE_SYSTEMS:
        raise EnvironmentFault(
            "filesystem",
            f"{repo.common_dir} lies on {kind}: two machines would each have a lock of their own there",
            hint="keep the repository on a local disk",
        )
    try:
        if root is not None and not is_store(folder):
            refuse_headless(folder)
            info = _fresh_info(repo, root, clock, str(uuid.uuid4()))
            made = create(folder, clock, info, lock_wait, _shared_mode(repo.config("core.sharedRepository")))
        with lock.exclusive(f"{folder}/{layout.LOCK}", lock_wait):  # git's own config.lock makes others fail, not wait
            _register(repo, folder)
    except OSError as fault:
        raise from_oserror(fault, "making the store") from fault
    return made


def move_root(engine: FileEngine, repo: Repo, known: str, actor: Actor) -> None:
    """Make `repo` the root in place of the one `known`, which was moved or removed (a person's act).

    Raises BadRequest `usage` while that is still a checkout of the same repository.
    """
    if git_dir_of(known) in repo.git_dirs():
        raise BadRequest("usage", f"the store has a root already: {known}", hint=f"cd {pasteable(known)}")
    if actor.is_agent:
        raise Refused("agents_cannot_promote", "only a person can say where the root is", hint="leave it to a person")
    where = os.path.relpath(repo.top, repo.common_dir)

    def rule(transaction: Transaction) -> None:
        transaction.put(layout.STORE, replace(transaction.store, root=where))
        transaction.append("root.moved", actor.name, root=repo.top)

    engine.write(rule)


def _register(repo: Repo, folder: str) -> None:
    """Tell git where the store is, and to leave alone what is only prepared there."""
    named = os.path.relpath(folder, repo.common_dir)
    end = time.monotonic() + _GIT_WAIT
    while repo.config(CONFIG_KEY) != named:
        try:
            repo.set_config(CONFIG_KEY, named)
        except EnvironmentFault:  # somebody else's git holds config.lock for a moment, and git does not wait
            if time.monotonic() > end:
                raise
            time.sleep(_GIT_PAUSE)
    ensure_lines(repo.exclude_file(), (_TEMPORARIES,))


def hide_drafts(engine: FileEngine, repo: Repo) -> None:
    """Have git leave drafts alone, or, with `drafts.track`, see them: one line of its exclude file, and no other.

    Again where the setting has changed meanwhile, so that the last one counts. Raises EnvironmentFault, and the setting
    stands.
    """
    wanted: bool | None = None
    try:
        while wanted != (wanted := engine.read(lambda view: view.store.settings.drafts_track)):
            with lock.exclusive(f"{engine.folder}/{layout.LOCK}", engine.lock_wait):  # others edit the file, too
                (remove_lines if wanted else ensure_lines)(repo.exclude_file(), (_DRAFTS,))
    except OSError as fault:
        told = from_oserror(fault, "telling git about drafts")
        raise EnvironmentFault(told.code, told.message, hint=_AGAIN, **told.details) from fault


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
