from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.cli._streams import STDIN
from draftfs.cli.hooks import install
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.git.hooks import Installed

_NEXT: Final = ("next: draftfs job add TITLE PATH…",)


@command(
    "init",
    "Make the store of this repository",
    synopsis="[--root CHECKOUT] [--hooks | --no-hooks]",
    examples=["draftfs init", "draftfs init --hooks"],
)
@click.option("--hooks/--no-hooks", default=None, help="Install git's hooks too, or do not ask about them.")
@click.option("--root", metavar="CHECKOUT", help="Show drafts there: in a bare repository, or once moved.")
def run(call: Call, hooks: bool | None, root: str | None) -> Answer:
    """The store lies in the repository's git folder, shared by all its worktrees and never committed. The main checkout
    becomes the root: there the drafts will appear beside their targets. Running it again changes nothing."""
    from draftfs.store import Store

    store, created = Store.init(call.folder, root=root, **call.options())
    folder = store.repo.cwd
    about = {"id": store.info.id, "path": store.folder, "root": store.tree.top}
    installed = _install(call, folder) if hooks or (hooks is None and _wanted(call, folder)) else None
    return Answer(
        {"store": about, "created": created, "hooks": None if installed is None else to_plain(installed)},
        [
            *_lines(store.folder, store.tree.top, created),
            *_about_hooks(installed, told=created and hooks is None),
            *(_NEXT if created else ()),
        ],
        warnings=() if installed is None else install.warnings(installed),
        changed=True,
    )


def _install(call: Call, folder: str) -> Installed:
    from draftfs.git import hooks

    return hooks.install(folder, lock_wait=call.lock_wait)


def _wanted(call: Call, folder: str) -> bool:
    """Ask whether to install the hooks, where somebody can answer and one is missing. Yes by default."""
    from draftfs.git import hooks

    if not call.interactive or not hooks.status(folder).missing:
        return False
    call.streams.answer(call.streams.encoded("Install git's hooks, which refuse what a late worker commits? [Y/n] "))
    return os.read(STDIN, 1024).lower() in (b"\n", b"y\n", b"yes\n")


def _about_hooks(installed: Installed | None, *, told: bool) -> Iterator[str]:
    if installed is not None:
        yield from install.lines(installed)
    elif told:
        yield "git's hooks, which refuse what a late worker commits, are not installed: draftfs hooks install"


def _lines(folder: str, root: str, created: bool) -> Iterator[str]:
    if not created:
        yield f"the store is there already: {shown(folder)}"
        return
    yield f"made the store {shown(folder)}"
    yield f"drafts will appear in {shown(root)}"
