from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Duration, Number, Seconds, command, usage
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import Claimed
    from draftfs.errors import Refused
    from draftfs.store import Store


@command(
    "claim",
    "Take a job, and with it all of its paths, for a while",
    synopsis="JOB --seen VERSION | --next | PATH…",
    examples=[
        "draftfs claim 7 --seen 3",
        "draftfs claim --next --ttl 2h --wait 10m",
        "draftfs claim docs/spec.md src/parser",
    ],
    writes=True,
)
@click.argument("what", nargs=-1, metavar="JOB|PATH…")
@click.option(
    "--seen", type=Number(1), metavar="VERSION", help="Give the job's version that you saw: draftfs job show JOB."
)
@click.option("--next", "take_next", is_flag=True, help="Take the ready job with the fewest attempts.")
@click.option("--ttl", type=Duration(), metavar="DURATION", help="Hold it this long: 90s, 30m, 2h; 1 s to 24 h.")
@click.option(
    "--wait", type=Seconds(), default=0.0, metavar="SECONDS", help="Wait at most this long for others: 30, 10m."
)
@click.option("--adopt", is_flag=True, help="Take over as your own what this worktree holds at these paths.")
def run(
    call: Call,
    what: tuple[str, ...],
    seen: int | None,
    take_next: bool,
    ttl: int | None,
    wait: float,
    adopt: bool,
) -> Answer:
    """With paths it makes a job on them and claims that. A number alone is a job: the path is ./7, and behind -- everything
    is a path. Nobody else can hold these paths, a folder above or a file below them, until the claim ends. Its token is kept
    in this worktree's git folder, where renew, draft, submit and release find it.

    With --wait it waits while others hold the paths, jobs that come before are not accepted, or (--next) no job is ready, in
    the order in which commands began to wait; then exit status 7. Who does not wait does not come before those who do. A job
    that somebody has claimed is not waited for by number: it comes free at another version than you saw."""
    rest: dict[str, Any] = {"ttl": ttl, "adopt": adopt, "receipt": call.receipt, "wait": wait, "waits": _say(call)}
    job = int(what[0]) if _names_a_job(what) and not call.separated else None
    if take_next and (what or seen is not None):
        usage("--next chooses the job itself", "draftfs claim --next")
    if not what and not take_next:
        usage("say what to claim: a job, --next, or paths", "draftfs claim --next")
    if job is not None and seen is None:
        usage(f"say which version of job {job} you saw: --seen VERSION", f"draftfs job show {job}")
    if job is None and seen is not None:
        usage("--seen goes with the number of a job", "draftfs claim JOB --seen VERSION")
    store = call.store()
    if job is not None and seen is not None:
        claimed = store.claim(job, seen=seen, **rest)
    elif take_next:
        claimed = store.claim_next(**rest)
    else:
        claimed = store.claim_paths(what, **rest)
    return _words.written(claimed, _lines(claimed, store))


def _say(call: Call) -> Callable[[Refused], None] | None:
    """On a terminal, what it waits for."""
    if not call.narrates:
        return None
    return lambda refusal: call.streams.say(f"waiting: {shown(refusal.message)}\n")


def _names_a_job(what: tuple[str, ...]) -> bool:
    return len(what) == 1 and re.fullmatch("[0-9]{1,18}", what[0]) is not None


def _lines(claimed: Claimed, store: Store) -> Iterator[str]:
    claim, job = claimed.claim, claimed.job
    yield f"claimed job {job.id}: {shown(job.title)}"
    yield f"  paths  {_words.paths(claim.paths)}"
    yield f"  until  {_words.until(claim)}"
    kept = "its token is dead: stop" if claim.expires_in is None else "the token is kept in this worktree"
    yield f"  epoch  {claim.epoch}, as {claim.holder}; {kept}"
    for line in job.text.splitlines():
        yield f"  | {shown(line)}"
    if claimed.newer:
        head = store.repo.head(store.tree.top)
        yield f"people have newer content at {_words.paths(claimed.newer)}"
        yield f"to start from that: git merge {shown(head.branch or head.commit or 'HEAD')}"
