"""A draft-shaped file that a person dropped beside a target can be promoted: that records it first."""

import os

import pytest

from draftfs import BadRequest, DraftRef, NotFound, Refused
from tests.promotion.test_undoing import SPEC, states


@pytest.fixture
def drop(desk):
    """`drop(name, data)` puts a file into the root and says what it is, as a user names it."""

    def put(name, data="dropped", mode=0o644):
        path = desk.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data)
        path.chmod(mode)
        return desk.field.me.draft_refs([name])

    return put


def test_recorded_and_promoted_in_one_go(field, desk, drop):
    refs = drop(f"{SPEC}.draft-0007@zed", mode=0o755)
    promoted = desk.promote(*refs)
    assert (promoted.promoted[0].number, promoted.accepted, desk.read()) == (7, (), b"dropped")
    assert (desk.root / SPEC).stat().st_mode & 0o111
    (line,) = desk.line(everything=True).drafts
    assert (line.draft.author, line.draft.job, line.draft.state, line.draft.mode) == ("zed", None, "promoted", "100755")
    assert line.draft.created_at
    kinds = [each.kind for each in field.me.log()][-2:]
    assert kinds == ["draft.added", "draft.promoted"]
    assert desk.draft("next").number == 8
    field.me.undo([SPEC])
    assert states(desk)[7] == "waiting"


def test_its_base_is_what_the_target_holds_at_that_moment(field, desk, drop):
    refs = drop(f"{SPEC}.draft-0001@zed")
    field.write("me", SPEC, "edited since")
    promoted = desk.promote(*refs).promoted[0]
    assert (promoted.kept, desk.read()) == (None, b"dropped")
    assert field.me.undo([SPEC]).undone[0].changed
    assert desk.read() == b"edited since", "its bytes were kept all the same"


def test_a_new_target_and_a_deletion(desk, drop):
    new, gone = drop("new/n.md.draft-0003@zed"), drop("a.txt.draft-0001.delete@zed", "")
    desk.promote(*new, *gone)
    assert (desk.read("new/n.md"), (desk.root / "a.txt").exists()) == (b"dropped", False)


def test_by_number(desk, drop):
    drop(f"{SPEC}.draft-0004@zed")
    desk.promote(DraftRef(SPEC, 4))
    assert desk.read() == b"dropped"


def test_a_dry_run_records_nothing(field, desk, drop):
    refs = drop(f"{SPEC}.draft-0004@zed")
    before = desk.everything()
    said = desk.promote(*refs, dry_run=True)
    assert desk.everything() == before
    assert desk.promote(*refs, plan=said.plan).promoted == said.promoted


def test_a_number_that_another_has(field, desk, drop):
    desk.draft("ann's")
    with pytest.raises(NotFound) as fault:
        drop(f"{SPEC}.draft-0001@zed")
    assert f"{SPEC}.draft-0001@ann" in fault.value.message
    drop(f"{SPEC}.draft-0002@zed"), drop(f"{SPEC}.draft-0002@yan")
    with pytest.raises(BadRequest) as fault:
        desk.promote(DraftRef(SPEC, 2))
    assert (fault.value.code, desk.read()) == ("bad_file", b"v0\n")


@pytest.mark.parametrize(
    ("name", "data"), [(f"{SPEC}.draft-0001.delete@zed", "not empty"), (f"{SPEC}.draft-9999999999@zed", "far")]
)
def test_names_that_cannot_be_meant(desk, drop, name, data):
    refs = drop(name, data)
    before = desk.everything()
    with pytest.raises(BadRequest) as fault:
        desk.promote(*refs)
    assert (fault.value.code, desk.everything() == before) == ("bad_file", True)


def test_a_link(desk, drop):
    os.symlink("../a.txt", desk.root / f"{SPEC}.draft-0001@zed")
    with pytest.raises(Refused) as fault:
        desk.promote(*desk.field.me.draft_refs([f"{SPEC}.draft-0001@zed"]))
    assert (fault.value.code, desk.read(), desk.read("a.txt")) == ("not_a_file", b"v0\n", b"one\n")


def test_edited_while_it_is_promoted(desk, drop, at):
    """What was read is what is recorded; the file beside it then is not that."""
    refs = drop(f"{SPEC}.draft-0001@zed")
    at("append", lambda _: (desk.root / f"{SPEC}.draft-0001@zed").write_text("other"))
    desk.promote(*refs)
    assert desk.read() == b"dropped"
    assert "tampered" in desk.line(everything=True).drafts[0].flags


def test_two_people_at_once(field, desk, drop, at):
    refs = drop(f"{SPEC}.draft-0001@zed")
    at("open", lambda _: field.me.promote(refs), "/lock")
    assert desk.promote(*refs).promoted[0].changed is False
    assert [each.kind for each in field.me.log()].count("draft.added") == 1
