"""C41: what git converts counts as the same: line ends, ident, filters. What differs beyond that does not."""

import pytest

from draftfs import Refused
from tests.support import git

LF, CRLF = b"one\ntwo\n", b"one\r\ntwo\r\n"


def autocrlf(root):
    git("config", "core.autocrlf", "true", cwd=root)


def eol(root):
    (root / ".gitattributes").write_text("* text eol=crlf\n")


def own_filter(root):
    (root / ".gitattributes").write_text("*.md filter=crlf\n")
    git("config", "filter.crlf.clean", "tr -d '\\r'", cwd=root)
    git("config", "filter.crlf.smudge", "sed 's/$/\\r/'", cwd=root)


CONVERSIONS = [autocrlf, eol, own_filter]


def start(field, data=LF):
    field.write("me", "docs/spec.md", data)
    git("commit", "-qam", "lines", cwd=field.root)


def convert(field, conversion):
    """Have git write the target anew, converted."""
    conversion(field.root)
    (field.root / "docs/spec.md").unlink()
    git("checkout", "--", "docs/spec.md", cwd=field.root)


@pytest.fixture(params=CONVERSIONS, ids=lambda each: each.__name__)
def conversion(request):
    return request.param


def test_a_standing_choice_is_not_stale(field, desk, conversion):
    start(field)
    desk.promote(desk.draft(b"three\nfour\n"))
    git("commit", "-qam", "chosen", cwd=field.root)
    convert(field, conversion)
    assert desk.read() == b"three\r\nfour\r\n"
    assert (desk.line().chosen, desk.line().stale) == (1, False)
    field.write("me", "docs/spec.md", b"three\r\nfouR\r\n")
    assert desk.line().stale


def test_neither_moved_nor_outdated_nor_a_hand_edit(field, desk, conversion):
    start(field)
    ref = desk.draft(b"three\n")
    convert(field, conversion)
    assert desk.read() == CRLF
    assert "outdated" not in desk.line().drafts[0].flags
    promoted = desk.promote(ref).promoted[0]
    assert (promoted.kept, desk.read()) == (None, b"three\n")


def test_nor_with_force(field, desk, conversion):
    start(field)
    ref = desk.draft(b"three\n")
    convert(field, conversion)
    assert desk.promote(ref, force=True).promoted[0].kept is None


def test_an_edit_beside_it_is_moved(field, desk, conversion):
    start(field)
    ref = desk.draft(b"three\n")
    convert(field, conversion)
    field.write("me", "docs/spec.md", b"one\r\ntwO\r\n")
    assert "outdated" in desk.line().drafts[0].flags
    with pytest.raises(Refused) as fault:
        desk.promote(ref)
    assert fault.value.code == "target_moved"


def test_a_draft_in_crlf_is_promoted_exactly(field, desk, conversion):
    start(field)
    convert(field, conversion)
    desk.promote(desk.draft(CRLF + b"three\r\n"))
    assert desk.read() == CRLF + b"three\r\n"
    assert not desk.line().stale
    git("commit", "-qam", "chosen", cwd=field.root)
    assert (desk.line().chosen, desk.line().stale) == (1, False)


def test_a_draft_of_mixed_line_ends_is_promoted_exactly(field, desk):
    start(field)
    autocrlf(field.root)
    data = b"one\r\ntwo\nthree\r"
    desk.promote(desk.draft(data))
    assert desk.read() == data
    assert not desk.line().stale


def test_a_worktree_that_was_converted_can_be_claimed(field, conversion):
    start(field)
    worktree = field.worktree("ann")
    git("merge", "-q", "main", cwd=worktree)
    conversion(worktree)
    (worktree / "docs/spec.md").write_bytes(CRLF)
    claimed = field.ann.claim(1, seen=1)
    assert claimed.newer == ()


def test_a_worktree_with_an_edit_beside_it_cannot(field, conversion):
    start(field)
    worktree = field.worktree("ann")
    conversion(worktree)
    (worktree / "docs/spec.md").write_bytes(b"one\r\ntwO\r\n")
    with pytest.raises(Refused) as fault:
        field.ann.claim(1, seen=1)
    assert fault.value.code == "dirty_worktree"


def test_ident(field, desk):
    field.write("me", ".gitattributes", "*.md ident\n")
    field.write("me", "docs/spec.md", "$Id$\n")
    git("add", "-A", cwd=field.root)
    git("commit", "-qm", "ident", cwd=field.root)
    ref = desk.draft("$Id$\nmore\n")
    (field.root / "docs/spec.md").unlink()
    git("checkout", "--", "docs/spec.md", cwd=field.root)
    assert desk.read().startswith(b"$Id: ")
    promoted = desk.promote(ref).promoted[0]
    assert (promoted.kept, desk.read()) == (None, b"$Id$\nmore\n")
    git("commit", "-qam", "chosen", cwd=field.root)
    (field.root / "docs/spec.md").unlink()
    git("checkout", "--", "docs/spec.md", cwd=field.root)
    assert desk.read().startswith(b"$Id: ")
    assert (desk.line().chosen, desk.line().stale) == (1, False)


@pytest.mark.parametrize("required", ["true", "false"])
def test_a_filter_whose_program_is_missing_compares_raw(field, desk, required):
    start(field)
    ref = desk.draft(b"three\n")
    (field.root / ".gitattributes").write_text("*.md filter=gone\n")
    git("config", "filter.gone.clean", "/nowhere/program", cwd=field.root)
    git("config", "filter.gone.required", required, cwd=field.root)
    field.write("me", "docs/spec.md", CRLF)
    with pytest.raises(Refused) as fault:
        desk.promote(ref)
    assert fault.value.code == "target_moved"
    field.write("me", "docs/spec.md", LF)
    desk.promote(ref)
    assert (desk.read(), desk.line().stale) == (b"three\n", False)


def test_without_conversion_line_ends_count(field, desk):
    start(field)
    ref = desk.draft(b"three\n")
    field.write("me", "docs/spec.md", CRLF)
    with pytest.raises(Refused) as fault:
        desk.promote(ref)
    assert fault.value.code == "target_moved"
