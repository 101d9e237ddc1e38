"""Draft-shaped files that no record has: listed beside their targets, where somebody looks, and nothing more."""

from __future__ import annotations

import os

from draftfs import DraftRef
from tests.protocol import refused
from tests.support import git

SPEC = "docs/spec.md"


def drop(field, name: str, data: bytes = b"mine\n") -> None:
    path = os.fsencode(f"{field.root}/{name}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


def listed(field, *paths: str, everything: bool = False):
    return {
        each.draft.file: each
        for target in field.me.ls(paths, everything=everything)
        for each in target.drafts
        if each.draft.state == "unrecorded"
    }


def test_beside_known_targets_and_in_folders_that_are_named(field):
    """A folder that nobody named, and in which no target has records, is not gone through."""
    field.ann.claim(1, seen=1)
    field.put("ann", SPEC, "v1\n")
    dropped = [
        "docs/spec.md.draft-0007@me",
        "docs/other.md.draft-0001@me",
        "far/.off/x.draft-0001@me",
        "y.draft-0001@me",
        ".hidden/x.draft-0001@me",
    ]
    for each in dropped:
        drop(field, each)
    assert set(listed(field)) == set(dropped[:2])
    assert set(listed(field, "far")) == {dropped[2]}
    assert set(listed(field, ".")) == set(dropped)
    assert set(listed(field, "docs/other.md")) == {dropped[1]}
    assert set(listed(field, "docs/spec.md", everything=True)) == {dropped[0]}


def test_what_the_line_says(field):
    drop(field, "docs/spec.md.draft-0003@me", b"v0\nmore\n")
    drop(field, "docs/spec.md.draft-0004@me", b"\0")
    drop(field, "docs/spec.md.draft-0005.delete@me", b"")
    os.chmod(field.root / "docs/spec.md.draft-0003@me", 0o755)
    os.utime(field.root / "docs/spec.md.draft-0003@me", (0, field.clock.now().wall - 60))
    lines = listed(field, "docs").values()
    said = [(each.draft.number, each.added, each.removed, each.flags) for each in lines]
    assert said == [
        (3, 1, 0, ("mode", "unrecorded")),
        (4, None, None, ("binary", "unrecorded")),
        (5, 0, 1, ("unrecorded",)),
    ]
    first, _, deletion = (each.draft for each in lines)
    assert (first.job, first.author, first.size, first.shown, next(iter(lines)).age) == (None, "me", 8, True, 60)
    assert (deletion.delete, deletion.sha256) == (True, None)


def test_recorded_files_and_what_is_no_file_are_not(field):
    """Decided drafts, whether or not they were tidied; folders and links; other repositories; what lies behind a link."""
    field.ann.claim(1, seen=1)
    field.put("ann", SPEC, "v1\n")
    field.put("ann", SPEC, "v2\n")
    field.ann.submit()
    field.me.promote(1)
    (field.root / "docs/spec.md.draft-0008@me").mkdir()
    (field.root / "docs/spec.md.draft-0009@me").symlink_to("spec.md")
    git("init", "-q", "inner", cwd=field.root)
    drop(field, "inner/x.draft-0001@me")
    drop(field, "hidden/x.draft-0001@me")
    (field.root / "link").symlink_to("hidden")
    assert set(listed(field, ".")) == {"hidden/x.draft-0001@me"}
    drop(field, "docs/spec.md.draft-0002@me")
    assert set(listed(field)) == {"docs/spec.md.draft-0002@me"}, "two files with the number of one record"


def test_odd_names(field):
    names = ["-rf.md.draft-0001@me", "nl\nx.draft-0001@me", "bad\udcff.draft-0001@me", "a b.draft-0001@me"]
    for each in names:
        drop(field, each)
    assert set(listed(field, ".")) == set(names)


def test_a_damaged_record_does_not_make_its_file_unrecorded(field):
    field.damaged = True
    field.ann.claim(1, seen=1)
    field.put("ann", SPEC, "v1\n")
    record = next(field.store.glob("drafts/*/0001.yaml"))
    record.write_text("?")
    assert listed(field) == {}
    record.unlink()
    assert listed(field) == {}
    with refused(field, "damaged"):
        field.me.promote([DraftRef(SPEC, 1)])


def test_compared_like_any_draft(field):
    drop(field, "docs/spec.md.draft-0003@me", b"mine\n")
    drop(field, "docs/spec.md.draft-0004.delete@me", b"")
    mine, deletion = field.me.draft_refs(["docs/spec.md.draft-0003@me", "docs/spec.md.draft-0004.delete@me"])
    with refused(field, "no_draft") as caught:  # for what needs a record: merge, reject, restore
        field.me.draft_refs(["docs/spec.md.draft-0003@me"], recorded=True)
    assert "promote" in caught.value.hint
    sides = field.me.sides(mine, base=True)
    assert (sides.before, sides.after) == (f"{field.root}/{SPEC}", f"{field.root}/docs/spec.md.draft-0003@me")
    assert field.me.sides(deletion).after is None
    assert field.me.sides(mine, deletion).after_name == "docs/spec.md.draft-0004.delete@me"
    assert field.me.promote([mine]).promoted[0].number == 3
    assert listed(field).keys() == {"docs/spec.md.draft-0004.delete@me"}
    with refused(field, "no_draft"):
        field.me.sides(DraftRef(SPEC, 9))


def test_what_cannot_be_compared_is_named_as_promote_names_it(field):
    """Two files of one number, a link: no answer claims that there is nothing."""
    drop(field, "docs/spec.md.draft-0007@me")
    drop(field, "docs/spec.md.draft-0007@you")
    (field.root / "docs/spec.md.draft-0008@me").symlink_to("spec.md")
    for number, code in ((7, "bad_file"), (8, "not_a_file")):
        with refused(field, code) as compared:
            field.me.sides(DraftRef(SPEC, number))
        with refused(field, code) as promoted:
            field.me.promote([DraftRef(SPEC, number)])
        assert str(compared.value) == str(promoted.value)
