"""`merge`: base, draft and today's target into a new draft; never into the target, and nothing decided by it."""

from __future__ import annotations

import hashlib
import os

import pytest

from draftfs import DraftRef
from tests.protocol import refused
from tests.support import git

SPEC = "docs/spec.md"
LINES = [f"line {number}\n" for number in range(1, 10)]


def text(**changed: str) -> bytes:
    """Nine lines, with some of them (`n3="…"`) changed."""
    return "".join(changed.get(f"n{at}", line) for at, line in enumerate(LINES, 1)).encode()


def hand_in(field, base: bytes, data: bytes, target: str = SPEC, *, mode: int = 0o644) -> DraftRef:
    """A submitted draft over `base`, which is then the root's, committed."""
    path = field.root / target
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(base)
    git("add", "-A", cwd=field.root)
    git("commit", "-qm", "base", "--allow-empty", cwd=field.root)
    git("reset", "-q", "--hard", "main", cwd=field.worktree("ann"))
    field.ann.claim_paths([target])
    os.chmod(field.write("ann", target, data), mode)
    drafted = field.ann.draft([target]).drafts[0]
    field.ann.submit()
    return DraftRef(target, drafted.number)


def of(field, ref: DraftRef):
    """What `merge` made of it: its line in the listing, and its bytes beside the target."""
    before = (field.root / ref.target).read_bytes()
    merged = field.me.merge(ref)
    (made,) = merged.drafts
    assert (field.root / ref.target).read_bytes() == before
    assert merged.conflicts == made.conflicts
    return made, (field.root / made.file).read_bytes()


def states(field, target=SPEC):
    (line,) = field.me.ls([target], everything=True)
    return {each.draft.number: each.draft.state for each in line.drafts}


def test_both_changes_are_in_a_new_draft_that_promotes_freely(field):
    ref = hand_in(field, text(), text(n1="ONE\n"))
    field.write("me", SPEC, text(n9="NINE\n"))
    made, data = of(field, ref)
    assert data == text(n1="ONE\n", n9="NINE\n")
    assert (made.number, made.job, made.conflicts, made.author[0]) == (2, 3, 0, "_")
    assert made.base_sha256 == hashlib.sha256(text(n9="NINE\n")).hexdigest()
    assert states(field) == {1: "waiting", 2: "waiting"}
    assert field.me.job_drafts(3) == (DraftRef(SPEC, 2),), "of one target the latest is meant"
    assert field.me.promote(3).accepted == (3,)
    assert (field.root / SPEC).read_bytes() == data
    assert states(field) == {1: "superseded", 2: "promoted"}


def test_what_was_merged_can_still_be_decided_first(field):
    """Rejecting the merge leaves the draft waiting; promoting the draft ends its merge; a newer merge ends the older."""
    ref = hand_in(field, text(), text(n1="ONE\n"))
    field.write("me", SPEC, text(n9="NINE\n"))
    of(field, ref)
    of(field, ref)
    assert states(field) == {1: "waiting", 2: "superseded", 3: "waiting"}
    field.me.reject([DraftRef(SPEC, 3)], because="no")
    assert states(field)[1] == "waiting"
    of(field, ref)
    assert field.me.promote([ref], force=True).accepted == (3,)
    assert states(field) == {1: "promoted", 2: "superseded", 3: "rejected", 4: "superseded", 5: "waiting"}
    assert field.me.job(3).job.state == "accepted"


def test_the_draft_does_not_undo_by_its_own_merge_what_others_did(field):
    """A merge is of the same job, and all the same no alternative to the draft: it holds the work of others, too."""
    ref = hand_in(field, text(), text(n1="ONE\n"))
    field.write("me", SPEC, text(n9="NINE\n"))
    made, _ = of(field, ref)
    field.me.promote([DraftRef(SPEC, made.number)])
    with refused(field, "target_moved"):
        field.me.promote([ref])


def test_a_merge_can_be_merged_again(field):
    ref = hand_in(field, text(), text(n1="ONE\n"))
    field.write("me", SPEC, text(n9="NINE\n"))
    made, _ = of(field, ref)
    field.write("me", SPEC, text(n9="NINE\n", n5="FIVE\n"))
    again, data = of(field, DraftRef(SPEC, made.number))
    assert data == text(n1="ONE\n", n5="FIVE\n", n9="NINE\n")
    assert states(field) == {1: "waiting", 2: "superseded", again.number: "waiting"}


def test_conflicts_are_marked_and_counted_and_promoted_by_force_only(field):
    ref = hand_in(field, text(), text(n2="hers\n", n8="hers\n"))
    field.write("me", SPEC, text(n2="mine\n", n8="mine\n", n5="mine alone\n"))
    made, data = of(field, ref)
    assert made.conflicts == 2
    assert data.count(b"<<<<<<< docs/spec.md\nmine\n=======\nhers\n>>>>>>> docs/spec.md.draft-0001@ann\n") == 2
    (line,) = field.me.ls()
    assert ("conflicts" in line.drafts[1].flags, line.drafts[1].draft.conflicts) == (True, 2)
    mine = DraftRef(SPEC, made.number)
    with refused(field, "conflicts"):
        field.me.promote([mine])
    field.me.promote([mine], force=True)
    assert (field.root / SPEC).read_bytes() == data


def test_attributes_of_the_target_decide(field):
    """union takes both sides; a longer marker where marks are text; what is declared binary is not merged."""
    (field.root / ".gitattributes").write_text("*.log merge=union\n*.rst conflict-marker-size=12\n*.dat binary\n")
    both = hand_in(field, text(), text(n2="hers\n"), "a.log")
    field.write("me", "a.log", text(n2="mine\n"))
    made, data = of(field, both)
    assert (made.conflicts, data) == (0, text(n2="mine\nhers\n"))
    wide = hand_in(field, text(), text(n2="hers\n"), "a.rst")
    field.write("me", "a.rst", text(n2="mine\n"))
    assert b"<" * 12 + b" a.rst\n" in of(field, wide)[1]
    declared = hand_in(field, text(), text(n2="hers\n"), "a.dat")
    field.write("me", "a.dat", text(n9="mine\n"))
    with refused(field, "cannot_merge"):
        field.me.merge(declared)


def test_line_ends_alone_are_no_conflict(field):
    """The draft is LF, the target was checked out with CRLF: merged as git would, into what a checkout would hold."""
    (field.root / ".gitattributes").write_text("*.md text eol=crlf\n")
    ref = hand_in(field, text(), text(n1="ONE\n"))
    field.write("me", SPEC, text(n9="NINE\n").replace(b"\n", b"\r\n"))
    made, data = of(field, ref)
    assert made.conflicts == 0
    assert data == text(n1="ONE\n", n9="NINE\n").replace(b"\n", b"\r\n")
    git("config", "filter.f.clean", "false", cwd=field.root)
    git("config", "filter.f.required", "true", cwd=field.root)
    (field.root / ".gitattributes").write_text("*.md filter=f\n")
    assert of(field, ref)[0].conflicts > 0, "where the filter cannot run the bytes are what there is"


def test_bytes_are_kept_where_they_merge_as_they_are(field):
    """Without an attribute, CRLF on both sides stays CRLF, and so does a lone one."""
    base = text().replace(b"\n", b"\r\n")
    ref = hand_in(field, base, base.replace(b"line 1", b"ONE"))
    field.write("me", SPEC, base.replace(b"line 9\r\n", b"NINE\n"))
    assert of(field, ref)[1] == base.replace(b"line 1", b"ONE").replace(b"line 9\r\n", b"NINE\n")


@pytest.mark.parametrize("mine", [0o644, 0o755])
def test_the_executable_bit_is_merged_too(field, mine):
    """Whoever turned it has it their way."""
    ref = hand_in(field, text(), text(n1="ONE\n"), mode=0o755 if mine == 0o644 else 0o644)
    os.chmod(field.write("me", SPEC, text(n9="NINE\n")), mine)
    made, _ = of(field, ref)
    assert (made.mode, os.stat(field.root / made.file).st_mode & 0o777) == ("100755", 0o555)


def test_a_file_that_both_added(field):
    field.ann.claim_paths(["new.md"])
    field.put("ann", "new.md", "shared\nhers\n")
    field.ann.submit()
    field.write("me", "new.md", "shared\nmine\n")
    made, data = of(field, DraftRef("new.md", 1))
    assert made.conflicts == 1
    assert b"mine" in data
    assert b"hers" in data


def test_nothing_to_merge_makes_no_draft(field):
    ref = hand_in(field, text(), text(n1="ONE\n"))
    assert (field.me.merge(ref).nothing, field.me.merge(ref).drafts) == ("unmoved", ())
    field.write("me", SPEC, text(n1="ONE\n", n9="NINE\n"))
    assert field.me.merge(ref).nothing == "contained"
    field.write("me", SPEC, text(n1="ONE\n"))
    assert field.me.merge(ref).nothing == "contained"
    assert states(field) == {1: "waiting"}


def test_what_cannot_be_merged_says_why_and_changes_nothing(field):
    """Binary contents, deletions on either side, something else in the target's place."""
    binary = hand_in(field, b"\0one", b"\0two", "b.bin")
    field.write("me", "b.bin", b"\0three")
    with refused(field, "cannot_merge") as caught:
        field.me.merge(binary)
    assert "binary" in caught.value.message
    assert "--force" in caught.value.hint
    field.bob.claim(2, seen=1)
    field.bob.draft(["a.txt"], delete=True)
    field.bob.submit()
    field.write("me", "a.txt", "changed\n")
    with refused(field, "cannot_merge") as caught:
        field.me.merge(DraftRef("a.txt", 1))
    assert "delete" in caught.value.message
    ref = hand_in(field, text(), text(n1="ONE\n"))
    (field.root / SPEC).unlink()
    with refused(field, "cannot_merge") as caught:
        field.me.merge(ref)
    assert "deleted" in caught.value.message
    (field.root / SPEC).symlink_to("../a.txt")
    with refused(field, "not_a_file"):
        field.me.merge(ref)


def test_it_is_a_persons_act_under_one_receipt(field):
    ref = hand_in(field, text(), text(n1="ONE\n"))
    field.write("me", SPEC, text(n9="NINE\n"))
    with refused(field, "agents_cannot_promote"):
        field.ann.merge(ref)
    first = field.me.merge(ref, receipt="K")
    field.write("me", SPEC, text(n8="EIGHT\n"))
    again = field.me.merge(ref, receipt="K")
    assert (again.replayed, again.drafts) == (True, first.drafts)
    with refused(field, "no_draft"):
        field.me.merge(DraftRef(SPEC, 9))


def test_a_draft_of_a_claim_that_lapsed_and_a_hand_edit(field):
    """They have no job that waits: the merge waits by itself, and is decided by itself."""
    field.write("me", SPEC, text())
    field.ann.claim(1, seen=1, ttl=60)
    field.put("ann", SPEC, text(n1="ONE\n"))
    field.clock.advance(61)
    base = field.me.ls()[0].drafts[0].draft.base_sha256
    assert base == hashlib.sha256(b"v0\n").hexdigest()
    field.write("me", SPEC, b"v0\nmine\n")
    made, _ = of(field, DraftRef(SPEC, 1))
    assert (made.job, made.epoch, made.state) == (1, None, "waiting")
    field.me.promote([DraftRef(SPEC, made.number)], force=True)
    assert field.me.job(1).job.state == "open"


@pytest.mark.parametrize("name", ["-rf.md", "a\nb.md", "b\udcff.md", ":(top)x", "sp ace.md"])
def test_odd_names(field, name):
    field.ann.claim_paths([f"./{name}"])
    field.put("ann", f"./{name}", b"hers\n")
    field.ann.submit()
    field.write("me", name, b"mine\n")
    made, data = of(field, DraftRef(name, 1))
    assert made.conflicts == 1
    assert data.startswith(b"<<<<<<< ")
    assert data.count(b"\n") == 5, "a name's own line end is escaped in the marks"


def test_where_the_root_cannot_be_written_it_is_recorded_all_the_same(field, monkeypatch):
    """And appears with the next look of somebody who can."""
    ref = hand_in(field, text(), text(n1="ONE\n"))
    field.write("me", SPEC, text(n9="NINE\n"))
    with monkeypatch.context() as patched:
        patched.setattr(type(field.me.tree), "is_writable", lambda *_: False)
        (made,) = field.me.merge(ref).drafts
        assert (made.shown, (field.root / made.file).exists()) == (False, False)
    field.me.ls()
    assert (field.root / made.file).read_bytes() == text(n1="ONE\n", n9="NINE\n")


def test_undoing_the_merges_promotion_lets_both_wait_again(field):
    ref = hand_in(field, text(), text(n1="ONE\n"))
    field.write("me", SPEC, text(n9="NINE\n"))
    of(field, ref)
    assert field.me.promote(3).accepted == (3,)
    field.me.undo([SPEC])
    assert states(field) == {1: "waiting", 2: "waiting"}
    assert field.me.job(3).job.state == "submitted"
    assert (field.root / SPEC).read_bytes() == text(n9="NINE\n")
    assert field.me.promote(3).accepted == (3,)
    assert states(field) == {1: "superseded", 2: "promoted"}
