"""Jobs and claims whose records are lost: what cannot be known any more is ended, never guessed."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import Any, Final

from draftfs import layout
from draftfs.audit import LOST
from draftfs.layout import Key
from draftfs.records import Admissions, Attempts, DraftRef, EndedClaim, Ending, Job, Lease
from draftfs.repair.bench import DOCTOR, Bench

_HOW: Final[dict[str, Ending]] = {
    "claim.released": "released",
    "claim.submitted": "submitted",
    "claim.lapsed": "lapsed",
    "claim.revoked": "revoked",
}


def mend_job(bench: Bench, name: str) -> None:
    number = layout.number_of(Key(name, object)) or 0
    job = bench.records.jobs.get(name)
    if job is not None:
        if layout.done(number).name in bench.records.jobs and name != layout.done(number).name:
            bench.discard(name, f"job {number} is finished")
        elif _is_older(bench, job):
            beyond = job.version + len(bench.records.feed.events)  # nobody can have seen that version
            _end_claim(bench, replace(job, version=beyond), f"{name} was older than the store")
    elif bench.records.job(number) is not None or not bench.ever_added(number):
        bench.discard(name, f"{name} is not job {number}")
    else:
        _bury(bench, number, name)


def _is_older(bench: Bench, job: Job) -> bool:
    return any(number == job.id and epoch > job.epoch for number, epoch in bench.records.feed.claims)


def _bury(bench: Bench, number: int, name: str) -> None:
    """Nothing tells in what state a lost job was, but for an acceptance: it is cancelled, with what is known of it."""
    feed, lease = bench.records.feed, bench.records.lease(number)
    added, finished = feed.jobs.get(number), feed.finished.get(number)
    told: dict[str, Any] = added.data if added is not None else {}
    epochs = [epoch for job, epoch in (*feed.claims, *bench.records.claims()) if job == number]
    accepted = finished is not None and finished.kind == "job.accepted"
    paths = lease.paths if lease is not None else tuple(map(str, told.get("paths", ())))
    because = f"{name} was lost"
    buried = Job(
        id=number,
        title=str(told.get("title", f"job {number}, whose record was lost")),
        state="accepted" if accepted else "cancelled",
        version=1 + len(feed.events),  # beyond any that somebody may have seen
        paths=paths,
        after=tuple(each for each in told.get("after", ()) if type(each) is int),
        attempts=Attempts(len(epochs), max(len(epochs), 1)),
        contest=(),
        holder=None,
        epoch=max(epochs, default=0),
        drafts=(),
        text="",
        because=because,
        added_by=added.actor if added is not None else DOCTOR,
        added_at=added.at if added is not None else bench.tx.now.stamp,
        changed_at=bench.tx.now.stamp,
    )
    aside = bench.set_aside(name)
    bench.tx.delete(Key(name, object))
    bench.tx.put(layout.done(number), buried)
    bench.records.jobs[layout.done(number).name] = buried
    if lease is not None:
        _end(bench, number, lease.epoch, lease, "cancelled", because)
    if accepted:
        bench.say(name, f"written anew from the feed, its text is lost{aside}", job=number)
        return
    bench.tx.append("job.cancelled", DOCTOR, job=number, because=because, holder=lease.holder if lease else None)
    again = f"draftfs job add {shlex.join([buried.title, *paths])}"
    bench.say(name, f"lost, and job {number} cancelled for it; to go on: {again}{aside}", LOST, number)


def mend_lease(bench: Bench, name: str) -> None:
    number = layout.number_of(Key(name, object)) or 0
    job, lease = bench.records.job(number), bench.records.leases.get(name)
    if job is None and not bench.ever_added(number):
        bench.discard(name, f"there is no job {number}")
    elif job is None or job.state != "claimed":
        _drop_lease(bench, name, number, lease)
    elif lease is None or (lease.holder, lease.epoch, lease.paths) != (job.holder, job.epoch, job.paths):
        _end_claim(bench, job, f"{name} was damaged")


def _drop_lease(bench: Bench, name: str, number: int, lease: Lease | None) -> None:
    if lease is not None and layout.ended_claim(number, lease.epoch).name not in bench.records.ended:
        _end(bench, number, lease.epoch, lease, "revoked", f"{name} did not fit its job")
    bench.discard(name, f"job {number} is not claimed")
    bench.count_live()


def _end_claim(bench: Bench, job: Job, because: str) -> None:
    """Bring a job whose claim cannot be relied on to where that claim, or its lapse, leads."""
    name = layout.lease(job.id).name
    lease = bench.records.leases.get(name)
    epoch = max([job.epoch, *(epoch for number, epoch in bench.records.feed.claims if number == job.id)])
    ended = bench.records.ended.get(layout.ended_claim(job.id, epoch).name)
    aside = bench.set_aside(name)
    bench.tx.delete(Key(name, object))
    if ended is None:
        fitting = lease if lease is not None and lease.epoch == epoch else None
        _end(bench, job.id, epoch, fitting, "revoked", because)
    if ended is not None and ended.how == "submitted":
        moved = replace(job, state="submitted", holder=None, epoch=epoch, drafts=ended.drafts, because=because)
    else:
        spent = job.attempts.used >= job.attempts.max
        moved = replace(job, state="failed" if spent else "open", holder=None, epoch=epoch, because=because)
    moved = bench.put_job(moved)
    bench.count_live()
    if ended is None:
        told = {"epoch": epoch, "because": because, "state": moved.state, "holder": job.holder}
        bench.tx.append("claim.revoked", DOCTOR, job=job.id, **told)
    what = f"the claim of job {job.id} (epoch {epoch}) was ended, its token is dead; the job is {moved.state}"
    bench.say(name, f"{what}{aside}", job=job.id)


def _end(bench: Bench, number: int, epoch: int, lease: Lease | None, how: Ending, because: str) -> None:
    """Keep how a claim ended, and abandon its drafts that wait."""
    its = [each for each in bench.records.drafts.values() if (each.job, each.epoch) == (number, epoch)]
    job, taken = bench.records.job(number), bench.records.feed.claims.get((number, epoch))
    holder = lease.holder if lease is not None else taken.actor if taken is not None else getattr(job, "holder", None)
    refs = lease.drafts if lease is not None else tuple(each.ref for each in its if each.state == "waiting")
    digest = lease.token_sha256 if lease is not None else ""
    ended = EndedClaim(number, epoch, holder or "?", how, bench.tx.now.stamp, DOCTOR, because, digest, refs)
    bench.put_ended(ended)
    for draft in its:
        if draft.state == "waiting":
            bench.put_draft(replace(draft, state="abandoned"))


def mend_ended(bench: Bench, name: str) -> None:
    number, epoch = (int(each) for each in re.findall(r"[0-9]+", name))
    if name in bench.records.ended or (name not in bench.records.faults and bench.tx.raw(name) is None):
        return
    told = bench.records.feed.endings.get((number, epoch))
    job, taken = bench.records.job(number), bench.records.feed.claims.get((number, epoch))
    if job is None or (taken is None and told is None and job.epoch < epoch):
        if bench.tx.raw(name) is not None:
            bench.discard(name, "no claim of that epoch was ever made")
        return
    if (job.state, job.epoch) == ("claimed", epoch) and name not in bench.records.faults:
        return  # it is its lease that is missing
    aside = bench.set_aside(name)
    cancelled: Ending = "cancelled" if job.state == "cancelled" and job.epoch == epoch else "revoked"
    bench.put_ended(
        EndedClaim(
            job=number,
            epoch=epoch,
            holder=taken.actor if taken is not None else "?",
            how=_HOW[told.kind] if told is not None else cancelled,
            at=told.at if told is not None else bench.tx.now.stamp,
            by=told.actor if told is not None else DOCTOR,
            note=f"{name} was lost, and written anew from the feed",
            token_sha256="",
            drafts=tuple(DraftRef(**each) for each in told.data.get("drafts", ())) if told is not None else (),
        )
    )
    bench.say(name, f"written anew from the feed{aside}", job=number)


def mend_admissions(bench: Bench, name: str) -> None:
    """The path stays one that is judged; which steps of it may be committed, nothing else holds."""
    if name in bench.records.admissions:
        return
    paths = bench.records.reserved()
    paths |= {
        layout.admitted(bench.records.fold.key(each.path)).name: each.path for each in bench.records.targets.values()
    }
    if name not in paths:  # a file in a reserved folder, say: that folder's own record keeps it judged
        bench.discard(name, "the steps recorded in it are lost")
        return
    aside = bench.set_aside(name)
    bench.tx.put(Key(name, Admissions), Admissions(paths[name]))
    lost = (
        f"the steps recorded for {paths[name]} are lost: what was committed there needs draftfs admit, or a live claim"
    )
    bench.say(name, f"{lost}{aside}")
