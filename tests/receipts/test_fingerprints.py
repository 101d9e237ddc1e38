"""What the fingerprint of a request depends on: what the caller meant, and never how it was spelled."""

from __future__ import annotations

import os

import pytest

from draftfs.records import NewJob
from tests.protocol import refused


def below(field):
    return field.open(field.worktree("ann") / "docs", agent="ann")


CLAIMS = {
    "dots": lambda f: f.ann.claim_paths(["./docs/../docs//spec.md", "a.txt"], receipt="K"),
    "another order": lambda f: f.ann.claim_paths(["a.txt", "docs/spec.md"], receipt="K"),
    "twice": lambda f: f.ann.claim_paths(["docs/spec.md", "a.txt", "a.txt"], receipt="K"),
    "absolute": lambda f: f.ann.claim_paths([str(f.worktree("ann") / "docs/spec.md"), "a.txt"], receipt="K"),
    "from a folder": lambda f: below(f).claim_paths(["spec.md", "../a.txt"], receipt="K"),
    "through a link": lambda f: f.ann.claim_paths(["link/spec.md", "a.txt"], receipt="K"),
}


@pytest.mark.parametrize("spelling", CLAIMS)
def test_claimed_paths_are_the_same_in_any_spelling(field, spelling):
    os.symlink("docs", field.worktree("ann") / "link")
    field.ann.claim_paths(["docs/spec.md", "a.txt"], receipt="K")
    assert CLAIMS[spelling](field).replayed


@pytest.mark.parametrize("cwd", [".", "docs"])
def test_drafted_paths_are_the_same_in_any_order_and_from_any_folder(field, cwd):
    field.ann.claim_paths(["docs", "a.txt"])
    field.write("ann", "docs/spec.md", "v1")
    field.write("ann", "a.txt", "two")
    field.ann.draft(["docs/spec.md", "a.txt"], receipt="K")
    top = field.worktree("ann")
    paths = [os.path.relpath(top / each, top / cwd) for each in ("a.txt", "docs/spec.md")]
    again = field.open(top / cwd, agent="ann").draft([*paths, paths[0]], receipt="K")
    assert again.replayed


def test_the_bytes_count_and_not_the_file_they_came_from(field):
    field.ann.claim(1, seen=1)
    field.write("ann", "docs/spec.md", "v1")
    field.write("ann", "elsewhere", "v1")
    field.ann.draft(["docs/spec.md"], receipt="K")
    assert field.ann.draft(["docs/spec.md"], source="elsewhere", receipt="K").replayed
    field.write("ann", "docs/spec.md", "v2")
    with refused(field, "receipt_mismatch"):
        field.ann.draft(["docs/spec.md"], receipt="K")


def test_the_executable_bit_is_part_of_the_content(field):
    field.ann.claim(1, seen=1)
    file = field.write("ann", "docs/spec.md", "v1")
    field.ann.draft(["docs/spec.md"], receipt="K")
    file.chmod(0o755)
    with refused(field, "receipt_mismatch"):
        field.ann.draft(["docs/spec.md"], receipt="K")
    file.chmod(0o640)
    assert field.ann.draft(["docs/spec.md"], receipt="K").replayed


def test_a_jobs_paths_are_the_same_in_any_spelling(field):
    field.me.add_job("x", ["docs", "b/c"], after=[1, 2], receipt="K")
    assert field.me.add_job("x", ["b//c/", "./docs", "docs/spec.md"], after=[1, 2], receipt="K").replayed
    field.me.edit_job(1, paths=["x", "y"], receipt="L")
    assert field.me.edit_job(1, paths=["y", "./x", "y/z"], receipt="L").replayed


def test_a_setting_is_the_same_in_any_spelling(field):
    first = field.me.configure("claim.ttl", "90m", receipt="K")
    again = field.me.configure("claim.ttl", "5400", receipt="K")
    assert (again.replayed, again.value) == (True, first.value)


def test_defaults_are_not_part_of_a_request(field):
    """Neither a changed default, nor the same ttl said in words, makes it another one or the same one."""
    field.ann.claim(1, seen=1, receipt="K")
    field.me.configure("claim.ttl", "1h")
    again = field.ann.claim(1, seen=1, receipt="K")
    assert (again.replayed, again.claim.ttl) == (True, 1800)
    with refused(field, "receipt_mismatch"):
        field.ann.claim(1, seen=1, ttl=1800, receipt="K")


def test_time_is_not_part_of_a_request(field):
    field.ann.claim(1, seen=1, receipt="K")
    field.clock.advance(60)
    field.clock.jump_wall(10**6)
    assert field.ann.claim(1, seen=1, receipt="K").replayed


OTHERS = {
    "actor": lambda f: f.bob.claim(1, seen=1, ttl=60, receipt="K"),
    "a person of that name": lambda f: person(f, "ann").claim(1, seen=1, ttl=60, receipt="K"),
    "version": lambda f: f.ann.claim(1, seen=2, ttl=60, receipt="K"),
    "ttl": lambda f: f.ann.claim(1, seen=1, ttl=61, receipt="K"),
    "adopt": lambda f: f.ann.claim(1, seen=1, ttl=60, adopt=True, receipt="K"),
    "job": lambda f: f.ann.claim(2, seen=1, ttl=60, receipt="K"),
    "next": lambda f: f.ann.claim_next(ttl=60, receipt="K"),
    "operation": lambda f: f.ann.renew(ttl=60, receipt="K"),
}


def person(field, name):
    from tests.support import git

    git("config", "user.name", name, cwd=field.root)
    return field.open(field.worktree("nobody"))


@pytest.mark.parametrize("other", OTHERS)
def test_whatever_is_meant_makes_another_claim(field, other):
    field.ann.claim(1, seen=1, ttl=60, receipt="K")
    with refused(field, "receipt_mismatch"):
        OTHERS[other](field)


def test_the_token_is_part_of_what_is_written_under_it(field):
    field.ann.claim(1, seen=1)
    field.write("ann", "docs/spec.md", "v1")
    field.ann.draft(["docs/spec.md"], receipt="K")
    field.ann.release()
    field.ann.claim(1, seen=field.version(1), adopt=True)
    with refused(field, "receipt_mismatch"):
        field.ann.draft(["docs/spec.md"], receipt="K")


@pytest.mark.parametrize("note", [None, "", "n ", "N", "n\n", "cafe\u0301"])
def test_free_text_counts_by_bytes(field, note):
    first = "caf\u00e9" if note == "cafe\u0301" else "n"
    field.ann.claim(1, seen=1)
    field.ann.submit(note=first, receipt="K")
    with refused(field, "receipt_mismatch"):
        field.ann.submit(note=note, receipt="K")


@pytest.mark.parametrize(
    "other",
    [
        NewJob("y", ("x",)),
        NewJob("x", ("y",)),
        NewJob("x", ("x",), (1,)),
        NewJob("x", ("x",), attempts=3),
        NewJob("x", ("x",), contest=2),
        NewJob("x", ("x",), text="t"),
    ],
)
def test_whatever_is_meant_makes_another_job(field, other):
    field.me.add_jobs([NewJob("x", ("x",))], receipt="K")
    with refused(field, "receipt_mismatch"):
        field.me.add_jobs([other], receipt="K")
