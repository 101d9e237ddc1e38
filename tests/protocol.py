"""What the tests of claims, receipts and jobs share: the records as they are on disk, refusals that change nothing,
and the ways in which a claim can end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from draftfs.errors import CODES
from tests.support import Field, Ran, draftfs

NOT_RECORDS = ("lock", "journal", "staging", "objects", "cache", "waiting")


def records(field: Field) -> dict[str, bytes]:
    """Every record of the store and every file of the root, by name. Objects may come early: they are only contents."""
    found = {}
    for top, skipped in ((field.store, NOT_RECORDS), (field.root, (".git",))):
        for folder, folders, names in os.walk(top):
            if Path(folder) == top:
                folders[:] = [each for each in folders if each not in skipped]
            for name in names:
                path = Path(folder) / name
                if path.relative_to(top).parts[0] not in skipped:
                    found[str(path)] = path.read_bytes() + b"%o" % path.stat().st_mode
    return found


@contextmanager
def refused(field: Field, code: str) -> Iterator[pytest.ExceptionInfo]:
    """The block is refused with `code`, and changes nothing (U2). A lapse that it would notice is noticed before."""
    field.me.jobs()
    before = records(field)
    with pytest.raises(CODES[code]) as caught:
        yield caught
    assert caught.value.code == code, caught.value
    assert caught.value.hint, "every refusal says what to do next (G10)"
    assert records(field) == before


def kinds(field: Field) -> list[str]:
    """The kinds of all events, in order."""
    return [event.kind for event in field.me.log(limit=10_000)]


def state(field: Field, job: int = 1) -> tuple[str, int, int]:
    """State, version, attempts used; as they would be found by somebody who looks."""
    found = field.me.job(job).job
    return found.state, found.version, found.attempts.used


# ── how a claim of job 1 ends ──


def live(field: Field) -> None:
    pass


def lapsed(field: Field) -> None:
    field.clock.advance(3600)


def released(field: Field) -> None:
    field.ann.release()


def submitted(field: Field) -> None:
    field.ann.submit()


def revoked(field: Field) -> None:
    field.me.revoke_job(1, because="too slow")


def cancelled(field: Field) -> None:
    field.me.cancel_job(1, because="not needed")


def superseded(field: Field) -> None:
    lapsed(field)
    field.bob.claim(1, seen=field.version(1))


ENDINGS = (lapsed, released, submitted, revoked, cancelled, superseded)


# ── real processes ──


def data(ran: Ran) -> dict:
    """What a command with --json answered; it must have succeeded."""
    assert ran.status == 0, ran
    answer = json.loads(ran.out)
    assert answer["ok"] is True
    return answer["data"]


def error(ran: Ran, status: int, code: str) -> dict:
    """How a command with --json was refused."""
    answer = json.loads(ran.out)
    assert (ran.status, answer["ok"], answer["error"]["code"]) == (status, False, code), answer
    assert answer["error"]["hint"]
    assert "Traceback" not in ran.err
    return answer["error"]


def run(field: Field, who: str, *arguments: str) -> Ran:
    """A command of this agent in their worktree, or of "me", the person, in the root; with --json."""
    if who == "me":
        return draftfs("--json", *arguments, cwd=field.root)
    return draftfs("--json", *arguments, cwd=field.worktree(who), agent=who)
