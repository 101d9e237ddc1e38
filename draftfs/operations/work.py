"""A worker's operations: claim, renew, draft, submit, release (G2, G3, G4)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from draftfs import layout, names
from draftfs.answers import Claimed, Drafted, JobChanged, Renewed
from draftfs.codec import to_plain
from draftfs.engine import Transaction
from draftfs.engine.transaction import FileView
from draftfs.errors import BadRequest
from draftfs.operations.desk import Desk, disk, note_of
from draftfs.records import Content, Lease
from draftfs.repo import Repo
from draftfs.rules import claims, decisions, drafts, jobs
from draftfs.rules.drafts import Proposal
from draftfs.settings import check_ttl

if TYPE_CHECKING:
    from draftfs.fresh import Changed, Fresh, Removed
    from draftfs.patience import Told


class WorkOperations(Desk):
    """What a worker does, and what `draftfs run` needs for one."""

    def claim(
        self,
        job: int,
        *,
        seen: int,
        ttl: int | None = None,
        adopt: bool = False,
        wait: float = 0.0,
        waits: Told | None = None,
        receipt: str | None = None,
    ) -> Claimed:
        """Claim a job at the version its worker saw (G2, G3). `claims.claim` has the refusals and their order.

        Here and below: with `wait` (seconds), what others can mend is waited for, those who began earlier first; `waits` is
        told once what for. Raises Busy `timeout`. A job that is claimed is not waited for: it comes free at another version.
        """
        what = self._claiming.of_job(job, seen)
        return self._claiming.here(what, ttl, receipt, adopt=adopt, wait=wait, waits=waits)

    def claim_next(
        self,
        *,
        ttl: int | None = None,
        adopt: bool = False,
        wait: float = 0.0,
        waits: Told | None = None,
        receipt: str | None = None,
    ) -> Claimed:
        """Claim the ready job with the fewest attempts, then the lowest number. Raises `nothing_ready` or `all_done`."""
        return self._claiming.here(self._claiming.of_next(), ttl, receipt, adopt=adopt, wait=wait, waits=waits)

    def claim_paths(
        self,
        paths: Sequence[str],
        *,
        ttl: int | None = None,
        adopt: bool = False,
        wait: float = 0.0,
        waits: Told | None = None,
        receipt: str | None = None,
    ) -> Claimed:
        """Make a job on `paths` and claim it, in one transaction."""
        what = self._claiming.of_paths(self._targets(paths))
        return self._claiming.here(what, ttl, receipt, adopt=adopt, wait=wait, waits=waits)

    def claim_fresh(
        self,
        job: int | None = None,
        *,
        seen: int | None = None,
        ttl: int | None = None,
        place: str | None = None,
        receipt: str | None = None,
    ) -> Fresh:
        """Claim a job at the version seen, or the next one, and make a worktree for this claim alone (§8, run).

        It lies in `place`, by default the folder `NAME.jobs` beside the root, as `job-JOB-EPOCH`, on a branch of that name
        at the root's HEAD, and holds the root's bytes at the reserved paths, which are the bases of the claim. Where it
        cannot be made, the claim is released plainly. For agents, from any checkout. Raises what `claim` raises.
        """
        if job is not None and seen is None:
            raise BadRequest("usage", "a job is claimed at the version that was seen", hint="seen=VERSION")
        what = self._claiming.of_next() if job is None or seen is None else self._claiming.of_job(job, seen)
        return self._claiming.fresh(what, ttl, receipt, place)

    def changed_since(self, fresh: Fresh) -> Changed:
        """What differs in a claim's worktree from what it was filled with; for a store opened in that worktree."""
        from draftfs.fresh import changed

        with disk("looking at the worktree"):
            return changed(self._workspace, fresh, self.info.fold, self.actor.name)

    def drafts_of(self, job: int, epoch: int) -> dict[str, Content | None]:
        """The latest draft of each target that a claim, live or over, has handed in."""

        def look(view: FileView) -> dict[str, Content | None]:
            lease = view.get(layout.lease(job))
            held = lease if lease is not None and lease.epoch == epoch else view.get(layout.ended_claim(job, epoch))
            refs = held.drafts if held is not None else ()
            return {ref.target: drafts.find(view, ref).content for ref in refs}

        return self.engine.read(look)

    def remove_fresh(self, fresh: Fresh) -> Removed:
        """Remove the worktree of a claim that is over; for a store opened in it.

        It stays where something in it was not drafted, where git would lose a commit with it, and under a live claim.
        """
        from draftfs.fresh import Removed, remove, unsaved

        identity = self.worktree.id()

        def held(view: FileView) -> bool:
            leases = (view.get(key) for key in view.under(layout.LEASES))
            return any(lease is not None and lease.worktree == identity for lease in leases)

        self._calls.notice()
        with disk("looking at the worktree"):
            if self.engine.read(held):
                return Removed(folder=False, branch=False, because="a claim of it is live")
            because = unsaved(self.repo, fresh, self.changed_since(fresh), self.drafts_of(fresh.job, fresh.epoch))
        if because is not None:
            return Removed(folder=False, branch=False, because=because)
        return remove(Repo.find(self.tree.top), fresh)

    def renew(
        self, *, job: int | None = None, token: str | None = None, ttl: int | None = None, receipt: str | None = None
    ) -> Renewed:
        """Move the live claim's deadline to now + ttl (its own ttl unless given). The token stays."""
        check_ttl(ttl)
        held = self._holdings.find(job, token, receipt=receipt)

        def rule(tx: Transaction) -> Renewed:
            return claims.renew(tx, *held, self.actor, ttl)

        return self._calls.fenced("renew", {"ttl": ttl}, Renewed, rule, held, receipt)

    def release(
        self,
        *,
        job: int | None = None,
        token: str | None = None,
        failed: bool = False,
        note: str | None = None,
        receipt: str | None = None,
    ) -> JobChanged:
        """Give the job back; plainly the attempt comes back too, with `failed` it stays spent."""
        held = self._holdings.find(job, token, receipt=receipt)

        def rule(tx: Transaction) -> JobChanged:
            return claims.release(tx, *held, self.actor, failed=failed, note=note)

        meant = {"failed": failed, "note": note_of(note)}
        return self._calls.fenced("release", meant, JobChanged, rule, held, receipt)

    def submit(
        self, *, job: int | None = None, token: str | None = None, note: str | None = None, receipt: str | None = None
    ) -> JobChanged:
        """End the claim and hand the job, with this claim's latest draft per target, to a person."""
        held = self._holdings.find(job, token, receipt=receipt)

        def rule(tx: Transaction) -> JobChanged:
            submitted = claims.submit(tx, *held, self.actor, note)
            decisions.settle(tx, [submitted.job.id], self.actor)  # a person may have promoted all of it already
            return replace(submitted, job=jobs.find(tx, submitted.job.id))

        return self._calls.fenced("submit", {"note": note_of(note)}, JobChanged, rule, held, receipt)

    def draft(
        self,
        paths: Sequence[str],
        *,
        source: str | int | None = None,
        delete: bool = False,
        note: str | None = None,
        job: int | None = None,
        token: str | None = None,
        receipt: str | None = None,
    ) -> Drafted:
        """Hand in the next draft of each path, from the caller's checkout; or of one path from `source`, a file or an
        open descriptor; or propose its deletion. Needs the live token (G4)."""
        targets = tuple(sorted({self.repo.target(path) for path in paths}))
        if not targets or (source is not None and (delete or len(targets) != 1)):
            raise BadRequest(
                "usage", "name the paths to draft; --from goes with exactly one", hint="draftfs draft PATH…"
            )
        held = self._holdings.find(job, token, targets, receipt)
        author = names.author_of(self.actor)
        with ExitStack() as stack, disk("preparing the draft"):
            lease = self.engine.read(lambda view: view.get(layout.lease(held[0])))
            contents = {each: self._workspace.drafted(each, source, delete=delete) for each in targets}
            proposals = [self._proposal(stack, each, author, contents[each], lease) for each in targets]

            def rule(tx: Transaction) -> Drafted:
                return drafts.add(tx, claims.fence(tx, *held, "draft"), self.actor, author, proposals, note)

            meant = {"drafts": [[each, to_plain(contents[each])] for each in targets], "note": note_of(note)}
            drafted = self._calls.fenced("draft", meant, Drafted, rule, held, receipt)
        return replace(drafted, drafts=self.tree.with_shown(drafted.drafts))

    def _proposal(
        self, stack: ExitStack, target: str, author: str, content: Content | None, lease: Lease | None
    ) -> Proposal:
        self._workspace.require_short_name(target, author)
        base = self._workspace.base_under_folder(lease, target) if lease is not None else None
        staged = self.tree.stage_draft(stack, target, content) if self.tree.is_writable(target) else None
        return Proposal(target, content, base, self.tree.highest_number(target), staged)
