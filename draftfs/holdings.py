"""Which claim a caller means, and its token: as given, or as kept in the worktree's own git folder (§8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from draftfs import layout, tokens
from draftfs.engine.files import FileEngine
from draftfs.engine.transaction import FileView
from draftfs.errors import BadRequest, Damaged, DraftfsError, Fenced, Refused
from draftfs.records import Actor, Lease
from draftfs.rules import drafts, receipts
from draftfs.worktree import Kept, Worktree

OVER_KEPT: Final = 16


class Holdings:
    """The claims of one worktree in one store."""

    def __init__(
        self,
        engine: FileEngine,
        store_id: str,
        worktree: Worktree,
        actor: Actor,
        running: tuple[int, int] | None = None,
    ) -> None:
        """`running` is the claim (job, epoch) that the caller was started under, if it was."""
        self._engine, self._store_id, self._worktree, self._actor = engine, store_id, worktree, actor
        self._running = running

    def find(
        self, job: int | None, token: str | None, targets: Sequence[str] = (), receipt: str | None = None
    ) -> tuple[int, str]:
        """(job, token). The claim that an earlier call with this receipt key was about; else of several kept claims the
        one that is live and covers `targets`; else the newest that is over, whose token the fence will refuse.

        Raises Refused `no_token`, Fenced `fenced` for a token of no claim that can be found, BadRequest `usage` where
        several claims fit.
        """
        earlier = self._engine.read(lambda view: receipts.claim_of(view, receipt)) if receipt is not None else None
        if token is not None:
            return (job if job is not None else self._job_of(token, earlier)), token
        everybodys = [each for each in self._kept() if job in (None, each.job)]
        kept = [each for each in everybodys if each.holder == self._actor.name]
        if not kept:
            raise self._no_token(job) if not everybodys else self._not_yours(everybodys[-1])
        for each in kept:
            if (each.job, each.epoch) == earlier:
                return each.job, each.token
        live, covering = self._live(kept, targets)
        chosen = covering or live or [kept[-1]]
        if len(chosen) > 1:
            numbers = ", ".join(str(each.job) for each in chosen)
            raise BadRequest("usage", f"this worktree holds several claims (jobs {numbers})", hint="say which: --job N")
        self._refuse_predecessor(chosen[0])
        return chosen[0].job, chosen[0].token

    def keep(self, kept: Kept, *, holder: bool) -> None:
        """Keep a claim's token where hooks and later commands find it; with `holder` this worktree is its agent's.

        A token outlives its claim here, so that `submit` or `release`, repeated after a lost answer, finds the receipt
        that was made under it; all but the latest few of those go.
        """
        self._worktree.keep(kept)
        everything = self._kept()
        if holder and everything[-1].epoch <= kept.epoch:  # who stalled until now does not take it from a successor
            self._worktree.remember_holder(kept.holder)
        live, _ = self._live(everything) if len(everything) > OVER_KEPT else (everything, [])
        for each in [each for each in everything if each not in live][:-OVER_KEPT]:
            self._worktree.forget(each.job, before=each.epoch + 1)

    def mine(self) -> list[Kept]:
        """What this worktree keeps for the actor, oldest epoch first."""
        return [each for each in self._kept() if each.holder == self._actor.name]

    def _kept(self) -> list[Kept]:
        return [each for each in self._worktree.kept() if each.store == self._store_id]

    def _job_of(self, token: str, earlier: tuple[int, int] | None) -> int:
        epoch = tokens.epoch_of(token)
        if earlier is not None and earlier[1] == epoch:
            return earlier[0]

        def look(view: FileView) -> int | None:
            unreadable: Damaged | None = None
            for key in view.under(layout.LEASES):
                try:
                    lease = view.get(key)
                except Damaged as fault:
                    unreadable = fault
                else:
                    if lease is not None and lease.epoch == epoch:
                        return lease.job
            if unreadable is not None:  # it may well be that claim's
                raise unreadable
            return None

        kept = [each.job for each in self._kept() if each.token == token]
        job = kept[0] if kept else self._engine.read(look)
        if job is None:
            raise Fenced("fenced", "this token is not that of any live claim", hint="stop; or name the job: --job N")
        return job

    def _live(self, kept: Sequence[Kept], targets: Sequence[str] = ()) -> tuple[list[Kept], list[Kept]]:
        """Those of the kept claims that are live, and those of them that have reserved all of `targets`."""

        def look(view: FileView) -> tuple[list[Kept], list[Kept]]:
            held = [(each, _lease(view, each)) for each in kept]
            fold = view.store.fold
            covering = [
                each
                for each, lease in held
                if lease is not None and all(drafts.covered(lease, target, fold) for target in targets)
            ]
            return [each for each, lease in held if lease is not None], covering

        return self._engine.read(look)

    def _not_yours(self, kept: Kept) -> DraftfsError:
        """Two in one worktree: the token there is the successor's, and the late worker is not to write with it (G4)."""
        return Fenced(
            "fenced",
            f"the claim of job {kept.job} that this worktree keeps is {kept.holder}'s, not {self._actor.name}'s",
            hint="stop: nothing you write here counts. To go on, claim in a worktree of your own",
            job=kept.job,
            epoch=kept.epoch,
            holder=kept.holder,
        )

    def _refuse_predecessor(self, kept: Kept) -> None:
        """A program that was started under an earlier claim of this job is not to write with its successor's token (G4)."""
        if self._running is not None and self._running[0] == kept.job and self._running[1] != kept.epoch:
            raise Fenced(
                "fenced",
                f"this program was started under epoch {self._running[1]} of job {kept.job}, and the claim that this"
                f" worktree keeps has epoch {kept.epoch}",
                hint="stop: nothing you write here counts. Who claimed anew after that unsets DRAFTFS_JOB and DRAFTFS_EPOCH",
                job=kept.job,
                epoch=self._running[1],
                holder=kept.holder,
            )

    def _no_token(self, job: int | None) -> DraftfsError:
        message = "this worktree keeps no token" + (f" of job {job}" if job is not None else "")
        others = [each.job for each in self._worktree.kept() if each.store != self._store_id]
        if others:
            message += f" of this store (that of job {others[-1]} is another store's)"
        lease = self._engine.read(lambda view: view.get(layout.lease(job))) if job is not None else None
        if lease is not None:
            message += f"; {lease.holder} holds it until {lease.expires_at} (epoch {lease.epoch})"
        return Refused(
            "no_token",
            message,
            hint="claim first (draftfs claim), repeat a claim whose answer was lost, or pass --token TOKEN --job N",
        )


def _lease(view: FileView, kept: Kept) -> Lease | None:
    """The lease of the kept claim while it is live. One that cannot be read is for the fence to judge."""
    try:
        lease = view.get(layout.lease(kept.job))
    except Damaged:
        return None
    return lease if lease is not None and lease.epoch == kept.epoch else None
