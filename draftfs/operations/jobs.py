"""Jobs: saying what there is to do, and what people decide about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from draftfs import listing, names
from draftfs.answers import JobChanged, JobLine, JobsAdded, Listed
from draftfs.codec import to_plain
from draftfs.engine import Transaction
from draftfs.errors import BadRequest
from draftfs.operations.desk import Desk
from draftfs.records import NewJob
from draftfs.rules import decisions, jobs


class JobOperations(Desk):
    """What `draftfs job` does."""

    def add_job(
        self,
        title: str,
        paths: Sequence[str],
        *,
        after: Sequence[int] = (),
        attempts: int | None = None,
        contest: int | None = None,
        text: str = "",
        receipt: str | None = None,
    ) -> JobsAdded:
        """Add one job, or with `contest` that many siblings on the same paths."""
        targets = tuple(self.repo.target(path) for path in paths)
        return self.add_jobs([NewJob(title, targets, tuple(after), None, attempts, contest, text)], receipt=receipt)

    def add_jobs(self, new: Sequence[NewJob], *, receipt: str | None = None) -> JobsAdded:
        """Add all of `new`, or none; their paths are root-relative."""
        for each in new:
            _title(each.title)
            names.free_text(each.text, "a job's text")
            _at_least(1, attempts=each.attempts)
            _at_least(2, contest=each.contest)

        meant = [replace(each, paths=jobs.outermost(self.info.fold, each.paths)) for each in new]

        def rule(tx: Transaction, _: str) -> JobsAdded:
            return JobsAdded(jobs=jobs.add(tx, meant, self.actor.name))

        return self._calls.write("job add", {"jobs": [to_plain(each) for each in meant]}, JobsAdded, rule, receipt)

    def jobs(self, *, everything: bool = False) -> Listed[JobLine]:
        """Every job that is not finished; with `everything` the finished ones too."""
        self._calls.notice()
        return self.engine.read(lambda view: listing.job_lines(view, everything=everything))

    def job(self, job: int) -> JobLine:
        """One job. Raises NotFound `no_job`."""
        self._calls.notice()
        return self.engine.read(lambda view: listing.job_line(view, jobs.find(view, job)))

    def edit_job(
        self,
        job: int,
        *,
        title: str | None = None,
        text: str | None = None,
        paths: Sequence[str] | None = None,
        after: Sequence[int] | None = None,
        receipt: str | None = None,
    ) -> JobChanged:
        """Change what an open or failed job says; None leaves a field as it is."""
        changed: dict[str, Any] = {
            "title": None if title is None else _title(title),
            "text": None if text is None else names.free_text(text, "a job's text"),
            "paths": None if paths is None else list(self._targets(paths)),
            "after": None if after is None else list(after),
        }
        if all(value is None for value in changed.values()):
            raise BadRequest("usage", "nothing to change is named", hint="draftfs job edit --help")

        def rule(tx: Transaction, _: str) -> JobChanged:
            return JobChanged(job=jobs.edit(tx, job, self.actor.name, **changed))

        return self._calls.write("job edit", {"job": job, **changed}, JobChanged, rule, receipt, only=job)

    def retry_job(self, job: int, *, attempts: int = 1, receipt: str | None = None) -> JobChanged:
        """Grant more attempts (a person's act); a failed job is open again."""
        self._require_person("grant attempts")
        _at_least(1, attempts=attempts)

        def rule(tx: Transaction, _: str) -> JobChanged:
            return JobChanged(job=jobs.retry(tx, job, self.actor.name, attempts))

        return self._calls.write("job retry", {"job": job, "attempts": attempts}, JobChanged, rule, receipt, only=job)

    def accept_job(self, job: int, *, receipt: str | None = None) -> JobChanged:
        """Accept a submitted job that has no draft to promote (a person's act)."""
        self._require_person("accept jobs")

        def rule(tx: Transaction, _: str) -> JobChanged:
            return decisions.accept(tx, job, self.actor)

        return self._calls.write("job accept", {"job": job}, JobChanged, rule, receipt)

    def cancel_job(self, job: int, *, because: str | None = None, receipt: str | None = None) -> JobChanged:
        """End a job for good (a person's act); a worker who holds it is fenced."""
        return self._decide("cancel", job, because, decisions.cancel, receipt)

    def revoke_job(self, job: int, *, because: str, receipt: str | None = None) -> JobChanged:
        """Take a job from whoever holds it (a person's act)."""
        return self._decide("revoke", job, because, decisions.revoke, receipt)

    def reject_job(self, job: int, *, because: str, receipt: str | None = None) -> JobChanged:
        """Turn a submitted job down (a person's act): open again, or failed when no attempt is left."""
        return self._decide("reject", job, because, decisions.reject, receipt)

    def _decide(
        self, what: str, job: int, because: Any, decide: Callable[..., JobChanged], receipt: str | None
    ) -> JobChanged:
        self._require_person(f"{what} jobs")
        request = {"job": job, "because": None if because is None else names.free_text(because, "a reason")}

        def rule(tx: Transaction, _: str) -> JobChanged:
            return decide(tx, job, self.actor, because)

        return self._calls.write(f"job {what}", request, JobChanged, rule, receipt, only=job)


def _at_least(least: int, **given: int | None) -> None:
    for name, value in given.items():
        if value is not None and value < least:
            raise BadRequest(
                "usage", f"--{name} takes a whole number from {least} on, not {value}", hint=f"--{name} {least}"
            )


def _title(title: str) -> str:
    if not names.free_text(title, "a title").strip():
        raise BadRequest("usage", "a job needs a title", hint="draftfs job add TITLE PATH…")
    return title
