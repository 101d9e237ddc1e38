"""C63: the hook's program is gone. (The policy in every combination: tests/hooks/test_errors.py.)"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from draftfs.git.hooks.text import HOOKS, Program, Text, program
from tests.support import GIT_ENVIRONMENT, git

SHORT = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin", **GIT_ENVIRONMENT}


def commit(where, *, message: str = "x", **more: str):
    return subprocess.run(
        ["git", "commit", "-q", "-a", "--allow-empty", "-m", message],
        cwd=where,
        env={**SHORT, **more},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def installed(site, tmp_path):
    """Hooks whose interpreter and packages lie in an environment of their own, `env`, that can be deleted."""
    site.run("me", "hooks install")
    site.hold("ann", "a.txt")
    site.where("bob")
    env = tmp_path / "env"
    env.mkdir()
    (env / "python").symlink_to(program().python)
    boot = program().boot
    for number, home in enumerate(dict.fromkeys(each for each in homes())):
        (env / f"home-{number}").symlink_to(home)
        boot = boot.replace(ascii(os.fsencode(home)), ascii(os.fsencode(str(env / f"home-{number}"))))
    for hook in HOOKS:
        (site.root / ".git/hooks" / hook).write_bytes(Text(hook, Program(str(env / "python"), boot)).encoded())
    site.env = env
    return site


def homes() -> list[str]:
    import portalocker
    import yaml

    import draftfs

    return [os.path.dirname(os.path.dirname(each.__file__)) for each in (draftfs, yaml, portalocker)]


def test_the_short_path_of_a_graphical_client_will_do(installed):
    installed.write("ann", "a.txt", b"by ann\n")
    assert commit(installed.where("ann")).returncode == 0
    installed.write("bob", "a.txt", b"by bob\n")
    late = commit(installed.where("bob"))
    assert late.returncode != 0
    assert "ann" in late.stderr


@pytest.mark.parametrize("gone", ["interpreter", "packages"])
def test_the_environment_is_deleted(installed, gone):
    site = installed
    for each in site.env.iterdir():
        if each.name.startswith("home" if gone == "packages" else "python"):
            each.unlink()
    ann, bob = site.where("ann"), site.where("bob")
    blocked = commit(ann)
    assert blocked.returncode != 0
    (line,) = [each for each in blocked.stderr.splitlines() if "refused, for" in each]
    for part in ("python" if gone == "interpreter" else "is gone", "draftfs hooks install", "DRAFTFS_BYPASS=REASON"):
        assert part in line
    for where in (bob, site.root):
        warned = commit(where, message=str(where))
        assert warned.returncode == 0
        assert "warning: not checked" in warned.stderr
    for command in (("fetch", "-q", str(site.root)), ("switch", "-q", "-c", "fresh", "main"), ("switch", "-q", "wa")):
        done = subprocess.run(["git", *command], cwd=ann, env=SHORT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), command
    assert commit(ann, DRAFTFS_BYPASS="").returncode != 0
    passed = commit(ann, DRAFTFS_BYPASS="hooks broken")
    assert passed.returncode == 0
    assert "NOT CHECKED" in passed.stderr
    assert "hooks broken" in passed.stderr
    assert site.run("me", "hooks status", status=6)["active"] is False
    site.run("me", "hooks install")
    assert commit(ann).returncode == 0
    assert site.run("me", "hooks status")["active"] is True


def test_a_reason_is_recorded_where_the_store_can_be_written(installed):
    lease = next((installed.root / ".git/draftfs/leases").iterdir())
    whole = lease.read_bytes()
    installed.write("ann", "a.txt", b"by ann\n")
    lease.write_bytes(b"damaged")
    passed = commit(installed.where("ann"), DRAFTFS_BYPASS="the store is damaged")
    assert passed.returncode == 0, passed.stderr
    assert "NOT CHECKED" in passed.stderr
    lease.write_bytes(whole)
    events = [each for each in installed.run("me", "log")["events"] if each["kind"] == "hook.bypassed"]
    assert events
    assert "the store is damaged" in str(events[0])


def test_what_git_passes_over_is_said_by_status(installed):
    for hook in HOOKS:
        (installed.root / ".git/hooks" / hook).chmod(0o644)
    installed.write("bob", "a.txt", b"late\n")
    assert commit(installed.where("bob")).returncode == 0
    found = installed.run("me", "hooks status", status=6)
    assert {each["state"] for each in found["hooks"]} == {"disabled"}


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs a mount of its own")
def test_on_a_noexec_mount_status_says_so(installed):
    root = installed.root
    command = 'mount --bind "$1" "$1" && mount -o remount,bind,noexec "$1" && cd "$1" && shift && exec "$@"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", command, "sh", str(root), sys.executable, "-m", "draftfs", "hooks", "status"],
        capture_output=True,
        text=True,
        check=False,
    )
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip("mounting is not allowed here")
    assert done.returncode == 6, done.stderr
    assert "no program may be run there" in done.stdout


def test_a_repository_without_a_store_notices_nothing(installed, tmp_path):
    git("init", "-q", "-b", "main", "plain", cwd=tmp_path)
    for hook in HOOKS:
        shutil.copy(installed.root / ".git/hooks" / hook, tmp_path / "plain/.git/hooks" / hook)
    (installed.env / "python").unlink()
    done = commit(tmp_path / "plain")
    assert (done.returncode, done.stderr) == (0, "")
