"""Taking a claim: what the worker starts from is looked at before the lock, the token is kept where hooks find it; and a claim
with a worktree made for it alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from draftfs.answers import Claimed, JobChanged
from draftfs.calls import Calls
from draftfs.engine import PrepareAgain, Transaction, View
from draftfs.engine.files import FileEngine
from draftfs.engine.tickets import Queue
from draftfs.errors import BadRequest, DraftfsError, EnvironmentFault, Refused, from_oserror
from draftfs.frozen import frozen
from draftfs.holdings import Holdings
from draftfs.patience import Patience, Told, Wish
from draftfs.records import Actor, StoreInfo, Waiting
from draftfs.repo import Repo
from draftfs.rules import claims, jobs, turns
from draftfs.rules.claims import NotPrepared, Start
from draftfs.settings import check_ttl
from draftfs.workspace import Filling, Workspace
from draftfs.worktree import Kept, Worktree

if TYPE_CHECKING:  # only `draftfs run` needs it
    from draftfs.fresh import Fresh

Prepare = Callable[[tuple[str, ...]], Start]
Ahead = Sequence[Waiting]
Ruled = Callable[[Transaction, str], Claimed]


@frozen
class What:
    """What is to be claimed: how the request says it, the paths it comes to now, whether it can be had (`judge` raises what
    the rule would), and the rule."""

    request: dict[str, Any]
    job: int | None
    paths: Callable[[View], tuple[str, ...]]
    judge: Callable[[View, Ahead], object]
    rule: Callable[[Transaction, Actor, int | None, Start, str, Ahead], Claimed]
    anything: bool = False


class Claiming:
    """The claims of one actor, from one checkout."""

    def __init__(
        self, engine: FileEngine, info: StoreInfo, actor: Actor, workspace: Workspace, calls: Calls, holdings: Holdings
    ) -> None:
        self._engine, self._info, self._actor = engine, info, actor
        self._workspace, self._calls, self._holdings = workspace, calls, holdings
        self._queue = Queue(engine)

    # ── what ──

    def of_job(self, job: int, seen: int) -> What:
        def rule(tx: Transaction, actor: Actor, ttl: int | None, start: Start, key: str, ahead: Ahead) -> Claimed:
            return claims.claim(tx, job, actor, seen=seen, ttl=ttl, start=start, key=key, ahead=ahead)

        def judge(view: View, ahead: Ahead) -> object:
            return claims.claimable(view, job, seen, ahead)

        return What({"job": job, "seen": seen}, job, lambda view: jobs.find(view, job).paths, judge, rule)

    def of_next(self) -> What:
        def rule(tx: Transaction, actor: Actor, ttl: int | None, start: Start, key: str, ahead: Ahead) -> Claimed:
            return claims.claim_next(tx, actor, ttl=ttl, start=start, key=key, ahead=ahead)

        return What(
            {"next": True}, None, lambda view: turns.next_ready(view).paths, turns.next_ready, rule, anything=True
        )

    def of_paths(self, targets: tuple[str, ...]) -> What:
        def rule(tx: Transaction, actor: Actor, ttl: int | None, start: Start, key: str, ahead: Ahead) -> Claimed:
            return claims.claim_paths(tx, targets, actor, ttl=ttl, start=start, key=key, ahead=ahead)

        def judge(view: View, ahead: Ahead) -> object:
            return claims.free(view, targets, ahead)

        return What({"paths": list(targets)}, None, lambda _: targets, judge, rule)

    # ── where ──

    def here(
        self, what: What, ttl: int | None, receipt: str | None, *, adopt: bool, wait: float, waits: Told | None
    ) -> Claimed:
        """In the caller's checkout, which keeps the token, after waiting for at most `wait` seconds where that can help;
        `waits` is told once what for. Raises EnvironmentFault `unknown` where the token cannot be kept, Busy `timeout`."""
        worktree = Worktree(self._workspace.repo.git_dir)

        def start(paths: tuple[str, ...]) -> Start:
            identity = None if self._workspace.in_root else worktree.ensure_id()
            return self._workspace.start(paths, self._actor, identity, adopt=adopt)

        patience = Patience(self._engine, self._calls.notice, self._queue, wait, waits) if wait > 0 else None
        with patience or nullcontext():
            claimed = self._claim(what, start, ttl, {"adopt": adopt}, receipt, patience)
        if claimed.claim.token is None:
            return claimed
        lives = self._actor.is_agent and not self._workspace.in_root and claimed.standing == "live"
        try:
            self._holdings.keep(self._kept(claimed, claimed.claim.token), holder=lives)
        except EnvironmentFault as fault:  # `unknown` leaves the receipt key for the next try, which finds the claim
            raise EnvironmentFault(
                "unknown",
                f"job {claimed.claim.job} is claimed, but its token could not be kept in this worktree: {fault.message}",
                hint="put that right, then run the same command again with the same receipt key",
                job=claimed.claim.job,
            ) from fault
        return claimed

    def fresh(self, what: What, ttl: int | None, receipt: str | None, place: str | None) -> Fresh:
        """In a worktree made for this claim alone. Where that cannot be made, the claim is released plainly."""
        from draftfs.fresh import Fresh, fill, make, unmake

        if not self._actor.is_agent:
            raise BadRequest(
                "usage", "only an agent can work in a worktree of its own", hint="name the agent: --as NAME"
            )
        tree, objects = self._workspace.tree, self._workspace.objects
        tree.require()
        root = Repo.find(tree.top)
        people = Workspace(root, tree, objects)
        identity, filling = os.urandom(16).hex(), Filling("", {})

        def start(paths: tuple[str, ...]) -> Start:
            nonlocal filling
            begun, filling = people.start_fresh(paths, identity)
            return begun

        claimed = self._claim(what, start, ttl, {"fresh": True}, receipt)
        claim, token = claimed.claim, claimed.claim.token
        if token is None or claimed.replayed:
            raise Refused(
                "job_not_open", f"job {claim.job} was claimed under this receipt key before", hint="draftfs run"
            )
        made: Fresh | None = None
        try:
            where = os.path.join(self._workspace.repo.cwd, place or _beside(root.top))
            folder, branch = make(root, where, f"job-{claim.job}-{claim.epoch}", filling.commit)
            made = Fresh(claimed, token, folder, branch, filling.commit, {})
            notes = Worktree(Repo.find(folder).git_dir)
            notes.take_id(identity)
            Holdings(self._engine, self._info.id, notes, self._actor).keep(self._kept(claimed, token), holder=True)
            return replace(made, filled=fill(folder, filling, objects))
        except BaseException as fault:
            if made is not None:
                unmake(root, made)
            why = fault.message if isinstance(fault, DraftfsError) else "interrupted"
            with suppress(DraftfsError):  # else it lapses
                self._give_back(claim.job, token, f"its worktree could not be made: {why}"[:1000])
            raise

    # ── how ──

    def _claim(
        self,
        what: What,
        start: Prepare,
        ttl: int | None,
        how: dict[str, bool],
        receipt: str | None,
        patience: Patience | None = None,
    ) -> Claimed:
        check_ttl(ttl)
        work = _Try(self._engine, self._actor, self._queue, what, start, ttl)

        def later(refusal: Refused) -> Ruled:
            assert patience is not None
            return work.later(patience, refusal)

        meant = {**what.request, "ttl": ttl, **how}
        mend = later if patience is not None else None
        return self._calls.write("claim", meant, Claimed, work.first(), receipt, again=work.again, later=mend)

    def _kept(self, claimed: Claimed, token: str) -> Kept:
        return Kept(claimed.claim.job, claimed.claim.epoch, token, self._actor.name, self._info.id)

    def _give_back(self, job: int, token: str, note: str) -> None:
        def rule(tx: Transaction) -> JobChanged:
            return claims.release(tx, job, token, self._actor, failed=False, note=note)

        meant = {"failed": False, "note": note}
        self._calls.fenced("release", meant, JobChanged, rule, (job, token), None)


class _Try:
    """One claim on its way: what it starts from, and who is ahead of it, as it was last looked at."""

    def __init__(
        self, engine: FileEngine, actor: Actor, queue: Queue, what: What, start: Prepare, ttl: int | None
    ) -> None:
        self._engine, self._actor, self._what, self._start, self._ttl = engine, actor, what, start, ttl
        self._ahead: Ahead = queue.ahead()
        self._begun = Start((), ())

    def first(self) -> Ruled:
        return self._prepared(self._paths())

    def again(self, other: PrepareAgain) -> Ruled:
        """What is claimed has other paths than it was prepared for."""
        assert isinstance(other, NotPrepared)
        return self._prepared(other.paths)

    def later(self, patience: Patience, refusal: Refused) -> Ruled:
        """Once it is its turn. Raises at once what would be refused in the end, since no waiting mends this worktree."""
        if self._begun.refusal is not None:
            raise self._begun.refusal
        worktree = self._begun.worktree
        self._engine.read(lambda view: claims.refuse_second_holder(view, self._actor, worktree))
        paths = () if self._what.anything else self._paths()
        wish = Wish(self._actor.name, worktree, self._what.job, paths, self._what.judge)
        self._ahead = patience.wait(wish, refusal)
        return self.first()

    def _prepared(self, paths: tuple[str, ...]) -> Ruled:
        begun = self._begun = _calmly(self._start, paths)
        ahead = self._ahead
        return lambda tx, key: self._what.rule(tx, self._actor, self._ttl, begun, key, ahead)

    def _paths(self) -> tuple[str, ...]:
        with suppress(DraftfsError):  # whatever is wrong is said by the transaction, behind the receipt
            return self._engine.read(self._what.paths)
        return ()


def _calmly(start: Prepare, paths: tuple[str, ...]) -> Start:
    """What goes wrong in preparing is said by the transaction, behind the receipt."""
    try:
        return start(paths)
    except OSError as fault:
        refusal: DraftfsError = from_oserror(fault, "looking at the worktree")
    except DraftfsError as fault:
        refusal = fault
    return Start(paths, (), refusal=refusal)


def _beside(root: str) -> str:
    return f"{os.path.dirname(root)}/{os.path.basename(root)}.jobs"
