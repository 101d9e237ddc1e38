"""What rings, and what is watched: every folder in which a draft can lie, and nothing of git's."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from draftfs import hints
from draftfs.hints import CannotWatch
from draftfs.hints.inotify import Folders
from draftfs.hints.whole import Whole
from tests.support import git, wait_for


@pytest.fixture
def root(tmp_path):
    git("init", "-q", str(tmp_path / "r"), cwd=tmp_path)
    return tmp_path / "r"


@pytest.fixture
def made(root):
    """Hints on the folder, and whether they rang since somebody asked."""
    bell = threading.Event()
    folders = Folders(str(root), bell.set)
    folders.bell = bell
    yield folders
    folders.close()


def rang(made) -> bool:
    heard = made.bell.wait(0.5)
    wait_for(lambda: not made.bell.wait(0.05) or made.bell.clear())
    return heard


def watched(made) -> set[int]:
    """The inodes that the kernel watches for us."""
    facts = Path(f"/proc/self/fdinfo/{made._reader._inotify_fd}").read_text()
    return {int(each, 16) for each in re.findall(r"^inotify wd:\S+ ino:(\S+)", facts, re.MULTILINE)}


def inodes(*folders: Path) -> set[int]:
    return {folder.stat().st_ino for folder in folders}


def test_all_folders_are_watched_but_git_s_and_nested_checkouts(root, made):
    for each in ("docs/a/b", "nested/inner", "elsewhere"):
        (root / each).mkdir(parents=True)
    git("init", "-q", str(root / "nested"), cwd=root)
    (root / "link").symlink_to(root.parent)
    (root / "round").symlink_to(root)
    made.refresh(everything=True)
    known = (root, root / "docs", root / "docs/a", root / "docs/a/b", root / "nested", root / "elsewhere")
    assert watched(made) == inodes(*known)


def test_two_paths_to_one_folder(root):
    """A bind mount, say. In a process of its own: for the rest of the machine nothing is mounted."""
    for name in ("real", "again", "closed", "too"):
        (root / name).mkdir()
    code = (
        "import sys, time, threading; from draftfs.hints.inotify import Folders; bell = threading.Event()\n"
        "made = Folders(sys.argv[1], bell.set); made.refresh(everything=True); made.refresh(everything=True)\n"
        "bell.clear(); open(sys.argv[1] + '/again/file', 'w').close(); assert bell.wait(5); made.close()"
    )
    script = (
        'mount --bind "$1/real" "$1/again" || exit 77; chmod 0 "$1/closed" "$1/too"; exec "$2" -W error -c "$3" "$1"'
    )
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script, "sh", str(root), sys.executable, code],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip(f"cannot mount: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_that_came_or_went_is_noticed_at_any_depth(root, made):
    (root / "n/a/b/c").mkdir(parents=True)
    assert rang(made)
    made.refresh(everything=False)
    (root / "n/a/b/c/file").write_text("x")
    assert rang(made)
    (root / "n/a").rename(root.parent / "outside")
    assert rang(made)
    made.refresh(everything=False)
    assert watched(made) == inodes(root, root / "n")
    rang(made)
    (root.parent / "outside/b/c/file").write_text("y")
    assert not rang(made)
    (root.parent / "outside").rename(root / "back")
    assert rang(made)
    made.refresh(everything=False)
    (root / "back/b/c/file").write_text("z")
    assert rang(made)


def test_a_folder_made_again_under_its_name_is_watched(root, made):
    (root / "docs").mkdir()
    rang(made)
    made.refresh(everything=False)
    (root / "docs").rmdir()
    (root / "docs").mkdir()
    rang(made)
    made.refresh(everything=False)
    (root / "docs/file").write_text("x")
    assert rang(made)


def _overwrite(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.write(b"t")


def test_every_way_to_change_a_file_rings(root, made):
    file, other = root / "file", root.parent / "other"
    for each in (file, other):
        each.write_text("one")
    rang(made)
    for change in (
        lambda: _overwrite(file),
        lambda: os.truncate(file, 1),
        lambda: other.replace(file),
        lambda: file.chmod(0o755),
        lambda: file.rename(other),
        lambda: os.link(other, file),
        file.unlink,
    ):
        change()
        assert rang(made), change


def test_looking_and_temporaries_do_not_ring(root, made):
    (root / "file").write_text("one")
    rang(made)
    (root / "file").read_text()
    os.listdir(root)
    for name in (".draftfs-7f", "file~", ".file.swp", "4913"):
        (root / name).write_text("x")
        (root / name).unlink()
    (root / ".git/config").write_text("")
    assert not rang(made)


def test_watches_that_run_out_in_the_middle_are_said_and_none_is_kept(root, monkeypatch):
    (root / "a/b/c").mkdir(parents=True)
    readers = []

    def add_callback(self, path, *rest):
        readers.append(self)
        if path.endswith(b"/b"):
            raise OSError(errno.ENOSPC, "inotify watch limit reached")
        return add(self, path, *rest)

    add = hints.inotify._Reader.add_callback
    monkeypatch.setattr(hints.inotify._Reader, "add_callback", add_callback)
    with pytest.raises(CannotWatch, match="max_user_watches"):
        hints.watch(str(root), lambda: None)
    assert not readers[0].is_alive()
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(readers[0]._inotify_fd)


def test_a_network_file_system_is_not_watched(root, monkeypatch):
    monkeypatch.setattr(hints, "file_system", lambda _: "fuse.sshfs")
    with pytest.raises(CannotWatch, match=r"fuse\.sshfs"):
        hints.watch(str(root), lambda: None)


@pytest.mark.filterwarnings("ignore:Callback with id")  # watchdog's own, of folders made one in the other
def test_elsewhere_the_root_is_watched_as_a_whole(root):
    bell = threading.Event()
    whole = Whole(str(root), bell.set)
    whole.bell = bell
    try:
        (root / "n/a").mkdir(parents=True)
        assert rang(whole)
        (root / "n/a/file").write_text("x")
        assert rang(whole)
        (root / ".git/config").write_text("")
        (root / "n/a/.file.swp").write_text("x")
        (root / "n/a/.file.swp").unlink()
        (root / "n/a/file").read_text()
        assert not rang(whole)
        assert whole.alive()
    finally:
        whole.close()
    assert not whole.alive()
