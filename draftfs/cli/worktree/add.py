from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

import click

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.names import shown


@command(
    "add",
    "Make a worktree for an agent, on a branch of its own",
    synopsis="PATH [--as NAME] [--branch NAME]",
    examples=["draftfs worktree add ../ann --as ann"],
)
@click.argument("path")
@click.option("--branch", metavar="NAME", help="Call the branch this, not as the folder.")
def run(call: Call, path: str, branch: str | None) -> Answer:
    """The branch starts at the root's HEAD. With --as (or DRAFTFS_AGENT) the worktree remembers its agent, who need not be
    named in there again."""
    agent = call.agent()
    branch = branch or os.path.basename(os.path.normpath(path))
    top = call.store().add_worktree(path, agent=agent, branch=branch)
    about = {"path": top, "agent": agent, "branch": branch}
    return Answer({"worktree": about}, _lines(top, branch, agent), changed=True)


def _lines(top: str, branch: str, agent: str | None) -> Iterator[str]:
    yield f"made {shown(top)} on branch {shown(branch)}" + (f", for {agent}" if agent else "")
    yield f"next: cd {shown(shlex.quote(top))} && draftfs claim --next" + ("" if agent else " --as NAME")
