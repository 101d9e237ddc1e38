"""C36: read-only, and permission denied. (`check`, `regenerate` come with those commands; what only
another user sees is in tests/disk.)"""

from __future__ import annotations

import shutil
import subprocess
import time
from contextlib import contextmanager

import pytest

from tests.disks import mount, mounted
from tests.faults import records, shown

SPEC = "docs/spec.md"


@contextmanager
def read_only(site, *, store: bool):
    with mounted(site.root, "--bind", str(site.root)):
        if store:
            mount("-o", "remount,bind,ro", str(site.root))
            yield
        else:
            with mounted(site.root / ".git", "--bind", str(site.root / ".git")):
                mount("-o", "remount,bind,ro", str(site.root))
                yield


def test_a_read_only_disk(site):
    site.run("ann", "claim", "1", "--seen", "1", "--ttl", "1s")
    site.put("ann", SPEC, "v1\n")
    time.sleep(1.1)
    before, seen = records(site.field.me), shown(site.root)
    with read_only(site, store=True):
        jobs = site.run("me", "job list")["jobs"]
        assert (jobs[0]["state"], jobs[0]["expires_in"]) == ("claimed", 0)
        assert site.run("me", "ls")["targets"][0]["drafts"][0]["draft"]["number"] == 1
        assert site.run("me", "log")["events"]
        status = site.run("me", "status")["status"]
        assert ([each["expires_in"] for each in status["claims"]], len(status["targets"])) == ([0], 1)
        assert site.raw("me", "diff", f"{SPEC}.draft-0001@ann").status == 0
        for who, words in (
            ("me", ("claim", "2", "--seen", "1")),
            ("ann", ("draft", SPEC)),
            ("me", ("job add", "x", "x")),
        ):
            started = time.monotonic()
            error = site.run(who, words[0], *words[1:], status=8)
            assert (error["code"], bool(error["details"]["path"])) == ("permission", True)
            assert time.monotonic() - started < 5  # mostly the start of an interpreter; the lock's wait is 10
    assert records(site.field.me) == before
    assert shown(site.root) == seen
    assert site.run("me", "job list")["jobs"][0]["state"] == "open"


def test_a_sandbox(site):
    site.where("ann")
    with read_only(site, store=False):
        site.run("ann", "claim", "1", "--seen", "1")
        draft = site.put("ann", SPEC, "v1\n")
        assert (draft["number"], draft["shown"]) == (1, False)
        site.run("ann", "submit")
        assert not (site.root / draft["file"]).exists()
    assert site.run("me", "ls")["targets"][0]["drafts"][0]["draft"]["shown"] is True
    assert (site.root / draft["file"]).read_text() == "v1\n"


def test_an_immutable_target(site):
    site.run("ann", "claim", "1", "--seen", "1")
    site.put("ann", SPEC, "v1\n")
    site.run("ann", "submit")
    target = site.root / SPEC
    if (
        not shutil.which("chattr")
        or subprocess.run(["chattr", "+i", target], check=False, capture_output=True).returncode
    ):
        pytest.skip("this file system has no immutable files, or not for us")
    try:
        error = site.refused("me", "permission", "promote", "--yes", SPEC, "1", status=8)
        assert error["details"]["promoted"]["promoted"][0]["number"] == 1
        line = site.run("me", "ls")["targets"][0]
        assert (line["chosen"], line["stale"]) == (1, True)
        assert target.read_text() == "v0\n"
    finally:
        subprocess.run(["chattr", "-i", target], check=True)
    site.run("me", "promote", "--yes", SPEC, "1")
    assert target.read_text() == "v1\n"


def test_a_read_only_target_stays_so(site):
    site.run("ann", "claim", "1", "--seen", "1")
    site.put("ann", SPEC, "v1\n")
    target = site.root / SPEC
    target.chmod(0o444)
    site.run("me", "promote", "--yes", SPEC, "1")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("v1\n", 0o444)


def test_commits_on_a_read_only_store(guarded):
    """What needs a new record is refused where a claim is held, and its reason said; elsewhere it is not needed. (On a disk
    that is read-only as a whole git itself cannot commit.)"""
    site = guarded
    site.run("ann", "claim", "1", "--seen", "1")
    site.write("ann", SPEC, "v1\n")
    site.git("ann", "add", SPEC)
    before = records(site.field.me)
    with mounted(site.field.store, "--bind", str(site.field.store)):
        mount("-o", "remount,bind,ro", str(site.field.store))
        started = time.monotonic()
        said = site.blocked("ann", "commit", "-qm", "x")
        assert time.monotonic() - started < 8
        assert "permission" in said.lower() or "read-only" in said.lower()
        site.write("me", "other.md", "x\n")
        site.git("me", "add", "other.md")
        site.commit("me")
    assert records(site.field.me) == before
    site.commit("ann")


def test_a_commit_on_a_read_only_disk(guarded):
    site = guarded
    site.run("ann", "claim", "1", "--seen", "1")
    site.write("ann", SPEC, "v1\n")
    with read_only(site, store=True):
        ran = site.git("ann", "commit", "-qam", "x", status=None)
        assert ran.status != 0
    site.commit("ann", "-a")
