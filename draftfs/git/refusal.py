"""What a refused commit, push or ref update says: what, who holds it, until when, what to run next, and how to get out of the
state that git leaves behind (G10)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from draftfs.errors import pasteable
from draftfs.git.gate import Finding, Judged
from draftfs.names import shown
from draftfs.records import EndedClaim, TreeEntry
from draftfs.rules.claims import ENDED

_MOST: Final = 10
_WAYS_OUT: Final = (
    ("rebase-merge", "git rebase --abort"),
    ("rebase-apply/applying", "git am --abort"),
    ("rebase-apply/head-name", "git rebase --abort"),
    # `rebase --apply` notes where it came from only when it stops for a conflict, and cannot be aborted without.
    ("rebase-apply", "git rebase --quit && git switch {branch}"),
    ("MERGE_HEAD", "git merge --abort"),
    ("CHERRY_PICK_HEAD", "git cherry-pick --abort"),
    ("REVERT_HEAD", "git revert --abort"),
)
CHECKED_OUT: Final = "index and files hold the new content already; to get out: git reset --hard"


def lines(judged: Judged, what: str, left: str | None) -> Iterator[str]:
    """The text for the findings of one refused (or, by the policy, only noted) act; `what` is "this commit", say, and
    `left` says what it leaves behind, None for nothing."""
    verb = "refused" if judged.policy == "refuse" else "warning"
    count = len({each.change.path for each in judged.findings})
    files = "1 path" if count == 1 else f"{count} paths"
    yield f"draftfs: {verb}: {what} changes {files} without a live claim or a recorded step"
    for finding in judged.findings[:_MOST]:
        yield f"  {line(finding)}"
    if len(judged.findings) > _MOST:
        yield f"  … and {len(judged.findings) - _MOST} more"
    for claim in judged.ended:
        yield f"  {_gone(claim)}"
    yield from _next(judged, left)


def line(finding: Finding) -> str:
    """One finding on one line: path, what was done to it, in which commit, and who holds it."""
    commit = f" in {finding.commit[:12]}" if finding.commit is not None else ""
    return f"{shown(finding.change.path)} ({_did(finding)}{commit}): {_held(finding)}"


def plain(finding: Finding) -> dict[str, Any]:
    """A finding as `--json` gives it."""
    return {
        "kind": "unadmitted",
        "commit": finding.commit,
        "path": finding.change.path,
        "from": _entry(finding.change.before),
        "to": _entry(finding.change.after),
        "holder": finding.holder,
        "job": finding.job,
        "epoch": finding.epoch,
        "expires_at": finding.expires_at,
    }


def _entry(entry: TreeEntry | None) -> dict[str, str] | None:
    return None if entry is None else {"mode": entry.mode, "oid": entry.oid}


def _did(finding: Finding) -> str:
    before, after = finding.change.before, finding.change.after
    if before is None:
        return "added"
    return "deleted" if after is None else "changed"


def _held(finding: Finding) -> str:
    if finding.holder is None:
        return "nobody holds it"
    until = f" until {finding.expires_at}" if finding.expires_at is not None else ""
    epoch = f", epoch {finding.epoch}" if finding.epoch is not None else ""
    return f"held by {shown(finding.holder)}{until} (job {finding.job}{epoch})"


def _gone(claim: EndedClaim) -> str:
    note = f" ({shown(claim.note)})" if claim.note else ""
    return (
        f"{shown(claim.holder)}'s claim of job {claim.job} (epoch {claim.epoch}) {ENDED[claim.how]} at {claim.at}{note}"
    )


def left_by(git_dir: str, action: str, ref: str) -> str:
    """What is left in this worktree by a refused commit, or the refused move of `ref`, which it has checked out or is
    rebasing; with the command that gets out of it. `action` is git's own word for what runs, "" where it says none."""
    for state, way_out in _WAYS_OUT:
        if os.path.exists(f"{git_dir}/{state}"):
            return f"to get out: {way_out.format(branch=pasteable(ref.removeprefix('refs/heads/')))}"
    if action.startswith(("merge", "pull", "revert")):
        return CHECKED_OUT
    return (
        "a commit's content is still staged (git restore --staged -- PATH takes it out); "
        "after reset --hard COMMIT, to get out: git reset --hard"
    )


def _next(judged: Judged, left: str | None) -> Iterator[str]:
    if judged.policy != "refuse":
        yield "  let through, but not recorded: agents' worktrees will refuse the same change"
        return
    free = next((each for each in judged.findings if each.holder is None), None)
    if free is not None:
        over = "stop, this work is late; to go on all the same, claim it again" if judged.ended else "claim it"
        yield f"  next: {over} (draftfs claim --adopt -- {pasteable(free.change.path)}), or leave it out"
    else:
        yield "  next: stop working on it, or wait until it is free and claim it; leave it out of the commit"
    yield f"  nothing has moved{', and nothing is left behind' if left is None else f'; {left}'}"
