"""Claims: G2 (the version seen, predecessors, attempts), G4 (the live token on every write), and time (§4)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from draftfs import layout, tokens
from draftfs.answers import Claim, Claimed, JobChanged, Renewed
from draftfs.clock import NANOSECONDS, rfc3339, span
from draftfs.engine import PrepareAgain, Transaction, View
from draftfs.errors import Damaged, DraftfsError, Fenced, Refused
from draftfs.frozen import frozen
from draftfs.records import Actor, Attempts, Base, DraftRef, EndedClaim, Ending, Job, Lease, NewJob, Waiting
from draftfs.rules import admissions, drafts, jobs, receipts, turns
from draftfs.rules.reservations import lease_by, refuse, remaining, until


@frozen
class Start:
    """What the claimant's worktree holds at `paths`, found out before the lock was taken.

    `newer`: paths of which people's checkout holds something newer than the base. `refusal` is why this worktree cannot
    start on them, raised only when nothing about the job stands in the way.
    """

    paths: tuple[str, ...]
    bases: tuple[Base, ...]
    newer: tuple[str, ...] = ()
    worktree: str | None = None
    refusal: DraftfsError | None = None


class NotPrepared(PrepareAgain):
    """The job that would be claimed has other paths than the caller has prepared a Start for: these."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        super().__init__(paths)
        self.paths = paths


# ── taking a claim ──


def claim(
    transaction: Transaction,
    number: int,
    actor: Actor,
    *,
    seen: int,
    ttl: int | None,
    start: Start,
    key: str,
    ahead: Sequence[Waiting] = (),
) -> Claimed:
    """Claim job `number` at version `seen`. Judged in this order: state, version, predecessors, attempts, paths, worktree."""
    job = claimable(transaction, number, seen, ahead)
    return _take(transaction, job, actor, ttl, start, key)


def claimable(view: View, number: int, seen: int, ahead: Sequence[Waiting] = ()) -> Job:
    """Job `number`, if it can be claimed now at version `seen` by one behind those who wait `ahead`. Raises Refused."""
    job = jobs.find(view, number)
    _refuse_state(view, job)
    if job.version != seen:
        raise Refused(
            "stale_version",
            f"job {number} is at version {job.version}, not {seen}: it changed since you looked",
            hint=f"draftfs job show {number}, then draftfs claim {number} --seen {job.version}",
            job=number,
            version=job.version,
            seen=seen,
        )
    blocked = list(jobs.blockers(view, job))
    if blocked:
        raise Refused(
            "not_accepted",
            f"job {number} is blocked by " + ", ".join(f"job {each}: {state}" for each, state in blocked),
            hint=f"draftfs job show {blocked[0][0]}",
            job=number,
            blocked_by=[{"job": each, "state": state} for each, state in blocked],
        )
    _refuse_spent(job)
    refuse(view, turns.held(view, ahead).clashes(job))
    return job


def claim_next(
    transaction: Transaction,
    actor: Actor,
    *,
    ttl: int | None,
    start: Start,
    key: str,
    ahead: Sequence[Waiting] = (),
) -> Claimed:
    """Claim the ready job with the fewest attempts, then the lowest number; one whose paths are held is passed over.

    Raises Refused `nothing_ready` (wait) or `all_done` (stop).
    """
    return _take(transaction, turns.next_ready(transaction, ahead), actor, ttl, start, key)


def claim_paths(
    transaction: Transaction,
    paths: tuple[str, ...],
    actor: Actor,
    *,
    ttl: int | None,
    start: Start,
    key: str,
    ahead: Sequence[Waiting] = (),
) -> Claimed:
    """Make a job on `paths` and claim it, in one transaction."""
    free(transaction, paths, ahead)
    (job,) = jobs.add(transaction, [NewJob(title=f"edit {', '.join(paths)}", paths=paths)], actor.name)
    return _take(transaction, job, actor, ttl, start, key)


def free(view: View, paths: tuple[str, ...], ahead: Sequence[Waiting] = ()) -> tuple[str, ...]:
    """`paths`, if one behind those who wait `ahead` can have them now. Raises Refused `path_clash`."""
    refuse(view, turns.held(view, ahead).clashes(paths))
    return paths


def _refuse_state(view: View, job: Job) -> None:
    if job.state == "open":
        return
    if job.state == "failed":
        _refuse_spent(job)
    lease = lease_of(view, job) if job.state == "claimed" else None
    details = {"job": job.id, "state": job.state, "version": job.version, "holder": job.holder}
    if lease is not None:
        left = remaining(view, lease)
        raise Refused(
            "job_not_open",
            f"job {job.id} is claimed by {lease.holder} (epoch {lease.epoch}) until {until(view, lease)},"
            f" {span(left)} from now",
            hint="if that is you: repeat the claim with its receipt key (--receipt KEY); else draftfs claim --next",
            epoch=lease.epoch,
            expires_at=until(view, lease),
            expires_in=left,
            **details,
        )
    raise Refused("job_not_open", f"job {job.id} is {job.state}", hint="draftfs claim --next", **details)


def _refuse_spent(job: Job) -> None:
    if job.attempts.used >= job.attempts.max:
        raise Refused(
            "attempts_used_up",
            f"job {job.id} has used all {job.attempts.max} of its attempts",
            hint=f"a person can grant more: draftfs job retry {job.id}",
            job=job.id,
            attempts={"used": job.attempts.used, "max": job.attempts.max},
        )


def _take(transaction: Transaction, job: Job, actor: Actor, ttl: int | None, start: Start, key: str) -> Claimed:
    if job.paths != start.paths:
        raise NotPrepared(job.paths)
    refuse_second_holder(transaction, actor, start.worktree)
    if start.refusal is not None:
        raise start.refusal
    now, seconds = transaction.now, ttl or transaction.store.settings.claim_ttl
    counters = transaction.counters
    epoch = counters.epoch + 1
    if transaction.get(layout.ended_claim(job.id, epoch)) is not None:
        raise jobs.behind(f"epoch {epoch} of job {job.id}")
    transaction.put(layout.COUNTERS, replace(counters, epoch=epoch, live=counters.live + 1))
    lease = Lease(
        job=job.id,
        epoch=epoch,
        holder=actor.name,
        paths=job.paths,
        ttl=seconds,
        deadline_ns=now.awake_ns + seconds * NANOSECONDS,
        boot=now.boot,
        expires_at=rfc3339(now.wall + seconds),
        claimed_at=now.stamp,
        renewals=0,
        worktree=start.worktree,
        token_sha256=tokens.digest(tokens.derive(key, transaction.store.id, job.id, epoch)),
        bases=start.bases,
        drafts=(),
    )
    transaction.put(layout.lease(job.id), lease, lives=seconds)
    admissions.reserve(transaction, job.paths)
    attempts = Attempts(job.attempts.used + 1, job.attempts.max)
    job = jobs.change(transaction, job, "claim", attempts=attempts, holder=actor.name, epoch=epoch, because=None)
    jobs.follow(transaction, job)
    transaction.append("claim.taken", actor.name, job=job.id, epoch=epoch, paths=job.paths, ttl=seconds)
    return Claimed(claim=dead_or_alive(lease), job=job, newer=start.newer)


def refuse_second_holder(view: View, actor: Actor, worktree: str | None) -> None:
    """Raise Refused `worktree_held` where somebody else holds a claim in this worktree (None: in none)."""
    if worktree is None:
        return
    for key in view.under(layout.LEASES):
        try:
            lease = view.get(key)
        except Damaged:
            continue  # which worktree it was for cannot be told; its paths stay held all the same
        if lease is not None and lease.worktree == worktree and lease.holder != actor.name:
            raise Refused(
                "worktree_held",
                f"this worktree belongs to {lease.holder} until {until(view, lease)} (job {lease.job})",
                hint=f"draftfs worktree add ../{actor.name} --as {actor.name}, and claim there",
                job=lease.job,
                holder=lease.holder,
                expires_at=until(view, lease),
            )


def dead_or_alive(lease: Lease) -> Claim:
    """The lease as an answer without what is only true now: the token and the time left."""
    return Claim(lease.job, lease.epoch, None, lease.holder, lease.paths, lease.ttl, None, None)


# ── the fence ──


def fence(view: View, number: int, token: str, doing: str) -> Lease:
    """The live lease of job `number`, if `token` is its token; in the transaction that makes the change (G4).

    Raises Fenced `fenced`.
    """
    lease = lease_by(view, number, token)
    if lease is not None:
        return lease
    lease, job = view.get(layout.lease(number)), view.get(layout.job(number))
    if job is not None and job.state == "claimed":
        lease = lease_of(view, job)
    raise _fenced(view, number, token, doing, lease)


def lease_of(view: View, job: Job) -> Lease:
    """The lease of a claimed job. Raises Damaged where it is missing: that never means free."""
    lease = view.get(layout.lease(job.id))
    if lease is None:
        name = layout.lease(job.id).name
        raise Damaged("damaged", f"job {job.id} is claimed by {job.holder}, but {name} is missing", file=name)
    return lease


def _fenced(view: View, number: int, token: str, doing: str, lease: Lease | None) -> Fenced:
    epoch = tokens.epoch_of(token)
    ended = view.get(layout.ended_claim(number, epoch)) if epoch else None
    mine = ended is not None and tokens.same(token, ended.token_sha256)
    standing = receipts.standing(view, number, ended.epoch) if ended is not None and mine else None
    message = f"cannot {doing}: this token is not that of job {number}'s live claim"
    if ended is not None and mine:
        message += f"; its claim (epoch {ended.epoch}) {ENDED[ended.how]} at {ended.at}"
        message += f" ({ended.note})" if ended.note else ""
    if epoch is not None and epoch > view.counters.epoch:
        message += f"; epoch {epoch} was never given here: an older copy of the store was put back (draftfs doctor)"
    if lease is not None:
        message += f"; {lease.holder} holds the job until {until(view, lease)} (epoch {lease.epoch})"
    job = view.get(layout.job(number)) or view.get(layout.done(number))
    return Fenced(
        "fenced",
        message,
        hint="stop: nothing you write counts any more. "
        + (f"To go on, claim anew: draftfs claim {number}" if job and job.state == "open" else "draftfs claim --next"),
        job=number,
        epoch=epoch,
        standing=standing,
        ended_at=ended.at if ended is not None and mine else None,
        holder=lease.holder if lease else None,
        expires_at=until(view, lease) if lease else None,
        state=job.state if job else None,
    )


ENDED: Final[dict[Ending, str]] = {
    "lapsed": "lapsed",
    "released": "was released",
    "submitted": "was submitted",
    "revoked": "was revoked",
    "cancelled": "was cancelled",
}

# ── what its holder does with it ──


def renew(transaction: Transaction, number: int, token: str, actor: Actor, ttl: int | None) -> Renewed:
    """Move the deadline to now + ttl; the token stays. Raises Fenced after the deadline: there is no resurrection."""
    lease = fence(transaction, number, token, "renew")
    now, seconds = transaction.now, ttl or lease.ttl
    renewed = replace(
        lease,
        ttl=seconds,
        deadline_ns=now.awake_ns + seconds * NANOSECONDS,
        boot=now.boot,
        expires_at=rfc3339(now.wall + seconds),
        renewals=lease.renewals + 1,
    )
    transaction.put(layout.lease(number), renewed, lives=seconds)
    transaction.append("claim.renewed", actor.name, job=number, epoch=lease.epoch, ttl=seconds)
    return Renewed(claim=dead_or_alive(renewed))


def release(
    transaction: Transaction, number: int, token: str, actor: Actor, *, failed: bool, note: str | None
) -> JobChanged:
    """Give the job back. Plainly, the attempt is given back, too; `failed` keeps it spent."""
    lease = fence(transaction, number, token, "release")
    job = jobs.find(transaction, number)
    abandoned = end(transaction, lease, "released", actor.name, note)
    if failed:
        job = jobs.change(transaction, job, "lose", holder=None, because=note)
    else:
        attempts = Attempts(job.attempts.used - 1, job.attempts.max)
        job = jobs.change(transaction, job, "release", holder=None, attempts=attempts, because=note)
    transaction.append(
        "claim.released", actor.name, job=number, epoch=lease.epoch, failed=failed, note=note, state=job.state
    )
    return JobChanged(job=job, drafts=abandoned)


def submit(transaction: Transaction, number: int, token: str, actor: Actor, note: str | None) -> JobChanged:
    """End the claim, free the paths, hand the job to a person: its drafts are this claim's latest per target."""
    lease = fence(transaction, number, token, "submit")
    job = jobs.find(transaction, number)
    end(transaction, lease, "submitted", actor.name, note)
    job = jobs.change(transaction, job, "submit", holder=None, drafts=lease.drafts, because=note)
    transaction.append("claim.submitted", actor.name, job=number, epoch=lease.epoch, drafts=lease.drafts, note=note)
    return JobChanged(job=job, drafts=lease.drafts)


# ── how it ends ──


def worker_of(view: View, job: Job) -> str | None:
    """Whose work a job is that is claimed, submitted or accepted; None where nobody's, or nothing can tell."""
    if job.holder is not None or job.state not in ("submitted", "accepted"):
        return job.holder
    with suppress(Damaged):
        ended = view.get(layout.ended_claim(job.id, job.epoch))
        return ended.holder if ended is not None else None
    return None


def end(transaction: Transaction, lease: Lease, how: Ending, by: str, note: str | None) -> tuple[DraftRef, ...]:
    """Take the lease away and keep how it ended. Drafts of a claim that was not submitted are abandoned."""
    transaction.delete(layout.lease(lease.job))
    counters = transaction.counters
    transaction.put(layout.COUNTERS, replace(counters, live=counters.live - 1))
    ended = EndedClaim(
        job=lease.job,
        epoch=lease.epoch,
        holder=lease.holder,
        how=how,
        at=until(transaction, lease) if how == "lapsed" else transaction.now.stamp,
        by=by,
        note=note,
        token_sha256=lease.token_sha256,
        drafts=lease.drafts,
    )
    transaction.put(layout.ended_claim(lease.job, lease.epoch), ended)
    return () if how == "submitted" else drafts.abandon(transaction, lease)
