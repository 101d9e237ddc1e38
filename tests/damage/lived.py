"""A store that has been lived in, and what can happen to its files. It is built once and put back before each test."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from draftfs import Clock, Instant, Store
from draftfs.answers import Checkup
from draftfs.records import DraftRef
from tests.support import Field, git, make_field

KEYS = {name: f"key of {name}" for name in ("ann's claim", "bob's draft", "cat's claim")}


@dataclass
class Lived:
    """ann holds job 1 (docs/spec.md, two drafts), bob job 2 (a.txt, one draft); job 3 is accepted, job 4 was released and is
    open, job 5 is open, job 6 cancelled, job 7 submitted."""

    field: Field
    saved: Path
    stores: dict[str, Store]
    instant: Instant | None
    root_names: frozenset[str] = frozenset()

    @property
    def store(self) -> Path:
        return self.field.store

    def __getattr__(self, name: str) -> Store:
        return self.stores[name]

    def reset(self) -> None:
        """Everything back to how it was when it had been lived in."""
        if self.instant is not None:
            self.field.clock.instant = self.instant
        shutil.rmtree(self.store)
        shutil.copytree(self.saved / "store", self.store, symlinks=True)
        for path in self.field.root.rglob("*.draft-*"):
            if ".git" not in path.parts:
                path.unlink()
        shutil.copytree(self.saved / "root", self.field.root, dirs_exist_ok=True)
        for name in self.stores:
            if name != "me":
                notes = Path(self.stores[name].worktree.folder)
                shutil.rmtree(notes, ignore_errors=True)
                shutil.copytree(self.saved / name, notes)
        for path in self.field.root.iterdir():
            if path.name not in self.root_names:
                path.unlink()

    def receipt(self, name: str) -> str:
        digest = hashlib.sha256(KEYS[name].encode()).hexdigest()
        return f"receipts/{digest[:2]}/{digest}.yaml"

    def examine(self, *, fix: bool = False) -> Checkup:
        return Store.examine(str(self.field.root), clock=self.field.clock, fix=fix)

    def highest(self) -> tuple[int, int, int]:
        """The last job, epoch and position that were ever given, by the store as it was."""
        text = (self.saved / "store" / "counters.yaml").read_text()
        return tuple(
            int(re.search(rf"^{name}: (\d+)$", text, re.MULTILINE)[1]) for name in ("job", "epoch", "position")
        )


def live_in(base: Path, clock: Clock | None = None) -> Lived:
    field = make_field(base, clock)
    root = field.root
    for name in ("b.txt", "c.txt", "d.txt", "free.md"):
        (root / name).write_text(f"{name}\n")
    git("add", "-A", cwd=root)
    git("commit", "-q", "-m", "more", cwd=root)
    me = field.me
    me.add_job("rewrite b", ["b.txt"])
    me.add_job("rewrite c", ["c.txt"])
    me.add_job("free", ["free.md"], text="whoever has time")
    me.add_job("dropped", ["d.txt"])
    me.add_job("rewrite d", ["d.txt"], after=[3])
    stores = {"me": me} | {name: field.agent(name) for name in ("ann", "bob", "cat", "eve")}
    seen = lambda job: me.job(job).job.version  # noqa: E731
    ann, bob, cat = stores["ann"], stores["bob"], stores["cat"]
    ann.claim(1, seen=seen(1), receipt=KEYS["ann's claim"])
    for text in ("first\n", "second\n"):
        field.write("ann", "docs/spec.md", text)
        ann.draft(["docs/spec.md"], note=text)
    field.write("ann", "docs/spec.md", "second\n")
    bob.claim(2, seen=seen(2))
    field.write("bob", "a.txt", "bob's\n")
    bob.draft(["a.txt"], receipt=KEYS["bob's draft"])
    cat.claim(3, seen=seen(3))
    field.write("cat", "b.txt", "cat's\n")
    cat.draft(["b.txt"])
    cat.submit(note="done")
    me.promote([DraftRef("b.txt", 1)])
    cat.claim(4, seen=seen(4), receipt=KEYS["cat's claim"])
    cat.release(failed=True, note="no idea")
    me.cancel_job(6, because="not wanted")
    cat.claim(7, seen=seen(7))
    field.write("cat", "d.txt", "d by cat\n")
    cat.draft(["d.txt"])
    cat.submit()
    saved = base / "saved"
    shutil.copytree(field.store, saved / "store")
    drafts = {str(path.relative_to(root)) for path in root.rglob("*.draft-*") if ".git" not in path.parts}
    for name in (*drafts, "docs/spec.md", "a.txt", "b.txt", "c.txt", "d.txt", "free.md"):
        (saved / "root" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, saved / "root" / name)
    for name in ("ann", "bob", "cat", "eve"):
        folder = Path(stores[name].worktree.folder)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(folder, saved / name)
    lived = Lived(field, saved, stores, getattr(field.clock, "instant", None))
    lived.root_names = frozenset(path.name for path in root.iterdir())
    return lived


# ── what can happen to a file ──


def _rewrite(path: Path, data: bytes) -> None:
    """Another file under the same name, as an editor or a failing disk would leave it."""
    mode = path.stat().st_mode
    path.unlink()
    path.write_bytes(data)
    path.chmod(mode)


HAZARDS: dict[str, Callable[[Path], None]] = {
    "empty": lambda path: _rewrite(path, b""),
    "half": lambda path: _rewrite(path, path.read_bytes()[: path.stat().st_size // 2]),
    "one byte short": lambda path: _rewrite(path, path.read_bytes()[:-1]),
    "NULs": lambda path: _rewrite(path, bytes(path.stat().st_size)),
    "NULs appended": lambda path: _rewrite(path, path.read_bytes() + bytes(100)),
    "removed": lambda path: path.unlink(),
}


def rechecked(data: bytes) -> bytes:
    """A record with a length and checksum that fit what it says."""
    head, _, rest = data.partition(b"\n# draftfs ")
    version, _, body = rest.partition(b"\n")
    version = version.split(b",")[0]
    return b"%b\n# draftfs %b, %d bytes, crc32 %08x\n%b" % (head, version, len(body), zlib.crc32(body), body)


def edit(path: Path, old: str, new: str, *, recheck: bool) -> None:
    data = path.read_bytes()
    assert old.encode() in data, (old, data)
    data = data.replace(old.encode(), new.encode(), 1)
    _rewrite(path, rechecked(data) if recheck else data)


def names_of(folder: Path) -> set[str]:
    return {os.path.relpath(path, folder) for path in folder.rglob("*") if path.is_file()}
