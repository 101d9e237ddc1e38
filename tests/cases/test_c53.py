"""C53: is a refusal remembered?"""

from __future__ import annotations

import pytest

from draftfs.engine import lock
from tests.protocol import data, error, refused, run


@pytest.mark.parametrize("key", ["K", None])
def test_a_bad_ttl_and_then_a_good_one(field, key):
    with refused(field, "bad_ttl"):
        field.ann.claim(1, seen=1, ttl=0, receipt=key)
    claimed = field.ann.claim(1, seen=1, ttl=60, receipt=key)
    assert (claimed.replayed, claimed.job.attempts.used) == (False, 1)


@pytest.mark.parametrize("key", ["K", None])
def test_a_clash_and_then_none(field, key):
    field.bob.claim_paths(["docs"])
    with refused(field, "path_clash"):
        field.ann.claim(1, seen=1, receipt=key)
    if key:
        with refused(field, "no_receipt"):
            field.me.receipt(key)
    field.bob.release()
    claimed = field.ann.claim(1, seen=1, receipt=key)
    assert (claimed.replayed, claimed.job.attempts.used) == (False, 1)


@pytest.mark.parametrize("receipt", [["--receipt", "K"], []])
def test_a_busy_store_and_then_a_free_one(real, receipt):
    with lock.exclusive(str(real.store / "lock"), 5):
        error(run(real, "ann", "claim", "1", "--seen", "1", "--lock-wait", "0.2", *receipt), 7, "busy")
    error(run(real, "me", "receipt", "show", "K"), 5, "no_receipt")
    claimed = data(run(real, "ann", "claim", "1", "--seen", "1", "--lock-wait", "5", *receipt))
    assert (claimed["replayed"], claimed["job"]["attempts"]["used"]) == (False, 1)


def test_by_the_command_line(real):
    for receipt in (["--receipt", "K"], []):
        seen = str(real.version(1))
        error(run(real, "ann", "claim", "1", "--seen", seen, "--ttl", "0", *receipt), 2, "bad_ttl")
        claimed = data(run(real, "ann", "claim", "1", "--seen", seen, "--ttl", "60s", *receipt))
        assert (claimed["replayed"], claimed["job"]["attempts"]["used"]) == (False, 1)
        data(run(real, "ann", "release"))
