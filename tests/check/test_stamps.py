"""The stamp cache saves reading and nothing else: no edit gets past it, and it may be damaged, copied or gone."""

from __future__ import annotations

import hashlib
import os
import shutil
import time

import pytest

from draftfs import stamps
from draftfs.engine.objects import Objects
from draftfs.records import DraftRef, TreeEntry
from draftfs.sighting import Stamp
from draftfs.stamps import RACY_NS, Stamps
from tests.support import git

SPEC = "docs/spec.md"
LATER = 10 * RACY_NS


@pytest.fixture
def reads(monkeypatch):
    """Which files were read to learn their digest."""
    read = []
    look = stamps.look

    def told(path):
        read.append(os.path.basename(path))
        return look(path)

    monkeypatch.setattr(stamps, "look", told)
    return read


@pytest.fixture
def old(monkeypatch):
    """Every file was changed a while ago."""
    monkeypatch.setattr(time, "time_ns", lambda real=time.time_ns: real() + LATER)
    monkeypatch.setattr(Stamps.__init__, "__defaults__", (time.time_ns,))


@pytest.fixture
def chosen(field):
    field.ann.claim(1, seen=1)
    field.put("ann", SPEC, "chosen\n")
    field.ann.submit()
    field.me.promote([DraftRef(SPEC, 1)])
    return field


def stale(field):
    return [each.path for each in field.me.check(kinds=["stale"]).findings]


def edit(field, text, how):
    """In place, or by another file of the same size, with the modification time put back."""
    path = field.root / SPEC
    before = path.stat()
    if how == "in place":
        with open(path, "r+b") as file:
            file.write(text.encode())
    else:
        other = path.with_name("other")
        other.write_text(text)
        os.replace(other, path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_size == before.st_size


def test_a_file_is_read_once(chosen, reads, old):
    assert stale(chosen) == []
    assert "spec.md" in reads
    reads.clear()
    assert stale(chosen) == []
    assert chosen.me.ls()[0].stale is False
    assert reads == []


@pytest.mark.parametrize("how", ["in place", "another file"])
def test_a_kept_time_does_not_hide_an_edit(chosen, reads, old, how):
    assert stale(chosen) == []
    edit(chosen, "chosem\n", how)
    assert stale(chosen) == [SPEC]
    assert chosen.me.ls()[0].stale is True
    edit(chosen, "chosen\n", how)
    assert stale(chosen) == []


def test_what_changed_a_moment_ago_is_not_remembered(chosen, reads):
    """In the same tick of the clock an edit leaves the same times."""
    assert stale(chosen) == []
    reads.clear()
    assert stale(chosen) == []
    assert "spec.md" in reads


def fooled(field):
    """How often, of 200 edits right behind a look that is remembered, the next look does not see the edit."""
    path, objects, missed = field.root / SPEC, Objects(str(field.store)), 0
    for turn in range(200):
        path.write_bytes(b"%07d" % (2 * turn))
        before = Stamps(objects, str(field.root))
        before.look(SPEC)
        before.save(everything=True)
        with open(path, "r+b") as file:
            file.write(b"%07d" % (2 * turn + 1))
        after = Stamps(objects, str(field.root)).look(SPEC).content
        missed += after.sha256 != hashlib.sha256(path.read_bytes()).hexdigest()
    return missed


def test_two_hundred_edits_in_one_tick(field, monkeypatch):
    """By a clock like that of older kernels and other file systems; this one's may be finer."""
    tick, fine = 50_000_000, Stamp.of

    def coarse(facts):
        exact = fine(facts)
        return Stamp(exact.inode, exact.size, exact.modified // tick * tick, exact.changed // tick * tick)

    monkeypatch.setattr(Stamp, "of", coarse)
    assert fooled(field) == 0
    monkeypatch.setattr(stamps, "RACY_NS", -LATER)
    assert fooled(field) > 0, "else this test could not have failed"


@pytest.mark.parametrize("when", [-3600 * 24 * 365, 2_147_483_648, 1_900_000_000 + 365 * 86400])
def test_odd_times_are_times_like_others(chosen, old, when):
    os.utime(chosen.root / SPEC, (when, when))
    assert stale(chosen) == []
    (chosen.root / SPEC).write_text("chosem\n")
    os.utime(chosen.root / SPEC, (when, when))
    assert stale(chosen) == [SPEC]


def test_an_attribute_or_a_setting_that_changes_is_seen_though_no_file_was(chosen, old):
    (chosen.root / SPEC).write_bytes(b"chosen\r\n")
    assert stale(chosen) == [SPEC]
    (chosen.root / ".gitattributes").write_text("*.md text\n")
    assert stale(chosen) == []
    (chosen.root / ".gitattributes").unlink()
    assert stale(chosen) == [SPEC]
    git("config", "core.autocrlf", "true", cwd=chosen.root)
    assert stale(chosen) == []
    git("config", "core.autocrlf", "false", cwd=chosen.root)
    (chosen.root / ".git/info/attributes").write_text("*.md filter=gone\n")
    git("config", "filter.gone.clean", "tr -d '\\r'", cwd=chosen.root)
    assert stale(chosen) == []
    git("config", "filter.gone.clean", "tr -d x", cwd=chosen.root)
    assert stale(chosen) == [SPEC]


@pytest.mark.parametrize(
    "damage", ["gone", "empty", "cut", "flipped", "folder", "link", "pipe", "no list", "file for folder"]
)
def test_a_damaged_cache_is_no_error_and_no_lie(chosen, old, damage):
    assert stale(chosen) == []
    folder, cache = chosen.store / "cache", chosen.store / "cache/stamps"
    data = cache.read_bytes()
    assert SPEC.encode() in data
    shutil.rmtree(folder)
    if damage == "file for folder":
        folder.write_text("")
    elif damage != "gone":
        folder.mkdir()
    if damage in ("empty", "cut", "flipped", "no list"):
        flipped = data.replace(b'"docs/spec.md":[', b'"docs/spec.md":[1')
        cache.write_bytes({"empty": b"", "cut": data[:-9], "flipped": flipped, "no list": b"[]"}[damage])
    elif damage == "folder":
        cache.mkdir()
    elif damage == "link":
        os.symlink("/dev/zero", cache)
    elif damage == "pipe":
        os.mkfifo(cache)
    assert stale(chosen) == []
    edit(chosen, "chosem\n", "in place")
    assert stale(chosen) == [SPEC]
    if damage in ("gone", "empty", "cut", "flipped", "link", "pipe", "no list"):
        assert SPEC.encode() in cache.read_bytes(), "it is made anew"


def test_a_copy_of_the_repository_is_read_anew(chosen, reads, old, tmp_path):
    assert stale(chosen) == []
    shutil.copytree(chosen.root, tmp_path / "copy", symlinks=True)
    reads.clear()
    assert chosen.open(tmp_path / "copy").check(kinds=["stale"]).findings == ()
    assert "spec.md" in reads


def test_what_cannot_be_kept_is_read_each_time(chosen, reads, old, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stamps.fs, "write", full)
    for _ in range(2):
        reads.clear()
        assert stale(chosen) == []
        assert "spec.md" in reads
    assert os.listdir(chosen.store / "staging") == []


def test_many_at_once(chosen, old, tmp_path):
    """Whoever writes last wins; each finds all or nothing, and none the other's half."""
    for name in range(300):
        (chosen.root / f"f{name}").write_text(str(name))
    objects = Objects(str(chosen.store))
    several = [Stamps(objects, str(chosen.root)) for _ in range(4)]
    for at, each in enumerate(several):
        for name in range(at * 50, at * 50 + 100):
            each.look(f"f{name}")
    for each in several:
        each.save(everything=False)
        kept = stamps._read(f"{chosen.store}/cache/stamps")
        assert len(kept) >= 100
        assert all(len(entry) == 5 for name, entry in kept.items() if name)


def test_what_is_no_longer_looked_at_is_forgotten_by_a_full_check(chosen, old):
    (chosen.root / "x").write_text("x")
    seen = Stamps(Objects(str(chosen.store)), str(chosen.root))
    seen.look("x")
    seen.save(everything=False)
    assert "x" in stamps._read(f"{chosen.store}/cache/stamps")
    chosen.me.check(["docs"])
    assert "x" in stamps._read(f"{chosen.store}/cache/stamps"), "of part of the tree nothing is known about the rest"
    chosen.me.check()
    assert set(stamps._read(f"{chosen.store}/cache/stamps")) == {SPEC, stamps._COMMIT}


def test_what_a_commit_holds_is_asked_once_and_of_each_commit(chosen):
    asked = []

    def ask(targets):
        asked.append(targets)
        return {SPEC: TreeEntry("100644", "1" * 40)}

    for expected in ([[SPEC, "new"]], []):
        asked.clear()
        seen = Stamps(chosen.me.objects, str(chosen.root))
        assert set(seen.committed("c" * 40, [SPEC, "new"], ask)) == {SPEC}
        seen.save(everything=True)
        assert asked == expected
    assert set(Stamps(chosen.me.objects, str(chosen.root)).committed("d" * 40, [SPEC], ask)) == {SPEC}
    assert asked == [[SPEC]]
