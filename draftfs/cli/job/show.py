from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, command
from draftfs.cli._show import local
from draftfs.cli.job.list import plain
from draftfs.clock import span
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import JobLine


@command("show", "Show one job", synopsis="JOB", examples=["draftfs job show 7"])
@click.argument("job", type=Number())
def run(call: Call, job: int) -> Answer:
    """Its version is what claim --seen takes."""
    found = call.store().job(job)
    return Answer({"job": plain(found)}, _lines(found))


def _lines(line: JobLine) -> Iterator[str]:
    job = line.job
    yield _words.job_line(job)
    yield f"  paths     {_words.paths(job.paths)}"
    yield f"  attempts  {job.attempts.used} of {job.attempts.max} used"
    if line.expires_in is not None:
        yield f"  held by   {shown(job.holder or '')} until {local(line.expires_at)} (in {span(line.expires_in)})"
    if job.after:
        yield f"  after     {', '.join(map(str, job.after))}"
    if line.blocked_by:
        yield f"  blocked   {shown(', '.join(line.blocked_by))}"
    if job.contest:
        yield f"  contest   {', '.join(map(str, job.contest))}"
    if job.drafts:
        yield f"  drafts    {', '.join(f'{shown(ref.target)} {ref.number}' for ref in job.drafts)}"
    if job.because is not None:
        yield f"  because   {shown(job.because)}"
    yield f"  added     {local(job.added_at)} by {shown(job.added_by)}"
    for text in job.text.splitlines():
        yield f"  | {shown(text)}"
    yield from _next(line)


def _next(line: JobLine) -> Iterator[str]:
    job = line.job
    if job.state == "open" and not line.blocked_by:
        yield f"next: draftfs claim {job.id} --seen {job.version}"
    elif job.state == "submitted":
        decide = "promote --job" if job.drafts else "job accept"
        yield f"next: draftfs {decide} {job.id}, or draftfs job reject {job.id} --because TEXT"
    elif job.state == "failed":
        yield f"next: draftfs job retry {job.id}, or draftfs job cancel {job.id}"
