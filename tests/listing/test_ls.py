"""What `ls` says: targets, the chosen number, each draft that waits with its age, lines and flags."""

import errno
import hashlib
import os
from pathlib import Path

import pytest

from draftfs import BadRequest, DraftRef, sighting, stamps, tree
from draftfs.errors import from_oserror
from tests.support import git


def hand_in(field, data, target="docs/spec.md", by="ann", **options):
    agent = field.agent(by)
    job = agent.claim_paths([target]).claim.job
    if not options.get("delete"):
        field.write(by, target, data)
    info = agent.draft([target], job=job, **options).drafts[0]
    agent.submit(job=job)
    return DraftRef(info.target, info.number)


def only(field, target="docs/spec.md", **options):
    (line,) = [each for each in field.me.ls(**options) if each.target == target]
    (draft,) = line.drafts
    return draft


def test_nothing(field):
    assert list(field.me.ls()) == []


@pytest.mark.parametrize(
    ("data", "added", "removed"),
    [
        ("v0\n", 0, 0),
        ("v0\nmore\n", 1, 0),
        ("v1\n", 1, 1),
        ("", 0, 1),
        ("a\nb\nc\n", 3, 1),
        ("v0", 1, 1),
        (b"v0\r\n", 1, 1),
        (b"bi\0nary", None, None),
    ],
)
def test_lines(field, data, added, removed):
    hand_in(field, data)
    line = only(field)
    assert (line.added, line.removed) == (added, removed)
    assert ("binary" in line.flags) == (added is None)


def test_lines_of_a_new_target_and_of_a_deletion(field):
    hand_in(field, "a\nb\n", "new.md")
    hand_in(field, None, delete=True)
    assert (only(field, "new.md").added, only(field, "new.md").removed) == (2, 0)
    assert (only(field).added, only(field).removed) == (0, 1)


def test_lines_are_against_the_target_of_now(field):
    hand_in(field, "v0\nmore\n")
    field.write("me", "docs/spec.md", "v0\nmore\nand more\n")
    assert (only(field).added, only(field).removed) == (0, 1)


def test_a_users_diff_settings_do_not_count(field):
    git("config", "diff.external", "false", cwd=field.root)
    git("config", "diff.md.textconv", "tr a-z A-Z", cwd=field.root)
    git("config", "color.ui", "always", cwd=field.root)
    (field.root / ".gitattributes").write_text("*.md diff=md\n")
    hand_in(field, "v0\nmore\n")
    assert (only(field).added, only(field).removed) == (1, 0)


class TestFlags:
    def test_none(self, field):
        hand_in(field, "x\n")
        assert only(field).flags == ()

    def test_outdated(self, field):
        hand_in(field, "x\n")
        field.write("me", "docs/spec.md", "moved on\n")
        assert only(field).flags == ("outdated",)
        field.write("me", "docs/spec.md", "v0\n")
        assert only(field).flags == ()

    @pytest.mark.parametrize("change", ["gone", "folder", "link"])
    def test_outdated_by_a_change_of_kind(self, field, change):
        hand_in(field, "x\n")
        target = field.root / "docs/spec.md"
        target.unlink()
        if change == "folder":
            target.mkdir()
        elif change == "link":
            target.symlink_to("../a.txt")
        line = only(field)
        assert line.flags == ("outdated",)
        assert (line.added, line.removed) == (1, 0)

    def test_not_outdated_where_the_target_holds_the_draft_already(self, field):
        hand_in(field, "x\n")
        field.write("me", "docs/spec.md", "x\n")
        assert only(field).flags == ()

    def test_mode(self, field):
        hand_in(field, "x\n")
        (field.root / "docs/spec.md").chmod(0o755)
        assert only(field).flags == ("mode",)

    def test_missing_and_tampered(self, field):
        hand_in(field, "x\n")
        file = field.root / "docs/spec.md.draft-0001@ann"
        file.chmod(0o644)
        file.write_text("y\n")
        assert only(field).flags == ("tampered",)
        assert only(field).added == 1
        file.unlink()
        assert only(field).flags == ("missing",)
        assert only(field).draft.shown is False

    def test_abandoned(self, field):
        field.ann.claim(1, seen=1)
        field.put("ann", "docs/spec.md", "x\n")
        field.ann.release()
        assert only(field).flags == ("abandoned",)

    def test_several_at_once(self, field):
        hand_in(field, b"\0")
        field.write("me", "docs/spec.md", "moved\n").chmod(0o755)
        (field.root / "docs/spec.md.draft-0001@ann").unlink()
        assert set(only(field).flags) == {"outdated", "mode", "binary", "missing"}


def test_ages(field):
    hand_in(field, "x\n")
    assert only(field).age == pytest.approx(0, abs=0.01)
    field.clock.advance(90)
    assert only(field).age == pytest.approx(90, abs=0.01)
    field.clock.jump_wall(-3600)
    assert only(field).age == 0


def test_all(field):
    one = hand_in(field, "one\n")
    hand_in(field, "two\n", by="bob")
    three = hand_in(field, "three\n", by="cy")
    field.me.promote([one])
    field.me.reject([three], because="no")
    (line,) = field.me.ls()
    assert (line.chosen, [each.draft.number for each in line.drafts]) == (1, [2])
    (line,) = field.me.ls(everything=True)
    assert [(each.draft.number, each.draft.state) for each in line.drafts] == [
        (1, "promoted"),
        (2, "waiting"),
        (3, "rejected"),
    ]
    assert "outdated" in line.drafts[1].flags
    assert "outdated" not in line.drafts[2].flags


def test_a_choice_without_drafts_is_listed_and_one_that_ended_is_not(field):
    field.me.promote([hand_in(field, "one\n")])
    (line,) = field.me.ls()
    assert (line.target, line.chosen, line.drafts) == ("docs/spec.md", 1, ())
    field.write("me", "docs/spec.md", "third\n")
    git("commit", "-qam", "third", cwd=field.root)
    assert list(field.me.ls()) == []
    (line,) = field.me.ls(everything=True)
    assert (line.chosen, len(line.drafts)) == (None, 1)


class TestPaths:
    @pytest.fixture
    def three(self, field):
        for target in ("docs/spec.md", "docs/deep/x.md", "docs-more/x.md", "a.txt"):
            hand_in(field, "x\n", target)
        return field

    @pytest.mark.parametrize(
        ("paths", "cwd", "found"),
        [
            ([], ".", ["a.txt", "docs-more/x.md", "docs/deep/x.md", "docs/spec.md"]),
            (["."], ".", ["a.txt", "docs-more/x.md", "docs/deep/x.md", "docs/spec.md"]),
            (["docs"], ".", ["docs/deep/x.md", "docs/spec.md"]),
            (["docs/"], ".", ["docs/deep/x.md", "docs/spec.md"]),
            (["."], "docs", ["docs/deep/x.md", "docs/spec.md"]),
            ([".."], "docs", ["a.txt", "docs-more/x.md", "docs/deep/x.md", "docs/spec.md"]),
            (["spec.md", "../a.txt"], "docs", ["a.txt", "docs/spec.md"]),
            (["nothing"], ".", []),
            (["doc"], ".", []),
            (["*"], ".", []),
        ],
    )
    def test_filters(self, three, paths, cwd, found):
        assert [line.target for line in three.open(three.root / cwd).ls(paths)] == found

    @pytest.mark.parametrize("path", ["..", "/etc", "", "a\0b", ".git"])
    def test_bad(self, three, path):
        with pytest.raises(BadRequest):
            three.me.ls([path])


ODD = [
    "café.md",
    "sp ace.md",
    'a"b.md',
    "a\\b.md",
    "nl\nx.md",
    "tab\t.md",
    "bad\udcff.md",
    " lead.md",
    "trail .md",
    "-rf.md",
    "--all",
    "*.md",
    "[a].md",
    ":(top)x",
    ":!y",
    "~x",
    "$HOME.md",
    "日本/語.md",
    "a b/ b/c.md",
    "%2E",
    "+plus",
    "null",
    "target.yaml",
    "0001.yaml",
    "CON",
    "x" * 200,
]


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_odd_names(field, name):
    field.ann.claim_paths([f"./{name}"])
    place = os.fsencode(f"{field.worktree('ann')}/{name}")
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "wb") as file:
        file.write(b"x\n")
    info = field.ann.draft([f"./{name}"]).drafts[0]
    field.ann.submit()
    assert (info.target, info.file, info.shown) == (name, f"{name}.draft-0001@ann", True)
    line = only(field, name)
    assert (line.added, line.removed, line.flags) == (1, 0, ())
    (ref,) = field.me.draft_refs([f"./{info.file}"])
    field.me.promote([ref])
    with open(os.fsencode(f"{field.root}/{name}"), "rb") as file:
        assert file.read() == b"x\n"
    (line,) = field.me.ls([f"./{name}"])
    assert (line.chosen, line.stale) == (1, False)


def test_sides(field):
    with_base = hand_in(field, "x\n")
    field.write("me", "docs/spec.md", "moved\n")
    store = field.me

    def read(path):
        return None if path is None else Path(path).read_bytes()

    sides = store.sides(with_base)
    assert (read(sides.before), read(sides.after)) == (b"moved\n", b"x\n")
    assert (sides.before_name, sides.after_name) == ("docs/spec.md", "docs/spec.md.draft-0001@ann")
    assert read(store.sides(with_base, base=True).before) == b"v0\n"
    other = hand_in(field, "y\n", by="bob")
    sides = store.sides(with_base, other)
    assert (read(sides.before), read(sides.after)) == (b"x\n", b"y\n")
    gone = hand_in(field, None, "a.txt", delete=True)
    assert store.sides(gone).after is None
    assert read(store.sides(hand_in(field, "n\n", "new.md")).after) == b"n\n"
    assert hashlib.sha256(read(store.sides(other).after)).hexdigest() == only_sha(field, other)


def only_sha(field, ref):
    (line,) = field.me.ls([ref.target])
    return next(each.draft.sha256 for each in line.drafts if each.draft.number == ref.number)


def test_what_cannot_be_read_is_left_out_and_named_and_hides_nothing_else(field, monkeypatch):
    hand_in(field, "x\n")
    hand_in(field, "x\n", "a.txt")
    (field.root / "b.txt.draft-0001@eve").write_text("dropped\n")
    unread = [str(field.root / name) for name in ("docs/spec.md", "b.txt.draft-0001@eve")]

    def look(path):
        if path in unread:
            raise from_oserror(PermissionError(errno.EACCES, "Permission denied", path), "reading")
        return sighting.look(path)

    monkeypatch.setattr(stamps, "look", look)
    monkeypatch.setattr(tree, "look", look)
    listed = field.me.ls(["."])
    assert [line.target for line in listed] == ["a.txt"]
    assert [(each.kind, each.path) for each in listed.damaged] == [("unreadable", path) for path in unread]
    assert listed.damaged[0].repair.startswith(f"make {unread[0]} readable")
