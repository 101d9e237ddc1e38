"""A root that is not kind: what cannot be read, what only looks like a draft, what never ends."""

from __future__ import annotations

import errno
import os

from draftfs import stamps
from draftfs.errors import EnvironmentFault
from draftfs.git import clean
from draftfs.git.clean import Form
from draftfs.records import DraftRef
from tests.support import draftfs, git

SPEC = "docs/spec.md"


def chosen(field, text="chosen\n"):
    field.ann.claim(1, seen=1)
    field.put("ann", SPEC, text)
    field.ann.submit()
    field.me.promote([DraftRef(SPEC, 1)])


def test_a_tree_full_of_traps_is_scanned_to_its_end(field):
    root = field.root
    os.symlink(".", root / "loop")
    os.symlink("nowhere", root / "dangling.draft-0001@eve")
    os.mkfifo(root / "pipe.draft-0001@eve")
    (root / "folder.draft-0001@eve").mkdir()
    (root / "folder.draft-0001@eve/kept.txt").write_text("x")
    deep = root / "/".join(["deep"] * 40)
    deep.mkdir(parents=True)
    (deep / "x.draft-0001@eve").write_text("x")
    wide = root / "wide"
    wide.mkdir()
    for number in range(10_000):
        (wide / f"f{number}").touch()
    (wide / "y.draft-99999@eve").touch()
    for number in (0, 1):
        (root / f"z.draft-000{number}@").touch()
    found = [each.path for each in field.me.check(kinds=["unrecorded"]).findings]
    assert found == [f"{'deep/' * 40}x.draft-0001@eve", "wide/y.draft-99999@eve"]


def test_what_cannot_be_read_is_noted_and_hides_nothing(field, monkeypatch):
    chosen(field)
    field.bob.claim(2, seen=1)
    field.put("bob", "a.txt", "bob's\n")
    field.write("me", "a.txt", "moved on\n")
    look = stamps.look

    def denied(path):
        if path.endswith("spec.md"):
            raise EnvironmentFault("permission", f"reading {path}: {os.strerror(errno.EACCES)}")
        return look(path)

    monkeypatch.setattr(stamps, "look", denied)
    checked = field.me.check(kinds=["stale", "outdated"])
    assert [(each.kind, each.path) for each in checked.findings] == [("outdated", "a.txt")]
    assert len(checked.notes) == 1
    assert "spec.md: Permission denied" in checked.notes[0]


def test_a_symlinked_folder_on_the_way_to_a_target_is_not_followed(field):
    chosen(field)
    os.rename(field.root / "docs", field.root / "elsewhere")
    os.symlink("elsewhere", field.root / "docs")
    (finding,) = field.me.check(kinds=["stale"]).findings
    assert "docs is a symlink" in finding.message


def test_a_filter_that_cannot_run_is_said_and_bytes_are_compared(field):
    chosen(field)
    (field.root / ".gitattributes").write_text("*.md filter=gone\n")
    git("config", "filter.gone.clean", "/nowhere/clean", cwd=field.root)
    assert field.me.check(kinds=["stale"]).notes == (), "the same bytes need no filter"
    field.write("me", SPEC, "chosen\r\n")
    for required in ("false", "true"):
        git("config", "filter.gone.required", required, cwd=field.root)
        checked = field.me.check(kinds=["stale"])
        assert [each.kind for each in checked.findings] == ["stale"]
        assert [f"{SPEC}: its filter cannot run" in note for note in checked.notes] == [True]
    ran = draftfs("check", "--kind", "stale", cwd=field.root)
    assert (ran.status, "note: docs/spec.md: its filter cannot run" in ran.err) == (6, True)


def test_many_forms_at_once_are_those_that_git_gives_one_by_one(field):
    """Names that a line cannot hold, several attributes, an index with CRLF, files that are gone."""
    root = field.root
    (root / ".gitattributes").write_text('*.up filter=up\n*.crlf -text\n*.id ident\n"odd*" text\n')
    git("config", "filter.up.clean", "tr a-z A-Z; echo %f", cwd=root)
    git("config", "core.autocrlf", "input", cwd=root)
    names = [
        "a.up",
        "sub/b.up",
        "c.crlf",
        "d.id",
        "e.txt",
        'odd"q.md',
        "odd\nline.md",
        "odd\r.md",
        "odd\\b.md",
        "bad\udcff.md",
    ]
    os.mkdir(root / "sub")
    for name in names:
        with open(os.fsencode(f"{root}/{name}"), "wb") as file:
            file.write(b"one $Id: x$\r\ntwo\n" if name != "e.txt" else b"x\r\ny\r\n")
    blob = git("hash-object", "-w", "--no-filters", "e.txt", cwd=root).strip()
    git("update-index", "--add", "--cacheinfo", f"100644,{blob},e.txt", cwd=root)
    repo = field.me.repo
    other = str(root / "other")
    with open(other, "wb") as file:
        file.write(b"three\r\n")
    asked = [Form(name, f"{root}/{name}") for name in names] + [Form(name, other) for name in names]
    found = clean.forms(str(root), [*asked, Form("gone.md", f"{root}/gone.md")])
    assert found.raw == ()
    assert found.ids == {each: repo.clean_blob(each.path, each.file) for each in asked}
    assert len({found.ids[each] for each in asked}) > 8
