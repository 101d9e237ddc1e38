"""`tidy` and `restore`: draft files go from beside their targets, and come back; nothing that is no draft is touched (G6)."""

from __future__ import annotations

import os
import shutil
import stat

import pytest

from draftfs import DraftRef, tree
from draftfs.engine import fs
from tests.cli.test_pending import AT_COMMIT, killed
from tests.protocol import records, refused
from tests.support import draftfs, git

SPEC, TEXT = "docs/spec.md", "a.txt"


def files(field):
    return sorted(
        os.path.relpath(os.path.join(where, name), field.root)
        for where, _, names in os.walk(field.root)
        for name in names
        if ".draft-" in name
    )


def name(number: int, target: str = SPEC, author: str = "ann") -> str:
    return f"{target}.draft-{number:04d}@{author}"


def decided(field):
    """Drafts 1 superseded, 2 promoted, 3 rejected, 4 waiting (ann's), and an abandoned one of a.txt (bob's)."""
    field.ann.claim(1, seen=1)
    field.put("ann", SPEC, "one\n")
    field.put("ann", SPEC, "two\n")
    field.ann.submit()
    field.me.promote(1)
    for text in ("three\n", "four\n"):
        field.ann.claim_paths([SPEC], adopt=True)
        field.put("ann", SPEC, text)
        field.ann.submit()
    field.me.reject([DraftRef(SPEC, 3)], because="no")
    field.bob.claim(2, seen=1)
    field.put("bob", TEXT, "bob's\n")
    field.bob.release()
    return field.me


class TestTidy:
    def test_decided_files_go_and_all_else_stays(self, field):
        me = decided(field)
        before = records(field)
        (field.root / name(9, author="me")).write_text("mine\n")
        planned = me.tidy(dry_run=True)
        assert len(files(field)) == 6
        tidied = me.tidy()
        assert (tidied.drafts, tidied.left) == (planned.drafts, ())
        assert [(each.number, each.state) for each in tidied.drafts] == [
            (1, "superseded"),
            (2, "promoted"),
            (3, "rejected"),
        ]
        assert files(field) == [name(1, TEXT, "bob"), name(4), name(9, author="me")]
        kept = {path: data for path, data in before.items() if "/drafts/" in path or "/objects/" in path}
        assert kept
        assert kept.items() <= records(field).items()
        assert (field.me.log()[-1].kind, len(field.me.log()[-1].data["drafts"])) == ("draft.tidied", 3)
        (line,) = me.ls([SPEC], everything=True)
        assert ["missing" in each.flags for each in line.drafts] == [False] * 5
        assert me.tidy().drafts == ()

    def test_only_at_or_under_the_paths_that_are_named(self, field):
        me = decided(field)
        assert me.tidy(["a.txt"]).drafts == ()
        assert [each.number for each in me.tidy(["docs"]).drafts] == [1, 2, 3]
        assert [each.file for each in me.tidy(abandoned=True).drafts] == [name(1, TEXT, "bob")]

    def test_what_is_not_as_recorded_or_the_last_copy_stays_and_is_told(self, field):
        field.damaged = True
        me = decided(field)
        changed, linked, last = (field.root / name(number) for number in (1, 2, 3))
        changed.chmod(0o644)
        changed.write_text("changed\n")
        linked.unlink()
        linked.symlink_to("spec.md")
        lost = me.ls([SPEC], everything=True)[0].drafts[2].draft.sha256
        os.unlink(me.objects.path(lost))
        left = {each.file: each.because for each in me.tidy().left}
        assert set(left) == {name(1), name(2), name(3)}
        assert "last copy" in left[name(3)]
        assert (changed.read_text(), linked.is_symlink(), last.read_text()) == ("changed\n", True, "three\n")

    def test_a_file_that_changes_after_the_look_stays(self, field, monkeypatch):
        """An editor writes between the look and the lock."""
        me = decided(field)
        write = me.engine.write

        def meanwhile(*steps, **options):
            (field.root / name(1)).unlink()
            (field.root / name(1)).write_text("changed\n")
            return write(*steps, **options)

        monkeypatch.setattr(me.engine, "write", meanwhile)
        tidied = me.tidy()
        assert [each.number for each in tidied.drafts] == [2, 3]
        assert [each.file for each in tidied.left] == [name(1)]
        assert (field.root / name(1)).read_text() == "changed\n"

    def test_a_kill_between_the_commit_and_the_removal_is_made_good(self, field, monkeypatch):
        """Whoever opens the store next takes away what the record says; what was restored later than that stays."""
        me = decided(field)

        def killed(path):
            if ".draft-" in path:
                raise KeyboardInterrupt

        unlink = fs.unlink
        monkeypatch.setattr(fs, "unlink", lambda path: killed(path) or unlink(path))
        with pytest.raises(KeyboardInterrupt):
            me.tidy(receipt="K")
        monkeypatch.setattr(fs, "unlink", unlink)
        assert len(files(field)) == 5
        again = field.me.tidy(receipt="K")
        assert (again.replayed, len(again.drafts)) == (True, 3)
        assert files(field) == [name(1, TEXT, "bob"), name(4)]
        field.me.restore([DraftRef(SPEC, 1)])
        assert field.me.tidy(receipt="K").replayed
        assert name(1) in files(field)

    def test_a_process_killed_at_the_commit_is_answered_the_second_time(self, real):
        """The files go with the next command, whatever that is; the same command gets the first answer, until more happens."""
        decided(real)
        killed("tidy", cwd=real.root, driver=AT_COMMIT)
        assert len(files(real)) == 5
        real.me.ls()
        assert files(real) == [name(1, TEXT, "bob"), name(4)]
        again = draftfs("tidy", cwd=real.root).out.splitlines()
        assert (len(again), again[-1]) == (4, "replayed: this is the answer of an earlier call")
        killed("tidy", cwd=real.root, driver=AT_COMMIT)
        real.me.reject([DraftRef(SPEC, 4)], because="no")
        assert draftfs("tidy", cwd=real.root).out == f"{name(4)} (rejected) is out of the listing\n"

    def test_it_is_for_people(self, field):
        decided(field)
        with refused(field, "agents_cannot_promote"):
            field.ann.tidy()

    def test_what_waits_again_is_shown_again(self, field):
        """An undo, and a choice that moves on to an alternative, take a decision back: the file that was tidied is due."""
        me = field.me
        me.add_job("q", [TEXT], contest=2)
        for agent, job, text in (("ann", 3, "a\n"), ("bob", 4, "b\n")):
            getattr(field, agent).claim(job, seen=1)
            field.put(agent, TEXT, text)
            getattr(field, agent).submit()
        me.promote([DraftRef(TEXT, 1)])
        me.tidy()
        assert files(field) == [name(2, TEXT, "bob")]
        me.promote([DraftRef(TEXT, 2)])
        assert files(field) == [name(1, TEXT), name(2, TEXT, "bob")]
        me.tidy()
        assert files(field) == [name(1, TEXT)]
        me.undo([TEXT])
        assert files(field) == [name(1, TEXT), name(2, TEXT, "bob")]
        assert me.check(kinds=["missing"]).findings == ()

    def test_a_root_that_cannot_be_written(self, field, monkeypatch):
        decided(field)
        monkeypatch.setattr(type(field.me.tree), "is_writable", lambda *_: False)
        with refused(field, "permission"):
            field.me.tidy()

    def test_a_large_file_is_not_read_again_under_the_lock(self, field, monkeypatch):
        """It is known again by its stamp; the look before the lock has read it."""
        field.ann.claim(1, seen=1)
        field.put("ann", SPEC, b"x" * (17 << 20))
        field.ann.submit()
        field.me.reject([DraftRef(SPEC, 1)], because="no")
        monkeypatch.setattr("draftfs.tree._RECENT_NS", -(10**12))
        me, reads = field.me, []
        look = tree.look
        monkeypatch.setattr(tree, "look", lambda path: reads.append(path) or look(path))
        assert len(me.tidy().drafts) == 1
        assert reads == [f"{field.root}/{name(1)}"]

    def test_behind_a_symlink_nothing_is_removed(self, field):
        decided(field)
        (field.root / "docs").rename(field.root / "kept")
        (field.root / "docs").symlink_to("kept")
        assert field.me.tidy().drafts == ()
        assert len(files(field)) == 5


class TestRestore:
    def test_after_a_clean_bytes_and_modes_are_back(self, field):
        """Also of an executable, a deletion, a decided draft, in folders that are gone; the same again does nothing."""
        field.ann.claim_paths(["new/run.sh", SPEC])
        script = field.write("ann", "new/run.sh", "#!/bin/sh\n")
        script.chmod(0o755)
        top = field.worktree("ann")
        field.ann.draft([str(script), str(top / SPEC)])
        field.ann.draft([str(top / SPEC)], delete=True)
        field.ann.submit()
        before = {each: ((field.root / each).read_bytes(), os.stat(field.root / each).st_mode) for each in files(field)}
        git("clean", "-qfdx", cwd=field.root)
        assert files(field) == []
        restored = field.me.restore()
        assert {each.file for each in restored.drafts} == set(before) - {name(1)}
        field.me.restore([DraftRef(SPEC, 1)])
        after = {each: ((field.root / each).read_bytes(), os.stat(field.root / each).st_mode) for each in files(field)}
        assert after == before
        assert stat.S_IMODE(after["new/run.sh.draft-0001@ann"][1]) == 0o555
        again = field.me.restore([DraftRef(SPEC, 1)])
        assert (again.drafts, [each.file for each in again.there]) == ((), [name(1)])
        assert field.me.restore().drafts == ()

    def test_no_record_changes_and_agents_may(self, field):
        decided(field)
        git("clean", "-qfdx", cwd=field.root)
        before = {path: data for path, data in records(field).items() if "/r/.git/draftfs/" in path}
        assert len(field.ann.restore().drafts) == 2
        after = {path: data for path, data in records(field).items() if "/r/.git/draftfs/" in path}
        assert after == before

    @pytest.mark.parametrize("how", ["other bytes", "a folder", "a symlink"])
    def test_nothing_is_written_over(self, field, how):
        decided(field)
        place = field.root / name(4)
        place.unlink()
        if how == "a folder":
            place.mkdir()
        elif how == "a symlink":
            place.symlink_to("spec.md")
        else:
            place.write_text("mine\n")
        (field.root / name(1, TEXT, "bob")).unlink()
        with refused(field, "tampered") as caught:
            field.me.restore([DraftRef(SPEC, 4), DraftRef(TEXT, 1)])
        assert caught.value.hint.startswith(f"mv -n -- {name(4)} ")
        assert [each.file for each in field.me.restore().drafts] == [name(1, TEXT, "bob")]
        assert not place.is_file() or place.read_bytes() != b"four\n"
        if how == "a folder":
            place.rmdir()
        else:
            place.unlink()
        field.me.restore()
        assert place.read_bytes() == b"four\n"

    @pytest.mark.parametrize("how", ["a symlink", "a file"])
    def test_where_a_folder_was_replaced_the_rest_comes_back(self, field, how):
        """What lies behind a symlink is not taken for the draft, even with its bytes."""
        decided(field)
        (field.root / "docs").rename(field.base / "kept")
        (field.root / name(1, TEXT, "bob")).unlink()
        if how == "a symlink":
            (field.root / "docs").symlink_to(field.base / "kept")
        else:
            (field.root / "docs").write_text("mine\n")
        before = sorted(os.listdir(field.base / "kept"))
        restored = field.me.restore()
        assert [each.file for each in restored.drafts] == [name(1, TEXT, "bob")]
        assert [(each.file, each.because.partition(" is ")[0]) for each in restored.left] == [(name(4), "docs")]
        assert sorted(os.listdir(field.base / "kept")) == before
        with refused(field, "not_a_file") as caught:
            field.me.restore([DraftRef(SPEC, 4)])
        assert caught.value.hint == "mv -n -- docs 'docs~'; draftfs restore"

    def test_lost_bytes_are_told_and_the_rest_comes_back(self, field):
        field.damaged = True
        me = decided(field)
        lost = me.ls([SPEC])[0].drafts[0].draft.sha256
        git("clean", "-qfdx", cwd=field.root)
        os.unlink(me.objects.path(lost))
        with refused(field, "damaged"):
            field.me.restore([DraftRef(SPEC, 4), DraftRef(TEXT, 1)])
        restored = field.me.restore()
        assert ([each.file for each in restored.left], files(field)) == ([name(4)], [name(1, TEXT, "bob")])

    def test_a_root_that_cannot_be_written(self, field, monkeypatch):
        decided(field)
        git("clean", "-qfdx", cwd=field.root)
        monkeypatch.setattr(type(field.me.tree), "is_writable", lambda *_: False)
        with refused(field, "permission") as caught:
            field.me.restore()
        assert caught.value.message.startswith("showing ")

    def test_what_a_damaged_record_hides_is_told(self, field):
        field.damaged = True
        decided(field)
        next(field.store.glob("drafts/docs+spec.md/0004.yaml")).write_text("?")
        git("clean", "-qfdx", cwd=field.root)
        restored = field.me.restore()
        assert [each.file for each in restored.drafts] == [name(1, TEXT, "bob")]
        assert [each.path for each in restored.damaged] == ["drafts/docs+spec.md/0004.yaml"]

    def test_a_stash_popped_onto_restored_files_loses_nothing(self, field):
        decided(field)
        git("stash", "-qa", cwd=field.root)
        assert files(field) == []
        field.me.restore()
        before = {each: (field.root / each).read_bytes() for each in files(field)}
        git("stash", "pop", cwd=field.root, check=False)
        assert before.items() <= {each: (field.root / each).read_bytes() for each in files(field)}.items()
        shutil.rmtree(field.root / "docs")
        git("checkout", "-q", "--", "docs", cwd=field.root)
        assert [each.number for each in field.me.restore().drafts] == [4]
