"""C43, and G6: bytes are bytes, of any size; a draft's file is a copy of them, never the object itself."""

import errno
import hashlib
import os
import random
import stat
import subprocess
import sys
import textwrap

import pytest

from draftfs import Damaged, DraftRef, EnvironmentFault, Refused, Store
from draftfs.engine import fs
from tests.support import git

RANDOM = random.Random(43)
CONTENTS = {
    "empty": b"",
    "one NUL": b"\0",
    "all values": bytes(range(256)),
    "FF FE": b"\xff\xfe",
    "10 MB": RANDOM.randbytes(10_000_000),
    "no final newline": b"a\nb",
    "lone CR": b"\r",
    "CRLF": b"a\r\nb\r\n",
    "one long line": b"x" * (1 << 20),
    "cut character": ("漢" * 334).encode()[:1001],
    "zeros over a chunk": b"\0" * ((1 << 20) + 5),
    "a hole at the end": b"x" + b"\0" * (3 << 20),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_every_way_in_and_out(field, name):
    data, digest = CONTENTS[name], hashlib.sha256(CONTENTS[name]).hexdigest()
    field.ann.claim_paths(["b.bin"])
    field.write("ann", "b.bin", data)
    field.write("ann", "other", data)
    first = field.ann.draft(["b.bin"]).drafts[0]
    second = field.ann.draft(["b.bin"], source="other").drafts[0]
    with open(field.worktree("ann") / "other", "rb") as stream:
        third = field.ann.draft(["b.bin"], source=stream.fileno()).drafts[0]
    for each in (first, second, third):
        assert (each.sha256, each.size, each.delete) == (digest, len(data), False)
        assert (field.root / each.file).read_bytes() == data
    field.ann.submit()
    line = field.me.ls()[0].drafts[0]
    assert ("binary" in line.flags) == (b"\0" in data[:8000])
    field.me.promote(field.me.job_drafts(3))
    assert (field.root / "b.bin").read_bytes() == data


def test_a_large_file_in_constant_memory_and_nobody_waits(field):
    """The child drafts, lists and promotes half a GB of hole, more than twice what it may hold in memory; at its first write to the copy, others answer at once."""
    field.worktree("ann")
    script = field.base / "big.py"
    script.write_text(
        textwrap.dedent("""
        import os, resource, subprocess, sys
        root, worktree = sys.argv[1:]
        from draftfs import Store
        from draftfs.engine import fs
        ann, me = Store.open(worktree, agent="ann"), Store.open(root)
        ann.claim_paths(["big.bin"])
        with open(f"{worktree}/big.bin", "wb") as file:
            file.write(b"start"); file.truncate(1 << 29); file.seek(0, 2); file.write(b"end")
        asked = []
        def ask(call, path):
            if call in ("write", "truncate") and "/staging/" in path and "record-" not in path and len(asked) < 3:
                asked.append(call)
                fs.observer = None
                other = Store.open(root, lock_wait=1.0)
                other.jobs()
                other.add_job("meanwhile", ["m.txt"])
                fs.observer = ask
        fs.observer = ask
        drafted = ann.draft(["big.bin"]).drafts[0]
        drafting = len(asked)
        ann.submit()
        del asked[:]
        me.promote(me.job_drafts(1))
        promoting = len(asked)
        fs.observer = None
        with open("/proc/self/status") as status:  # ru_maxrss would be that of the process before exec, if larger
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        print(drafted.size, drafting, promoting, peak)
        """)
    )
    big = field.base / "big"
    git("clone", "-q", str(field.root), str(big), cwd=field.base)
    Store.init(str(big))
    git("worktree", "add", "-q", str(field.base / "bigw"), cwd=big)
    done = subprocess.run(
        [sys.executable, str(script), str(big), str(field.base / "bigw")],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
        cwd=os.getcwd(),
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    assert done.returncode == 0, done.stderr
    size, drafting, promoting, peak = map(int, done.stdout.split())
    assert size == (1 << 29) + 3
    assert drafting >= 2
    assert promoting >= 1
    assert peak < 200 << 10
    target = big / "big.bin"
    assert target.stat().st_size == size
    assert target.stat().st_blocks * 512 < 64 << 20
    with open(target, "rb") as file:
        assert file.read(5) == b"start"
        file.seek(-3, os.SEEK_END)
        assert file.read() == b"end"


def drafted(field, data="a"):
    field.ann.claim(1, seen=1)
    made = field.put("ann", "docs/spec.md", data).drafts[0]
    field.ann.submit()
    return field.root / made.file, DraftRef("docs/spec.md", 1)


def test_the_file_is_a_copy_not_a_link(field):
    file, _ = drafted(field)
    digest = hashlib.sha256(b"a").hexdigest()
    kept = field.store / "objects" / digest[:2] / digest
    assert file.stat().st_ino != kept.stat().st_ino
    assert (file.stat().st_nlink, kept.stat().st_nlink) == (1, 1)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o444


def test_an_edit_in_place_is_tampered_and_spoils_nothing(field):
    file, ref = drafted(field)
    file.chmod(0o644)
    with open(file, "r+") as stream:
        stream.write("b")
    assert field.me.ls()[0].drafts[0].flags == ("tampered",)
    with pytest.raises(Refused) as refused:
        field.me.promote([ref])
    assert refused.value.code == "tampered"
    assert (field.root / "docs/spec.md").read_text() == "v0\n"
    file.unlink()
    field.me.promote([ref])
    assert (field.root / "docs/spec.md").read_text() == "a"


@pytest.mark.parametrize("kind", ["link", "folder", "other bytes of the same size"])
def test_a_replaced_draft_file_is_tampered(field, kind):
    file, ref = drafted(field)
    file.unlink()
    if kind == "link":
        (field.base / "evil").write_text("a")
        file.symlink_to(field.base / "evil")
    elif kind == "folder":
        file.mkdir()
    else:
        file.write_text("b")
    with pytest.raises(Refused) as refused:
        field.me.promote([ref])
    assert refused.value.code == "tampered"
    assert field.me.ls()[0].drafts[0].flags == ("tampered",)


def test_a_deletion_that_somebody_wrote_into_is_tampered(field):
    field.ann.claim(1, seen=1)
    made = field.ann.draft(["docs/spec.md"], delete=True).drafts[0]
    (field.root / made.file).chmod(0o644)
    (field.root / made.file).write_text("x")
    with pytest.raises(Refused, match="no longer holds"):
        field.me.promote([DraftRef("docs/spec.md", 1)])


def test_its_mode_on_disk_does_not_count(field):
    file, ref = drafted(field)
    file.chmod(0o600)
    assert field.me.ls()[0].drafts[0].flags == ()
    field.me.promote([ref])


def test_a_missing_file_is_promoted_from_the_object(field):
    file, ref = drafted(field)
    file.unlink()
    (line,) = field.me.ls()[0].drafts
    assert (line.flags, line.draft.shown) == (("missing",), False)
    field.me.promote([ref])
    assert (field.root / "docs/spec.md").read_text() == "a"
    assert not file.exists()


def test_a_spoilt_object_is_never_promoted(field):
    _, ref = drafted(field)
    digest = hashlib.sha256(b"a").hexdigest()
    kept = field.store / "objects" / digest[:2] / digest
    kept.chmod(0o644)
    kept.write_text("b")
    field.damaged = True
    with pytest.raises(Damaged):
        field.me.promote([ref])
    assert (field.root / "docs/spec.md").read_text() == "v0\n"
    kept.unlink()
    assert field.me.ls()[0].drafts[0].flags == ("damaged",)
    with pytest.raises(Damaged):
        field.me.promote([ref])


def test_a_full_disk_leaves_nothing(field, monkeypatch):
    """ENOSPC at each write of the preparation: refused, nothing recorded, nothing left behind."""
    field.ann.claim(1, seen=1)
    field.write("ann", "docs/spec.md", "a")
    before = sorted(map(str, field.base.rglob("*")))
    for nth in range(2):
        left = [nth]

        def full(call, path, left=left):
            if call == "write" and "record-" not in path:
                if not left[0]:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
                left[0] -= 1

        store = field.ann
        monkeypatch.setattr(fs, "observer", full)
        with pytest.raises(EnvironmentFault) as refused:
            store.draft(["docs/spec.md"])
        monkeypatch.setattr(fs, "observer", None)
        assert refused.value.code == "disk_full"
    found = sorted(map(str, field.base.rglob("*")))
    assert [
        path for path in found if path not in before and "/objects/" not in path and "/draftfs-worktree/" not in path
    ] == []
    assert field.ann.draft(["docs/spec.md"]).drafts[0].number == 1
