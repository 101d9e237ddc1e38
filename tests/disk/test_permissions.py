"""What cannot be written: reading works all the same, writing says so at once and changes nothing (C36, C37)."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from draftfs import EnvironmentFault
from draftfs.layout import LOCK
from draftfs.records import DraftRef
from tests.crash.operations import SPEC
from tests.disks import as_user, give, mount, mounted, needs_root
from tests.faults import litter, records, shown
from tests.support import GIT_ENVIRONMENT, Field, ManualClock, git, make_field

ANN, BEN, TEAM = 61001, 61002, 61100


@pytest.fixture
def base(monkeypatch):
    """A folder where users other than root can get at things, and git minds nobody's ownership."""
    needs_root()
    made = Path(tempfile.mkdtemp(prefix="draftfs-test-"))
    made.chmod(0o755)
    config = made / "gitconfig"
    config.write_text("[safe]\n\tdirectory = *\n")
    config.chmod(0o644)
    monkeypatch.setitem(GIT_ENVIRONMENT, "GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("HOME", str(made))
    (made / "field").mkdir()
    yield made / "field"
    shutil.rmtree(made)


@pytest.fixture
def open_field(base):
    """A store that belongs to ANN of TEAM, all of it."""
    field = make_field(base)
    field.ann.claim(1, seen=1, ttl=60)
    field.put("ann", SPEC, "v1\n")
    give(base, ANN, TEAM)
    return field


def timed(operation) -> EnvironmentFault:
    started = time.monotonic()
    with pytest.raises(EnvironmentFault) as fault:
        operation()
    assert fault.value.code == "permission"
    assert fault.value.details["path"]
    assert time.monotonic() - started < 8  # the lock's wait is 10
    return fault.value


def test_a_read_only_disk(tmp_path):
    field = make_field(tmp_path)
    field.ann.claim(1, seen=1, ttl=60)
    field.put("ann", SPEC, "v1\n")
    field.clock.advance(61)
    before, seen = records(field.me), shown(field.root)
    with mounted(tmp_path / "r", "--bind", str(tmp_path / "r")):
        mount("-o", "remount,bind,ro", str(field.root))
        me = field.me
        assert me.jobs()[0].expires_in == 0
        assert me.ls()[0].drafts[0].draft.number == 1
        assert me.log()[-1].kind == "draft.added"
        assert me.doctor().findings == ()
        timed(lambda: me.add_job("x", ["x"]))
        timed(lambda: field.ann.draft([str(field.worktree("ann") / SPEC)]))
        timed(lambda: me.claim(2, seen=1))
        timed(lambda: me.promote([DraftRef(SPEC, 1)]))
    assert records(field.me) == before
    assert shown(field.root) == seen
    assert field.me.jobs()[0].job.state == "open"


def test_a_read_only_disk_without_a_lock_file(tmp_path):
    """As after a restore from a backup, or a crash: nobody can write the mark, and reading goes on without it."""
    field = make_field(tmp_path)
    before = records(field.me)
    (field.store / LOCK).unlink()
    with mounted(tmp_path / "r", "--bind", str(tmp_path / "r")):
        mount("-o", "remount,bind,ro", str(field.root))
        started = time.monotonic()
        assert len(field.me.jobs()) == 2
        assert time.monotonic() - started < 8  # the lock's wait is 10
        assert not (field.store / LOCK).exists()
    assert records(field.me) == before


def test_a_sandboxed_agent(tmp_path):
    """The root is read-only, the store is not: the draft is recorded, and appears with the next look of who can show it."""
    field = make_field(tmp_path)
    ann = field.worktree("ann")
    with mounted(tmp_path / "r", "--bind", str(tmp_path / "r")):
        with mounted(field.root / ".git", "--bind", str(field.root / ".git")):
            mount("-o", "remount,bind,ro", str(field.root))
            field.ann.claim(1, seen=1)
            draft = field.put("ann", SPEC, "v1\n").drafts[0]
            assert (draft.number, draft.shown) == (1, False)
            second = field.put("ann", SPEC, "v2\n").drafts[0]
            assert (second.number, second.shown) == (2, False)
            field.ann.submit()
            assert len(field.me.engine.pending_effects()) == 2
            assert [line.draft.shown for line in field.me.ls()[0].drafts] == [False]
            assert (ann / SPEC).read_text() == "v2\n"
        assert not (field.root / draft.file).exists()
    assert [line.draft.shown for line in field.me.ls()[0].drafts] == [True]
    assert (field.root / second.file).read_text() == "v2\n"
    assert field.me.engine.pending_effects() == []
    assert litter(field.store) == []
    assert field.me.doctor().findings == ()


def test_a_store_that_is_somebody_elses(open_field):
    """Another user reads it, makes nothing, and is told at once that they cannot write it."""
    field = open_field
    before = Path(field.store / LOCK).read_bytes()

    def work() -> tuple:
        me = field.me
        return len(me.jobs()), me.ls()[0].drafts[0].draft.number, timed(lambda: me.add_job("x", ["x"])).details["path"]

    jobs, number, path = as_user(BEN, BEN, work)
    assert (jobs, number, path) == (2, 1, str(field.store / LOCK))
    assert Path(field.store / LOCK).read_bytes() == before
    (field.store / LOCK).unlink()
    assert as_user(BEN, BEN, lambda: len(field.me.jobs())) == 2
    assert not (field.store / LOCK).exists()


def test_promoting_where_the_folder_or_the_target_is_protected(open_field):
    field, docs, target = open_field, open_field.root / "docs", open_field.root / SPEC
    as_user(ANN, TEAM, lambda: field.ann.submit() and None)
    docs.chmod(0o555)
    before = records(field.me), shown(field.root)
    refused = as_user(ANN, TEAM, lambda: timed(lambda: field.me.promote([DraftRef(SPEC, 1)])))
    assert refused.details["path"] == str(docs)
    assert (records(field.me), shown(field.root)) == before
    docs.chmod(0o755)
    target.chmod(0o444)
    promoted = as_user(ANN, TEAM, lambda: field.me.promote([DraftRef(SPEC, 1)]))
    assert promoted.promoted[0].changed
    assert (stat.S_IMODE(target.stat().st_mode), target.read_text()) == (0o444, "v1\n")


def test_drafting_beside_a_protected_folder(open_field):
    field = open_field
    (field.root / "docs").chmod(0o555)
    field.write("ann", SPEC, "v2\n")
    give(field.worktree("ann"), ANN, TEAM)
    path = str(field.worktree("ann") / SPEC)
    drafted = as_user(ANN, TEAM, lambda: field.ann.draft([path]))
    assert (drafted.drafts[0].number, drafted.drafts[0].shown) == (2, False)
    (field.root / "docs").chmod(0o755)
    as_user(ANN, TEAM, lambda: field.me.ls() and None)
    assert (field.root / drafted.drafts[0].file).read_text() == "v2\n"


def test_an_immutable_target(field):
    """Only the install fails, after the commit: the choice stands, and the answer says so."""
    field.ann.claim(1, seen=1)
    field.put("ann", SPEC, "v1\n")
    field.ann.submit()
    target = field.root / SPEC
    if (
        not shutil.which("chattr")
        or subprocess.run(["chattr", "+i", str(target)], check=False, capture_output=True).returncode
    ):
        pytest.skip("this file system has no immutable files, or not for us")
    try:
        before = target.read_text()
        with pytest.raises(EnvironmentFault) as fault:
            field.me.promote([DraftRef(SPEC, 1)])
        assert fault.value.code == "permission"
        assert fault.value.details["promoted"]["promoted"][0]["number"] == 1
        assert target.read_text() == before
        line = field.me.ls()[0]
        assert (line.chosen, line.stale) == (1, True)
    finally:
        subprocess.run(["chattr", "-i", str(target)], check=True)
    assert litter(field.store) == []
    field.me.promote([DraftRef(SPEC, 1)])
    assert target.read_text() == "v1\n"


# ── more than one user (C37) ──


def test_a_repository_shared_by_a_group(base):
    """core.sharedRepository=group, and an umask that lets nobody else in: the store follows git, tokens stay secret."""
    base.chmod(0o2775)
    os.chown(base, ANN, TEAM)
    as_user(ANN, TEAM, lambda: _shared_field(base), umask=0o077)
    _check_shared(base)


def _shared_field(base: Path) -> None:
    """ANN's part, with her umask; what people check out she opens to the group herself, as git leaves that to her."""
    root = base / "r"
    git("init", "-q", "-b", "main", "--shared=group", str(root), cwd=base)
    field = make_field(base)
    field.ann.claim(1, seen=1, ttl=3600)
    field.put("ann", SPEC, "v1\n")
    for path in (root, root / "docs", root / SPEC, root / "a.txt"):
        path.chmod(stat.S_IMODE(path.stat().st_mode) | (0o070 if path.is_dir() else 0o060))


def _check_shared(base: Path) -> None:
    field = Field(base, ManualClock())
    store = field.store
    for path in [store, *store.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert path.stat().st_gid == TEAM
        assert not mode & 0o002, path
        if path.is_dir():
            assert mode & 0o2070 == 0o2070, path
        elif "objects" in path.parts[len(store.parts) :]:
            assert mode & 0o040, path
        else:
            assert mode & 0o060 == 0o060, path
    tokens = list((field.root / ".git" / "worktrees").rglob("draftfs-worktree/claim-*"))
    assert tokens
    assert {stat.S_IMODE(path.stat().st_mode) for path in tokens} == {0o600}
    assert (field.root / f"{SPEC}.draft-0001@ann").stat().st_mode & 0o040

    def ben() -> tuple:
        me = field.me
        me.add_job("from ben", ["x"])
        worktree = field.worktree("ben")
        (worktree / "a.txt").write_text("ben\n")
        store = field.open(worktree, agent="ben")
        store.claim(2, seen=1, adopt=True)
        drafted = store.draft([str(worktree / "a.txt")])
        store.submit()
        me.engine.checkpoint()
        me.promote([DraftRef("a.txt", 1)])
        return drafted.drafts[0].number, len(me.jobs()), me.doctor().findings

    assert as_user(BEN, BEN, ben, umask=0o077, groups=(TEAM,)) == (1, 2, ())
    ann = as_user(
        ANN, TEAM, lambda: (field.put("ann", SPEC, "v2\n").drafts[0].number, field.me.doctor().findings), 0o077
    )
    assert ann == (2, ())


def test_once_run_as_root(open_field):
    """What root makes in somebody's store belongs to them: their next command works."""
    field = open_field
    field.me.add_job("from root", ["x"])
    field.me.engine.checkpoint()
    field.me.promote([DraftRef(SPEC, 1)], force=True)
    strangers = [str(path) for path in [field.store, *field.store.rglob("*")] if path.lstat().st_uid != ANN]
    assert strangers == []

    def work() -> tuple:
        me = field.me
        me.add_job("from ann", ["y"])
        me.engine.checkpoint()
        return len(me.jobs()), me.doctor().findings

    assert as_user(ANN, TEAM, work) == (4, ())
