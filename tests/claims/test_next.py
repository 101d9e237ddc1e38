"""`claim --next`: which job, and the difference between waiting and stopping."""

from __future__ import annotations

import pytest

from draftfs.errors import Refused
from tests.protocol import refused


def test_the_fewest_attempts_then_the_lowest_number(field):
    field.me.add_job("three", ["three.md"])
    field.ann.claim(1, seen=1)
    field.ann.release(failed=True)
    taken = [field.ann.claim_next().job.id for _ in range(3)]
    assert taken == [2, 3, 1]


def test_a_given_back_attempt_puts_a_job_in_front_again(field):
    field.ann.claim(1, seen=1)
    field.ann.release()
    assert field.ann.claim_next().job.id == 1


@pytest.mark.parametrize("held", ["docs", "docs/spec.md", "docs/spec.md/below"])
def test_a_job_whose_paths_are_held_is_passed_over(field, held):
    field.bob.claim_paths([held])
    assert field.ann.claim_next().job.id == 2
    with refused(field, "nothing_ready") as caught:
        field.ann.claim_next()
    assert [each["state"] for each in caught.value.details["jobs"]] == ["open", "claimed", "claimed"]


def test_blocked_failed_and_submitted_jobs_are_passed_over(field):
    field.me.add_job("after one", ["x.md"], after=[1])
    field.me.add_job("one try", ["y.md"], attempts=1)
    field.ann.claim(4, seen=1)
    field.ann.release(failed=True)
    field.ann.claim(1, seen=1)
    field.ann.submit()
    assert field.ann.claim_next().job.id == 2
    with refused(field, "nothing_ready"):
        field.bob.claim_next()
    field.me.accept_job(1)
    assert field.bob.claim_next().job.id == 3


def test_all_done_is_not_nothing_ready(field):
    for number in (1, 2):
        field.ann.claim(number, seen=1)
        with refused(field, "nothing_ready" if number == 2 else "stale_version"):
            field.bob.claim_next() if number == 2 else field.bob.claim(2, seen=9)
        field.ann.submit()
    with refused(field, "nothing_ready"):
        field.ann.claim_next()
    field.me.accept_job(1)
    field.me.cancel_job(2)
    with refused(field, "all_done"):
        field.ann.claim_next()


def test_next_and_a_named_claim_never_disagree(field):
    """Whatever `--next` would not take is refused by name, and the other way round."""
    field.me.add_job("after one", ["x.md"], after=[1])
    field.bob.claim_paths(["docs"])
    takes = field.ann.claim_next().job.id
    assert takes == 2
    field.ann.release()
    for number, code in ((1, "path_clash"), (3, "not_accepted")):
        with refused(field, code):
            field.ann.claim(number, seen=field.version(number))
    assert field.ann.claim(2, seen=field.version(2)).standing == "live"


def test_next_is_refused_by_the_worktree_it_is_in(field):
    """The job that it would take is the one that the worktree is judged for, and nothing is taken instead."""
    field.write("ann", "docs/spec.md", "leftovers")
    with refused(field, "dirty_worktree"):
        field.ann.claim_next()
    with refused(field, "claim_in_root"):
        field.open(agent="ann").claim_next()
    assert field.ann.claim_next(adopt=True).job.id == 1


def test_next_prepares_anew_when_another_takes_its_job(field, monkeypatch):
    """Somebody claims the job between the look and the transaction: the worktree is judged for the next one."""
    ann, bob = field.ann, field.bob
    field.write("ann", "a.txt", "leftovers")
    start, calls = ann._workspace.start.__func__, []

    def slow(self, paths, *rest, **more):
        calls.append(paths)
        if len(calls) == 1:
            bob.claim(1, seen=1)
        return start(self, paths, *rest, **more)

    with monkeypatch.context() as patched:
        patched.setattr(type(ann._workspace), "start", slow)
        with pytest.raises(Refused, match=r"a\.txt") as caught:
            ann.claim_next()
    assert caught.value.code == "dirty_worktree"
    assert calls == [("docs/spec.md",), ("docs/spec.md",), ("a.txt",)]
