"""C50: the old worker finishes late."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.protocol import refused, run, state
from tests.support import wait_for

WORKER = """
import sys
from draftfs import Store
from draftfs.errors import DraftfsError
store = Store.open(".", agent="ann")
store.claim(1, seen=1, ttl=1)
open("docs/spec.md", "w").write("by ann\\n")
store.draft(["docs/spec.md"])
print("drafted", flush=True)
sys.stdin.readline()
open("docs/spec.md", "w").write("late\\n")
for write in (lambda: store.draft(["docs/spec.md"]), store.submit, store.renew, store.release):
    try:
        write()
        print("written", flush=True)
    except DraftfsError as refusal:
        print(refusal.code, refusal.details["standing"], refusal.details["holder"], flush=True)
"""


@pytest.mark.parametrize("replaced", [True, False])
def test_a_stalled_process_that_comes_back_changes_nothing(real, replaced):
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER],
        cwd=real.worktree("ann"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout.readline() == "drafted\n"
    os.kill(worker.pid, signal.SIGSTOP)
    wait_for(lambda: state(real)[0] == "open")
    if replaced:
        real.bob.claim(1, seen=real.version(1), ttl=600)
        real.put("bob", "docs/spec.md", "by bob\n")
    before = state(real)
    os.kill(worker.pid, signal.SIGCONT)
    out, _ = worker.communicate("go on\n", timeout=30)
    assert out.splitlines() == [f"fenced {'superseded bob' if replaced else 'lapsed None'}"] * 4
    assert state(real) == before
    assert (real.worktree("ann") / "docs/spec.md").read_text() == "late\n", "her own bytes are untouched"
    states = {draft.draft.author: draft.draft.state for draft in real.me.ls()[0].drafts}
    assert states == {"ann": "abandoned", **({"bob": "waiting"} if replaced else {})}
    assert run(real, "ann", "submit").status == 4


def test_old_keys_replay_and_say_how_things_stand(field):
    field.ann.claim(1, seen=1, ttl=2, receipt="K")
    field.write("ann", "docs/spec.md", "v1")
    first = field.ann.draft(["docs/spec.md"], receipt="L")
    field.clock.advance(3)
    field.bob.claim(1, seen=field.version(1))
    assert field.ann.claim(1, seen=1, ttl=2, receipt="K").standing == "superseded"
    again = field.ann.draft(["docs/spec.md"], receipt="L")
    assert (again.replayed, again.standing) == (True, "superseded")
    assert again.drafts[0].number == first.drafts[0].number


def test_revoked_instead_of_stalled(field):
    token = field.ann.claim(1, seen=1).claim.token
    field.put("ann", "docs/spec.md", "v1")
    field.me.revoke_job(1, because="too slow")
    with refused(field, "fenced") as caught:
        field.ann.submit(token=token, job=1)
    assert caught.value.details["standing"] == "revoked"
    assert "too slow" in caught.value.message


def test_her_draft_from_before_can_still_be_chosen(field):
    field.ann.claim(1, seen=1, ttl=2)
    field.put("ann", "docs/spec.md", "good work\n")
    field.clock.advance(3)
    (line,) = field.me.ls()
    assert [draft.draft.state for draft in line.drafts] == ["abandoned"]
    field.me.promote(field.me.draft_refs(["docs/spec.md.draft-0001@ann"]))
    assert (field.root / "docs/spec.md").read_text() == "good work\n"


@pytest.mark.parametrize("how", ["replaced", "submitted", "nobody took over", "revoked"])
def test_her_late_commit_is_blocked(guarded, how):
    site = guarded
    site.run("ann", "claim", "1", "--seen", "1", "--ttl", "6s")
    site.put("ann", "docs/spec.md", "by ann\n")
    site.commit("ann", "-a")
    early = site.tip("ann")
    if how == "revoked":
        site.run("me", "job revoke", "1", "--because", "too slow")
    else:
        wait_for(lambda: state(site.field)[0] == "open")
    if how in ("replaced", "submitted"):
        site.run("bob", "claim", "1", "--seen", str(site.field.version(1)))
        site.put("bob", "docs/spec.md", "by bob\n")
        site.commit("bob", "-a")
    if how == "submitted":
        site.run("bob", "submit")
    before = state(site.field)
    site.write("ann", "docs/spec.md", "late\n")
    for arguments in (
        ("commit", "-qam", "x"),
        ("commit", "-qam", "x", "--no-verify"),
        ("commit", "-qa", "--amend", "--no-edit"),
        ("commit", "-q", "--amend", "-m", "only words"),
    ):
        said = site.blocked("ann", *arguments)
        assert ("was revoked at" if how == "revoked" else "lapsed at") in said
        assert ("held by bob until" in said) is (how == "replaced")
        assert how != "revoked" or "too slow" in said
    site.git("me", "update-ref", "refs/heads/late", early, status=None)
    assert site.git("ann", "push", ".", f"{early}:refs/heads/copy", status=1)
    assert state(site.field) == before
    assert (site.where("ann") / "docs/spec.md").read_text() == "late\n"
    assert site.tip("ann") == early
    # Work on other paths is not held up by it.
    site.git("ann", "reset", "-q", "--hard")
    site.write("ann", "free.md", "x\n")
    site.git("ann", "add", "free.md")
    site.commit("ann")
