from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.git.hooks import Installed


@command(
    "install",
    "Have git refuse what a late worker commits, in all worktrees",
    synopsis="[--shared-folder]",
    examples=["draftfs hooks install"],
)
@click.option(
    "--shared-folder",
    is_flag=True,
    help="Write also where others share the folder: one for all repositories, outside this one, or tracked by it.",
)
def run(call: Call, shared_folder: bool) -> Answer:
    """The hooks go where git looks for them here (git rev-parse --git-path hooks). A hook that is there already is kept and
    runs after ours. Running it again changes nothing, or brings the hooks up to date with this draftfs."""
    from draftfs.git import hooks

    done = hooks.install(call.folder, shared=shared_folder, lock_wait=call.lock_wait)
    return Answer(to_plain(done), lines(done), warnings=warnings(done), changed=True)


def lines(done: Installed) -> Iterator[str]:
    """What was installed, in words."""
    for each in done.hooks:
        kept = f", before the hook that was there (kept as {shown(each.kept)})" if each.kept else ""
        yield f"{each.action} {shown(each.file)}{kept}"


def warnings(done: Installed) -> Iterator[str]:
    """Which worktrees were left alone."""
    for each in done.skipped:
        yield f"warning: left alone, see draftfs hooks status: {shown(each)}"
