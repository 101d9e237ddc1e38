"""The program that the installed hooks start: `main([HOOK, GIT_DIR, COMMON_DIR, arguments…])`, standard input as git gave it.

Its status is 0 (allow), 1 (refused; it has said why), 7 (busy) or 8 (an error); what follows from the last two the shim
decides. It starts with every commit, so nothing is imported that it does not need. Beside the command line it is the only
part of draftfs that reads the environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from draftfs import names, opening
from draftfs.clock import SystemClock
from draftfs.engine.files import FileEngine
from draftfs.errors import BadRequest, Busy, DraftfsError
from draftfs.git import changes
from draftfs.git.gate import Caller, Gate, Judged
from draftfs.git.people import people_of
from draftfs.worktree import Worktree

ALLOW: Final = 0
REFUSED: Final = 1
BUSY: Final = 7
ERROR: Final = 8


def main(argv: Sequence[str]) -> int:
    """Run one hook, or `bypassed`, which records that a person went past an error of one. Never raises."""
    try:
        name, git_dir, common_dir, *arguments = argv
        if name == "bypassed":
            return _bypassed(common_dir, *arguments)
        return _HOOKS[name](git_dir, common_dir, arguments)
    except BadRequest as fault:  # the caller's own settings: to pass these over would let any agent through
        _say(_told("refused: ", fault))
        return REFUSED
    except Busy as fault:
        _say(_told("", fault)[:1])  # the shim knows the next command
        return BUSY
    except DraftfsError as fault:
        _say(_told("", fault))
    except Exception as fault:  # noqa: BLE001 - whatever it is, git's user gets one line, and the shim decides
        _say([f"draftfs: internal error: {type(fault).__name__}: {names.shown(str(fault))}"])
    return ERROR


def _prepare_commit_msg(git_dir: str, common_dir: str, _: Sequence[str]) -> int:
    """The early refusal, before an editor opens. A warning is not said here: the ref update says it once.

    A merge is left to the ref update: what it changes is known only when its commit is there. An amend cannot be told from
    a commit here, so what would be fine as either passes, and the ref update decides.
    """
    if os.path.exists(f"{git_dir}/MERGE_HEAD"):
        return ALLOW
    judged = _gate(git_dir, common_dir).staged_or_amended()
    return _outcome(judged, "this commit", lambda: _left(git_dir, [])) if judged.policy == "refuse" else ALLOW


def _reference_transaction(git_dir: str, common_dir: str, _: Sequence[str]) -> int:
    """The local gate, which `--no-verify` does not pass. It gets the lines of refs that move to new commits."""
    moves = [(_known(old), new, ref) for old, new, ref in _lines()]
    judged = _gate(git_dir, common_dir).update(moves)
    return _outcome(judged, _named(ref for *_, ref in moves), lambda: _left(git_dir, moves))


def _pre_push(git_dir: str, common_dir: str, _: Sequence[str]) -> int:
    # The first of the four is what the user typed, and may hold spaces.
    pushed = [(_known(old), new, ref) for new, ref, old in (line[-3:] for line in _lines()) if _known(new)]
    judged = _gate(git_dir, common_dir).push(pushed)
    return _outcome(judged, f"the push to {_named(ref for _, _, ref in pushed)}")


def _pre_receive(git_dir: str, common_dir: str, _: Sequence[str]) -> int:
    """The same in a repository that is pushed to: every kind of ref, by the records alone."""
    received = [(_known(old), new, ref) for old, new, ref in _lines() if _known(new)]
    hiding = [ref for _, _, ref in received if ref.startswith("refs/replace/")]
    if hiding:
        _say([f"draftfs: refused: {names.shown(hiding[0])} would hide an object behind another"])
        return REFUSED
    gate = _gate(git_dir, common_dir, receiving=True)
    return _outcome(gate.push(received), _named(ref for _, _, ref in received))


def _gate(git_dir: str, common_dir: str, *, receiving: bool = False) -> Gate:
    folder = opening.store_of(common_dir, common_dir)
    engine = FileEngine(folder, SystemClock())
    root = opening.root_of(folder, engine.read(lambda view: view.store))
    in_root = not receiving and os.path.realpath(git_dir) == opening.git_dir_of(root)
    caller = Caller(None, in_root=False, agent=None) if receiving else _caller(git_dir, in_root=in_root)
    return Gate(engine, os.getcwd(), people_of(root), caller, in_hook=True)


def _caller(git_dir: str, *, in_root: bool) -> Caller:
    agent = os.environ.get("DRAFTFS_AGENT")
    if agent is not None:
        names.agent_name(agent)
    elif not in_root:
        agent = Worktree(git_dir).holder()
    job, epoch = os.environ.get("DRAFTFS_JOB", ""), os.environ.get("DRAFTFS_EPOCH", "")
    claim = (int(job), int(epoch)) if job.isdecimal() and epoch.isdecimal() else None
    token = os.environ.get("DRAFTFS_TOKEN")
    if token == "":
        raise BadRequest("usage", "DRAFTFS_TOKEN is set, but empty", hint="unset DRAFTFS_TOKEN")
    return Caller(git_dir, in_root, agent, token, claim)


def _bypassed(common_dir: str, hook: str, reason: str) -> int:
    engine = FileEngine(opening.store_of(common_dir, common_dir), SystemClock())
    by = os.environ.get("GIT_AUTHOR_NAME") or os.environ.get("USER") or "a person"
    engine.write(lambda tx: tx.append("hook.bypassed", by, hook=hook, reason=names.free_text(reason, "a reason")))
    return ALLOW


def _outcome(judged: Judged, what: str, left: Callable[[], str | None] = lambda: None) -> int:
    if not judged.findings or judged.policy == "off":
        return ALLOW
    from draftfs.git import refusal

    _say(refusal.lines(judged, what, left()))
    return REFUSED if judged.policy == "refuse" else ALLOW


def _left(git_dir: str, moves: Sequence[tuple[str | None, str, str]]) -> str | None:
    """What a refused commit or ref update leaves behind here, and how to get out of it."""
    from draftfs.git import refusal

    with open(f"{git_dir}/HEAD", "rb") as head:
        at = os.fsdecode(head.read().strip()).removeprefix("ref: ")
    refs = [ref for *_, ref in moves]
    here = not moves or at in refs or "HEAD" in refs
    if not here and not any(os.path.isdir(f"{git_dir}/rebase-{how}") for how in ("merge", "apply")):
        ready = changes.staged(os.getcwd(), in_hook=True) and not changes.staged(
            os.getcwd(), in_hook=True, against=moves[0][1]
        )
        return refusal.CHECKED_OUT if ready else None
    return refusal.left_by(git_dir, os.environ.get("GIT_REFLOG_ACTION", ""), refs[0] if refs else at)


def _lines() -> list[list[str]]:
    return [os.fsdecode(line).split(" ") for line in sys.stdin.buffer.read().split(b"\n") if line]


def _known(oid: str) -> str | None:
    """An object id; None for the one that stands for "no such ref"."""
    return oid if oid.strip("0") else None


def _named(refs: Iterable[str]) -> str:
    return ", ".join(names.shown(ref.removeprefix("refs/heads/")) for ref in dict.fromkeys(refs))


def _told(how: str, fault: DraftfsError) -> list[str]:
    said = [f"draftfs: {how}{names.shown(fault.message)}"]
    return [*said, f"  next: {names.shown(fault.hint)}"] if fault.hint else said


def _say(text: Iterable[str]) -> None:
    sys.stderr.write("".join(f"{line}\n" for line in text))
    sys.stderr.flush()


_HOOKS: Final = {
    "prepare-commit-msg": _prepare_commit_msg,
    "reference-transaction": _reference_transaction,
    "pre-push": _pre_push,
    "pre-receive": _pre_receive,
}
