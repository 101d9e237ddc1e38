"""`--mine`: messages, and what became of the reader's own work, by others. Nothing else, and nothing of it is missed."""

from __future__ import annotations


def told(store):
    """What the reader is handed, by kind, with why; all of it is acknowledged."""
    page = store.read(mine=True, limit=1000)
    store.acknowledge(page.page)
    return [(event.kind, event.data.get("because") or event.data.get("subject")) for event in page.events]


def test_what_a_worker_has_to_know(field):
    """Its lapse, its rejection and the reason, that it was fenced or accepted; not what it did itself, nor others' affairs."""
    me, ann, bob = field.me, field.ann, field.bob
    ann.claim(1, seen=1, ttl=60)
    bob.claim(2, seen=1)
    assert told(ann) == []
    field.clock.advance(61)
    assert told(ann) == [("claim.lapsed", None)]
    ann.claim(1, seen=field.version(1), adopt=True)
    field.put("ann", "docs/spec.md", "v1\n")
    ann.submit()
    me.reject_job(1, because="the second table")
    assert told(ann) == [("job.rejected", "the second table")]
    ann.claim(1, seen=field.version(1), adopt=True)
    me.revoke_job(1, because="somebody else does it")
    assert told(ann) == [("claim.revoked", "somebody else does it")]
    me.retry_job(1)
    ann.claim(1, seen=field.version(1), adopt=True)
    field.put("ann", "docs/spec.md", "v2\n")
    ann.submit()
    field.put("bob", "a.txt", "two\n")
    bob.submit()
    me.promote(me.draft_refs(["docs/spec.md", "2"]))
    me.reject(me.draft_refs(["a.txt", "1"]), because="too short")
    assert told(ann) == [("draft.promoted", None), ("job.accepted", None)]
    assert told(bob) == [("draft.rejected", "too short")]
    job = me.add_job("third", ["x.md"]).jobs[0]
    ann.claim(job.id, seen=job.version)
    me.cancel_job(job.id, because="not needed")
    assert told(ann) == [("job.cancelled", "not needed")]
    assert told(bob) == []


def test_a_contest_tells_each_of_its_workers(field):
    jobs = field.me.add_job("best of two", ["x.md"], contest=2).jobs
    for name, job in zip(("ann", "bob"), jobs, strict=True):
        field.agent(name).claim(job.id, seen=job.version)
    field.put("ann", "x.md", "ann's\n")
    field.ann.submit()
    field.me.promote(jobs[0].id)
    assert told(field.ann)[-1] == ("job.accepted", None)
    assert told(field.bob) == [("job.cancelled", f"job {jobs[0].id} of the same contest was accepted")]


def test_after_a_reboot(field):
    field.ann.claim(1, seen=1)
    field.clock.reboot()
    assert told(field.bob) == []
    assert told(field.ann) == [("claim.restarted", None)]


def test_messages_by_whom_they_are_for(field):
    me, ann, bob = field.me, field.ann, field.bob
    to_person = me.read().page.partition(":")[0]
    bob.send(["ann"], "to ann")
    bob.send(["ann", "bob", "ann"], "to both")
    bob.send(None, "to all")
    bob.send(["Ann"], "to another")
    sent = ann.send([to_person], "to the person", job=2)
    assert (sent.to, sent.sender, sent.job) == ((to_person,), "ann", 2)
    assert told(ann) == [("message.sent", subject) for subject in ("to ann", "to both", "to all")]
    assert told(bob) == [], "what it said itself, it knows"
    answer = me.log()[-1].data
    assert (answer["to"], answer["sender"]) == ([to_person], "ann")
    person = field.open()
    assert [event.data.get("subject") for event in person.read(after=person.read().page).events][-1] == "to the person"


def test_a_person_who_holds_a_job_is_told_as_an_agent_is(field):
    me = field.me
    me.claim(2, seen=1, ttl=60)
    field.clock.advance(61)
    assert told(me) == [("claim.lapsed", None)]
