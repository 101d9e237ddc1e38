"""What people decide about jobs and drafts: accept, reject, revoke, cancel (§5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from draftfs import layout
from draftfs.answers import Decided, JobChanged, JobStanding, Rejected, draft_info
from draftfs.engine import Transaction, View
from draftfs.errors import Refused, pasteable
from draftfs.records import Actor, Draft, DraftRef, DraftState, Ending, Job
from draftfs.rules import claims, drafts, jobs

D = TypeVar("D", bound=Decided)


def revoke(transaction: Transaction, number: int, actor: Actor, because: str) -> JobChanged:
    """Take a job from whoever holds it. The attempt stays spent, and the token is dead."""
    job = jobs.find(transaction, number)
    holder, abandoned = job.holder, _end(transaction, job, "revoked", actor, because)
    job = jobs.change(transaction, job, "lose", holder=None, because=because)
    told = {"epoch": job.epoch, "because": because, "state": job.state, "holder": holder}
    transaction.append("claim.revoked", actor.name, job=number, **told)
    return JobChanged(job=job, drafts=abandoned)


def cancel(transaction: Transaction, number: int, actor: Actor, because: str | None) -> JobChanged:
    """End a job for good. A worker who holds it is fenced."""
    job = jobs.find(transaction, number)
    holder = claims.worker_of(transaction, job)
    abandoned = _end(transaction, job, "cancelled", actor, because)
    job = jobs.change(transaction, job, "cancel", holder=None, because=because)
    transaction.append("job.cancelled", actor.name, job=number, because=because, holder=holder)
    return JobChanged(job=job, drafts=abandoned)


def _end(transaction: Transaction, job: Job, how: Ending, actor: Actor, because: str | None) -> tuple[DraftRef, ...]:
    """End the job's claim, if it is claimed. Raises Damaged where its lease is missing."""
    if job.state != "claimed":
        return ()
    return claims.end(transaction, claims.lease_of(transaction, job), how, actor.name, because)


def accept(transaction: Transaction, number: int, actor: Actor) -> JobChanged:
    """Accept a submitted job that has no draft to promote. Raises Refused `job_not_open` while drafts wait."""
    job = jobs.find(transaction, number)
    left = [ref for ref in job.drafts if drafts.find(transaction, ref).state == "waiting"]
    if left and job.state == "submitted":
        raise Refused(
            "job_not_open",
            f"job {number} has drafts that wait for a decision ({len(left)}): promoting one accepts the job",
            hint=f"draftfs promote --job {number}, or draftfs reject DRAFT --because TEXT",
            job=number,
            drafts=[{"target": ref.target, "number": ref.number} for ref in left],
        )
    if job.drafts and job.state == "submitted" and not _promoted(transaction, job):
        raise Refused(
            "job_not_open",
            f"job {number} has only rejected drafts: there is nothing to accept",
            hint=f"draftfs job reject {number} --because TEXT",
            job=number,
        )
    _accept(transaction, job, actor)
    return JobChanged(job=jobs.find(transaction, number))


def _promoted(transaction: Transaction, job: Job) -> bool:
    return any(drafts.find(transaction, ref).state == "promoted" for ref in job.drafts)


def reject(transaction: Transaction, number: int, actor: Actor, because: str) -> JobChanged:
    """Turn a submitted job down: its waiting drafts are rejected, and it is open again if an attempt is left.

    An alternative in a contest that another job has won is cancelled: nobody is to start on it again.
    """
    job = jobs.find(transaction, number)
    refs = []
    for ref in job.drafts if job.state == "submitted" else ():
        draft = drafts.find(transaction, ref)
        if draft.state == "waiting":
            drafts.decide(transaction, draft, "rejected", because)
            refs.append(ref)
    decided = any(jobs.find(transaction, each).state == "accepted" for each in job.contest)
    event: jobs.JobEvent = "cancel" if decided and job.state == "submitted" else "reject"
    holder = claims.worker_of(transaction, job)
    job = jobs.change(transaction, job, event, drafts=(), because=because)
    transaction.append("job.rejected", actor.name, job=number, because=because, state=job.state, holder=holder)
    return JobChanged(job=job, drafts=tuple(refs))


def reject_drafts(transaction: Transaction, refs: Sequence[DraftRef], actor: Actor, because: str) -> Rejected:
    """Turn drafts down; their workers learn it by the feed. Raises Refused `job_not_open` for one that was promoted."""
    rejected = []
    for ref in dict.fromkeys(refs):
        draft = drafts.find(transaction, ref)
        if draft.state == "promoted":
            raise Refused(
                "job_not_open",
                f"{layout.draft_name(draft)} was promoted: another draft can take its place, it cannot be rejected",
                hint=f"draftfs ls -- {pasteable(draft.target)}",
                target=draft.target,
                number=draft.number,
            )
        if draft.state == "rejected":  # its worker has been given a reason already
            rejected.append(draft)
            continue
        rejected.append(drafts.decide(transaction, draft, "rejected", because))
        transaction.append(
            "draft.rejected",
            actor.name,
            job=draft.job,
            target=draft.target,
            number=draft.number,
            author=draft.author,
            because=because,
        )
    accepted, _ = settle(transaction, [draft.job for draft in rejected], actor)
    infos = tuple(draft_info(draft, shown=False) for draft in rejected)
    return Rejected(drafts=infos, accepted=accepted)


def settle(
    transaction: Transaction, numbers: Sequence[int | None], actor: Actor
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Accept each submitted job of which every draft is decided and one at least promoted; returns the jobs accepted,
    and the siblings in their contests that were cancelled for it."""
    accepted: list[int] = []
    cancelled: list[int] = []
    for number in dict.fromkeys(numbers):
        job = transaction.get(layout.job(number)) if number is not None else None
        if job is None or job.state != "submitted":
            continue
        drafts.supersede_rivals(transaction, job)
        states = [getattr(drafts.readable(transaction, ref), "state", "waiting") for ref in job.drafts]
        if "waiting" not in states and "promoted" in states:
            cancelled += _accept(transaction, job, actor)
            accepted.append(job.id)
    return tuple(accepted), tuple(cancelled)


def _accept(transaction: Transaction, job: Job, actor: Actor) -> tuple[int, ...]:
    """Siblings of the job's contest that nobody has handed in yet are cancelled; submitted ones stay, as alternatives."""
    job = jobs.change(transaction, job, "accept")
    transaction.append("job.accepted", actor.name, job=job.id, holder=claims.worker_of(transaction, job))
    siblings = [number for number in job.contest if number != job.id]
    idle = [number for number in siblings if jobs.find(transaction, number).state in ("open", "claimed", "failed")]
    for number in idle:
        cancel(transaction, number, actor, f"job {job.id} of the same contest was accepted")
    return tuple(idle)


# ── a choice that is taken back ──


def is_sibling(view: View, one: Draft, other: Draft) -> bool:
    """Whether two drafts come from different jobs of one contest."""
    if one.job is None or other.job is None or one.job == other.job:
        return False
    return other.job in jobs.find(view, one.job).contest


def is_spare(view: View, old: Draft, new: Draft) -> bool:
    """Whether `old`, a draft that its job had not handed in last, gives way to another of the same job."""
    return old.job is not None and old.job == new.job and old.ref not in jobs.find(view, old.job).drafts


def step_back(transaction: Transaction, draft: Draft, actor: Actor) -> tuple[int, ...]:
    """The draft was chosen, and is no longer: it waits again. Returns its job if that was accepted and is submitted again.

    Raises Refused `dependent_claimed`.
    """
    job = jobs.find(transaction, draft.job) if draft.job is not None else None
    returned = job is not None and job.state == "accepted"
    if job is not None and returned:
        if job.followed_by is not None:
            raise Refused(
                "dependent_claimed",
                f"job {job.followed_by} comes after job {job.id} and has been claimed: what job {job.id} was accepted for"
                f" stays in {draft.target}",
                hint=f"draftfs job add TITLE -- {pasteable(draft.target)}, for what is to change",
                job=job.id,
                followed_by=job.followed_by,
            )
        job = jobs.change(transaction, job, "return", drafts=_with(job.drafts, draft.ref))
        told = {"target": draft.target, "number": draft.number, "holder": claims.worker_of(transaction, job)}
        transaction.append("job.returned", actor.name, job=job.id, **told)
    drafts.undecide(transaction, draft, _unchosen(transaction, draft, job))
    if job is not None and job.state == "submitted":
        drafts.return_rivals(transaction, job, draft)
    return (job.id,) if job is not None and returned else ()


def _with(handed_in: tuple[DraftRef, ...], ref: DraftRef) -> tuple[DraftRef, ...]:
    """The job's drafts with this one, which a person had chosen though a newer one was handed in."""
    return handed_in if ref in handed_in else (*(each for each in handed_in if each.target != ref.target), ref)


def _unchosen(view: View, draft: Draft, job: Job | None) -> DraftState:
    """What a draft is that is chosen no longer: waiting, where somebody's decision on it is still due."""
    if job is None:
        return "waiting"
    ended = view.get(layout.ended_claim(job.id, draft.epoch)) if draft.epoch is not None else None
    if ended is not None and ended.how != "submitted":
        return "abandoned"
    lease = view.get(layout.lease(job.id))
    due = job.drafts if job.state in ("submitted", "accepted") else lease.drafts if lease is not None else ()
    return "waiting" if draft.ref in due else "superseded"


def concluded(
    transaction: Transaction, answer: D, numbers: Sequence[int | None], returned: Sequence[int], actor: Actor
) -> D:
    """The answer of what replaced targets, with what follows for the jobs concerned: `returned` are submitted again, others
    may be accepted by it."""
    accepted, cancelled = settle(transaction, numbers, actor)
    return replace(
        answer,
        accepted=tuple(each for each in accepted if each not in returned),
        cancelled=cancelled,
        returned=tuple(each for each in dict.fromkeys(returned) if each not in accepted),
        jobs=_standing(transaction, numbers),
    )


def _standing(view: View, numbers: Iterable[int | None]) -> tuple[JobStanding, ...]:
    """How these jobs, and their siblings, stand now."""
    found = [jobs.find(view, number) for number in dict.fromkeys(numbers) if number is not None]
    family = sorted({number for job in found for number in (job.id, *job.contest)})
    return tuple(JobStanding(number, jobs.find(view, number).state) for number in family)
