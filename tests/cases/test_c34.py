"""C34: the disk is full half-way. (`ack` comes with that command.)

Decided: `release` and `submit` have room kept for them in the store (128 kB), on a disk without a free block, too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from draftfs import SystemClock
from tests.actors import PROJECT
from tests.cases.commands import Site
from tests.disks import fill, small_disk, use_up_inodes
from tests.faults import litter, records, shown
from tests.support import make_field

BIG = os.urandom(32 << 10)
SPEC = "docs/spec.md"


@pytest.fixture
def small(tmp_path):
    with small_disk(tmp_path / "disk", "8m", nr_inodes=2500) as disk:
        field = make_field(disk, SystemClock())
        site = Site(field)
        site.run("ann", "claim", "1", "--seen", "1")
        site.put("ann", SPEC, BIG)
        field.me.add_job("many", [f"many/{number:03d}.md" for number in range(500)])
        field.worktree("bob")
        yield site
        assert field.me.doctor().findings == ()
        assert litter(field.store) == []


def _refused(site: Site) -> None:
    before, seen = records(site.field.me), shown(site.root)
    site.write("ann", SPEC, BIG) if not (site.where("ann") / SPEC).exists() else None
    for who, command in (
        ("ann", ("draft", SPEC)),
        ("me", ("promote", "--yes", SPEC, "1")),
        ("bob", ("claim", "3", "--seen", "1")),
    ):
        error = site.run(who, command[0], *command[1:], status=8)
        assert error["code"] == "disk_full", error
        assert error["details"]["path"]
    assert records(site.field.me) == before
    assert shown(site.root) == seen


@pytest.mark.parametrize("leave", [0, 8 << 10])
def test_no_room(small, leave):
    small.write("ann", SPEC, BIG[::-1])
    ballast = fill(small.field.base, leave)
    _refused(small)
    ballast.unlink()
    assert small.run("ann", "draft", SPEC)["drafts"][0]["number"] == 2
    small.run("me", "promote", "--yes", SPEC, "2")
    assert small.read(SPEC) == BIG[::-1]
    assert small.run("bob", "claim", "3", "--seen", "1")["claim"]["epoch"] == 2


def test_no_inodes(small):
    small.write("ann", SPEC, BIG[::-1])
    ballast = use_up_inodes(small.field.base)
    _refused(small)
    shutil.rmtree(ballast)
    assert small.run("ann", "draft", SPEC)["drafts"][0]["number"] == 2


@pytest.mark.parametrize("command", ["release", "submit"])
@pytest.mark.parametrize("leave", [0, 8 << 10])
def test_a_claim_can_be_ended(small, command, leave):
    ballast = fill(small.field.base, leave)
    small.run("ann", command)
    assert small.field.me.job(1).job.holder is None
    ballast.unlink()


def _shell(site: Site, script: str, who: str = "ann") -> tuple[int, dict]:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "DRAFTFS_AGENT": who}
    if who == "me":
        del environment["DRAFTFS_AGENT"]
    done = subprocess.run(
        ["sh", "-c", script], cwd=site.where(who), env=environment, capture_output=True, check=False, timeout=60
    )
    assert b"Traceback" not in done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout)


def _draftfs(*words: str) -> str:
    import shlex
    import sys

    return shlex.join([sys.executable, "-m", "draftfs", *words])


def test_a_limit_on_file_sizes(site):
    site.run("ann", "claim", "1", "--seen", "1")
    site.write("ann", SPEC, BIG)
    before = records(site.field.me)
    status, answer = _shell(site, f"ulimit -f 8; {_draftfs('draft', SPEC, '--json')}")
    assert (status, answer["error"]["code"]) == (8, "disk_full")
    assert records(site.field.me) == before
    assert litter(site.field.store) == []
    assert site.run("ann", "draft", SPEC)["drafts"][0]["number"] == 1


@pytest.mark.parametrize("words", [("claim", "2", "--seen", "1"), ("draft", SPEC)])
def test_a_failed_sync(site, words):
    """Only the journal's sync can fail and leave nobody knowing; every earlier one is a plain refusal."""
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    site.run("ann", "claim", "1", "--seen", "1")
    site.write("ann", SPEC, "v1\n")
    who = "bob" if words[0] == "claim" else "ann"
    site.where(who)
    trace = "strace -f -qq -o /dev/null -P {} -e trace=fdatasync -e inject=fdatasync:error=EIO:when=1 {}"
    journal = site.field.store / "journal"
    status, answer = _shell(site, trace.format(journal, _draftfs(*words, "--json")), who)
    if status == 0:
        pytest.skip("strace does not trace here")
    assert (status, answer["error"]["code"]) == (8, "unknown"), answer
    done = site.run(who, words[0], *words[1:])
    assert done["replayed"] is True
    assert site.run(who, "receipt show", done["receipt"])["receipt"]["operation"] == words[0]
    kinds = [event.kind for event in site.field.me.log()]
    assert kinds.count("draft.added") == (words[0] == "draft")
    assert kinds.count("claim.taken") == (2 if words[0] == "claim" else 1)


@pytest.mark.parametrize("way", ["full", "inodes"])
def test_a_commit(small, way):
    """Where git itself still has room, and the store has none: it cannot be recorded, so it is refused."""
    site = small
    site.guard()
    site.write("ann", SPEC, "v1\n")
    site.git("ann", "add", SPEC)
    tree = site.git("ann", "write-tree").out.strip()
    oid = site.git("ann", "commit-tree", tree, "-p", "HEAD", "-m", "x").out.strip()
    before = records(site.field.me)
    ballast = fill(site.field.base) if way == "full" else use_up_inodes(site.field.base)
    tip = site.tip("ann")
    ran = site.git("ann", "update-ref", "refs/heads/wa", oid, status=None)
    assert ran.status != 0, ran
    assert site.tip("ann") == tip
    assert records(site.field.me) == before
    ballast.unlink() if ballast.is_file() else shutil.rmtree(ballast)
    site.git("ann", "update-ref", "refs/heads/wa", oid)
    assert site.run("me", "verify", "main..wa")["findings"] == []
