"""Git's difftool on two versions of one file, at the user's terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING

from draftfs.cli._command import usage
from draftfs.errors import EnvironmentFault
from draftfs.git.command import run, without_repository

if TYPE_CHECKING:
    from draftfs.listing import Sides


def open_tool(found: Iterable[Sides], tool: str | None, *, terminal: bool) -> None:
    """Open each pair, one after the other: the target itself, everything else as a read-only copy under the target's own
    name, in a folder that says which it is. Raises EnvironmentFault `git` where the tool cannot be opened, OSError;
    BadRequest `usage` where git would have to guess one, which is an editor, and there is no terminal for that."""
    for sides in found:
        if tool is None and not terminal and not _is_configured(sides.top):
            usage("no difftool is configured, and this is no terminal", "git config diff.tool NAME, or --tool NAME")
        with tempfile.TemporaryDirectory(prefix="draftfs-") as folder:
            before = _file(sides, sides.before, sides.before_name, f"{folder}/before")
            after = _file(sides, sides.after, sides.after_name, f"{folder}/after")
            _run(sides.top, before, after, tool)


def _is_configured(top: str) -> bool:
    return any(run(top, "config", "--get", name, accept=(0, 1)).out for name in ("diff.tool", "merge.tool"))


def _file(sides: Sides, path: str | None, name: str, folder: str) -> str:
    """What the tool is given for this side."""
    if path is not None and name == sides.target:
        return path
    told = os.path.basename(name).removeprefix(os.path.basename(sides.target)).strip(" .()") or "nothing"
    copy = f"{folder}/{told if path is not None else 'nothing'}/{os.path.basename(sides.target)}"
    os.makedirs(os.path.dirname(copy))
    if path is None:
        with open(copy, "xb"):
            pass
    else:
        shutil.copyfile(path, copy)
    os.chmod(copy, 0o444)
    return copy


def _run(top: str, before: str, after: str, tool: str | None) -> None:
    named = [] if tool is None else [f"--tool={tool}"]
    command = ["git", "difftool", "--no-index", "--no-prompt", *named, "--", before, after]
    try:
        status = subprocess.run(command, cwd=top, env=without_repository(os.environ), check=False).returncode
    except OSError as fault:
        raise EnvironmentFault("git", "there is no git on the PATH", hint="install git 2.36 or newer") from fault
    if status not in (0, 1):
        raise EnvironmentFault(
            "git", "git could not open the difftool", hint="git difftool --tool-help lists those that it knows"
        )
