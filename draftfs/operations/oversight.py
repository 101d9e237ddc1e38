"""Watching over a repository and its store: commits, findings, status, settings, the full self-check."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from draftfs import layout, names, tokens
from draftfs.answers import Checked, Checkup, Configured, MyStatus, ReceiptInfo, Status, Vouched
from draftfs.calls import standing_of
from draftfs.engine import Transaction
from draftfs.engine.transaction import FileView
from draftfs.errors import EnvironmentFault, NotFound
from draftfs.operations.desk import Desk, disk
from draftfs.repo import Repo
from draftfs.rules import lapses
from draftfs.settings import SETTINGS, from_text, to_text
from draftfs.worktree import Kept, Worktree

if TYPE_CHECKING:
    from draftfs.git.gate import Judged
    from draftfs.git.verifying import Verifier


class OversightOperations(Desk):
    """What tells how things are, and what sets a store up."""

    def verify(self, range_: str | None = None) -> Judged:
        """What in a range of commits nothing admits: `A..B`; of a single revision, HEAD if None, what people's branches do not
        have. By the records alone, whoever asks. Raises BadRequest `usage`."""
        self._calls.notice()
        return self._verifier.range(range_)

    def verify_staged(self, index: str | None = None) -> Judged:
        """What of the index a commit made here and now would be refused for. `index` is the file that a hook of git's was
        told to look at (GIT_INDEX_FILE); one of another worktree does not count."""
        self._calls.notice()
        return self._verifier.staged(index)

    def admit(self, range_: str, *, because: str, receipt: str | None = None) -> Vouched:
        """Vouch for what `verify` finds in the range (a person's act, and an event)."""
        self._require_person("vouch for commits")
        request, rule = self._verifier.vouching(range_, names.free_text(because, "a reason"))
        return self._calls.write("admit", request, Vouched, rule, receipt)

    @cached_property
    def _verifier(self) -> Verifier:
        from draftfs.git.verifying import Verifier

        return Verifier(self.engine, self.repo, self.tree.top, self.actor)

    def check(self, paths: Sequence[str] = (), *, kinds: Collection[str] | None = None) -> Checked:
        """What needs a person's eye (§7), of all of the repository or at and under `paths`; only of `kinds` (`check.KINDS`)
        if given."""
        from draftfs.check import KINDS, Checker

        self._calls.notice()
        self.settle()
        with disk("looking at the root"):
            scope = [self.repo.scope(path) for path in paths]
            return Checker(self.engine, self._workspace, self._verifier).run(scope, KINDS if kinds is None else kinds)

    def status(self) -> Status:
        """What a person wants to know before deciding, of all of the repository. What cannot be told is in `damaged`."""
        from draftfs.check import KINDS
        from draftfs.status import ELSEWHERE, survey

        self._calls.notice()
        listed = partial(self._listing.targets, (), everything=False)
        found = partial(self.check, kinds=[kind for kind in KINDS if kind not in ELSEWHERE])
        return survey(self.engine, self.tree.top, listed, found)

    def my_status(self) -> MyStatus:
        """What is the caller's own: claims, drafts, what it has not read, and what to do next."""
        from draftfs.status import mine

        self._calls.notice()
        return mine(self.engine, self.actor, self._holdings.mine, self.tree.shows)

    def lapse(self) -> float | None:
        """Commit what has lapsed by now; seconds until the next live claim does, None where none is held."""
        self._calls.notice()
        return self.engine.read(lapses.next_due)

    def receipt(self, key: str) -> ReceiptInfo:
        """What was written under a receipt key. Raises NotFound `no_receipt`."""
        self._calls.notice()

        def look(view: FileView) -> ReceiptInfo:
            kept = view.get(layout.receipt(tokens.digest(key)))
            if kept is None:
                raise NotFound("no_receipt", "nothing was ever written under this key", hint="run the command itself")
            standing = standing_of(view, kept)
            facts = (kept.operation, kept.actor, kept.at, kept.position, kept.job, kept.epoch)
            return ReceiptInfo(*facts, standing, kept.answer)

        return self.engine.read(look)

    def settings(self) -> dict[str, str]:
        """All settings, as `draftfs config` shows them."""
        settings = self.engine.read(lambda view: view.store.settings)
        return {name: to_text(name, getattr(settings, field)) for name, field in SETTINGS.items()}

    def configure(self, key: str, value: str, *, receipt: str | None = None) -> Configured:
        """Change one setting (a person's act). Raises BadRequest `usage`."""
        self._require_person("change settings")
        parsed = from_text(key, value)

        def rule(tx: Transaction, _: str) -> Configured:
            store = tx.store
            changed: dict[str, Any] = {SETTINGS[key]: parsed}
            tx.put(layout.STORE, replace(store, settings=replace(store.settings, **changed)))
            tx.append("config.set", self.actor.name, key=key, value=to_text(key, parsed))
            return Configured(key=key, value=to_text(key, parsed))

        request = {"key": key, "value": to_text(key, parsed)}
        configured = self._calls.write("config", request, Configured, rule, receipt)
        if key == "drafts.track":
            from draftfs import founding

            founding.hide_drafts(self.engine, self.repo)
        return configured

    def add_worktree(self, path: str, *, agent: str | None = None, branch: str | None = None) -> str:
        """Make a linked worktree on a new branch at the root's HEAD, for `agent` if named; returns its path."""
        start = self._workspace.head().commit
        if start is None:
            raise EnvironmentFault("git", "the repository has no commit yet", hint="git commit, then try again")
        top = self.repo.worktree_add(path, branch or os.path.basename(os.path.normpath(path)), start)
        if agent is not None:
            Worktree(Repo.find(top).git_dir).remember_holder(names.agent_name(agent))
        return top

    def doctor(self, *, fix: bool = False) -> Checkup:
        """The full self-check: whether each guarantee holds on disk, and where not. `fix` mends what is certain."""
        from draftfs.doctor import Doctor

        return Doctor(self.engine, self.tree, self._all_kept).run(fix=fix)

    def _all_kept(self) -> tuple[Kept, ...]:
        """The tokens of this store that its worktrees keep; what cannot be read there is no matter of the store's."""
        found: list[Kept] = []
        for git_dir in self.repo.git_dirs():
            with suppress(EnvironmentFault):
                found += Worktree(git_dir).kept()
        return tuple(each for each in found if each.store == self.info.id)
