"""What is said about targets that were replaced, and about the jobs that this decided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from draftfs.cli import _words
from draftfs.cli._show import count
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import Decided, Promotion, Regeneration, Undo
    from draftfs.repo import Repo


def name(decided: Decided) -> str:
    """The field of the answer that has its targets."""
    from draftfs.answers import replaced_in

    return replaced_in(decided)[0]


def lines(decided: Decided, repo: Repo, *, commit: bool = False) -> Iterator[str]:
    """After the deed: each target, what was kept, the jobs, the commit."""
    from draftfs.answers import replaced_in

    for each in replaced_in(decided)[1]:
        yield from _line(each, repo)
    yield from jobs(decided)
    if decided.commit is not None:
        yield f"committed as {decided.commit[:12]}"
    elif commit:
        yield f"nothing to commit: HEAD holds all of it already{', or has moved on since' if decided.replayed else ''}"


def _line(each: Promotion | Undo | Regeneration, repo: Repo) -> Iterator[str]:
    target = shown(_words.typed(repo, each.target))
    yield f"{target} {_said(each)}"
    replaced = getattr(each, "replaced", None)
    if replaced is not None:
        yield f"  in place of draft {replaced}"
    if each.other_names:
        yield f"  its {count(each.other_names, 'other name')} (hard links) still hold what was there"
    if each.kept is not None:
        yield f"  what stood there is kept as {shown(_words.typed(repo, each.kept))}"


def _said(each: Promotion | Undo | Regeneration) -> str:
    if hasattr(each, "chosen"):
        now = "is gone again" if each.sha256 is None else f"holds again what draft {each.number} replaced"
        chosen = "nothing is chosen for it now" if each.chosen is None else f"draft {each.chosen} is chosen again"
        return f"{now}; {chosen}"
    if each.sha256 is None:
        return f"is deleted, by draft {each.number}"
    return f"holds draft {each.number} {'now' if each.changed else 'already'}"


def jobs(decided: Decided, *, would: bool = False) -> Iterator[str]:
    """What became of jobs; `would`: of a plan."""
    verb = "job {}: " if would else "job {} is "
    for job in decided.accepted:
        yield f"{verb.format(job)}accepted"
    for job in decided.returned:
        yield f"{verb.format(job)}submitted again"
    for job in decided.cancelled:
        why = ", since another of its contest is accepted" if would else ": another of its contest is accepted"
        yield f"{verb.format(job)}cancelled{why}"
    told = {*decided.accepted, *decided.returned, *decided.cancelled}
    others = [each for each in decided.jobs if each.job not in told]
    if told and others and not would:
        yield "  beside it: " + ", ".join(f"job {each.job} is {each.state}" for each in others)
