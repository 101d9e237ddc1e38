"""A full disk: refused as such, naming the file; what was, still is; no litter; free some space and it works (C34)."""

from __future__ import annotations

import errno
import os
import resource
import shutil

import pytest

from draftfs import EnvironmentFault
from draftfs.engine import fs
from draftfs.layout import RESERVE
from draftfs.records import DraftRef
from tests.actors import Actor, FileClock
from tests.crash.operations import PREPARED, SPEC, make_ready
from tests.disks import fill, small_disk, use_up_inodes
from tests.faults import NEEDS_SPACE, failing, litter, records, shown
from tests.support import make_field

BIG = os.urandom(32 << 10)


@pytest.mark.parametrize("name", PREPARED)
def test_full_from_every_call_on(field, name):
    """Before the commit: refused, and nothing has changed. Past it, it has happened, whatever is still to be shown."""
    operation = make_ready(field, name)
    number, refused = 0, 0
    while True:
        operation.before.restore()
        with failing(number, errno.ENOSPC) as failed:
            try:
                operation.run()
                outcome = None
            except EnvironmentFault as fault:
                outcome = fault
        if not failed:
            break
        committed = operation.check_whole_or_not()
        if outcome is not None and outcome.code == "disk_full" and "recorded" not in outcome.message:
            refused += 1
            assert not committed
            assert shown(field.root) == operation.old[1]
            assert litter(field.store) == []
        else:
            assert committed
            assert outcome is None or outcome.code in ("unknown", "disk_full")
        if committed and name == "promote":
            _check_promoted(operation)
        else:
            if committed:
                field.me.settle()
            operation.check_once(tried=True)
        number += 1
    assert refused > 5


def _check_promoted(operation) -> None:
    """An install that failed is not tried again by itself: the choice stands, the target is stale until it is made so."""
    assert operation.run().replayed
    assert operation.field.me.doctor().findings == ()
    assert operation.field.me.engine.pending_effects() == []
    assert litter(operation.field.store) == []


@pytest.mark.parametrize("name", ["release", "submit"])
def test_what_ends_a_claim_has_room_in_reserve(field, name):
    """The space that the reserve gives up is enough for one such command; the next checkpoint fills it again."""
    operation = make_ready(field, name)
    reserve = field.store / RESERVE
    full = True

    def observer(call: str, path: str) -> None:
        nonlocal full
        full = full and not (call == "unlink" and path == str(reserve))
        if full and call in NEEDS_SPACE and "journal" not in path:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    fs.observer = lambda call, path: observer(call, path) if not path.endswith("/lock") else None
    try:
        assert not operation.run().replayed
    finally:
        fs.observer = None
    assert not full
    assert not reserve.exists()
    operation.check_once()
    field.me.engine.checkpoint()
    assert reserve.stat().st_size == 128 << 10


@pytest.fixture
def small(tmp_path):
    """A store with ann's worktree on a disk of 8 MB: ann holds job 1, with a draft of 32 kB waiting."""
    with small_disk(tmp_path / "disk") as disk:
        field = make_field(disk)
        field.ann.claim(1, seen=1)
        field.put("ann", SPEC, BIG)
        field.me.add_job("many", [f"many/{number:03d}.md" for number in range(500)])
        field.worktree("bob")
        field.bob.worktree.ensure_id()
        yield field


def refused(operation) -> EnvironmentFault:
    with pytest.raises(EnvironmentFault) as fault:
        operation()
    assert fault.value.code == "disk_full", fault.value
    assert fault.value.details["path"]
    return fault.value


@pytest.mark.parametrize("leave", [0, 8 << 10])
def test_a_full_disk(small, leave):
    field = small
    field.write("ann", SPEC, BIG[::-1])
    before, seen = records(field.me), shown(field.root)
    ballast = fill(field.base, leave)
    refused(lambda: field.ann.draft([str(field.worktree("ann") / SPEC)]))
    refused(lambda: field.me.promote([DraftRef(SPEC, 1)]))
    refused(lambda: field.bob.claim(3, seen=1))
    refused(lambda: field.me.add_jobs(_many_jobs()))
    ballast.unlink()
    assert records(field.me) == before
    assert shown(field.root) == seen
    assert litter(field.store) == []
    assert field.put("ann", SPEC, BIG[::-1]).drafts[0].number == 2
    assert field.bob.claim(3, seen=1).claim.epoch == 2
    field.me.promote([DraftRef(SPEC, 2)])
    assert (field.root / SPEC).read_bytes() == BIG[::-1]
    assert field.me.doctor().findings == ()


def _many_jobs() -> list:
    from draftfs.records import NewJob

    return [NewJob(f"job {number}", (f"p{number}",), text="x" * 1000) for number in range(100)]


@pytest.mark.parametrize("method", ["release", "submit"])
def test_a_claim_can_be_ended_on_a_full_disk(small, method):
    ballast = fill(small.base)
    getattr(small.ann, method)()
    assert small.me.job(1).job.holder is None
    ballast.unlink()
    small.me.engine.checkpoint()
    assert small.me.doctor().findings == ()
    assert litter(small.store) == []


def test_no_inodes_left(tmp_path):
    with small_disk(tmp_path / "disk", nr_inodes=2000) as disk:
        field = make_field(disk)
        field.ann.claim(1, seen=1)
        field.put("ann", SPEC, BIG)
        field.write("ann", SPEC, BIG[::-1])
        before, seen = records(field.me), shown(field.root)
        for leave in (0, 1, 2, 4):
            ballast = use_up_inodes(disk, leave)
            refused(lambda: field.ann.draft([str(field.worktree("ann") / SPEC)]))
            if leave == 0:
                refused(lambda: field.me.promote([DraftRef(SPEC, 1)]))
                refused(lambda: field.me.add_job("x", ["x"]))
            shutil.rmtree(ballast)
            assert records(field.me) == before
            assert shown(field.root) == seen
            assert litter(field.store) == []
        assert field.put("ann", SPEC, BIG[::-1]).drafts[0].number == 2
        field.me.promote([DraftRef(SPEC, 2)])
        assert field.me.doctor().findings == ()


def test_a_limit_on_the_size_of_files(tmp_path):
    """EFBIG (`ulimit -f 8`) is a full disk, too; a process without the limit goes on from there."""
    field = make_field(tmp_path, FileClock(tmp_path / "clock"))
    field.ann.claim(1, seen=1)
    field.write("ann", SPEC, BIG)
    top = field.worktree("ann")
    before = records(field.me)
    with Actor(top, "ann", clock=field.clock) as ann:
        ann.call("limit", 8 << 10)
        assert ann.call("draft", [str(top / SPEC)])["error"] == "disk_full"
        assert ann.call("claim_paths", [str(top / f"many/{each}") for each in range(300)])["error"] == "disk_full"
    assert records(field.me) == before
    assert litter(field.store) == []
    assert field.ann.draft([str(top / SPEC)]).drafts[0].number == 1
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    assert field.me.doctor().findings == ()


# ── what the disk drops without saying so ──


def test_a_failed_sync_of_the_journal(field):
    """Nobody knows then: said so, not tried again in this process; the next opener looks, and once is once."""
    operation = make_ready(field, "claim")
    store = field.ann
    with failing(0, errno.EIO, frozenset({"fdatasync"}), "/journal"), pytest.raises(EnvironmentFault) as fault:
        store.claim(1, seen=1, receipt="claim-key")
    assert (fault.value.code, fault.value.exit_status) == ("unknown", 8)
    with pytest.raises(EnvironmentFault) as again:
        store.claim(1, seen=1, receipt="claim-key")
    assert again.value.code == "unknown"
    operation.check_once()


def test_a_failed_sync_of_the_done_mark_does_not_undo_the_answer(field):
    """The change is committed; only that its draft was shown is not noted. The next one looks, and notes it."""
    operation = make_ready(field, "draft")
    with failing(1, errno.EIO, frozenset({"fdatasync"}), "/journal") as failed:
        assert not operation.run().replayed
    assert len(failed) == 1
    operation.check_once()


def test_a_failed_sync_in_a_checkpoint_distrusts_the_files(field):
    """The kernel may have dropped what the files held: the next opener writes them anew from the journal."""
    operation = make_ready(field, "draft")
    operation.run()
    with failing(3, errno.EIO, frozenset({"fsync"})), pytest.raises(EnvironmentFault) as fault:
        field.me.engine.checkpoint()
    assert fault.value.code == "filesystem"
    for path in (field.store / "jobs").iterdir():
        path.write_bytes(b"")
    (field.store / "counters.yaml").unlink()
    operation.check_once()


def test_a_hand_edit_that_cannot_be_kept_is_not_lost(field):
    """An editor writes between the look and the swap, and the disk is too full to keep its bytes: they stay where they
    are, or come back."""
    operation = make_ready(field, "promote")
    target = field.root / SPEC

    def observer(call: str, path: str) -> None:
        if call == "exchange" and path == str(target):
            target.write_bytes(b"from an editor\n")
        elif swapped and call in ("create", "write"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        if call == "exchange":
            swapped.append(path)

    swapped: list[str] = []
    fs.observer = observer
    try:
        operation.run()
    except EnvironmentFault as fault:
        assert fault.code == "disk_full"  # noqa: PT017
    finally:
        fs.observer = None
    me = field.me
    me.settle()
    kept = [path for path in field.root.glob("docs/spec.md*") if path.read_bytes() == b"from an editor\n"]
    assert kept
    assert me.doctor().findings == ()
    assert litter(field.store) == []
