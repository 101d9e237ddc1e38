"""What every operation works with: the store's engine, the caller's checkout, the root, and who calls."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from draftfs import names, opening
from draftfs.calls import Calls, Keys
from draftfs.claiming import Claiming
from draftfs.clock import Clock
from draftfs.engine import Transaction
from draftfs.engine.files import FileEngine
from draftfs.engine.objects import Objects, Progress
from draftfs.errors import EnvironmentFault, Refused, from_oserror
from draftfs.holdings import Holdings
from draftfs.listing import Listing
from draftfs.records import Content
from draftfs.repo import Repo
from draftfs.rules import jobs
from draftfs.tree import Tree
from draftfs.workspace import Workspace
from draftfs.worktree import Worktree

if TYPE_CHECKING:  # what only some operations need is imported by them: it would slow the start of all others
    from draftfs.promoter import Promoter


class Desk:
    """The store of one repository, as one caller sees it, without its operations."""

    def __init__(
        self,
        repo: Repo,
        agent: str | None,
        *,
        clock: Clock,
        lock_wait: float,
        keys: Keys,
        progress: Progress | None,
        running: tuple[int, int] | None,
    ) -> None:
        self.repo, self.folder = repo, opening.locate(repo)
        self.engine = FileEngine(self.folder, clock, lock_wait)
        self.info = self.engine.read(lambda view: view.store)
        top = os.path.normpath(os.path.join(repo.common_dir, self.info.root))
        self.objects = Objects(self.folder, progress)
        self.tree = Tree(top, self.objects, lambda: repo.head(top).branch, self._keep_hand_edit)
        self.engine.root = self.tree
        self.worktree = Worktree(repo.git_dir)
        self._workspace = Workspace(repo, self.tree, self.objects)
        self.actor = opening.actor(repo, agent, in_root=self._workspace.in_root)
        self._calls = Calls(self.engine, self.info.id, self.actor, keys)
        self._holdings = Holdings(self.engine, self.info.id, self.worktree, self.actor, running)
        self._claiming = Claiming(self.engine, self.info, self.actor, self._workspace, self._calls, self._holdings)
        self._listing = Listing(self.engine, self._workspace)

    def settle(self) -> None:
        """Do what earlier operations could not do to the root, as far as this caller can."""
        if self.engine.has_pending_effects():
            # A root or store that cannot be written now is tried again by the next.
            with suppress(EnvironmentFault), ExitStack() as stack, disk("showing drafts"):
                self.tree.make_ready(stack, self.engine.pending_effects())
                self.engine.settle()

    @cached_property
    def _promoter(self) -> Promoter:
        from draftfs.promoter import Promoter

        return Promoter(self.engine, self._workspace, self.actor)

    def _keep_hand_edit(self, tx: Transaction, target: str, content: Content, base: Content | None, taken: int) -> None:
        self._promoter.keep_hand_edit(tx, target, content, base, taken)

    def _require_person(self, doing: str) -> None:
        """G7. An agent, or anybody in an agent's worktree, is refused unless the store's settings allow it."""
        allowed = self.engine.read(lambda view: view.store.settings.agents_promote)
        outside = not self._workspace.in_root
        if not self.actor.is_agent:
            self.tree.require()
        if (self.actor.is_agent or outside) and not allowed:
            where = "in an agent's worktree" if outside else f"as the agent {self.actor.name}"
            raise Refused(
                "agents_cannot_promote",
                f"only a person can {doing}, and this command runs {where}",
                hint=f"stop, and leave it to a person: they do it in {self.tree.top}",
            )

    def _targets(self, paths: Sequence[str]) -> tuple[str, ...]:
        return jobs.outermost(self.info.fold, (self.repo.target(path) for path in paths))


def note_of(note: str | None) -> str | None:
    """A note as it is recorded. Raises BadRequest `usage`."""
    return None if note is None else names.free_text(note, "a note")


@contextmanager
def disk(doing: str) -> Iterator[None]:
    """Within it, what the disk refuses is an EnvironmentFault that says so."""
    try:
        yield
    except OSError as fault:
        raise from_oserror(fault, doing) from fault
