"""G8: as many processes of git for many targets as for a few; and nobody's git is in the way, or disturbed."""

from __future__ import annotations

import os
import subprocess
import threading

import pytest

from draftfs.records import DraftRef
from tests.support import git

MANY = 60


@pytest.fixture
def calls(monkeypatch):
    """The git commands that were run."""
    seen = []
    start = subprocess.Popen.__init__

    def told(self, arguments, *rest, **options):
        if arguments[0] == "git":
            seen.append(" ".join(arguments[1:4]))
        return start(self, arguments, *rest, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", told)
    return seen


def counted(field, calls, look):
    store = field.me
    calls.clear()
    look(store)
    return sorted(calls)


def test_processes_do_not_grow_with_what_is_looked_at(field, calls, monkeypatch):
    """Whatever is the matter with all of them: line ends, edits, targets that went, commits in between."""
    names = [f"many/f{number:02d}.md" for number in range(MANY)]
    for name in names:
        field.write("me", name, f"{name}\n")
    git("add", "-A", cwd=field.root)
    git("commit", "-qm", "many", cwd=field.root)
    git("merge", "-q", "main", cwd=field.worktree("ann"))
    field.ann.claim_paths(["many"])
    for name in names:
        field.write("ann", name, f"new {name}\n")
    field.ann.draft([str(field.worktree("ann") / name) for name in names])
    field.ann.submit()
    with monkeypatch.context() as fast:  # sixty promotions are not what is looked at here
        fast.setattr("draftfs.workspace.Workspace.blob", lambda *_: None)
        field.me.promote([DraftRef(name, 1) for name in names[: MANY // 2]])
    git("commit", "-q", "--allow-empty", "-m", "on", cwd=field.root)
    git("config", "core.autocrlf", "true", cwd=field.root)
    for name in names[::3]:
        field.write("me", name, f"new {name}\r\n")
    for name in names[1::3]:
        field.write("me", name, "edited\r\n")
    for name in names[2::6]:
        os.unlink(field.root / name)
    field.me.check()
    calls.clear()
    checked = field.me.check()
    many = len(calls)
    kinds = {each.kind for each in checked.findings}
    assert {"stale", "outdated", "unpromoted"} <= kinds
    assert len(checked.findings) > MANY
    assert many <= 26, calls
    files = ["stale", "outdated", "tampered", "missing"]
    one = counted(field, calls, lambda store: store.check([names[3]], kinds=files))
    assert len(counted(field, calls, lambda store: store.check(kinds=files))) <= len(one) + 3


def test_listing_costs_no_process_for_each_choice(field, calls):
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "new\n")
    field.ann.submit()
    field.me.promote([DraftRef("docs/spec.md", 1)])
    field.write("me", "docs/spec.md", "new\r\n")
    assert len(counted(field, calls, lambda store: store.ls())) <= 12


def test_nobody_who_commits_beside_it_is_in_the_way(field):
    """No lock of git's is ever taken, and the index is not written."""
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "new\n")
    field.ann.submit()
    field.me.promote([DraftRef("docs/spec.md", 1)])
    index = field.root / ".git/index"
    os.utime(index, (1, 1))
    os.utime(field.root / "a.txt", (5, 5))  # stale in the index: a `git status` would refresh it
    field.me.check()
    assert index.stat().st_mtime == 1
    faults = []

    def commits():
        for number in range(25):
            field.write("me", "a.txt", f"{number}\n")
            try:
                git("commit", "-qam", str(number), cwd=field.root)
            except AssertionError as fault:
                faults.append(fault)

    worker = threading.Thread(target=commits)
    worker.start()
    rounds = 0
    while worker.is_alive() or rounds < 3:
        assert [each.kind for each in field.me.check(kinds=["stale", "unrecorded"]).findings] == []
        rounds += 1
    worker.join()
    assert faults == []
