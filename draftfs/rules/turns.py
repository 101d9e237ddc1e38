"""Whose turn it is. Those who wait for paths, or for any job, come before whoever asks later, waiting or not.

`ahead` is who waits before the claimant, in the order in which they began to. Each keeps from those behind what it would
take; a job that waits for others to be accepted keeps nothing. So no want starves, however many paths it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from draftfs import layout
from draftfs.engine import View
from draftfs.errors import Damaged, NotFound, Refused
from draftfs.records import Job, Waiting
from draftfs.rules import jobs
from draftfs.rules.reservations import Held, Reservation

_FINAL: Final = frozenset({"failed", "cancelled"})


def held(view: View, ahead: Sequence[Waiting]) -> Held:
    """What is not to be had: reserved by live claims, or kept for those who wait `ahead`."""
    kept: list[Reservation] = []
    ready: list[Job] | None = None
    for each in ahead:
        if each.anything:
            if ready is None:
                ready = _ready(view, jobs.open_jobs(view, []))
            job = _first_free(ready, Held(view, kept))
            kept += [Reservation(job.id, each.who, job.paths, None, waiting=each)] if job is not None else []
        elif _is_due(view, each):
            kept.append(Reservation(each.job or 0, each.who, each.paths, None, waiting=each))
    return Held(view, kept)


def next_ready(view: View, ahead: Sequence[Waiting] = ()) -> Job:
    """The job that `claim --next` takes now. Raises Refused `nothing_ready` or `all_done`."""
    damaged: list[Damaged] = []
    unfinished = list(jobs.open_jobs(view, damaged))
    candidates = _ready(view, unfinished)
    job = _first_free(candidates, held(view, ahead)) if candidates else None
    if job is not None:
        return job
    if damaged:
        raise damaged[0]  # none of the others can be claimed; whether this one could, or is done, nobody knows
    if not unfinished:
        raise Refused("all_done", "no job is left", hint="draftfs job add TITLE PATH…")
    states = {job.id: job.state for job in unfinished}
    raise Refused(
        "nothing_ready",
        f"none of the {len(unfinished)} unfinished jobs can be claimed now: "
        + ", ".join(f"job {number} is {state}" for number, state in list(states.items())[:5]),
        hint="wait for one: draftfs claim --next --wait 10m",
        jobs=[{"job": number, "state": state} for number, state in states.items()],
    )


def is_worth_waiting(view: View, refusal: Refused, who: str, worktree: str | None) -> bool:
    """Whether others, or time, can mend this refusal of a claim by `who` in `worktree`, so that the same request succeeds.

    Not where the clash is with a claim of its own, nor where a predecessor has failed or was cancelled; and a job that
    somebody holds will be at another version when it comes free.
    """
    if refusal.code == "path_clash":
        claims = (view.get(layout.lease(each["job"])) for each in refusal.details["clashes"] if not each["waiting"])
        return not any(lease and (lease.holder, lease.worktree) == (who, worktree) for lease in claims)
    if refusal.code == "not_accepted":
        return not any(each["state"] in _FINAL for each in refusal.details["blocked_by"])
    return refusal.code == "nothing_ready"


def claimable_now(view: View, unfinished: Iterable[Job], ahead: Sequence[Waiting]) -> tuple[Job, ...]:
    """Those of the jobs that one behind those who wait `ahead` could claim now, in the order in which `--next` takes them."""
    candidates = _ready(view, unfinished)
    taken = held(view, ahead) if candidates else None
    return tuple(job for job in candidates if taken is not None and not taken.clashes(job))


def _ready(view: View, unfinished: Iterable[Job]) -> list[Job]:
    """Open jobs that wait for no other, the fewest attempts first, then the lowest number."""
    ready = (job for job in unfinished if job.state == "open" and not _is_blocked(view, job))
    return sorted(ready, key=lambda job: (job.attempts.used, job.id))


def _first_free(candidates: Iterable[Job], taken: Held) -> Job | None:
    return next((job for job in candidates if not taken.clashes(job)), None)


def _is_due(view: View, waiting: Waiting) -> bool:
    """Whether nothing but the paths stands in its way."""
    if waiting.job is None:
        return True
    try:
        job = jobs.find(view, waiting.job)
    except (Damaged, NotFound):
        return False
    return job.state == "open" and not _is_blocked(view, job)


def _is_blocked(view: View, job: Job) -> bool:
    try:
        return any(jobs.blockers(view, job))
    except Damaged:
        return True
