"""Jobs: one table of transitions, predecessors, contests, attempts (§5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from draftfs import layout, paths
from draftfs.engine import Transaction, View
from draftfs.errors import BadRequest, Damaged, NotFound, Refused
from draftfs.records import FINISHED, Attempts, Job, JobState, NewJob

JobEvent = Literal["claim", "release", "lose", "submit", "accept", "reject", "retry", "cancel", "return"]

TRANSITIONS: Final[dict[tuple[JobState, JobEvent], JobState]] = {
    ("open", "claim"): "claimed",
    ("claimed", "release"): "open",
    ("claimed", "lose"): "open",
    ("claimed", "submit"): "submitted",
    ("submitted", "accept"): "accepted",
    ("submitted", "reject"): "open",
    ("open", "retry"): "open",
    ("failed", "retry"): "open",
    ("open", "cancel"): "cancelled",
    ("claimed", "cancel"): "cancelled",
    ("submitted", "cancel"): "cancelled",
    ("failed", "cancel"): "cancelled",
    ("accepted", "return"): "submitted",
}
"""`lose` is a lapse, a failed release and a revocation; `return` takes an acceptance back. What leads back to `open` leads to `failed` when no attempt is
left: see `next_state`."""


def next_state(state: JobState, event: JobEvent, attempts: Attempts) -> JobState | None:
    """The state after `event`, or None where the table has no way."""
    following = TRANSITIONS.get((state, event))
    if following == "open" and attempts.used >= attempts.max:
        return "failed"
    return following


def find(view: View, number: int) -> Job:
    """The job, finished or not. Raises NotFound `no_job`; Damaged where there was one."""
    job = view.get(layout.job(number)) or view.get(layout.done(number))
    if job is None and 1 <= number <= view.counters.job:
        name = layout.job(number).name
        done = layout.done(number).name
        raise Damaged("damaged", f"job {number} is missing from the store: there is no {name} nor {done}", file=name)
    if job is None:
        raise NotFound("no_job", f"there is no job {number}", hint="draftfs job list --all", job=number)
    return job


def change(transaction: Transaction, job: Job, event: JobEvent, **fields: Any) -> Job:
    """Take `job` through one transition; every change is a new version. Raises Refused `job_not_open`."""
    attempts = fields.get("attempts", job.attempts)
    state = next_state(job.state, event, attempts)
    if state is None:
        raise Refused(
            "job_not_open",
            f"job {job.id} is {job.state}: it cannot be {_PAST[event]}",
            hint=f"draftfs job show {job.id}",
            job=job.id,
            state=job.state,
            version=job.version,
        )
    if job.state in FINISHED:
        transaction.delete(layout.done(job.id))
    return save(transaction, replace(job, state=state, **fields))


_PAST: Final[dict[JobEvent, str]] = {
    "claim": "claimed",
    "release": "released",
    "lose": "taken away",
    "submit": "submitted",
    "accept": "accepted",
    "reject": "rejected",
    "retry": "retried",
    "cancel": "cancelled",
    "return": "taken back",
}


def save(transaction: Transaction, job: Job) -> Job:
    """Write `job` as its next version, in the folder where its state belongs."""
    job = replace(job, version=job.version + 1, changed_at=transaction.now.stamp)
    if job.state in FINISHED:
        transaction.delete(layout.job(job.id))
        transaction.put(layout.done(job.id), job)
    else:
        transaction.put(layout.job(job.id), job)
    return job


# ── adding and editing ──


def add(transaction: Transaction, new: Sequence[NewJob], actor: str) -> tuple[Job, ...]:
    """Add all of `new`, or none. Raises BadRequest `bad_job` for a cycle, NotFound `no_job` for an unknown predecessor."""
    counters = transaction.counters
    numbers: dict[str, int] = {}
    spans: list[tuple[int, ...]] = []
    last = counters.job
    for each in new:
        spans.append(tuple(range(last + 1, last + 1 + (each.contest or 1))))
        last = spans[-1][-1]
        if each.key is not None:
            numbers[each.key] = spans[-1][0]
    transaction.put(layout.COUNTERS, replace(counters, job=last))
    added: list[Job] = []
    for each, span in zip(new, spans, strict=True):
        after = tuple(numbers[name] if isinstance(name, str) else name for name in each.after)
        added += [_added(transaction, each, number, span, after, actor) for number in span]
    _check_predecessors(transaction, added, within=frozenset(job.id for job in added))
    return tuple(added)


def _added(
    transaction: Transaction, new: NewJob, number: int, span: tuple[int, ...], after: tuple[int, ...], actor: str
) -> Job:
    now = transaction.now.stamp
    if transaction.get(layout.job(number)) is not None or transaction.get(layout.done(number)) is not None:
        raise behind(f"job {number}")
    job = Job(
        id=number,
        title=new.title,
        state="open",
        version=1,
        paths=outermost(transaction.store.fold, new.paths),
        after=tuple(dict.fromkeys(after)),
        attempts=Attempts(0, new.attempts or transaction.store.settings.job_attempts),
        contest=span if len(span) > 1 else (),
        holder=None,
        epoch=0,
        drafts=(),
        text=new.text,
        because=None,
        added_by=actor,
        added_at=now,
        changed_at=now,
    )
    transaction.put(layout.job(number), job)
    transaction.append("job.added", actor, job=number, title=job.title, paths=job.paths, after=job.after)
    return job


def behind(what: str) -> Damaged:
    """The counters are older than the records: put back from a backup, say. A number given twice would write over one."""
    name = layout.COUNTERS.name
    return Damaged("damaged", f"{name} is behind: {what} was given already", file=name)


def outermost(fold: paths.Fold, given: Iterable[str]) -> tuple[str, ...]:
    """Each path once, sorted; one that lies in another says nothing more and is left out. Raises BadRequest."""
    kept: list[str] = []
    for path in sorted({paths.target_path(each) for each in given}, key=lambda each: (len(each), each)):
        if not any(paths.covers(outer, path, fold) for outer in kept):
            kept.append(path)
    if not kept:
        raise BadRequest("usage", "a job needs at least one path", hint="draftfs job add TITLE PATH…")
    return tuple(sorted(kept))


def _check_predecessors(view: View, changed: Sequence[Job], within: frozenset[int] | None = None) -> None:
    """Every predecessor exists, and no chain of them leads back. Finished jobs end a chain: nothing makes them wait.

    New jobs can only wait for each other among themselves (`within`): no job names one that is still to come.
    """
    for job in changed:
        for number in job.after:
            find(view, number)
    done: set[int] = set()
    for job in changed:
        trail = [(job.id, iter(job.after))]
        on_trail = {job.id}
        while trail:
            number, remaining = trail[-1]
            following = next((n for n in remaining if n not in done and (within is None or n in within)), None)
            if following is None:
                trail.pop()
                on_trail.discard(number)
                done.add(number)
            elif following in on_trail:
                chain = [each for each, _ in trail]
                loop = [*chain[chain.index(following) :], following]
                raise BadRequest(
                    "bad_job",
                    f"job {' after job '.join(map(str, loop))}: these would wait for each other for ever",
                    hint="take one of them out of the other's `after`",
                )
            else:
                waiting = view.get(layout.job(following))
                on_trail.add(following)
                trail.append((following, iter(waiting.after if waiting else ())))


def edit(
    transaction: Transaction,
    number: int,
    actor: str,
    *,
    title: str | None = None,
    text: str | None = None,
    paths: Sequence[str] | None = None,
    after: Sequence[int] | None = None,
) -> Job:
    """Change what an open or failed job says. Raises Refused `job_not_open` in any other state."""
    job = find(transaction, number)
    if job.state not in ("open", "failed"):
        raise Refused(
            "job_not_open",
            f"job {number} is {job.state}: only an open or failed job can be edited",
            hint=f"draftfs job show {number}",
            job=number,
            state=job.state,
            version=job.version,
        )
    given: dict[str, Any] = {
        "title": title,
        "text": text,
        "after": None if after is None else tuple(dict.fromkeys(after)),
    }
    if paths is not None:
        given["paths"] = outermost(transaction.store.fold, paths)
    fields = {name: value for name, value in given.items() if value is not None}
    job = save(transaction, replace(job, **fields))
    _check_predecessors(transaction, [job])
    transaction.append("job.edited", actor, job=number, changed=sorted(fields))
    return job


def retry(transaction: Transaction, number: int, actor: str, attempts: int) -> Job:
    """Grant `attempts` more (a person's act). A failed job is open again; an open one just has more."""
    job = find(transaction, number)
    granted = Attempts(job.attempts.used, max(job.attempts.max, job.attempts.used) + attempts)
    job = change(transaction, job, "retry", attempts=granted, because=None)
    transaction.append("job.retried", actor, job=number, attempts=attempts)
    return job


# ── what a claim asks ──


def blockers(view: View, job: Job) -> Iterator[tuple[int, JobState]]:
    """The predecessors that are not accepted, each with its state. Any accepted sibling fulfils a contest."""
    for number in job.after:
        before = find(view, number)
        siblings = [find(view, each) for each in before.contest if each != number]
        if not any(each.state == "accepted" for each in (before, *siblings)):
            yield number, before.state


def follow(transaction: Transaction, job: Job) -> None:
    """Note in the jobs that `job` comes after that it has been claimed: their acceptance is not to be taken back."""
    for number in job.after:
        before = find(transaction, number)
        for each in (before, *(find(transaction, sibling) for sibling in before.contest if sibling != number)):
            if each.state == "accepted" and each.followed_by is None:
                transaction.put(layout.done(each.id), replace(each, followed_by=job.id))


def open_jobs(view: View, damaged: list[Damaged]) -> Iterator[Job]:
    """Every job in `jobs/`: not finished, or failed. One that cannot be read is added to `damaged`."""
    for key in view.under(layout.JOBS):
        try:
            job = view.get(key)
        except Damaged as fault:
            damaged.append(fault)
        else:
            if job is not None:
                yield job
