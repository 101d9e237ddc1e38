from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.cli._show import Tinted, columns, tsv
from draftfs.clock import span
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import JobLine


@command(
    "list",
    "List the jobs that are not finished",
    synopsis="[--all]",
    examples=["draftfs job list", "draftfs job list --all"],
)
@click.option("--all", "everything", is_flag=True, help="List accepted and cancelled jobs, too.")
def run(call: Call, everything: bool) -> Answer:
    """In a pipe, one line per job and tabs between the columns: number, state, version, attempts used/granted, holder, seconds
    left, jobs it comes after, what blocks it, title, then its paths."""
    jobs = call.store().jobs(everything=everything)
    return _words.listed("jobs", jobs, plain, _table(jobs, call) if call.terminal else _pipe(jobs))


def plain(line: JobLine) -> dict[str, Any]:
    """The job's fields, with those that only a look at the others tells among them."""
    found: dict[str, Any] = to_plain(line)
    return {**found.pop("job"), **found}


def _pipe(jobs: Sequence[JobLine]) -> Iterator[str | bytes]:
    for line in jobs:
        job = line.job
        left = "" if line.expires_in is None else str(int(line.expires_in))
        facts = (
            str(job.id),
            job.state,
            str(job.version),
            f"{job.attempts.used}/{job.attempts.max}",
            job.holder or "",
            left,
        )
        yield from tsv([(*facts, ",".join(map(str, job.after)), ", ".join(line.blocked_by), job.title, *job.paths)])


def _table(jobs: Sequence[JobLine], call: Call) -> Iterator[str | bytes]:
    if not jobs:
        yield "no job is open"
        yield "next: draftfs job add TITLE PATH…"
        return
    header = ("job", "state", "version", "tried", "held by", "waits for", "title", "paths")
    yield from columns([header, *map(_row, jobs)], call.paint, right=frozenset({0, 2}))


def _row(line: JobLine) -> tuple[str, ...]:
    job = line.job
    held = "" if job.holder is None else shown(job.holder)
    if line.expires_in is not None:
        held += f", {span(line.expires_in)} left"
    return (
        str(job.id),
        Tinted.of("red", job.state) if job.state == "failed" else job.state,
        str(job.version),
        f"{job.attempts.used}/{job.attempts.max}",
        held,
        shown(", ".join(line.blocked_by)),
        shown(job.title),
        " ".join(map(shown, job.paths)),
    )
