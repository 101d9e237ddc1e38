"""`status --mine`: one worker's claims, drafts and unread events, and what it is to do next."""

from __future__ import annotations

import pytest

from tests.support import draftfs


def test_from_the_first_claim_to_the_last_job(field):
    """The next command is the one that a worker who knows nothing else should run."""
    store = field.ann
    assert store.my_status().next == "draftfs claim --next"
    store.claim(1, seen=1, ttl=600)
    mine = store.my_status()
    (claim,) = mine.claims
    assert (claim.job, claim.epoch, claim.expires_in, claim.renew_in) == (1, 1, 600, 200)
    assert (mine.kept, mine.over, mine.next) == ((1,), None, "draftfs draft PATH…")
    field.clock.advance(201)
    assert (store.my_status().claims[0].renew_in, store.my_status().next) == (-1, "draftfs renew")
    store.renew()
    assert store.my_status().claims[0].renew_in == 200
    field.put("ann", "docs/spec.md", "v1\n")
    mine = store.my_status()
    assert ([(each.target, each.shown) for each in mine.drafts], mine.next) == (
        [("docs/spec.md", True)],
        "draftfs submit",
    )
    store.claim(2, seen=1)
    assert store.my_status().next == "draftfs submit --job 1"
    store.submit(job=1)
    store.submit(job=2)
    mine = store.my_status()
    assert (mine.claims, mine.over.standing, len(mine.drafts)) == ((), "submitted", 1)
    assert mine.next == "draftfs claim --next --wait 10m", "a person may turn them down"
    field.me.cancel_job(1)
    field.me.cancel_job(2)
    store.acknowledge(store.read(mine=True).page)
    assert store.my_status().next is None


@pytest.mark.parametrize("how", ["lapsed", "revoked", "cancelled", "superseded"])
def test_a_claim_that_was_lost(field, how):
    store = field.ann
    store.claim(1, seen=1, ttl=60)
    if how == "lapsed":
        field.clock.advance(61)
    elif how == "cancelled":
        field.me.cancel_job(1, because="no more")
    else:
        field.me.revoke_job(1, because="no more")
    if how == "superseded":
        field.bob.claim(1, seen=field.version(1))
    over = store.my_status().over
    assert (over.job, over.epoch, over.standing, over.note) == (1, 1, how, None if how == "lapsed" else "no more")
    assert store.my_status().next == "draftfs claim --next"
    store.claim(2, seen=1)
    assert store.my_status().over is None


def test_what_it_has_not_read(field):
    """Refusals come with their reason, until they are acknowledged; what does not concern it never does."""
    store = field.ann
    store.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "v1\n")
    store.submit()
    field.me.reject_job(1, because="too long")
    field.me.send(["ann"], subject="shorter, please")
    field.me.send(["bob"], subject="not for ann")
    mine = store.my_status()
    said = [(each.kind, each.data.get("because"), each.data.get("subject")) for each in mine.unread]
    assert ("job.rejected", "too long", None) in said
    assert said[-1] == ("message.sent", None, "shorter, please")
    assert ({each.actor for each in mine.unread}, mine.next) == ({field.me.actor.name}, "draftfs read --mine")
    store.read(mine=True)
    assert store.my_status().unread == mine.unread, "handed out is not read"
    assert store.my_status().next == "draftfs read"
    store.acknowledge(store.read().page)
    assert (store.my_status().unread, store.my_status().next) == ((), "draftfs claim --next")


def test_a_claim_of_another_worktree_and_many_messages(field):
    field.ann.claim(1, seen=1)
    elsewhere = field.open(field.worktree("bob"), agent="ann")
    for number in range(60):
        field.me.send(None, subject=f"number {number}")
    mine = elsewhere.my_status()
    assert ([each.job for each in mine.claims], mine.kept) == ([1], ())
    assert (len(mine.unread), mine.more) == (50, True)


def test_its_screen(real):
    real.ann.claim(1, seen=1)
    kinds = [line.split("\t")[0] for line in draftfs("status", cwd=real.worktree("ann"), agent="ann").out.splitlines()]
    assert kinds == ["claim", "next"]
    real.me.revoke_job(1, because="slow")
    ran = draftfs("status", "--mine", cwd=real.worktree("ann"))  # it is hers: she was the last who claimed here
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == ["over", "event", "next"]
