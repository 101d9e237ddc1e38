"""C68: the holder sits in a container."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from tests.protocol import data, error, refused, run

SECONDS = 60


def inside(real, who, *arguments, namespaces, before=""):
    """The agent's command in namespaces of its own."""
    where = real.worktree(who)
    script = f'{before} exec "$0" -m draftfs --json "$@"'
    command = ["unshare", *namespaces, "sh", "-c", script, sys.executable, *arguments]
    return subprocess.run(command, cwd=where, capture_output=True, text=True, check=False, timeout=60)


def needs(*namespaces):
    if sys.platform != "linux" or shutil.which("unshare") is None:
        pytest.skip("needs Linux's unshare")
    if subprocess.run(["unshare", *namespaces, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user cannot make namespaces")


@pytest.fixture
def by_ann(monkeypatch):
    monkeypatch.setenv("DRAFTFS_AGENT", "ann")


def test_a_holder_whose_processes_are_gone_holds_on(real, by_ann):
    pids = ["-pf", "--mount-proc", "-u"]
    needs(*pids)
    ran = inside(real, "ann", "claim", "1", "--seen", "1", "--ttl", "60s", namespaces=pids)
    assert ran.returncode == 0, ran
    refusal = error(run(real, "bob", "claim", "1", "--seen", "2"), 3, "job_not_open")
    assert 0 < refusal["details"]["expires_in"] <= SECONDS
    error(run(real, "bob", "claim", "--", "docs/spec.md"), 3, "path_clash")


@pytest.mark.parametrize("offset", [5000, -1])
def test_a_time_namespaces_offset_is_taken_out(real, by_ann, offset):
    """Inside and outside there is one common now, and no reboot between them."""
    shifted = ["-T", "--monotonic", str(offset)]
    needs(*shifted)
    data(run(real, "ann", "claim", "1", "--seen", "1", "--ttl", "600s"))
    for _ in range(3):
        ran = inside(real, "ann", "renew", namespaces=shifted)
        assert ran.returncode == 0, ran
        told = json.loads(ran.stdout)["data"]["claim"]["expires_in"]
        seen = real.me.job(1).expires_in
        assert 590 < seen <= told <= 600
    assert "claim.restarted" not in [event.kind for event in real.me.log()]
    ran = inside(real, "ann", "job", "show", "1", namespaces=shifted)
    assert json.loads(ran.stdout)["ok"]
    error(run(real, "bob", "claim", "1", "--seen", "2"), 3, "job_not_open")


def test_a_reboot_of_the_machine(real, by_ann, tmp_path):
    needs("-m")
    boot = tmp_path / "boot"
    boot.write_text("11111111-2222-3333-4444-555555555555\n")
    bound = f"mount --bind {boot} /proc/sys/kernel/random/boot_id &&"
    claimed = data(run(real, "ann", "claim", "1", "--seen", "1", "--ttl", "60s"))
    for _ in range(2):
        ran = inside(real, "ann", "renew", namespaces=["-m"], before=bound)
        if ran.returncode == 32 or "mount:" in ran.stderr:
            pytest.skip("this user cannot bind over boot_id")
        assert ran.returncode == 0, ran
    assert json.loads(ran.stdout)["data"]["claim"]["epoch"] == claimed["claim"]["epoch"]
    assert [event.kind for event in real.me.log(limit=100)].count("claim.restarted") == 2, "there and back again"


def test_after_a_reboot_each_live_claim_has_its_full_ttl_once(field):
    token = field.ann.claim(1, seen=1, ttl=60).claim.token
    field.clock.advance(50)
    field.clock.reboot()
    assert field.bob.job(1).expires_in == 60
    field.clock.advance(50)
    assert field.ann.job(1).expires_in == 10
    assert field.ann.renew(token=token, job=1).standing == "live"
    with refused(field, "job_not_open"):
        field.bob.claim(1, seen=2)
    field.clock.advance(60)
    assert field.bob.claim(1, seen=3).claim.epoch == 2
