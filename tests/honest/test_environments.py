"""The same from a graphical client, from inside other hooks, with git's variables set, with odd settings."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.honest.conftest import SPEC
from tests.support import GIT_ENVIRONMENT


def bare_environment(place, *command: str, cwd, **more: str) -> subprocess.CompletedProcess[bytes]:
    wanted = {"HOME": str(place.base), "PATH": "/usr/bin:/bin", **GIT_ENVIRONMENT, **more}
    return subprocess.run(command, cwd=cwd, env=wanted, capture_output=True, stdin=subprocess.DEVNULL, check=False)


def test_a_short_path_and_nothing_else(place):
    place.hold("ann", SPEC)
    place.write("ann", SPEC, "v1\n")
    done = bare_environment(place, "git", "commit", "-qam", "x", cwd=place.where("ann"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert place.message("ann").endswith("Draftfs-Epoch: 1\n\n")


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX", "nowhere"])
def test_locales(place, locale):
    place.hold("ann", "caf\u00e9 \udcff.md")
    place.commit("ann", "caf\u00e9 \udcff.md", "x\n", "söme wörds", LC_ALL=locale, LANG=locale)


@pytest.mark.parametrize("relative", [False, True])
def test_with_gits_variables_set(place, relative):
    place.hold("ann", SPEC)
    place.write("ann", SPEC, "v1\n")
    place.git("ann", "add", "-A")
    folder = place.root / ".git/worktrees/wa"
    index = place.base / "other-index"
    index.write_bytes((folder / "index").read_bytes())
    named = os.path.relpath(folder, place.where("ann") / "docs") if relative else str(folder)
    more = {"GIT_DIR": named, "GIT_WORK_TREE": str(place.where("ann")), "GIT_INDEX_FILE": str(index)}
    place.git("ann", "commit", "-qm", "x", folder="docs", **more)
    assert place.git("ann", "show", f"HEAD:{SPEC}").out == "v1\n"


def test_from_inside_another_repositorys_hook(place):
    """GIT_DIR of another repository is set, and git -C is what should count: git itself obeys GIT_DIR, so it is unset first."""
    place.hold("ann", SPEC)
    place.write("ann", SPEC, "v1\n")
    script = f"unset $(git rev-parse --local-env-vars); git -C {place.where('ann')} commit -qam x"
    done = bare_environment(place, "sh", "-c", script, cwd=place.root, GIT_DIR=str(place.root / ".git"))
    assert done.returncode == 0, done.stderr


def test_settings_that_print_or_colour(place):
    for key, value in {
        "color.ui": "always",
        "core.pager": "cat",
        "log.showSignature": "false",
        "log.diffMerges": "off",
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "diff.external": "false",
        "core.abbrev": "5",
        "status.showUntrackedFiles": "all",
        "diff.orderFile": "/dev/null",
        "commit.gpgsign": "false",
        "gpg.program": "false",
        "core.untrackedCache": "true",
        "core.fsmonitor": "false",
        "alias.diff-tree": "log",
        "push.default": "current",
    }.items():
        place.git("me", "config", key, value)
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.commit("me", "f0", "moved on\n")
    place.git("ann", "merge", "-q", "--no-edit", "main")
    place.submit("ann")
    place.git("ann", "rebase", "-q", "main")


def test_alone_by_its_agent_variable(place):
    """An agent's name in the environment, in a worktree where they hold nothing."""
    place.environment = {"DRAFTFS_AGENT": "cat"}
    place.git("me", "worktree", "add", "-q", "-b", "wc", str(place.base / "wc"), "main")
    place.commit("wc", "f0", "x\n")
    place.git("wc", "commit", "-q", "--amend", "-m", "y")


def test_a_foreign_hook_still_runs_once(place):
    hooks = place.root / ".git/hooks"
    for name in ("pre-commit", "commit-msg", "post-commit", "post-rewrite"):
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >>{place.base}/ran\n")
        (hooks / name).chmod(0o755)
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    assert (place.base / "ran").read_text() == "pre-commit\ncommit-msg\npost-commit\n"


def test_how_many_processes_a_commit_takes(place):
    """A bound, so that a slow way does not come back unseen: every program that one commit under a claim starts."""
    place.hold("ann", SPEC)
    place.write("ann", SPEC, "v1\n")
    trace = place.base / "trace"
    place.git("ann", "commit", "-qam", "x", GIT_TRACE2_EVENT=str(trace))
    started = [line for line in trace.read_text().splitlines() if '"event":"start"' in line]
    assert len(started) <= 14, "\n".join(started)
    trace.unlink()
    place.git("me", "commit", "--allow-empty", "-qm", "x", GIT_TRACE2_EVENT=str(trace))
    started = [line for line in trace.read_text().splitlines() if '"event":"start"' in line]
    assert len(started) <= 8, "\n".join(started)
