"""G6, G7: what an editor, or anybody, does to the target while it is being replaced is never lost and never followed.

Each interleaving is forced: the observer acts right before the named system call.
"""

import hashlib
import os
import threading

import pytest

from draftfs import DraftRef, EnvironmentFault, Refused
from draftfs.engine import fs
from tests.support import wait_for

HAND = "docs/spec.md.draft-0002@hand-edit"


def by_rename(target, data):
    temporary = target.with_name("spec.md.tmp")
    temporary.write_bytes(data)
    os.replace(temporary, target)


def in_place(target, data):
    with open(target, "r+b") as file:
        file.truncate()
        file.write(data)


def in_place_with_the_old_time(target, data):
    before = os.stat(target)
    in_place(target, data)
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))


def quietly(target, data):
    """By rename, and with times long ago: as `cp -p` and `rsync` do."""
    by_rename(target, data)
    os.utime(target, (1_000_000, 1_000_000))


def old(desk):
    """A target that nobody touched for long, so that its stamp is trusted."""
    target = desk.root / "docs/spec.md"
    os.utime(target, (1_500_000_000, 1_500_000_000))
    return target


SAVES = [by_rename, in_place, in_place_with_the_old_time, quietly]
BEFORE = [("create", "/staging/"), ("fdatasync", "/staging/"), ("open", "/lock")]
AFTER = [("append", "journal"), ("rename", "target.yaml"), ("exchange", "spec.md")]


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("moment", BEFORE, ids=lambda each: each[0])
def test_an_editor_saves_between_the_look_and_the_lock(desk, at, save, moment):
    """It is looked at once more under the lock: the same answer as if it had been saved long before."""
    target = old(desk)
    ref = desk.draft("drafted")
    left = at(moment[0], lambda _: save(target, b"by\n"), moment[1])
    with pytest.raises(Refused) as fault:
        desk.promote(ref)
    assert (left[0], fault.value.code, desk.read()) == (0, "target_moved", b"by\n")
    assert desk.litter() == []
    left = at(moment[0], lambda _: save(target, b"hi\n"), moment[1])
    promoted = desk.promote(ref, force=True).promoted[0]
    assert (left[0], desk.read(), desk.read(promoted.kept)) == (0, b"drafted", b"hi\n")


@pytest.fixture(params=["read again", "known by its stamp"])
def large(request, monkeypatch):
    """Whether the target counts as large, so that what came out of its place is not read where its stamp is the same."""
    if request.param != "read again":
        monkeypatch.setattr("draftfs.tree._LARGE", 0)
        monkeypatch.setattr("draftfs.tree._RECENT_NS", 0)
    return request.param != "read again"


@pytest.mark.parametrize("save", SAVES)
@pytest.mark.parametrize("moment", AFTER, ids=lambda each: each[0])
def test_an_editor_saves_between_the_lock_and_the_swap(desk, at, save, moment, large):
    target = old(desk)
    ref = desk.draft("drafted")
    # Of a large file, an edit that leaves size and time as they were is noticed up to a moment before the swap.
    data = b"by hand\n" if large and moment[0] == "exchange" else b"by\n"
    left = at(moment[0], lambda _: save(target, data), moment[1])
    promoted = desk.promote(ref).promoted[0]
    assert left[0] == 0
    assert desk.read() == b"drafted"
    assert (promoted.kept, desk.read(HAND)) == (HAND, data)
    (line,) = desk.line().drafts
    assert (line.draft.author, line.draft.number, line.draft.base_sha256) == (
        "hand-edit",
        2,
        hashlib.sha256(b"v0\n").hexdigest(),
    )
    assert [name for name in os.listdir(desk.root / "docs") if "draft" not in name] == ["spec.md"]


def test_the_stamp_of_a_file_that_changed_just_now_is_not_trusted(desk, at, monkeypatch):
    """An edit in the same tick would leave the same times."""
    monkeypatch.setattr("draftfs.tree._LARGE", 0)
    ref = desk.draft("drafted")
    (desk.root / "docs/spec.md").write_text("v0\n")
    at("exchange", lambda _: in_place_with_the_old_time(desk.root / "docs/spec.md", b"by\n"), "spec.md")
    desk.promote(ref)
    assert desk.read(HAND) == b"by\n"


@pytest.mark.parametrize("save", [by_rename, in_place])
def test_an_editor_saves_right_after_the_swap(desk, at, save):
    ref = desk.draft("drafted")
    at("fsync", lambda _: save(desk.root / "docs/spec.md", b"later"), "r/docs")
    desk.promote(ref)
    assert desk.read() == b"later"
    assert desk.line().stale


def test_an_editor_that_opened_the_file_before_and_writes_after_the_swap(desk, monkeypatch):
    """Saving in place is: open, cut, write, close. The swap falls in between; the bytes are found all the same."""
    target = old(desk)
    ref = desk.draft("drafted")
    inode, swapping = target.stat().st_ino, threading.Event()

    def editor():
        with open(target, "wb") as file:
            opened.set()
            swapping.wait(30)
            wait_for(lambda: target.stat().st_ino != inode)
            file.write(b"by hand")

    opened = threading.Event()
    saving = threading.Thread(target=editor)

    def start(call, path):
        if call == "append" and not opened.is_set():
            saving.start()
            opened.wait(30)
        if call == "exchange":
            swapping.set()

    monkeypatch.setattr(fs, "observer", start)
    promoted = desk.promote(ref).promoted[0]
    saving.join()
    assert desk.read() == b"drafted"
    assert desk.read(promoted.kept) == b"by hand"


@pytest.mark.parametrize("call", ["append", "exchange"])
def test_the_target_is_deleted_meanwhile(desk, at, call):
    ref = desk.draft("drafted")
    left = at(call, lambda _: (desk.root / "docs/spec.md").unlink())
    promoted = desk.promote(ref).promoted[0]
    assert left[0] == 0
    assert (desk.read(), promoted.kept) == (b"drafted", None)


def test_its_folder_is_deleted_meanwhile(desk, at):
    ref = desk.draft("drafted", "new/n.md")

    def remove(_):
        (desk.root / "new/n.md.draft-0001@ann").unlink()
        (desk.root / "new").rmdir()

    at("append", remove)
    desk.promote(ref)
    assert desk.read("new/n.md") == b"drafted"


@pytest.mark.parametrize("call", ["append", "link"])
def test_the_target_comes_up_meanwhile(desk, at, call):
    ref = desk.draft("drafted", "new.md")
    left = at(call, lambda _: (desk.root / "new.md").write_text("by hand"), "new.md" if call == "link" else "journal")
    promoted = desk.promote(ref).promoted[0]
    assert left[0] == 0
    assert (desk.read("new.md"), promoted.kept) == (b"drafted", "new.md.draft-0002@hand-edit")
    assert desk.read(promoted.kept) == b"by hand"


@pytest.mark.parametrize("save", SAVES)
def test_an_edit_of_what_is_being_deleted(desk, at, save):
    target = old(desk)
    ref = desk.draft(None, delete=True)
    left = at("rename", lambda _: save(target, b"by\n"), "/staging/")
    desk.promote(ref)
    assert left[0] == 0
    assert not target.exists()
    assert desk.read(HAND) == b"by\n"


class TestNoFile:
    """A symlink, folder or pipe put there at the last moment is never followed, replaced, removed or lost."""

    def swap(self, desk, kind):
        target = desk.root / "docs/spec.md"
        os.replace(target, desk.root / "moved-away")
        if kind == "link":
            (desk.root / "elsewhere").write_text("elsewhere")
            target.symlink_to("../elsewhere")
        elif kind == "dangling":
            target.symlink_to("nowhere")
        elif kind == "folder":
            target.mkdir()
            (target / "inside").write_text("inside")
        elif kind == "empty folder":
            target.mkdir()
        else:
            os.mkfifo(target)

    def require(self, desk, kind):
        target = desk.root / "docs/spec.md"
        assert (desk.root / "moved-away").read_text() == "v0\n"
        if kind == "link":
            assert os.readlink(target) == "../elsewhere"
            assert (desk.root / "elsewhere").read_text() == "elsewhere"
        elif kind == "dangling":
            assert os.readlink(target) == "nowhere"
            assert not (desk.root / "docs/nowhere").exists()
        elif kind == "folder":
            assert (target / "inside").read_text() == "inside"
        elif kind == "empty folder":
            assert target.is_dir()
        else:
            assert target.is_fifo()
        assert desk.litter() == []

    KINDS = pytest.mark.parametrize("kind", ["link", "dangling", "folder", "empty folder", "fifo"])

    @KINDS
    def test_before_the_look(self, desk, kind):
        ref = desk.draft("drafted")
        self.swap(desk, kind)
        for force in (False, True):
            with pytest.raises(Refused) as fault:
                desk.promote(ref, force=force)
            assert fault.value.code == "not_a_file"
        self.require(desk, kind)
        assert "outdated" in desk.line().drafts[0].flags

    @KINDS
    @pytest.mark.parametrize("call", ["append", "exchange"])
    def test_between_the_look_and_the_swap(self, desk, at, kind, call):
        ref = desk.draft("drafted")
        left = at(call, lambda _: self.swap(desk, kind))
        with pytest.raises(EnvironmentFault, match="the choice is recorded, but"):
            desk.promote(ref)
        assert left[0] == 0
        self.require(desk, kind)
        line = desk.line()
        assert (line.chosen, line.stale) == (1, True)

    @KINDS
    def test_where_it_is_to_be_deleted(self, desk, at, kind):
        ref = desk.draft(None, delete=True)
        left = at("rename", lambda _: self.swap(desk, kind), "staging/", nth=1)
        with pytest.raises(EnvironmentFault, match="the choice is recorded, but"):
            desk.promote(ref)
        assert left[0] == 0
        self.require(desk, kind)

    @KINDS
    def test_where_a_new_target_goes(self, desk, at, kind):
        ref = desk.draft("drafted", "docs/new.md")

        def swap(_):
            self.swap(desk, kind)
            os.rename(desk.root / "docs/spec.md", desk.root / "docs/new.md")

        at("link", swap, "docs/new.md")
        with pytest.raises(EnvironmentFault, match="the choice is recorded, but"):
            desk.promote(ref)
        os.rename(desk.root / "docs/new.md", desk.root / "docs/spec.md")
        self.require(desk, kind)

    @KINDS
    def test_killed_between_the_swap_and_putting_it_back(self, field, desk, kind):
        ref = desk.draft("drafted")
        exchanged = []

        def observe(call, path):
            if call == "exchange":
                exchanged.append(path)
                if len(exchanged) == 1:
                    self.swap(desk, kind)
                else:
                    os._exit(9)

        _in_a_child(field, ref, observe)
        assert desk.read() == b"drafted"
        field.me.ls()
        self.require(desk, kind)

    @KINDS
    def test_killed_then_something_new_is_in_its_place(self, field, desk, kind):
        ref = desk.draft("drafted")
        exchanged = []

        def observe(call, path):
            if call == "exchange":
                exchanged.append(path)
                if len(exchanged) == 1:
                    self.swap(desk, kind)
                else:
                    os._exit(9)

        _in_a_child(field, ref, observe)
        (desk.root / "docs/spec.md").write_text("by hand")
        field.me.ls()
        self.require(desk, kind)
        assert desk.read(HAND) == b"by hand"

    def test_killed_then_a_folder_is_in_its_place(self, field, desk):
        ref = desk.draft("drafted")
        exchanged = []

        def observe(call, path):
            if call == "exchange":
                exchanged.append(path)
                if len(exchanged) == 1:
                    self.swap(desk, "folder")
                else:
                    os._exit(9)

        _in_a_child(field, ref, observe)
        (desk.root / "docs/spec.md").unlink()
        (desk.root / "docs/spec.md").mkdir()
        field.me.ls()
        (aside,) = (desk.root / "docs").glob("spec.md.put-aside-*")
        assert (aside / "inside").read_text() == "inside"
        assert (desk.root / "docs/spec.md").is_dir()

    def test_an_editor_saves_while_it_is_put_back(self, desk, monkeypatch):
        ref = desk.draft("drafted")
        exchanged = []

        def observe(call, path):
            if call == "exchange":
                exchanged.append(path)
                if len(exchanged) == 1:
                    self.swap(desk, "folder")
                else:
                    by_rename(desk.root / "docs/spec.md", b"by hand")

        monkeypatch.setattr(fs, "observer", observe)
        with pytest.raises(EnvironmentFault):
            desk.promote(ref)
        monkeypatch.setattr(fs, "observer", None)
        self.require(desk, "folder")
        assert desk.read(HAND) == b"by hand"


class TestLinkedFolder:
    """A parent that became a symlink leads elsewhere, maybe out of the repository: nothing is written through it."""

    def swap(self, desk):
        outside = desk.field.base / "outside"
        outside.mkdir()
        (outside / "spec.md").write_text("v0\n")
        os.rename(desk.root / "docs", desk.root / "docs-moved")
        (desk.root / "docs").symlink_to(outside)
        return outside

    def test_before_the_look(self, desk):
        ref = desk.draft("drafted")
        outside = self.swap(desk)
        for force in (False, True):
            with pytest.raises(Refused) as fault:
                desk.promote(ref, force=force)
            assert fault.value.code == "not_a_file"
        assert os.listdir(outside) == ["spec.md"]
        assert (outside / "spec.md").read_text() == "v0\n"

    def test_after_the_look(self, desk, at):
        ref = desk.draft("drafted")
        at("append", lambda _: self.swap(desk))
        with pytest.raises(EnvironmentFault, match="docs is a symlink"):
            desk.promote(ref)
        assert (desk.field.base / "outside/spec.md").read_text() == "v0\n"
        assert desk.read("docs-moved/spec.md") == b"v0\n"

    def test_drafts_are_not_shown_through_it(self, field, desk):
        field.ann.claim(1, seen=1)
        outside = self.swap(desk)
        drafted = field.put("ann", "docs/spec.md", "x").drafts[0]
        assert not drafted.shown
        assert os.listdir(outside) == ["spec.md"]
        (desk.root / "docs").unlink()
        os.rename(desk.root / "docs-moved", desk.root / "docs")
        assert desk.line().drafts[0].draft.shown


def _in_a_child(field, ref, observe):
    """Promote in a child process that is killed by `observe`."""
    child = os.fork()
    if child == 0:
        try:
            fs.observer = observe
            field.me.promote([ref])
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("call", ["exchange", "fsync", "unlink"])
def test_killed_around_the_swap_with_a_hand_edit(field, desk, call):
    """Whatever was displaced when the process died is kept by the next command."""
    ref = desk.draft("drafted")
    state = []

    def observe(name, path):
        if name == "exchange":
            by_rename(desk.root / "docs/spec.md", b"by hand")
            state.append(name)
        if state and name == call and (name != "fsync" or path.endswith("/docs")):
            os._exit(9)

    _in_a_child(field, ref, observe)
    field.me.ls()
    if call == "exchange":  # nothing was swapped: the hand's bytes stay where they are
        assert desk.read() == b"by hand"
        assert desk.line().stale
    else:
        assert (desk.read(), desk.read(HAND)) == (b"drafted", b"by hand")
    assert desk.litter() == []


def test_killed_before_the_swap_is_made_good(field, desk):
    ref = desk.draft("drafted")

    def observe(name, path):
        if name == "exchange":
            os._exit(9)

    _in_a_child(field, ref, observe)
    assert desk.read() == b"v0\n"
    field.me.ls()
    assert desk.read() == b"drafted"
    assert (desk.line().chosen, desk.line().stale) == (1, False)
    assert desk.litter() == []


def test_killed_on_one_branch_then_another_is_checked_out(field, desk):
    from tests.support import git

    ref = desk.draft("drafted")

    def observe(name, path):
        if name == "exchange":
            os._exit(9)

    _in_a_child(field, ref, observe)
    git("checkout", "-q", "-b", "other", cwd=field.root)
    field.write("me", "docs/spec.md", "other's")
    git("commit", "-qam", "other", cwd=field.root)
    field.me.ls()
    assert desk.read() == b"other's"
    git("checkout", "-q", "main", cwd=field.root)
    field.me.ls()
    assert desk.read() == b"drafted"


def test_a_disk_too_full_to_keep_what_was_displaced(desk, monkeypatch):
    """Then the editor's bytes get their place again: the choice stands, the target is stale."""
    import errno

    ref = desk.draft("drafted")
    swapped = []

    def observe(call, path):
        if call == "exchange" and not swapped:
            by_rename(desk.root / "docs/spec.md", b"by hand")
            swapped.append(path)
        elif call == "write" and swapped:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    monkeypatch.setattr(fs, "observer", observe)
    with pytest.raises(EnvironmentFault) as fault:
        desk.promote(ref)
    monkeypatch.setattr(fs, "observer", None)
    assert fault.value.code == "disk_full"
    assert desk.read() == b"by hand"
    assert desk.line().stale
    assert desk.litter() == []


def test_an_editor_saves_a_hundred_times(desk):
    """No forcing here: an editor saves as fast as it can while drafts of one claim are promoted in turn. Every save is
    found whole in the target or in a draft, or was saved over by the editor itself."""
    field = desk.field
    field.ann.claim(1, seen=1)
    for text in ("one", "two"):
        field.put("ann", "docs/spec.md", text * 1000)
    field.ann.submit()
    target, stop, saved = desk.root / "docs/spec.md", threading.Event(), []

    def editor():
        while not stop.is_set():
            data = b"save %06d" % len(saved) * 1000
            (by_rename if len(saved) % 2 else in_place)(target, data)
            saved.append(data)
            stop.wait(0.02)

    saving = threading.Thread(target=editor)
    saving.start()
    for turn in range(12):
        desk.promote(DraftRef("docs/spec.md", 1 + turn % 2), force=True)
    stop.set()
    saving.join()
    known = {b"one" * 1000, b"two" * 1000, *saved}
    assert desk.read() in known
    hands = [path.read_bytes() for path in (desk.root / "docs").glob("*@hand-edit")]
    assert hands
    assert set(hands) <= {*known, b"", b"v0\n"}
    assert desk.read() in {b"one" * 1000, b"two" * 1000} or desk.read() == saved[-1]
    if desk.read() != saved[-1]:
        assert saved[-1] in hands


def test_two_people_promote_at_once(field, desk, at):
    """One prepares, the other promotes; the first must look again, and sees that the target has moved."""
    first, second = desk.draft("first"), desk.draft("second", by="bob")
    at("create", lambda _: field.me.promote([second]), "/staging/")
    with pytest.raises(Refused) as fault:
        desk.promote(first)
    assert fault.value.code == "target_moved"
    assert desk.read() == b"second"


@pytest.fixture
def overtaken(field, monkeypatch):
    """`overtaken(store, ref)`: right after that store's first look at a target, somebody else promotes `ref`."""

    def arm(store, ref):
        look, looked = type(store.tree).observe, []

        def observe(tree, target):
            seen = look(tree, target)
            if tree is store.tree and not looked:
                looked.append(target)
                field.me.promote([ref])
            return seen

        monkeypatch.setattr(type(store.tree), "observe", observe)

    return arm


def test_another_promotion_right_after_the_look(field, desk, overtaken):
    """Without another look under the lock, this one would quietly undo the other's accepted work."""
    first, second, store = desk.draft("first"), desk.draft("second", by="bob"), field.me
    overtaken(store, first)
    with pytest.raises(Refused) as fault:
        store.promote([second])
    assert (fault.value.code, desk.read()) == ("target_moved", b"first")


def test_a_dry_run_looks_again_too(field, desk, overtaken):
    first, second, store = desk.draft("first"), desk.draft("second", by="bob"), field.me
    overtaken(store, first)
    said = store.promote([second], force=True, dry_run=True).promoted[0]
    assert (said.replaced, said.previous_sha256) == (1, hashlib.sha256(b"first").hexdigest())
