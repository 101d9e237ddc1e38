"""What a person asks about commits: what nothing admits in a range, or in what is staged; and their word for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from draftfs.answers import Vouched, VouchedChange
from draftfs.engine import Transaction
from draftfs.engine.files import FileEngine
from draftfs.git import ranges
from draftfs.git.command import run
from draftfs.git.gate import Caller, Finding, Gate, Judged
from draftfs.git.people import people_of
from draftfs.records import Actor
from draftfs.repo import Repo
from draftfs.rules import admissions


class Verifier:
    """One caller's questions about the commits of one repository. `root` is the top of the checkout that people look at."""

    def __init__(self, engine: FileEngine, repo: Repo, root: str, actor: Actor) -> None:
        self._engine, self._repo, self._root, self._actor = engine, repo, root, actor

    def range(self, text: str | None) -> Judged:
        """By the records alone, whoever asks. Raises BadRequest `usage`."""
        gate, ends = self._asked(text)
        return gate.range(*ends)

    def worktrees(self) -> tuple[Finding, ...]:
        """What nothing admits of what agents' worktrees have checked out, and people's branches do not have."""
        gate = Gate(self._engine, self._root, people_of(self._root), Caller(None, in_root=False, agent=None))
        return gate.tips(_checked_out(self._root)).findings

    def staged(self, index: str | None) -> Judged:
        """As a commit that this caller makes here and now, of the index file `index` (absolute) if it is this worktree's."""
        if index is not None and not os.path.realpath(index).startswith(f"{self._repo.git_dir}/"):
            index = None
        agent = self._actor.name if self._actor.is_agent else None
        caller = Caller(self._repo.git_dir, self._repo.top == self._root, agent)
        return Gate(self._engine, self._repo.top, people_of(self._root), caller).staged(index)

    def vouching(self, text: str, because: str) -> tuple[Mapping[str, Any], Callable[[Transaction, str], Vouched]]:
        """What `admit` means by a range now, as a request, and the rule that records it."""
        gate, (old, new) = self._asked(text)
        found = gate.range(old, new).findings

        def rule(tx: Transaction, _: str) -> Vouched:
            admissions.vouch(tx, [each.change for each in found], self._actor.name, because)
            if found:
                commits = list(dict.fromkeys(each.commit for each in found))
                tx.append("commit.vouched", self._actor.name, commits=commits, changes=len(found), because=because)
            told = (
                VouchedChange(each.commit, each.change.path, each.change.before, each.change.after) for each in found
            )
            return Vouched(admitted=tuple(told))

        return {"old": old, "new": new, "because": because}, rule

    def _asked(self, text: str | None) -> tuple[Gate, tuple[str | None, str]]:
        """Whom to ask about a range, and its two ends: resolved once, for a branch may move on meanwhile."""
        people = people_of(self._root)
        gate = Gate(self._engine, self._repo.top, people, Caller(None, in_root=False, agent=None))
        return gate, ranges.resolve(self._repo.top, text, people)


def _checked_out(root: str) -> list[str]:
    """The commits (ids) that the worktrees have checked out which are there, but for the root."""
    told = run(root, "worktree", "list", "--porcelain", "-z").out.split("\0\0")
    listed = ([line.partition(" ")[::2] for line in each.split("\0")] for each in told)
    worktrees = [dict(lines) for lines in listed]
    tips = (each.get("HEAD", "") for each in worktrees if "prunable" not in each and each.get("worktree") != root)
    return list(dict.fromkeys(tip for tip in tips if tip.strip("0")))
