"""G3: a claim takes all its paths or none; equal, parent and child paths clash, by segment.

Reservations are read from the live leases. A claimed job whose lease is missing or damaged holds its job's paths until
`doctor` mends it: unreadable never means free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from draftfs import layout, tokens
from draftfs.clock import NANOSECONDS, rfc3339, span
from draftfs.engine import View
from draftfs.errors import Damaged, Refused
from draftfs.frozen import frozen
from draftfs.records import Job, Lease, Waiting


@frozen
class Reservation:
    """What one claim holds. `lease` is None where the job is claimed but its lease cannot be read; or where it is kept for
    one who is `waiting` for it (then `job` is 0 where that is for no job)."""

    job: int
    holder: str
    paths: tuple[str, ...]
    lease: Lease | None
    problem: str | None = None
    waiting: Waiting | None = None


@frozen
class Clash:
    """`path` was wanted, and `held` is reserved by `by`."""

    path: str
    held: str
    by: Reservation


def reservations(view: View) -> Iterator[Reservation]:
    """All that is held now. Raises Damaged only where neither lease nor job tells which paths a claim holds."""
    seen: set[int] = set()
    for key in view.under(layout.LEASES):
        number = layout.number_of(key) or 0
        try:
            lease = view.get(key)
        except Damaged as fault:
            job = _holder(view, number, fault)
            found = Reservation(number, job.holder or "?", job.paths, None, fault.message) if job is not None else None
        else:
            found = Reservation(lease.job, lease.holder, lease.paths, lease) if lease is not None else None
        if found is not None:
            seen.add(number)
            yield found
    if len(seen) != view.counters.live:
        for job in _claimed(view, seen):
            problem = f"{layout.lease(job.id).name} is missing from the store"
            yield Reservation(job.id, job.holder or "?", job.paths, None, problem)


def _holder(view: View, number: int, fault: Damaged) -> Job | None:
    """The claimed job whose lease cannot be read; None where nobody can have claimed it: a copy, say, of another lease."""
    job = view.get(layout.job(number))
    if job is None and number <= view.counters.job and view.get(layout.done(number)) is None:
        raise fault
    return job if job is not None and job.state == "claimed" else None


def _claimed(view: View, but: set[int]) -> Iterator[Job]:
    """Claimed jobs other than these. Raises Damaged for one that cannot be read: what it may hold cannot be told."""
    for key in view.under(layout.JOBS):
        job = view.get(key) if layout.number_of(key) not in but else None
        if job is not None and job.state == "claimed":
            yield job


class Held:
    """The paths held now, and those `kept` for others, indexed by segment, so that asking costs by what is asked."""

    def __init__(self, view: View, kept: Iterable[Reservation] = ()) -> None:
        self._fold = view.store.fold
        self._at: dict[str, list[tuple[str, Reservation]]] = {}
        self._below: dict[str, list[tuple[str, Reservation]]] = {}
        for reservation in (*reservations(view), *kept):
            for path in reservation.paths:
                key = self._fold.key(path)
                self._at.setdefault(key, []).append((path, reservation))
                for ancestor in _ancestors(key):
                    self._below.setdefault(ancestor, []).append((path, reservation))

    def clashes(self, wanted: Job | tuple[str, ...]) -> tuple[Clash, ...]:
        """Every clash of a job's paths, or of these, with what others hold. Jobs of one contest do not clash with each other."""
        found: dict[tuple[str, str, int, str], Clash] = {}
        job = None if isinstance(wanted, tuple) else wanted
        for path in wanted if isinstance(wanted, tuple) else wanted.paths:
            key = self._fold.key(path)
            hits = [*self._at.get(key, ()), *self._below.get(key, ())]
            for ancestor in _ancestors(key):
                hits += self._at.get(ancestor, ())
            for held, by in hits:
                # By itself, too: a lease whose job forgot about it.
                if job is None or by.job == job.id or by.job not in job.contest:
                    found[path, held, by.job, by.holder] = Clash(path, held, by)
        return tuple(found[each] for each in sorted(found))

    def over(self, path: str) -> Reservation | None:
        """Who holds `path`, as such or with a folder that it lies in. Of several in a contest, the first."""
        key = self._fold.key(path)
        return next((self._at[each][0][1] for each in (key, *_ancestors(key)) if each in self._at), None)


def _ancestors(key: str) -> Iterator[str]:
    at = key.rfind("/")
    while at > 0:
        yield key[:at]
        at = key.rfind("/", 0, at)


def refuse(view: View, clashes: tuple[Clash, ...]) -> None:
    """Raise Refused `path_clash` naming every clash, if there is any; `damaged` where a lease behind one is unreadable."""
    if not clashes:
        return
    for clash in clashes:
        if clash.by.lease is None and clash.by.waiting is None:
            raise Damaged(
                "damaged",
                f"{clash.held} stays held by job {clash.by.job} ({clash.by.holder}): {clash.by.problem}",
                file=layout.lease(clash.by.job).name,
                job=clash.by.job,
            )
    described = [describe(view, clash) for clash in clashes]
    longest = max(each["expires_in"] for each in described)
    raise Refused(
        "path_clash",
        "; ".join(map(_in_words, described)),
        hint=f"wait for it with --wait ({span(longest)} at most, unless it is renewed), or: draftfs claim --next",
        clashes=described,
    )


def _in_words(clash: dict[str, Any]) -> str:
    job = f"job {clash['job']}" if clash["job"] else ""
    as_ = f"as {clash['held']}" if clash["held"] != clash["path"] else ""
    how = ", ".join(filter(None, (job, as_)))
    return (
        f"{clash['path']} is {'waited for' if clash['waiting'] else 'held'} by {clash['holder']}"
        + (f" ({how})" if how else "")
        + f" until {clash['expires_at']}, {span(clash['expires_in'])} from now"
    )


def describe(view: View, clash: Clash) -> dict[str, Any]:
    """The clash as a refusal's details have it. With `waiting` nobody holds the path, but somebody was there before."""
    lease, waiting = clash.by.lease, clash.by.waiting
    if waiting is not None:
        left = max(0.0, (waiting.until_ns - view.now.awake_ns) / NANOSECONDS)
        expires = rfc3339(view.now.wall + left)
    else:
        assert lease is not None
        left, expires = remaining(view, lease), until(view, lease)
    return {
        "path": clash.path,
        "held": clash.held,
        "job": clash.by.job or None,
        "holder": clash.by.holder,
        "epoch": lease.epoch if lease is not None else None,
        "expires_at": expires,
        "expires_in": left,
        "waiting": waiting is not None,
    }


def lease_by(view: View, number: int, token: str) -> Lease | None:
    """The live lease of job `number`, if `token` is its token (G4).

    Equality with the *live* claim is the only rule that holds: "the highest seen" lets a late worker in until its
    successor's first write, "the last issued" until the next grant (protocol note, R2).
    """
    lease = view.get(layout.lease(number))
    if lease is not None and tokens.same(token, lease.token_sha256) and lease.epoch == tokens.epoch_of(token):
        return lease
    return None


def is_overdue(view: View, lease: Lease) -> bool:
    """Whether the lease's deadline has passed, though nobody may have noticed yet."""
    return lease.boot == view.now.boot and lease.deadline_ns <= view.now.awake_ns


def remaining(view: View, lease: Lease) -> float:
    """Seconds until the lease's deadline, by the awake clock; its full ttl where that was set in another boot (§4)."""
    if lease.boot != view.now.boot:
        return float(lease.ttl)
    return max(0.0, (lease.deadline_ns - view.now.awake_ns) / NANOSECONDS)


def until(view: View, lease: Lease) -> str:
    """When that will be, or was, by today's wall clock: the time in the record is that of a clock which may have jumped since."""
    overdue = view.now.awake_ns - lease.deadline_ns if lease.boot == view.now.boot else 0
    return rfc3339(view.now.wall + (remaining(view, lease) if overdue <= 0 else -overdue / NANOSECONDS))
