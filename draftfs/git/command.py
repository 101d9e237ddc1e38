"""Running git. The one place that knows which variables of the environment reach it."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Mapping
from typing import Final, NamedTuple

from draftfs.errors import EnvironmentFault, from_oserror


class Answer(NamedTuple):
    """What git said. Bytes that are no UTF-8 come through as surrogates (os.fsdecode)."""

    status: int
    out: str
    err: str


_OLDEST: Final = (2, 36)  # knows --remerge-diff and `git hook run`
# `git rev-parse --local-env-vars`, of all versions so far; and what would bend the meaning of a path.
_SCRUBBED: Final = frozenset(
    "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT GIT_OBJECT_DIRECTORY GIT_DIR "  # noqa: SIM905
    "GIT_WORK_TREE GIT_IMPLICIT_WORK_TREE GIT_GRAFT_FILE GIT_INDEX_FILE GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE "
    "GIT_PREFIX GIT_INTERNAL_SUPER_PREFIX GIT_SHALLOW_FILE GIT_COMMON_DIR GIT_NAMESPACE GIT_ATTR_SOURCE "
    "GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS".split()
)
# What a hook needs to see what git sees: this repository, the index of this very commit, the objects of this very push.
_HOOKS_OWN: Final = frozenset(
    "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES "  # noqa: SIM905
    "GIT_QUARANTINE_PATH GIT_SHALLOW_FILE GIT_NAMESPACE".split()
)


def run(
    cwd: str,
    command: str,
    *arguments: str,
    options: tuple[str, ...] = (),
    accept: Container[int] = (0,),
    into: int | None = None,
    feed: str | None = None,
    in_hook: bool = False,
    verifying: bool = False,
    as_user: bool = False,
    extra: Mapping[str, str] | None = None,
    inherits: tuple[int, ...] = (),
) -> Answer:
    """Run one git command in `cwd`; `feed` is its standard input, its output goes to the descriptor `into` if given.

    `in_hook`: git itself has started this process for a hook, and the repository, index and objects that it names count.
    `verifying`: replacements and grafts do not count; they could hide a change from whoever checks it. `as_user`: it runs
    the user's hooks, in their language and by their configuration. `extra` variables are added. `inherits` are open descriptors for it to keep.

    Raises EnvironmentFault `git` for an exit status that is not among `accept`.
    """
    from subprocess import DEVNULL, PIPE, Popen

    scrubbed = _SCRUBBED - _HOOKS_OWN if in_hook else _SCRUBBED
    environment = {name: value for name, value in os.environ.items() if name not in scrubbed}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    if as_user:
        environment = without_repository(os.environ)
    environment |= extra or {}
    if verifying:
        environment |= {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}
    call, stdout = ["git", *options, command, *arguments], PIPE if into is None else into
    stdin = DEVNULL if feed is None else PIPE
    try:
        with Popen(call, cwd=cwd, env=environment, stdin=stdin, stdout=stdout, stderr=PIPE, pass_fds=inherits) as git:
            out, err = git.communicate(None if feed is None else os.fsencode(feed))
    except OSError as fault:
        if isinstance(fault, FileNotFoundError) and os.path.isdir(cwd):
            raise EnvironmentFault("git", "there is no git on the PATH", hint="install git 2.36 or newer") from fault
        raise from_oserror(fault, "running git") from fault
    answer = Answer(git.returncode, os.fsdecode(out or b""), os.fsdecode(err))
    if answer.status not in accept:
        raise fault_of(command, answer)
    return answer


def without_repository(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` for a program that is to work in another checkout: what names a repository goes, what somebody
    configured by GIT_CONFIG_* stays."""
    return {
        name: value for name, value in environment.items() if name not in _SCRUBBED or name.startswith("GIT_CONFIG_")
    }


def require_version() -> None:
    """Raises EnvironmentFault `git` where git is older than draftfs needs."""
    said = run(os.path.sep, "version").out.strip()
    found = re.search(r"([0-9]+)\.([0-9]+)", said)
    if found is not None and (int(found[1]), int(found[2])) < _OLDEST:
        raise EnvironmentFault("git", f"{said.replace(' version', '')} is too old", hint="install git 2.36 or newer")


def fault_of(command: str, answer: Answer) -> EnvironmentFault:
    """The error in git's own words, with the command it recommends."""
    lines = [line.strip() for line in answer.err.splitlines() if line.strip()] or [f"exit status {answer.status}"]
    said = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0])
    hint = next((line for line in lines if line.startswith("git config") and "safe.directory" in line), None)
    if hint is None and "not a git repository: " in said:  # the git folder, or this worktree, was moved by hand
        hint = "git worktree repair (in the main checkout, with this worktree's path where that was moved)"
    return EnvironmentFault("git", f"git {command} failed: {said}", hint=hint)
