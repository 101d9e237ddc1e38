"""Adding and editing jobs: what is taken, what is refused, and that it is all or nothing."""

from __future__ import annotations

import pytest

from draftfs.records import NewJob
from tests.protocol import refused


def test_a_job_says_what_it_was_told(field):
    (job,) = field.me.add_job("t \u2026", ["b", "a/c", "a"], after=[1], attempts=5, text="long\ntext").jobs
    found = field.me.job(3).job
    assert found == job
    assert (found.title, found.text, found.paths, found.after) == ("t \u2026", "long\ntext", ("a", "b"), (1,))
    assert (found.version, found.state, found.attempts.max, found.epoch, found.holder) == (1, "open", 5, 0, None)


def test_agents_add_jobs_too(field):
    assert field.ann.add_job("x", ["x.md"]).jobs[0].added_by == "ann"


def test_edits_change_what_is_named_and_nothing_else(field):
    before = field.me.job(1).job
    after = field.me.edit_job(1, title="other", paths=["x", "x/y"]).job
    assert (after.title, after.paths, after.version) == ("other", ("x",), before.version + 1)
    assert (after.text, after.after, after.attempts) == (before.text, before.after, before.attempts)
    assert field.me.log()[-1].data["changed"] == ["paths", "title"]


def test_an_edit_makes_claims_of_the_version_before_stale(field):
    field.me.edit_job(1, paths=["a.txt"])
    with refused(field, "stale_version"):
        field.ann.claim(1, seen=1)
    assert field.ann.claim(1, seen=2).claim.paths == ("a.txt",)


@pytest.mark.parametrize("title", ["", " ", "\n\t", "a\0b", "\ud800"])
def test_titles_that_say_nothing(field, title):
    with refused(field, "usage"):
        field.me.add_job(title, ["x.md"])
    with refused(field, "usage"):
        field.me.edit_job(1, title=title)


@pytest.mark.parametrize("paths", [["../x"], ["x", ""], [".git/config"], ["a\0"]])
def test_paths_that_are_none(field, paths):
    with refused(field, "bad_path"):
        field.me.add_job("x", paths)
    with refused(field, "bad_path"):
        field.me.edit_job(1, paths=paths)


def test_no_path_and_no_change(field):
    with refused(field, "usage"):
        field.me.add_job("x", [])
    with refused(field, "usage"):
        field.me.edit_job(1, paths=[])
    with refused(field, "usage"):
        field.me.edit_job(1)


def test_many_are_added_or_none(field):
    good = [NewJob("x", ("x",)), NewJob("y", ("y",))]
    with refused(field, "bad_path"):
        field.me.add_jobs([*good, NewJob("z", ("../z",))])
    with refused(field, "no_job"):
        field.me.add_jobs([*good, NewJob("z", ("z",), (99,))])
    added = field.me.add_jobs([*good, NewJob("z", ("z",), (3, 1), contest=2)])
    assert [job.id for job in added.jobs] == [3, 4, 5, 6]
    assert [job.after for job in added.jobs] == [(), (), (3, 1), (3, 1)]


@pytest.mark.parametrize("text", ["\udcff", "no", "007", "~", "\u2028", "a: b\n- c\n", "\x1b[31m", "x" * (256 << 10)])
def test_texts_are_kept_to_the_byte(field, text):
    field.me.add_job(f"t{text}"[: 256 << 10], ["x.md"], text=text)
    field.me.engine.checkpoint()
    assert field.me.job(3).job.text == text


def test_editing_a_failed_job_leaves_it_failed(field):
    field.me.add_job("one try", ["x.md"], attempts=1)
    field.ann.claim(3, seen=1)
    field.ann.release(failed=True)
    assert field.me.edit_job(3, text="more").job.state == "failed"
