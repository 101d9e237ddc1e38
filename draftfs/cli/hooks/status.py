from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from draftfs.cli._call import FINDINGS, Answer, Call
from draftfs.cli._command import command
from draftfs.cli._show import Paint
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.git.hooks import HookState, Status


@command("status", "Ask git which hooks it runs, in every worktree", examples=["draftfs hooks status"])
def run(call: Call) -> Answer:
    """Exits with 6 when a hook that should be active is not, and says with each what to run. Of each hook the state: active;
    outdated (it runs, but install would write another); not_installed; replaced (git runs somebody else's); disabled (git
    runs none); broken (it runs, and cannot start draftfs)."""
    from draftfs.git import hooks

    found = hooks.status(call.folder)
    return Answer(
        {**to_plain(found), "active": not found.missing},
        _lines(found, call.paint),
        status=FINDINGS if found.missing else 0,
    )


def _lines(found: Status, paint: Paint) -> Iterator[str]:
    if found.store is None:
        yield "this repository has no store: hooks do nothing here"
    worktree = None
    for each in found.hooks:
        if each.worktree != worktree:
            worktree = each.worktree
            yield shown(worktree)
        yield f"  {each.hook:<22}{paint(_colour(each), each.state.replace('_', ' '))}: {shown(each.message)}"
        if each.repair is not None and found.store is not None:
            yield f"    repair: {shown(each.repair)}"
    for defined in found.config_hooks:
        off = "" if defined.enabled else ", switched off"
        yield f"git's config defines the hook {shown(defined.name)} for {shown(defined.event or 'no event')}{off}"


def _colour(state: HookState) -> str:
    return {"active": "green", "outdated": "yellow"}.get(state.state, "red")
