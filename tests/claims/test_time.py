"""Time (§4): deadlines in awake time since boot, lapses noticed once, and no clock but that one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from draftfs.errors import DraftfsError, Fenced, Refused
from tests.protocol import kinds, records, refused, state

DAY = 24 * 3600


@pytest.mark.parametrize("jump", [DAY, -DAY, 400 * DAY])
def test_a_jump_of_the_wall_clock_neither_ends_nor_prolongs(field, jump):
    field.ann.claim(1, seen=1, ttl=600)
    field.clock.jump_wall(jump)
    assert field.me.job(1).expires_in == 600
    with refused(field, "job_not_open"):
        field.bob.claim(1, seen=2)
    field.clock.advance(599)
    field.ann.renew()
    field.clock.jump_wall(-2 * jump)
    field.clock.advance(600)
    with refused(field, "fenced"):
        field.ann.renew()
    assert field.bob.claim(1, seen=field.version(1)).claim.epoch == 2


def test_what_people_are_told_follows_todays_wall_clock(field):
    field.ann.claim(1, seen=1, ttl=600)
    field.clock.jump_wall(DAY)
    with refused(field, "path_clash") as caught:
        field.bob.claim_paths(["docs"])
    (clash,) = caught.value.details["clashes"]
    assert clash["expires_at"] == field.me.job(1).expires_at
    assert clash["expires_at"] in caught.value.message


def test_the_deadline_is_the_first_moment_after_the_claim(field):
    field.ann.claim(1, seen=1, ttl=10)
    start = field.clock.instant
    field.clock.instant = replace(start, awake_ns=start.awake_ns + 10_000_000_000 - 1)
    assert field.ann.renew(receipt="K").claim.ttl == 10
    start = field.clock.instant
    field.clock.instant = replace(start, awake_ns=start.awake_ns + 10_000_000_000)
    with pytest.raises(Fenced):
        field.ann.renew()


def test_the_clock_standing_still_ends_nothing(field):
    field.ann.claim(1, seen=1, ttl=1)
    for _ in range(3):
        field.ann.renew()
    with refused(field, "job_not_open"):
        field.bob.claim(1, seen=2)


@pytest.mark.parametrize("ttl", [0, -5, 86401, 10**9, 0.5, 1.5, float("inf"), float("nan"), True])
def test_a_ttl_out_of_bounds_is_refused(field, ttl):
    with refused(field, "bad_ttl") as caught:
        field.ann.claim(1, seen=1, ttl=ttl)
    assert "1 s to 24 h" in caught.value.message
    field.ann.claim(1, seen=1)
    with refused(field, "bad_ttl"):
        field.ann.renew(ttl=ttl)


@pytest.mark.parametrize("ttl", [1, DAY])
def test_the_bounds_themselves_are_taken(field, ttl):
    assert field.ann.claim(1, seen=1, ttl=ttl).claim.expires_in == ttl
    assert field.ann.renew(ttl=ttl).claim.expires_in == ttl


def test_the_holders_ttl_counts_and_not_the_contenders(field):
    field.ann.claim(1, seen=1, ttl=600)
    field.me.configure("claim.ttl", "1s")
    field.clock.advance(599)
    for ttl in (1, None):
        with refused(field, "job_not_open") as caught:
            field.bob.claim(1, seen=2, ttl=ttl)
        assert caught.value.details["expires_in"] == 1
    field.clock.advance(1)
    assert field.bob.claim(1, seen=3).claim.ttl == 1


def test_renewing_keeps_the_claims_own_ttl_unless_told(field):
    field.ann.claim(1, seen=1, ttl=600)
    field.clock.advance(500)
    assert field.ann.renew().claim.expires_in == 600
    renewed = field.ann.renew(ttl=20)
    assert (renewed.claim.ttl, renewed.claim.expires_in) == (20, 20)
    assert field.ann.renew().claim.ttl == 20
    field.clock.advance(20)
    with pytest.raises(Fenced):
        field.ann.renew()


# ── lapses ──


LOOKS = {
    "job list": lambda field: field.me.jobs(),
    "job show": lambda field: field.me.job(2),
    "log": lambda field: field.me.log(),
    "ls": lambda field: field.me.ls(),
    "receipt show": lambda field: field.me.receipt("K"),
    "claim": lambda field: field.bob.claim_paths(["other"]),
    "job add": lambda field: field.me.add_job("x", ["x.md"]),
    "config": lambda field: field.me.configure("job.attempts", "4"),
}


@pytest.mark.parametrize("look", LOOKS)
def test_whoever_looks_first_notices_a_lapse_once(field, look):
    field.ann.claim(1, seen=1, ttl=10, receipt="K")
    field.clock.advance(10)
    LOOKS[look](field)
    events = [event for event in field.me.log() if event.kind == "claim.lapsed"]
    assert [(each.job, each.data["epoch"], each.data["holder"]) for each in events] == [(1, 1, "ann")]
    assert state(field) == ("open", 3, 1)
    LOOKS["job list"](field)
    assert kinds(field).count("claim.lapsed") == 1


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("fenced", lambda field: field.ann.renew()),
        ("fenced", lambda field: field.ann.submit()),
        ("stale_version", lambda field: field.bob.claim(1, seen=2)),
        ("job_not_open", lambda field: field.me.revoke_job(1, because="x")),
        ("job_not_open", lambda field: field.me.accept_job(1)),
    ],
)
def test_a_lapse_stands_though_the_command_that_noticed_it_is_refused(field, code, call):
    field.ann.claim(1, seen=1, ttl=10)
    field.clock.advance(10)
    with pytest.raises(DraftfsError) as caught:
        call(field)
    assert caught.value.code == code
    before = records(field)
    assert kinds(field)[-1] == "claim.lapsed", "committed before anybody looked"
    assert records(field) == before
    with pytest.raises(DraftfsError):
        call(field)
    assert kinds(field).count("claim.lapsed") == 1


def test_a_lapse_of_the_last_attempt_fails_the_job_at_that_moment(field):
    field.me.add_job("one try", ["x.md"], attempts=1)
    field.ann.claim(3, seen=1, ttl=10)
    field.clock.advance(10)
    assert state(field, 3) == ("failed", 3, 1)
    assert field.me.log()[-1].data["state"] == "failed"


def test_a_lapse_that_cannot_be_completed_stops_nobody_else(field):
    """The record of the lapsed job is damaged: that claim stays held, and others go on."""
    field.damaged = True
    field.ann.claim(1, seen=1, ttl=10)
    field.me.engine.checkpoint()
    (field.store / "jobs" / "0001.yaml").write_bytes(b"torn")
    field.clock.advance(10)
    assert field.bob.claim(2, seen=1).standing == "live"
    with pytest.raises(Refused):
        field.bob.claim_paths(["docs"])
    with pytest.raises(DraftfsError) as caught:
        field.ann.renew()
    assert caught.value.code == "damaged"


# ── reboots ──


def test_a_reboot_gives_each_live_claim_its_full_ttl_once(field):
    first = field.ann.claim(1, seen=1, ttl=100)
    field.bob.claim(2, seen=1, ttl=200)
    field.clock.advance(90)
    field.clock.reboot()
    assert field.me.job(1).expires_in == 100
    field.clock.advance(60)
    assert [field.me.job(each).expires_in for each in (1, 2)] == [40, 140], "from the first transaction on, and once"
    assert field.ann.renew().standing == "live"
    assert field.ann.renew(token=first.claim.token, job=1).standing == "live"
    field.clock.advance(100)
    assert [field.me.job(each).job.state for each in (1, 2)] == ["open", "claimed"]
    assert kinds(field).count("claim.restarted") == 2


FIRST = {
    "job add": lambda field: field.me.add_job("x", ["x.md"]),
    "config": lambda field: field.me.configure("job.attempts", "4"),
    "renew of another": lambda field: field.bob.renew(),
    "a refused claim": lambda field: field.bob.claim(1, seen=1),
    "a look": lambda field: field.me.log(),
}


@pytest.mark.parametrize("first", FIRST)
def test_any_first_transaction_after_a_reboot_starts_the_clock(field, first):
    field.ann.claim(1, seen=1, ttl=100)
    field.bob.claim(2, seen=1, ttl=100)
    field.clock.reboot()
    try:
        FIRST[first](field)
    except Refused:
        assert first == "a refused claim"
    field.clock.advance(100)
    with pytest.raises(Fenced):
        field.ann.renew()


def test_a_second_reboot_starts_it_again(field):
    field.ann.claim(1, seen=1, ttl=100)
    for _ in range(2):
        field.clock.reboot()
        field.me.jobs()
        field.clock.advance(99)
    assert field.ann.renew().standing == "live"


def test_a_claim_that_ended_before_the_reboot_stays_ended(field):
    field.ann.claim(1, seen=1, ttl=10)
    field.clock.advance(10)
    field.me.jobs()
    field.clock.reboot()
    with refused(field, "fenced"):
        field.ann.renew()


def test_awake_time_of_another_boot_means_nothing(field):
    """After a reboot the awake clock starts near zero: neither a huge time left nor a lapse may come of comparing them."""
    field.clock.reboot()
    field.ann.claim(1, seen=1, ttl=100)
    now = field.clock.instant
    field.clock.instant = replace(now, boot="a later one", awake_ns=10**18)
    assert field.me.job(1).expires_in == 100
