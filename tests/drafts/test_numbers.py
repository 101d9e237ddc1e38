"""A draft's number is never used twice, whatever becomes of its file."""

import multiprocessing
import os

import pytest

from draftfs import DraftRef
from draftfs.layout import parse_draft_name


def numbers(field, target="docs/spec.md"):
    return [line.draft.number for each in field.me.ls([target], everything=True) for line in each.drafts]


def on_disk(field, folder="docs"):
    return sorted(name for name in os.listdir(field.root / folder) if ".draft-" in name)


def test_numbers_go_on_after_the_files_are_gone(field):
    field.ann.claim(1, seen=1)
    for text in ("a", "b", "c"):
        field.put("ann", "docs/spec.md", text)
    for name in on_disk(field):
        (field.root / "docs" / name).unlink()
    drafted = field.put("ann", "docs/spec.md", "d")
    assert drafted.drafts[0].number == 4
    assert on_disk(field) == ["spec.md.draft-0004@ann"]
    assert numbers(field) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("dropped", "following"),
    [
        ("spec.md.draft-0007@somebody", 8),
        ("spec.md.draft-0007.delete@somebody", 8),
        ("spec.md.draft-12345@_A-Person", 12346),
        ("spec.md.draft-7@somebody", 1),
        ("spec.md.draft-0007", 1),
        ("spec.md.draft-0007@", 1),
        ("spec.md.draft-0007@-x", 1),
        ("Xspec.md.draft-0007@somebody", 1),
        ("spec.md.x.draft-0007@somebody", 1),
        ("spec.md.draft-99999999999999999999999999999999@somebody", 1),
    ],
)
def test_a_dropped_file_counts_as_taken(field, dropped, following):
    (field.root / "docs" / dropped).write_text("dropped")
    field.ann.claim(1, seen=1)
    drafted = field.put("ann", "docs/spec.md", "a")
    assert drafted.drafts[0].number == following
    assert (field.root / "docs" / dropped).read_text() == "dropped"


def test_a_dropped_folder_or_link_counts_too(field):
    (field.root / "docs" / "spec.md.draft-0003@x").mkdir()
    (field.root / "docs" / "spec.md.draft-0005@x").symlink_to("nowhere")
    field.ann.claim(1, seen=1)
    assert field.put("ann", "docs/spec.md", "a").drafts[0].number == 6


def test_files_in_a_worktree_take_no_number(field):
    field.write("ann", "docs/spec.md.draft-0009@bob", "not the root")
    field.ann.claim(1, seen=1)
    assert field.put("ann", "docs/spec.md", "a").drafts[0].number == 1


def test_each_target_counts_for_itself(field):
    field.ann.claim_paths(["docs/spec.md", "a.txt"])
    field.put("ann", "docs/spec.md", "x")
    field.put("ann", "docs/spec.md", "y")
    assert field.put("ann", "a.txt", "z").drafts[0].number == 1


def test_beyond_four_digits(field):
    (field.root / "docs" / "spec.md.draft-9999@x").write_text("")
    field.ann.claim(1, seen=1)
    drafted = field.put("ann", "docs/spec.md", "a").drafts[0]
    assert drafted.file == "docs/spec.md.draft-10000@ann"
    assert parse_draft_name(drafted.file).number == 10000
    assert [ref.number for ref in field.me.draft_refs([drafted.file])] == [10000]


def _draft(field, name, start, results):
    start.wait()
    results.put([field.agent(name).draft(["s.txt"]).drafts[0].number for _ in range(5)])


def test_two_workers_never_get_one_number(field):
    """Siblings of a contest draft the same target at once."""
    siblings = field.me.add_job("both", ["s.txt"], contest=2).jobs
    context = multiprocessing.get_context("fork")
    start, results = context.Event(), context.Queue()
    workers = []
    for name, job in zip(("ann", "bob"), siblings, strict=True):
        field.agent(name).claim(job.id, seen=1)
        field.write(name, "s.txt", name)
        workers.append(context.Process(target=_draft, args=(field, name, start, results)))
    for worker in workers:
        worker.start()
    start.set()
    given = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(60)
    assert sorted(number for each in given for number in each) == list(range(1, 11))
    assert len(list(field.root.glob("s.txt.draft-*"))) == 10


def test_a_number_is_not_given_again_to_another_worker(field):
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "a")
    field.ann.release()
    os.unlink(field.root / "docs/spec.md.draft-0001@ann")
    field.bob.claim(1, seen=field.version(1))
    assert field.put("bob", "docs/spec.md", "b").drafts[0].number == 2
    field.bob.submit()
    field.me.promote([DraftRef("docs/spec.md", 1)])
    assert (field.root / "docs/spec.md").read_text() == "a"
