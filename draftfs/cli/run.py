from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Duration, Seconds, command, usage
from draftfs.cli._streams import STDERR
from draftfs.errors import EnvironmentFault, Fenced
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.run import Ran
    from draftfs.store import Store


@command(
    "run",
    "Have any program do a job, in a worktree of its own",
    synopsis="[JOB | --next] [--loop] [--ttl D] [--keep] -- CMD…",
    examples=[
        "draftfs run 7 --as ann -- make docs",
        "draftfs run --next --as ann -- sh -c 'my-agent \"$DRAFTFS_TEXT\"'",
        "draftfs run --loop --as ann --ttl 10m -- ./agent.py",
    ],
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[JOB] -- CMD…")
@click.option("--next", "take_next", is_flag=True, help="Take the ready job with the fewest attempts; the default.")
@click.option("--loop", is_flag=True, help="Take the next job again and again, until all are done.")
@click.option("--ttl", type=Duration(), metavar="DURATION", help="Renew for this long each time: 90s, 30m, 2h.")
@click.option(
    "--grace",
    type=Seconds(),
    default=10.0,
    metavar="SECONDS",
    help="Kill what is not gone this long after SIGTERM, 10.",
)
@click.option("--keep", is_flag=True, help="Leave the worktree there in the end, whatever is in it.")
@click.option("--worktrees", metavar="DIR", help="Make the worktree in this folder, not in ROOT.jobs beside the root.")
def run(
    call: Call,
    words: tuple[str, ...],
    take_next: bool,
    loop: bool,
    ttl: int | None,
    grace: float,
    keep: bool,
    worktrees: str | None,
) -> Answer:
    """Claims the job, makes a worktree for this claim, filled with what the root has at the job's paths, and runs CMD there.
    The claim is renewed while CMD runs; when it is lost, CMD is stopped with its whole process group. CMD need not know
    draftfs: it finds DRAFTFS_TITLE, DRAFTFS_TEXT, DRAFTFS_PATHS (one a line), DRAFTFS_JOB, DRAFTFS_EPOCH and DRAFTFS_AGENT in
    its environment, and sh -c hands them on as arguments.

    When CMD exits with 0, what it changed at the job's paths is drafted, committed or not, and the job is submitted. What it
    changed elsewhere is named in the note, and the worktree stays. With another status the job is released as failed.
    Interrupted, it is released plainly. Killed (kill -9), run leaves CMD alone: the claim lapses, and hooks refuse what
    CMD commits from then on. A worktree is removed only when nothing in it would be lost.

    The exit status is CMD's own; 4 where the claim was lost, 126 or 127 where CMD cannot be started, 130 after Ctrl-C. With
    --json what CMD prints goes to standard error, so that the one object stands alone."""
    job = _job(call, words, take_next=take_next, loop=loop)
    from draftfs.processes import Signals
    from draftfs.run import Plan, Runner

    plan = Plan(
        command=call.behind,
        environment=call.environment(),
        ttl=ttl,
        grace=grace,
        keep=keep,
        place=None if worktrees is None else os.path.abspath(call.path(worktrees)),
        output=STDERR if call.json else None,
    )
    store = _store(call)

    def say(line: str) -> None:
        if not call.json:
            call.streams.say(f"draftfs: {shown(line)}\n")

    with Signals() as signals:
        runner = Runner(store, plan, signals, say)
        try:
            ran = runner.loop() if loop else [runner.once(job)]
        except EnvironmentFault as fault:
            if signals.received:  # Ctrl-C reaches the git that we have started, too: that is no fault of git's
                raise KeyboardInterrupt from fault
            raise
        received = list(signals.received)
    if loop:
        return Answer(
            {"runs": [_plain(each) for each in ran]}, status=128 + received[0] if received else 0, changed=True
        )
    if ran[0].ended == "lost":
        raise _lost(ran[0])
    return Answer({"runs": [_plain(ran[0])]}, status=ran[0].exit_status, changed=True)


def _job(call: Call, words: tuple[str, ...], *, take_next: bool, loop: bool) -> int | None:
    front = words[: len(words) - len(call.behind)]
    if not call.separated or not call.behind:
        usage("say what to run, behind --", "draftfs run --next --as NAME -- CMD…")
    if not front:
        return None
    if len(front) > 1 or not re.fullmatch("[0-9]{1,18}", front[0]):
        usage(f"{front[-1]!r} is no job: the command stands behind --", "draftfs run JOB --as NAME -- CMD…")
    if take_next or loop:
        usage(f"{'--next' if take_next else '--loop'} chooses the job itself", "draftfs run --next --as NAME -- CMD…")
    return int(front[0])


def _store(call: Call) -> Store:
    """Its receipt keys die with this process: who runs the same command again wants another claim."""
    from draftfs.store import Store

    return Store.open(call.folder, agent=call.agent(), lock_wait=call.lock_wait)


def _plain(ran: Ran) -> dict[str, Any]:
    from draftfs.codec import to_plain

    plain: dict[str, Any] = to_plain(ran)
    names = {"worktree": "path", "branch": "branch", "removed": "removed", "branch_removed": "branch_removed"}
    folder = {name: plain.pop(key) for key, name in {**names, "because": "because"}.items()}
    return {**plain, "worktree": folder}


def _lost(ran: Ran) -> Fenced:
    stays = "" if ran.removed else f"; what it wrote stays in {ran.worktree}"
    message = f"the claim of job {ran.job} was lost, and the command was stopped{stays}: {ran.note}"
    hint = f"draftfs job show {ran.job}"
    return Fenced("fenced", message, hint=hint, job=ran.job, epoch=ran.epoch, run=_plain(ran))
