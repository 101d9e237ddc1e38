"""A command whose answer was never seen is the same request when it is run again; afterwards it is a new one (C53, C71)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.conftest import answer, environment, refusal
from tests.support import Ran, draftfs, heed_interrupts, wait_for

KILLED = """
import os, signal, sys
import draftfs.cli._run as cli
cli._print = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # the change is committed, the answer is ready
sys.exit(cli.run(sys.argv[1:]))
"""

AT_COMMIT = """
import os, signal, sys
from draftfs.engine import fs
seen = 0
def observe(call, path):
    # The journal's sync is the commit: what comes after it is a change that has happened.
    global seen
    if call == "fdatasync" and path.endswith("/journal"):
        seen += 1
    elif seen:
        os.kill(os.getpid(), signal.SIGKILL)
fs.observer = observe
from draftfs.cli import main
sys.exit(main(sys.argv[1:]))
"""


def killed(*arguments: str, cwd, agent: str | None = None, driver: str = KILLED) -> None:
    done = subprocess.run(
        [sys.executable, "-c", driver, *arguments], cwd=cwd, env=environment(agent), capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def pending(worktree_git: str) -> list[str]:
    folder = os.path.join(worktree_git, "draftfs-worktree", "pending")
    return os.listdir(folder) if os.path.isdir(folder) else []


@pytest.mark.parametrize("driver", [KILLED, AT_COMMIT], ids=["before the answer", "at the commit"])
def test_a_claim_killed_between_commit_and_answer(place, driver):
    killed("claim", "1", "--seen", "1", cwd=place.wa, agent="ann", driver=driver)
    again = draftfs("claim", "1", "--seen", "1", "--json", cwd=place.wa / "docs", agent="ann")
    data = answer(again)
    assert (data["replayed"], data["standing"], data["job"]["attempts"]["used"]) == (True, "live", 1)
    answer(place.ann("renew", "--json"))
    error = refusal(place.ann("claim", "1", "--seen", "1", "--json"), 3, "job_not_open")
    assert "ann" in error["message"]


def test_claim_next_killed_gives_the_same_job(place):
    killed("claim", "--next", cwd=place.wa, agent="ann")
    data = answer(place.ann("claim", "--next", "--json"))
    assert (data["replayed"], data["job"]["id"]) == (True, 1)
    assert answer(place.ann("claim", "--next", "--json"))["job"]["id"] == 2


def test_a_key_whose_claim_has_ended_is_dropped(place):
    killed("claim", "1", "--seen", "1", cwd=place.wa, agent="ann")
    answer(place.me("job", "revoke", "1", "--because", "gone", "--json"))
    version = answer(place.me("job", "show", "1", "--json"))["job"]["version"]
    refusal(place.ann("claim", "1", "--seen", "1", "--json"), 3, "stale_version")
    assert answer(place.ann("claim", "1", "--seen", str(version), "--json"))["replayed"] is False


def test_a_draft_and_its_submission_killed(place):
    place.claimed()
    (place.wa / "docs/spec.md").write_text("v1\n")
    killed("draft", "docs/spec.md", cwd=place.wa, agent="ann")
    data = answer(place.ann("draft", "./docs/../docs/spec.md", "--json"))
    assert (data["replayed"], data["drafts"][0]["number"]) == (True, 1)
    killed("submit", cwd=place.wa, agent="ann")
    data = answer(place.ann("submit", "--json"))
    assert (data["replayed"], data["standing"]) == (True, "submitted")


def test_a_promotion_killed(place):
    place.submitted()
    killed("promote", "docs/spec.md", "1", cwd=place.root)
    assert answer(place.me("promote", "docs/spec.md", "1", "--json"))["replayed"] is True
    assert (place.root / "docs/spec.md").read_text() == "v1\n"


def test_the_key_goes_with_the_answer_and_with_a_refusal(place):
    git_dir = str(place.root / ".git")
    answer(place.me("job", "add", "t", "x.md", "--json"))
    assert pending(git_dir) == []
    refusal(place.me("job", "revoke", "1", "--because", "x", "--json"), 3, "job_not_open")
    assert pending(git_dir) == []
    killed("job", "add", "t", "x.md", cwd=place.root)
    assert len(pending(git_dir)) == 1
    answer(place.me("job", "add", "t", "x.md", "--json"))
    assert pending(git_dir) == []


def test_busy_keeps_the_key(place):
    import portalocker

    with open(place.field.store / "lock", "r+b") as held:
        portalocker.lock(held, portalocker.LockFlags.EXCLUSIVE)
        begun = time.monotonic()
        refusal(place.me("job", "add", "t", "x.md", "--lock-wait", "0", "--json"), 7, "busy")
        assert time.monotonic() - begun < 8
        portalocker.unlock(held)
    assert len(pending(str(place.root / ".git"))) == 1
    assert answer(place.me("job", "add", "t", "x.md", "--json"))["replayed"] is False


def test_two_equal_commands_at_once_are_two_requests(place):
    command = [sys.executable, "-m", "draftfs", "job", "add", "t", "x.md"]
    both = [subprocess.Popen(command, cwd=place.root, env=environment(), stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(answer(place.me("job", "list", "--json"))["jobs"]) == 4


def test_a_worktree_that_cannot_be_written_has_no_kept_keys(place):
    blocked = place.root / ".git" / "draftfs-worktree"
    blocked.write_text("a file where a folder should be")
    assert answer(place.me("job", "add", "t", "x.md", "--json"))["replayed"] is False


def test_a_given_key_is_the_callers_to_keep(place):
    first = answer(place.me("job", "add", "t", "x.md", "--receipt", "K", "--json"))
    second = answer(place.me("job", "add", "t", "x.md", "--receipt", "K", "--json"))
    assert (first["replayed"], second["replayed"]) == (False, True)
    assert first["jobs"] == second["jobs"]
    refusal(place.me("job", "add", "u", "x.md", "--receipt", "K", "--json"), 3, "receipt_mismatch")
    assert pending(str(place.root / ".git")) == []


def test_no_refusal_leaves_a_receipt(place):
    refusal(place.ann("claim", "1", "--seen", "1", "--ttl", "0", "--receipt", "K", "--json"), 2, "bad_ttl")
    refusal(place.me("receipt", "show", "K", "--json"), 5, "no_receipt")
    data = answer(place.ann("claim", "1", "--seen", "1", "--ttl", "60s", "--receipt", "K", "--json"))
    assert (data["replayed"], data["job"]["attempts"]["used"]) == (False, 1)


@pytest.mark.parametrize("ending", ["released", "submitted", "revoked"])
def test_a_replay_is_said_plainly_with_how_the_claim_stands_now(place, ending):
    place.ann("claim", "1", "--seen", "1", "--receipt", "K")
    if ending == "revoked":
        place.me("job", "revoke", "1", "--because", "x")
    else:
        place.ann(ending.removesuffix("ted").removesuffix("d").replace("submit", "submit"))
    shown = place.ann("claim", "1", "--seen", "1", "--receipt", "K")
    assert shown.status == 0
    assert f"replayed: this is the answer of an earlier call; the claim is now {ending}" in shown.out


def test_an_interrupted_command_is_found_again(place):
    import portalocker

    command = [sys.executable, "-m", "draftfs", "job", "add", "t", "x.md", "--json"]
    with open(place.field.store / "lock", "r+b") as held:
        portalocker.lock(held, portalocker.LockFlags.EXCLUSIVE)
        process = subprocess.Popen(
            command,
            cwd=place.root,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_interrupts,  # noqa: PLW1509 - no thread is running here
        )
        wait_for(lambda: any(name.endswith(".json") for name in pending(str(place.root / ".git"))))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        portalocker.unlock(held)
    refusal(Ran(process.returncode, out, err), 130, "interrupted")
    assert len(pending(str(place.root / ".git"))) == 1
    assert answer(place.me("job", "add", "t", "x.md", "--json"))["replayed"] is False
    assert len(answer(place.me("job", "list", "--json"))["jobs"]) == 3
