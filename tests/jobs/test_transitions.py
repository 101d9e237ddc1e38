"""The one table of transitions, over all pairs of state and event, by the table and by what people type."""

from __future__ import annotations

from typing import get_args

import pytest

from draftfs.records import Attempts, JobState
from draftfs.rules.jobs import TRANSITIONS, JobEvent, next_state
from tests.protocol import kinds, refused, state

STATES, EVENTS = get_args(JobState), get_args(JobEvent)
LEFT, SPENT = Attempts(1, 2), Attempts(2, 2)

EXPECTED = {
    # state: (claim, release, lose, submit, accept, reject, retry, cancel, return), an attempt being left
    "open": ("claimed", None, None, None, None, None, "open", "cancelled", None),
    "claimed": (None, "open", "open", "submitted", None, None, None, "cancelled", None),
    "submitted": (None, None, None, None, "accepted", "open", None, "cancelled", None),
    "accepted": (*[None] * 8, "submitted"),
    "failed": (None, None, None, None, None, None, "open", "cancelled", None),
    "cancelled": (None,) * 9,
}


@pytest.mark.parametrize("before", STATES)
@pytest.mark.parametrize("event", EVENTS)
def test_every_pair(before, event):
    expected = EXPECTED[before][EVENTS.index(event)]
    assert next_state(before, event, LEFT) == expected
    assert next_state(before, event, SPENT) == ("failed" if expected == "open" else expected)


def test_the_table_holds_nothing_else():
    assert len(TRANSITIONS) == sum(each is not None for row in EXPECTED.values() for each in row)
    assert EVENTS == ("claim", "release", "lose", "submit", "accept", "reject", "retry", "cancel", "return")


# ── the same through the operations ──


def opened(field):
    pass


def claimed(field):
    field.ann.claim(1, seen=1)


def submitted(field):
    claimed(field)
    field.ann.submit()


def accepted(field):
    submitted(field)
    field.me.accept_job(1)


def failed(field):
    for _ in range(3):
        field.ann.claim(1, seen=field.version(1))
        field.ann.release(failed=True)


def cancelled(field):
    field.me.cancel_job(1)


STATES_BY_HAND = {
    "open": opened,
    "claimed": claimed,
    "submitted": submitted,
    "accepted": accepted,
    "failed": failed,
    "cancelled": cancelled,
}
ACTS = {
    "claim": (lambda f: f.bob.claim(1, seen=f.version(1)), {"open": "claimed"}),
    "accept": (lambda f: f.me.accept_job(1), {"submitted": "accepted"}),
    "reject": (lambda f: f.me.reject_job(1, because="x"), {"submitted": "open"}),
    "revoke": (lambda f: f.me.revoke_job(1, because="x"), {"claimed": "open"}),
    "retry": (lambda f: f.me.retry_job(1), {"open": "open", "failed": "open"}),
    "cancel": (
        lambda f: f.me.cancel_job(1),
        dict.fromkeys(("open", "claimed", "submitted", "failed"), "cancelled"),
    ),
    "edit": (lambda f: f.me.edit_job(1, title="y"), {"open": "open", "failed": "failed"}),
}


@pytest.mark.parametrize("before", STATES_BY_HAND)
@pytest.mark.parametrize("act", ACTS)
def test_what_people_can_do_in_each_state(field, before, act):
    STATES_BY_HAND[before](field)
    assert state(field)[0] == before
    do, leads = ACTS[act]
    if before not in leads:
        code = "attempts_used_up" if (before, act) == ("failed", "claim") else "job_not_open"
        with refused(field, code) as caught:
            do(field)
        assert before in caught.value.message or code == "attempts_used_up"
        return
    version, events = state(field)[1], len(kinds(field))
    do(field)
    assert state(field)[:2] == (leads[before], version + 1), "every change is one new version"
    assert len(kinds(field)) == events + 1, "and one event"


def test_reasons_reach_the_job(field):
    claimed(field)
    field.ann.release(note="the build needs a key")
    assert field.me.job(1).job.because == "the build needs a key"
    field.ann.claim(1, seen=field.version(1))
    assert field.me.job(1).job.because is None
    field.me.revoke_job(1, because="too slow")
    assert field.me.job(1).job.because == "too slow"


def test_people_decide_and_agents_do_not(field):
    submitted(field)
    for store in (field.ann, field.open(agent="ann"), field.open(field.worktree("nobody"))):
        for call in (
            lambda store=store: store.accept_job(1),
            lambda store=store: store.reject_job(1, because="x"),
            lambda store=store: store.revoke_job(1, because="x"),
            lambda store=store: store.cancel_job(1),
            lambda store=store: store.retry_job(1),
            lambda store=store: store.configure("job.attempts", "9"),
        ):
            with refused(field, "agents_cannot_promote"):
                call()
    field.me.configure("agents.promote", "true")
    assert field.ann.accept_job(1).job.state == "accepted"
