"""G3: a claim takes all its paths or none; equal, parent and child paths clash, by segment, in every spelling."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace

import pytest

from draftfs import layout
from draftfs.errors import Refused
from draftfs.paths import Fold
from tests.protocol import refused


def fold(field, *, case=False, form=False):
    """From here on the store is one on a file system that folds names."""

    def change(tx):
        tx.put(layout.STORE, replace(tx.store, fold=Fold(case, form)))

    field.me.engine.write(change)


CLASHING = [
    ("docs/spec.md", "docs/spec.md"),
    ("docs", "docs/spec.md"),
    ("docs/spec.md", "docs"),
    ("docs", "docs/a/b/c.md"),
    ("a/b", "a"),
    ("new/folder", "new/folder/x"),
]
APART = [
    ("docs/spec.md", "docs/spec"),
    ("src", "src-app"),
    ("src", "src.md"),
    ("src/a", "src/ab"),
    ("src/a", "src/b"),
    ("a/src", "src"),
    ("src-app", "src/app"),
    ("Docs", "docs"),
    ("caf\u00e9", "cafe\u0301"),
]


@pytest.mark.parametrize(("held", "wanted"), CLASHING)
def test_equal_parents_and_children_clash(field, held, wanted):
    field.bob.claim_paths([held], ttl=600)
    with refused(field, "path_clash") as caught:
        field.ann.claim_paths([wanted])
    (clash,) = caught.value.details["clashes"]
    assert (clash["path"], clash["held"], clash["holder"], clash["job"]) == (wanted, held, "bob", 3)
    assert clash["expires_in"] == 600
    assert "10m from now" in caught.value.message


@pytest.mark.parametrize(("held", "wanted"), APART)
def test_siblings_and_common_prefixes_do_not_clash(field, held, wanted):
    fold(field)
    field.bob.claim_paths([held])
    assert field.ann.claim_paths([wanted]).claim.paths == (wanted,)


@pytest.mark.parametrize(
    ("held", "wanted", "folds"),
    [
        ("Docs/Spec.md", "docs/SPEC.md", {"case": True}),
        ("DOCS", "docs/spec.md", {"case": True}),
        ("docs/spec.md", "DOCS", {"case": True}),
        ("stra\u00dfe", "STRASSE", {"case": True}),
        ("caf\u00e9", "cafe\u0301/x", {"form": True}),
        ("CAF\u00c9", "cafe\u0301", {"case": True, "form": True}),
    ],
)
def test_names_that_the_file_system_folds_clash(field, held, wanted, folds):
    fold(field, **folds)
    field.bob.claim_paths([held])
    with refused(field, "path_clash") as caught:
        field.ann.claim_paths([wanted])
    (clash,) = caught.value.details["clashes"]
    assert (clash["path"], clash["held"]) == (wanted, held), "each in its own spelling"


@pytest.mark.parametrize(
    ("folds", "one", "other"),
    [({"case": True}, "caf\u00e9", "cafe\u0301"), ({"form": True}, "caf\u00e9", "CAF\u00c9")],
)
def test_folding_one_thing_leaves_the_other_apart(field, folds, one, other):
    fold(field, **folds)
    field.bob.claim_paths([one])
    field.ann.claim_paths([other])


SPELLINGS = [
    "docs//spec.md",
    "./docs/spec.md",
    "docs/./spec.md",
    "docs/../docs/spec.md",
    "link/spec.md",
    "docs/",
    "link/",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_is_the_same_path(field, spelling):
    os.symlink("docs", field.worktree("ann") / "link")
    field.bob.claim_paths(["docs/spec.md"])
    wanted = "link" if spelling == "link/" else spelling
    if wanted == "link":  # the link itself is a path of its own; what lies behind it is not
        assert field.ann.claim_paths([wanted], adopt=True).claim.paths == ("link",)
        return
    with refused(field, "path_clash"):
        field.ann.claim_paths([wanted])


def test_absolute_and_from_a_subfolder(field):
    top = field.worktree("ann")
    field.bob.claim_paths(["docs/spec.md"])
    below = field.open(top / "docs", agent="ann")
    for store, wanted in (
        (field.ann, str(top / "docs" / "spec.md")),
        (below, "spec.md"),
        (below, "../docs/spec.md"),
        (below, "../docs"),
        (below, "."),
        (field.open(agent="ann"), "docs/spec.md"),
    ):
        with refused(field, "path_clash"):
            store.claim_paths([wanted])


def test_what_is_no_path_of_this_checkout_is_refused(field):
    for wanted in (
        "",
        "..",
        "../x",
        "/etc/passwd",
        str(field.root / "docs/spec.md"),
        ".git/x",
        "a\0b",
        ".",
        "docs/../..",
    ):
        with refused(field, "bad_path"):
            field.ann.claim_paths([wanted])


def test_one_clash_refuses_all_and_every_clash_is_named(field):
    field.bob.claim_paths(["src/deep/two.md", "other"], ttl=100)
    field.agent("carl").claim_paths(["three"], ttl=200)
    with refused(field, "path_clash") as caught:
        field.ann.claim_paths(["one", "src", "three/x.md"])
    clashes = caught.value.details["clashes"]
    assert [(each["path"], each["held"], each["holder"], each["expires_in"]) for each in clashes] == [
        ("src", "src/deep/two.md", "bob", 100),
        ("three/x.md", "three", "carl", 200),
    ]
    assert "bob" in caught.value.message
    assert "carl" in caught.value.message
    assert "3m 20s at most" in caught.value.hint, "all of them must be free"
    field.bob.claim_paths(["one"])


def test_two_holders_below_one_folder_are_two_clashes(field):
    field.bob.claim_paths(["src/a"])
    field.agent("carl").claim_paths(["src/b"])
    with refused(field, "path_clash") as caught:
        field.ann.claim_paths(["src"])
    assert [each["holder"] for each in caught.value.details["clashes"]] == ["bob", "carl"]


def test_a_jobs_own_nested_paths_do_not_clash_with_each_other(field):
    job = field.me.add_job("nested", ["src/a", "src", "./src/a/b", "src"]).jobs[0]
    assert job.paths == ("src",)
    assert field.ann.claim(job.id, seen=1).claim.paths == ("src",)


def test_nested_paths_count_as_one_by_the_stores_folding(field):
    fold(field, case=True)
    assert field.me.add_job("nested", ["SRC", "src/a"]).jobs[0].paths == ("SRC",)


def test_one_agents_second_claim_clashes_like_anybodys(field):
    field.ann.claim(1, seen=1)
    with refused(field, "path_clash") as caught:
        field.ann.claim_paths(["docs"])
    assert caught.value.details["clashes"][0]["holder"] == "ann"


def test_jobs_of_one_contest_do_not_clash(field):
    field.me.add_job("best of three", ["x.md"], contest=3)
    for number, name in enumerate(("ann", "bob", "carl"), 3):
        field.agent(name).claim(number, seen=1)
    with refused(field, "path_clash") as caught:
        field.agent("dora").claim_paths(["x.md"])
    assert [each["job"] for each in caught.value.details["clashes"]] == [3, 4, 5]


@pytest.mark.parametrize("end", ["release", "submit", "lapse", "revoke", "cancel"])
def test_what_ends_a_claim_frees_its_paths(field, end):
    field.ann.claim(1, seen=1, ttl=10)
    with pytest.raises(Refused):
        field.bob.claim_paths(["docs"])
    if end == "lapse":
        field.clock.advance(10)
    elif end in ("release", "submit"):
        getattr(field.ann, end)()
    else:
        getattr(field.me, f"{end}_job")(1, because="x")
    assert field.bob.claim_paths(["docs"]).standing == "live"


@pytest.mark.parametrize("damage", ["missing", "torn"])
def test_a_claim_whose_lease_cannot_be_read_is_never_free(field, damage):
    field.damaged = True
    token = field.ann.claim(1, seen=1).claim.token
    field.me.engine.checkpoint()
    lease = field.store / "leases" / "0001.yaml"
    if damage == "missing":
        lease.unlink()
    else:
        lease.write_bytes(lease.read_bytes()[:-20])
    for call in (
        lambda: field.bob.claim(1, seen=2),
        lambda: field.bob.claim_paths(["docs"]),
        lambda: field.ann.renew(job=1, token=token),
        lambda: field.ann.submit(job=1, token=token),
        lambda: field.me.revoke_job(1, because="x"),
        lambda: field.me.cancel_job(1),
    ):
        with refused_with_damage(field) as caught:
            call()
        assert "leases/0001.yaml" in str(caught.value.details["file"])
    assert field.bob.claim(2, seen=1).standing == "live", "nobody else fails over it"


@contextmanager
def refused_with_damage(field):
    from draftfs.errors import Damaged

    with pytest.raises(Damaged) as caught:
        yield caught
    assert "doctor" in caught.value.hint
