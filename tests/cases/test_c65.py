"""C65: git's stash and clean carry draft files off; numbers and bytes stay, and `restore` brings the files back."""

import os
import stat

import pytest

from draftfs import DraftRef
from tests.support import git

SPEC = "docs/spec.md"
WAYS = [("stash", "-u"), ("stash", "-a"), ("clean", "-fd"), ("clean", "-fdx")]


def name(number):
    return f"{SPEC}.draft-{number:04d}@ann"


def three_drafts(field):
    field.ann.claim(1, seen=1)
    for text in ("x\n", "y\n", "z\n"):
        field.put("ann", SPEC, text)
    field.ann.submit()


@pytest.mark.parametrize("tracked", [False, True], ids=["hidden", "tracked"])
@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_carried_off(field, way, tracked):
    three_drafts(field)
    if tracked:
        field.me.configure("drafts.track", "true")
    git(*way, cwd=field.root)
    gone = tracked or way[-1] in ("-a", "-fdx")  # the others leave ignored files alone
    (line,) = field.me.ls([SPEC])[0].drafts
    assert (line.flags, line.draft.shown) == (("missing",) if gone else (), not gone)
    missing = [each for each in field.me.check().findings if each.kind == "missing"]
    assert [each.number for each in missing] == ([3] if gone else [])
    for each in missing:
        assert "stashed or cleaned?" in each.message
        assert each.repair.startswith("draftfs restore")
    field.ann.claim_paths([SPEC], adopt=True)  # her worktree still holds what she handed in
    assert field.put("ann", SPEC, "later\n").drafts[0].number == 4
    field.ann.release()
    field.me.promote([DraftRef(SPEC, 3)])
    assert (field.root / SPEC).read_bytes() == b"z\n"
    restored = field.me.restore([DraftRef(SPEC, 2)])
    assert [each.file for each in restored.drafts] == ([name(2)] if gone else [])
    file = field.root / name(2)
    assert (file.read_bytes(), stat.S_IMODE(os.stat(file).st_mode)) == (b"y\n", 0o444)


def test_a_stash_popped_in_a_worktree_takes_no_number(field):
    three_drafts(field)
    git("stash", "-a", cwd=field.root)
    git("stash", "pop", cwd=field.worktree("bob"))
    assert (field.worktree("bob") / name(1)).exists()
    field.bob.claim_paths([SPEC])
    assert field.put("bob", SPEC, "bob's\n").drafts[0].number == 4
    assert field.me.ls([SPEC])[0].drafts[0].flags == ("missing",)
    assert "unrecorded" not in {each.kind for each in field.me.check().findings}


def test_a_pop_in_the_root_onto_restored_files_loses_nothing(site):
    """By the command line: what `check` advises is what brings them back; git then refuses to write over them."""
    three_drafts(site.field)
    git("stash", "-a", cwd=site.root)
    (back,) = site.run("me", "restore")["drafts"]
    site.run("me", "restore", name(1), name(2))
    git("stash", "pop", cwd=site.root, check=False)
    assert [site.read(name(number)) for number in (1, 2, 3)] == [b"x\n", b"y\n", b"z\n"]
    assert (back["file"], site.line(SPEC)["drafts"][0]["flags"]) == (name(3), [])


def test_check_says_what_is_missing_and_how_to_have_it_back(site):
    site.hand_in("ann", "docs/spec.md", "x\n")
    git("clean", "-qfdx", cwd=site.root)
    (finding,) = site.run("me", "check --kind missing", status=6)["findings"]
    assert "stashed or cleaned?" in finding["message"]
    assert finding["repair"] == "draftfs restore -- docs/spec.md.draft-0001@ann"
    site.run("me", "restore", "docs/spec.md.draft-0001@ann")
    assert site.check("missing", "tampered") == []
