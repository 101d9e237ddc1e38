"""What several commands say about the same things, in words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from draftfs.cli._call import Answer
from draftfs.cli._show import count, local
from draftfs.clock import span
from draftfs.codec import to_plain
from draftfs.names import shown, shown_command

if TYPE_CHECKING:
    from draftfs.answers import Claim, DraftInfo, Finding, JobChanged, Listed, Written
    from draftfs.records import Job
    from draftfs.repo import Repo


def written(answer: Written, lines: Iterable[str] = ()) -> Answer:
    """The answer of a write; that it is a replay is said last, plainly."""
    return Answer(to_plain(answer), _with_replay(answer, lines), changed=True)


def _with_replay(answer: Written, lines: Iterable[str]) -> Iterator[str]:
    yield from lines
    if answer.replayed:
        now = f"; the claim is now {answer.standing}" if answer.standing is not None else ""
        yield f"replayed: this is the answer of an earlier call{now}"


def listed(name: str, lines: Listed[Any], plain: Callable[[Any], Any], shown_lines: Iterable[str | bytes]) -> Answer:
    """The answer of a list. What it had to leave out for damage in the store is said beside it, and does not fail it."""
    data = {name: [plain(each) for each in lines], "damaged": to_plain(lines.damaged)}
    return Answer(data, shown_lines, warnings=left_out(lines.damaged))


def left_out(damaged: Iterable[Finding]) -> Iterator[str]:
    """What could not be told, as warnings."""
    for finding in damaged:
        yield f"warning: left out: {shown(finding.message)}"
        if finding.repair is not None:
            yield f"hint: {shown_command(finding.repair)}"


def typed(repo: Repo, target: str) -> str:
    """How to type a root-relative path in the caller's folder."""
    path = os.path.relpath(os.path.join(repo.top, target), repo.cwd)
    return f"./{path}" if path.startswith("-") else path


def paths(names: Iterable[str]) -> str:
    return ", ".join(map(shown, names))


def until(claim: Claim) -> str:
    """Until when a claim holds."""
    if claim.expires_in is None:
        return "over"
    return f"{local(claim.expires_at)} (in {span(claim.expires_in)})"


def job_line(job: Job) -> str:
    return f"job {job.id} is {job.state} (version {job.version}): {shown(job.title)}"


def job_changed(answer: JobChanged, becomes: str) -> Iterator[str]:
    """A job after a change, and what became of its drafts."""
    yield job_line(answer.job)
    if answer.drafts:
        yield f"{count(len(answer.drafts), 'draft')} {becomes}"


def draft_file(info: DraftInfo, repo: Repo) -> str:
    return shown(typed(repo, info.file))
