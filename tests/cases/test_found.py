"""What a stranger found by attacking the program; each was once wrong."""

from __future__ import annotations

import os
import shutil

import pytest

from draftfs import Busy, Damaged, DraftRef, EnvironmentFault, Fenced, Refused
from draftfs.answers import Configured
from draftfs.engine import PrepareAgain, fs
from tests.protocol import data, error, run
from tests.support import draftfs


def test_a_late_worker_does_not_write_with_the_token_of_its_successor_in_the_same_worktree(field):
    ann = field.ann
    ann.claim(1, seen=1, ttl=1)
    field.clock.advance(2)
    bob = field.open(field.worktree("ann"), agent="bob")
    bob.claim(1, seen=field.version(1))
    field.write("ann", "docs/spec.md", "late\n")
    for late in (lambda: ann.draft(["docs/spec.md"]), ann.renew, ann.submit, ann.release):
        with pytest.raises(Fenced, match="bob's"):
            late()
    assert field.me.job(1).job.state == "claimed"
    bob.draft(["docs/spec.md"])


def test_who_stalled_before_keeping_its_token_does_not_take_the_worktree_back(field):
    ann = field.ann
    first = ann.claim(1, seen=1, ttl=1, receipt="k")
    field.clock.advance(2)
    field.open(field.worktree("ann"), agent="bob").claim(1, seen=field.version(1))
    ann.claim(1, seen=1, ttl=1, receipt="k")
    assert first.claim.epoch == 1
    assert field.ann.worktree.holder() == "bob"


def test_a_kept_key_does_not_answer_for_what_has_been_overtaken(real):
    field = real
    where = field.worktree("ann")
    data(run(field, "ann", "claim", "1", "--seen", "1"))
    for text, closed in (("A1", True), ("A2", False), ("A1", False)):
        field.write("ann", "docs/spec.md", text)
        command = ["draft", "docs/spec.md"]
        ran = draftfs(*command, cwd=where, agent="ann") if not closed else _unanswered(command, where, "ann")
        assert ran.status == (8 if closed else 0), ran
    submitted = data(run(field, "ann", "submit"))
    assert submitted["drafts"] == [{"target": "docs/spec.md", "number": 3}]
    assert (field.root / "docs/spec.md.draft-0003@ann").read_text() == "A1"


def _unanswered(command, where, agent):
    import subprocess
    import sys

    from tests.support import GIT_ENVIRONMENT, Ran

    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", sys.executable, "-m", "draftfs", *command],
        cwd=where,
        env={**os.environ, **GIT_ENVIRONMENT, "DRAFTFS_AGENT": agent},
        capture_output=True,
        text=True,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_promote_by_job_is_answered_again(field):
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "v1\n")
    field.ann.submit()
    first = field.me.promote(1, receipt="k")
    again = field.me.promote(1, receipt="k")
    assert (again.replayed, again.promoted) == (True, first.promoted)


def test_a_replay_does_not_hide_that_the_install_failed(field):
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "v1\n")
    field.ann.submit()

    def refuse(call, path):
        if call == "exchange":
            raise OSError(16, "Device or resource busy", path)

    fs.observer = refuse
    try:
        with pytest.raises(EnvironmentFault, match="the choice is recorded"):
            field.me.promote([DraftRef("docs/spec.md", 1)], receipt="k")
    finally:
        fs.observer = None
    with pytest.raises(EnvironmentFault, match="does not hold it"):
        field.me.promote([DraftRef("docs/spec.md", 1)], receipt="k")
    assert (field.root / "docs/spec.md").read_text() == "v0\n"
    field.me.promote([DraftRef("docs/spec.md", 1)])
    assert (field.root / "docs/spec.md").read_text() == "v1\n"
    assert field.me.promote([DraftRef("docs/spec.md", 1)], receipt="k").replayed


def test_a_job_put_back_from_a_backup_does_not_free_what_its_lease_holds(field):
    field.damaged = True
    job = field.store / "jobs" / "0001.yaml"
    old = job.read_bytes()
    field.ann.claim(1, seen=1, ttl=5)
    job.write_bytes(old)
    with pytest.raises(Refused, match="ann"):
        field.bob.claim(1, seen=1)
    assert "ann" in (field.store / "leases" / "0001.yaml").read_text()
    field.clock.advance(10)
    field.bob.claim(2, seen=1)
    field.me.add_job("another", ["c.txt"])
    assert {line.job.id for line in field.me.jobs()} == {1, 2, 3}
    with pytest.raises(Damaged):
        field.ann.renew()


def test_counters_put_back_from_a_backup_give_no_number_twice(field):
    field.damaged = True
    counters = field.store / "counters.yaml"
    kept = field.base / "counters"
    shutil.copy(counters, kept)
    field.me.add_job("third", ["c.txt"])
    shutil.copy(kept, counters)
    with pytest.raises(Damaged, match="behind"):
        field.me.add_job("fourth", ["d.txt"])
    assert field.me.job(3).job.title == "third"


def test_in_a_pipe_no_two_names_look_alike_and_bytes_come_out_as_they_are(real):
    where = real.worktree("ann")
    names = ["a\\x0ab", "a\nb", "bad\udcff.md"]
    for name in names:
        real.write("ann", name, "x")
    data(run(real, "ann", "claim", "--adopt", "--", *names))
    data(run(real, "ann", "draft", "--", *names))
    first = [line.split("\t")[0] for line in draftfs("ls", cwd=real.root).out.splitlines()]
    assert sorted(first) == sorted(
        ["a\\\\x0ab.draft-0001@ann", "a\\x0ab.draft-0001@ann", "bad\udcff.md.draft-0001@ann"]
    )
    assert where.is_dir()
    error(run(real, "me", "promote", "--", "nothing.draft-0001@ann"), 5, "no_draft")
    data(run(real, "me", "promote", "--", "bad\udcff.md.draft-0001@ann"))


def test_who_is_overtaken_twenty_times_is_not_refused(field):
    """As `claim --next` by thirty at once is: each winner makes all others look again."""
    left = iter(range(20))

    def rule(tx, _):
        if next(left, None) is not None:
            raise PrepareAgain
        return Configured(key="claim.ttl", value="30m")

    answer = field.me._calls.write("config", {}, Configured, rule, None, again=lambda _: rule)
    assert answer.value == "30m"
    waiting = field.open(lock_wait=0.01)
    left = iter(range(10**9))
    with pytest.raises(Busy):
        waiting._calls.write("config", {}, Configured, rule, None, again=lambda _: rule)


def test_a_draft_that_cannot_be_shown_is_missing_not_tampered(field):
    field.ann.claim_paths(["new/x.md"])
    (field.root / "new").write_text("a file")
    field.put("ann", "new/x.md", "x")
    (line,) = field.me.ls()
    assert "tampered" not in line.drafts[0].flags


def test_a_job_with_only_rejected_drafts_cannot_be_accepted(field):
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "v1\n")
    field.ann.submit()
    field.me.reject([DraftRef("docs/spec.md", 1)], because="no")
    again = field.me.reject([DraftRef("docs/spec.md", 1)], because="another reason")
    assert again.drafts[0].because == "no"
    with pytest.raises(Refused, match="only rejected"):
        field.me.accept_job(1)
