"""C71: claimed, but the answer was never seen. (Standings one by one, and --next: tests/claims/test_replays.py.)"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.protocol import data, error, run
from tests.support import draftfs


def unheard(field, *arguments, cwd="."):
    """ann's command with nobody to read its answer (standard output is closed)."""
    script = 'exec "$0" -m draftfs "$@" >&-'
    environment = {**os.environ, "DRAFTFS_AGENT": "ann"}
    command = ["sh", "-c", script, sys.executable, *arguments]
    return subprocess.run(
        command, cwd=field.worktree("ann") / cwd, env=environment, capture_output=True, check=False, timeout=60
    )


def test_a_with_a_key(real):
    assert unheard(real, "claim", "1", "--seen", "1", "--receipt", "K").returncode == 8
    again = data(run(real, "ann", "claim", "1", "--seen", "1", "--receipt", "K"))
    assert (again["replayed"], again["standing"], again["job"]["attempts"]["used"]) == (True, "live", 1)
    assert again["claim"]["token"] == real.ann.worktree.kept()[0].token


def test_b_without_a_key(real):
    for turn, again_in in enumerate((".", "docs")):
        seen = str(real.version(1))
        assert unheard(real, "claim", "1", "--seen", seen).returncode == 8
        where = real.worktree("ann") / again_in
        again = data(draftfs("claim", "1", "--seen", seen, "--json", cwd=where, agent="ann"))
        assert (again["replayed"], again["claim"]["epoch"]) == (True, turn + 1)
        error(run(real, "ann", "claim", "1", "--seen", seen), 3, "job_not_open")
        data(run(real, "ann", "release"))


def test_b_drafting_before_the_command_is_repeated(real):
    unheard(real, "claim", "1", "--seen", "1")
    real.write("ann", "docs/spec.md", "v1\n")
    assert data(run(real, "ann", "draft", "docs/spec.md"))["drafts"][0]["number"] == 1
    assert data(run(real, "ann", "claim", "1", "--seen", "1"))["replayed"]


def test_c_another_version_is_another_request(real):
    unheard(real, "claim", "1", "--seen", "1")
    refusal = error(run(real, "ann", "claim", "1", "--seen", "2"), 3, "job_not_open")
    assert (refusal["details"]["holder"], refusal["details"]["epoch"]) == ("ann", 1)
    assert refusal["details"]["expires_at"] in refusal["message"]
    assert "--receipt" in refusal["hint"]
    for claim in (["1", "--seen", "2"], ["docs/spec.md"]):  # she does not queue behind herself
        code = "job_not_open" if claim[0] == "1" else "path_clash"
        assert "ann" in error(run(real, "ann", "claim", *claim, "--wait", "60s"), 3, code)["message"]


def test_d_the_next_one(real):
    unheard(real, "claim", "--next")
    again = data(run(real, "ann", "claim", "--next"))
    assert (again["replayed"], again["job"]["id"]) == (True, 1)
    assert data(run(real, "ann", "claim", "--next"))["job"]["id"] == 2


def test_the_end_of_a_claim_too(real):
    """What ends a claim is repeatable like what began it, though its token is dead by then."""
    data(run(real, "ann", "claim", "1", "--seen", "1"))
    assert unheard(real, "submit", "--note", "done").returncode == 8
    again = data(run(real, "ann", "submit", "--note", "done"))
    assert (again["replayed"], again["standing"]) == (True, "submitted")
    error(run(real, "ann", "submit", "--note", "done"), 4, "fenced")


def test_e_a_replay_after_the_end(real):
    token = data(run(real, "ann", "claim", "1", "--seen", "1", "--receipt", "K"))["claim"]["token"]
    data(run(real, "me", "job", "revoke", "1", "--because", "x"))
    for standing in ("revoked", "superseded"):
        again = data(run(real, "ann", "claim", "1", "--seen", "1", "--receipt", "K"))
        assert (again["standing"], again["claim"]["token"]) == (standing, token)
        assert (again["claim"]["expires_at"], again["claim"]["expires_in"]) == (None, None)
        error(run(real, "ann", "submit", "--job", "1", "--token", token), 4, "fenced")
        if standing == "revoked":
            real.bob.claim(1, seen=real.version(1))
