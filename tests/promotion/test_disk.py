"""What the disk refuses: another file system for the store, mounts, folders that cannot be written, failing installs."""

import errno
import os
import subprocess

import pytest

from draftfs import DraftRef, EnvironmentFault
from draftfs.engine import fs

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")


class Mounts:
    def __init__(self):
        self._points = []

    def add(self, *arguments):
        done = subprocess.run(["mount", *map(str, arguments)], check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"mount: {done.stderr}")
        self._points.append(str(arguments[-1]))

    def read_only(self, folder):
        self.add("--bind", folder, folder)
        subprocess.run(["mount", "-o", "remount,bind,ro", str(folder)], check=True)

    def remove(self):
        while self._points:
            subprocess.run(["umount", "-l", self._points.pop()], check=True)


@pytest.fixture
def mounts():
    """Mounts that go with the test. Ask for it before `field`, whose self-check comes first then."""
    made = Mounts()
    yield made
    made.remove()


@needs_root
@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("kind", ["tmpfs", "bind"])
class TestStoreElsewhere:
    """The store on a file system, or behind a mount, of its own: nothing can be renamed from there into the root."""

    @pytest.fixture
    def apart(self, mounts, field, kind):
        copy = field.base / "store"
        subprocess.run(["cp", "-a", str(field.store), str(copy)], check=True)
        if kind == "bind":
            mounts.add("--bind", copy, field.store)
        else:
            mounts.add("-t", "tmpfs", "-o", "size=64m", "draftfs-test", field.store)
            subprocess.run(["cp", "-a", f"{copy}/.", str(field.store)], check=True)

    def test_drafts_and_promotions(self, field, desk):
        ref = desk.draft("x")
        assert desk.line().drafts[0].draft.shown
        field.write("me", "docs/spec.md", "by hand")
        promoted = desk.promote(ref, force=True).promoted[0]
        assert (desk.read(), desk.read(promoted.kept)) == (b"x", b"by hand")
        assert desk.litter() == []

    def test_deletion_and_new_target(self, desk):
        desk.promote(desk.draft(None, delete=True), desk.draft("n", "new/n.md"))
        assert not (desk.root / "docs/spec.md").exists()
        assert desk.read("new/n.md") == b"n"
        assert desk.litter() == []
        assert sorted(os.listdir(desk.root / "docs")) == ["spec.md.draft-0001.delete@ann"]

    def test_an_editor_saves_meanwhile(self, desk, at):
        ref = desk.draft("x")
        at("exchange", lambda _: (desk.root / "docs/spec.md").write_text("by hand"))
        promoted = desk.promote(ref).promoted[0]
        assert (desk.read(), desk.read(promoted.kept)) == (b"x", b"by hand")
        assert desk.litter() == []

    def test_nothing_of_the_deletion_shows_in_git(self, desk, at):
        from tests.support import git

        ref, seen = desk.draft(None, delete=True), []
        at("fsync", lambda _: seen.append(git("status", "--porcelain", cwd=desk.root)), "r/docs")
        desk.promote(ref)
        assert seen == [" D docs/spec.md\n"]

    def test_a_folder_in_the_way(self, desk, at):
        ref = desk.draft("x")

        def swap(_):
            (desk.root / "docs/spec.md").unlink()
            (desk.root / "docs/spec.md").mkdir()

        at("exchange", swap)
        with pytest.raises(EnvironmentFault):
            desk.promote(ref)
        assert (desk.root / "docs/spec.md").is_dir()
        assert desk.litter() == []


class TestFailingInstall:
    def fail(self, monkeypatch, call, part):
        def observe(name, path):
            if name == call and part in path:
                raise OSError(errno.EIO, os.strerror(errno.EIO), path)

        monkeypatch.setattr(fs, "observer", observe)

    @pytest.mark.parametrize("call", ["exchange", "link"])
    def test_the_choice_stands_and_promoting_again_mends(self, field, desk, monkeypatch, call):
        ref = desk.draft("x")
        self.fail(monkeypatch, call, "docs/spec.md")
        with pytest.raises(EnvironmentFault, match="the choice is recorded, but") as fault:
            desk.promote(ref)
        monkeypatch.setattr(fs, "observer", None)
        assert fault.value.exit_status == 8
        assert fault.value.details["promoted"]["promoted"][0]["number"] == 1
        assert desk.read() == b"v0\n"
        assert (desk.line().chosen, desk.line().stale) == (1, True)
        assert field.me.job(3).job.state == "accepted"
        assert desk.litter() == []
        assert desk.promote(ref).promoted[0].changed
        assert (desk.read(), desk.line().stale) == (b"x", False)

    def test_the_others_are_installed(self, desk, monkeypatch):
        first, second = desk.draft("x"), desk.draft("y", "a.txt")
        self.fail(monkeypatch, "exchange", "docs/spec.md")
        with pytest.raises(EnvironmentFault):
            desk.promote(first, second)
        assert (desk.read(), desk.read("a.txt")) == (b"v0\n", b"y")

    @needs_root
    def test_an_immutable_target(self, desk):
        ref = desk.draft("x")
        target = desk.root / "docs/spec.md"
        if subprocess.run(["chattr", "+i", str(target)], check=False, capture_output=True).returncode:
            pytest.skip("no immutable files here")
        try:
            with pytest.raises(EnvironmentFault, match="the choice is recorded, but"):
                desk.promote(ref)
        finally:
            subprocess.run(["chattr", "-i", str(target)], check=True)
        desk.promote(ref)
        assert desk.read() == b"x"

    @needs_root
    def test_an_immutable_folder_is_refused_before_anything_changes(self, field, desk):
        ref = desk.draft("x")
        position, folder = field.me.log()[-1].position, desk.root / "docs"
        if subprocess.run(["chattr", "+i", str(folder)], check=False, capture_output=True).returncode:
            pytest.skip("no immutable files here")
        try:
            with pytest.raises(EnvironmentFault) as fault:
                desk.promote(ref)
        finally:
            subprocess.run(["chattr", "-i", str(folder)], check=True)
        assert (fault.value.code, field.me.log()[-1].position) == ("permission", position)
        assert desk.line().chosen is None

    @needs_root
    def test_a_root_that_cannot_be_written_is_refused_before_anything_changes(self, mounts, field, desk):
        ref = desk.draft("x")
        position = field.me.log()[-1].position
        mounts.read_only(desk.root / "docs")
        for force in (False, True):
            with pytest.raises(EnvironmentFault) as fault:
                desk.promote(ref, force=force)
            assert fault.value.code == "permission"
        assert field.me.log()[-1].position == position


class TestShownLater:
    """A draft is recorded where the root cannot be written, and shown by the next look of somebody who can."""

    @needs_root
    def test_a_read_only_folder(self, mounts, field, desk):
        mounts.read_only(desk.root / "docs")
        field.ann.claim(1, seen=1)
        drafted = field.put("ann", "docs/spec.md", "x").drafts[0]
        assert (drafted.number, drafted.shown) == (1, False)
        (line,) = desk.line().drafts
        assert (line.draft.shown, line.flags) == (False, ("missing",))
        mounts.remove()
        (line,) = desk.line().drafts
        assert (line.draft.shown, line.flags) == (True, ())
        assert desk.read(drafted.file) == b"x"
        assert not field.me.engine.has_pending_effects()

    def test_not_copied_under_the_lock(self, field, desk, monkeypatch):
        """Neither when it cannot be shown nor when it is: whoever holds the lock must not copy."""
        from draftfs.engine import lock
        from draftfs.engine.objects import Objects

        held, copied = [0], []
        take, copy = lock._take, Objects.copy

        class Counted:
            def __init__(self, inner):
                self.inner, self.descriptor = inner, inner.descriptor
                held[0] += 1

            def close(self):
                self.inner.close()
                held[0] -= 1

        monkeypatch.setattr(lock, "_take", lambda path, wait: Counted(take(path, wait)))
        monkeypatch.setattr(Objects, "copy", lambda self, *rest: (copied.append(held[0]), copy(self, *rest))[1])
        monkeypatch.setattr(type(field.me.tree), "is_writable", lambda *_: False)
        field.ann.claim(1, seen=1)
        assert not field.put("ann", "docs/spec.md", "x").drafts[0].shown
        monkeypatch.undo()
        monkeypatch.setattr(lock, "_take", lambda path, wait: Counted(take(path, wait)))
        monkeypatch.setattr(Objects, "copy", lambda self, *rest: (copied.append(held[0]), copy(self, *rest))[1])
        assert desk.line().drafts[0].draft.shown
        field.ann.submit()
        field.write("me", "docs/spec.md", "by hand")
        desk.promote(DraftRef("docs/spec.md", 1), force=True)
        assert len(copied) >= 4
        assert set(copied) == {0}

    def test_a_damaged_object_keeps_nobody_else_from_working(self, field, desk, monkeypatch):
        import hashlib

        with monkeypatch.context() as patched:
            patched.setattr(type(field.me.tree), "is_writable", lambda *_: False)
            ref = desk.draft("x")
            desk.draft("y", "a.txt")
        digest = hashlib.sha256(b"x").hexdigest()
        kept = field.store / "objects" / digest[:2] / digest
        kept.rename(field.base / "taken")
        lines = {line.target: line.drafts[0] for line in field.me.ls()}
        assert lines["a.txt"].draft.shown
        assert "damaged" in lines["docs/spec.md"].flags
        (field.base / "taken").rename(kept)
        desk.promote(ref)
        assert desk.line("docs/spec.md", everything=True).drafts[0].draft.shown
