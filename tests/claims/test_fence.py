"""G4: every write under a claim needs the token of the live claim, compared in the transaction that makes the change."""

from __future__ import annotations

import pytest

from draftfs.errors import Fenced
from tests.protocol import cancelled, lapsed, live, refused, released, revoked, run, state, submitted, superseded
from tests.support import make_field

WRITES = {
    "renew": lambda store, **held: store.renew(**held),
    "release": lambda store, **held: store.release(**held),
    "release --failed": lambda store, **held: store.release(failed=True, **held),
    "draft": lambda store, **held: store.draft(["docs/spec.md"], **held),
    "submit": lambda store, **held: store.submit(**held),
}


def contest_lost(field):
    """ann holds job 3 of a contest that bob's job 4 wins."""
    field.me.add_job("best of two", ["docs/spec.md"], contest=2)
    token = field.ann.claim(3, seen=1).claim.token
    field.bob.claim(4, seen=1)
    field.bob.submit(job=4)
    field.me.accept_job(4)
    return 3, token, "cancelled"


def ended(how):
    def end(field):
        token = field.ann.claim(1, seen=1).claim.token
        how(field)
        return 1, token, how.__name__

    return end


def restarted(field):
    """The claim outlived a reboot, and lapsed after it."""
    token = field.ann.claim(1, seen=1, ttl=10).claim.token
    field.clock.reboot()
    field.me.jobs()
    field.clock.advance(10)
    return 1, token, "lapsed"


def of_another_job(field):
    field.ann.claim(1, seen=1)
    return 1, field.bob.claim(2, seen=1).claim.token, None


def garbage(field):
    field.ann.claim(1, seen=1)
    return 1, "1.garbage", None


def with_another_epoch(field):
    """The right secret behind a wrong number, and the other way round, are no token."""
    token = field.ann.claim(1, seen=1).claim.token
    return 1, "2" + token[1:], None


def of_another_store(field):
    other = make_field(field.base / "elsewhere", template=False)
    token = other.ann.claim(1, seen=1, receipt="K").claim.token
    field.ann.claim(1, seen=1, receipt="K")
    return 1, token, None


DEAD = [ended(each) for each in (lapsed, released, submitted, revoked, cancelled, superseded)]
DEAD += [contest_lost, restarted, of_another_job, garbage, with_another_epoch, of_another_store]
NAMES = ["lapsed", "released", "submitted", "revoked", "cancelled", "superseded"]
NAMES += [each.__name__ for each in DEAD[6:]]


@pytest.mark.parametrize("dead", DEAD, ids=NAMES)
def test_a_token_that_is_not_the_live_one_writes_nothing(field, dead):
    (field.base / "elsewhere").mkdir()
    job, token, standing = dead(field)
    field.write("ann", "docs/spec.md", "late")
    for name, write in WRITES.items():
        with refused(field, "fenced") as caught:
            write(field.ann, job=job, token=token)
        assert caught.value.details["standing"] == standing, name
        assert token not in f"{caught.value.message} {caught.value.hint} {caught.value.details}"


@pytest.mark.parametrize("token", ["", ".", "x" * 5000, "9" * 4000 + ".x", "1.\ud800", "1.a\0b", "٣." + "a" * 43])
def test_any_text_is_at_worst_a_wrong_token(field, token):
    field.ann.claim(1, seen=1)
    for job in (1, None):
        with refused(field, "fenced"):
            field.ann.renew(job=job, token=token)


def test_the_kept_token_is_refused_like_a_given_one(field):
    field.ann.claim(1, seen=1)
    superseded(field)
    field.write("ann", "docs/spec.md", "late")
    for write in WRITES.values():
        with refused(field, "fenced") as caught:
            write(field.ann)
        assert "bob holds the job until" in caught.value.message
        assert caught.value.details["holder"] == "bob"
        assert caught.value.details["ended_at"]


def test_the_newest_version_does_not_help_a_late_worker(field):
    """Version without token is one of the negative controls: knowing the job's newest state gives no right to write."""
    field.ann.claim(1, seen=1)
    superseded(field)
    before = state(field)
    assert field.ann.job(1).job.version == before[1]
    for write in WRITES.values():
        with refused(field, "fenced"):
            write(field.ann, job=1)
    assert state(field) == before


def test_the_live_token_writes_from_anywhere(field):
    token = field.ann.claim(1, seen=1).claim.token
    bob = field.bob
    assert bob.renew(token=token).claim.holder == "ann"
    assert bob.submit(job=1, token=token).job.state == "submitted"


def test_epochs_only_grow_and_tokens_never_return(field):
    seen = []
    for turn in range(4):
        claimed = field.ann.claim(1, seen=field.version(1))
        seen.append(claimed.claim.token)
        assert claimed.claim.epoch == turn + 1
        field.ann.release()
    assert len(set(seen)) == 4
    field.ann.claim(1, seen=field.version(1))
    for token in seen:
        with pytest.raises(Fenced):
            field.ann.renew(job=1, token=token)


def test_no_secret_is_kept_in_the_store(field):
    """G9. The self-check looks for anything shaped like a token; receipt keys have to be looked for by hand."""
    claimed = field.ann.claim(1, seen=1, receipt="a key of ann's")
    field.put("ann", "docs/spec.md", "v1")
    field.ann.submit(receipt="another key of ann's")
    for path in field.store.rglob("*"):
        if path.is_file():
            found = path.read_bytes()
            assert claimed.claim.token.encode() not in found, path
            assert claimed.claim.token.split(".")[1].encode() not in found, path
            assert b"key of ann's" not in found, path


def test_a_live_claim_is_no_obstacle_to_itself(field):
    field.ann.claim(1, seen=1)
    live(field)
    field.put("ann", "docs/spec.md", "v1")
    assert field.ann.renew().standing == "live"
    assert field.ann.submit().standing == "submitted"


def test_a_person_who_accepts_notices_that_a_siblings_claim_has_lapsed(field):
    """What ended the sibling's claim was time, and its holder is told so."""
    field.me.add_job("best of two", ["x.md"], contest=2)
    field.ann.claim(3, seen=1, ttl=10, receipt="K")
    field.bob.claim(4, seen=1)
    field.bob.submit()
    field.clock.advance(10)
    field.me.accept_job(4)
    assert field.ann.claim(3, seen=1, ttl=10, receipt="K").standing == "lapsed"


def test_processes_are_fenced_with_status_4(real):
    real.ann.claim(1, seen=1)
    real.me.revoke_job(1, because="x")
    real.write("ann", "docs/spec.md", "late")
    for command in (["renew"], ["release"], ["draft", "docs/spec.md"], ["submit"]):
        ran = run(real, "ann", *command)
        assert ran.status == 4
        assert '"fenced"' in ran.out
