"""C38: the executable bit comes from the draft as recorded, the rest of the mode from the target."""

import os
import stat
import subprocess
import sys

import pytest

from tests.support import draftfs, git


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture(params=[0o022, 0o002, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.parametrize(
    ("mode", "executable", "becomes"),
    [
        (0o755, True, 0o755),
        (0o755, False, 0o644),
        (0o640, False, 0o640),
        (0o640, True, 0o750),
        (0o664, False, 0o664),
        (0o664, True, 0o775),
        (0o444, False, 0o444),
        (0o444, True, 0o555),
        (0o600, True, 0o700),
        (0o711, True, 0o711),
        (0o711, False, 0o600),
    ],
)
def test_of_an_existing_target(desk, umask, mode, executable, becomes):
    (desk.root / "docs/spec.md").chmod(mode)
    ref = desk.draft("x", mode=0o755 if executable else 0o644)
    (desk.root / "docs/spec.md.draft-0001@ann").chmod(0o600)
    line = desk.line().drafts[0]
    assert ("mode" in line.flags) == (executable != bool(mode & 0o100))
    assert "tampered" not in line.flags
    assert desk.promote(ref, dry_run=True).promoted[0].changed
    assert mode_of(desk.root / "docs/spec.md") == mode
    desk.promote(ref)
    assert mode_of(desk.root / "docs/spec.md") == becomes
    changed = git("diff", "--summary", cwd=desk.root)
    assert ("mode change" in changed) == executable


@pytest.mark.parametrize(("executable", "full"), [(False, 0o666), (True, 0o777)])
def test_of_a_new_target(desk, umask, executable, full):
    ref = desk.draft("x", "new/n.sh", mode=0o700 if executable else 0o600)
    desk.promote(ref)
    assert mode_of(desk.root / "new/n.sh") == full & ~umask


def test_only_the_bit_differs(desk):
    ref = desk.draft("v0\n", mode=0o755)
    assert desk.line().drafts[0].flags == ("mode",)
    promoted = desk.promote(ref).promoted[0]
    assert promoted.changed
    assert mode_of(desk.root / "docs/spec.md") == 0o755
    assert desk.promote(ref).promoted[0].changed is False


def test_a_hard_link_is_broken_off_and_the_answer_says_so(desk):
    other = desk.root / "other-name"
    os.link(desk.root / "docs/spec.md", other)
    ref = desk.draft("x")
    assert desk.promote(ref).promoted[0].other_names == 1
    assert (other.read_bytes(), desk.read()) == (b"v0\n", b"x")
    assert os.stat(desk.root / "docs/spec.md").st_nlink == 1
    assert desk.promote(ref).promoted[0].other_names == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_owner_and_group_stay(desk):
    os.chown(desk.root / "docs/spec.md", 12345, 54321)
    desk.promote(desk.draft("x"))
    found = os.stat(desk.root / "docs/spec.md")
    assert (found.st_uid, found.st_gid) == (12345, 54321)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_a_new_target_in_a_setgid_folder_has_its_group(desk):
    os.chown(desk.root / "docs", -1, 54321)
    (desk.root / "docs").chmod(0o2775)
    desk.promote(desk.draft("x", "docs/new.md"), desk.draft("y", "docs/deep/new.md"))
    assert os.stat(desk.root / "docs/new.md").st_gid == 54321
    assert os.stat(desk.root / "docs/deep/new.md").st_gid == 54321


@pytest.mark.parametrize("value", ["022", "077"])
def test_by_the_command_line(field, desk, value):
    (desk.root / "docs/spec.md").chmod(0o664)
    desk.draft("x")
    desk.draft("y", "n.txt")
    script = f"umask {value}; exec {sys.executable} -m draftfs promote --yes docs/spec.md.draft-0001@ann n.txt.draft-0001@ann"
    assert draftfs("--version", cwd=field.root).status == 0
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=field.root,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert mode_of(desk.root / "docs/spec.md") == 0o664
    assert mode_of(desk.root / "n.txt") == 0o666 & ~int(value, 8)
