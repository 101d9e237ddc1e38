"""What it watches goes away, comes again, or changes all at once; what it hears by dies: in the end it says what `check` says."""

from __future__ import annotations

import os
import shutil
import subprocess
import time

import pytest

from draftfs import hints
from draftfs.errors import Busy, NotFound
from draftfs.hints import CannotWatch
from draftfs.hints.inotify import Folders
from tests.support import git, make_field, wait_for
from tests.watch.watching import hand_in, promote, slower, watching


@pytest.mark.parametrize("how", ["removed", "moved", "replaced", "store"])
def test_a_root_that_is_not_what_it_was_ends_it(field, how):
    field.damaged = True
    with watching(field) as seen:
        if how == "removed":
            shutil.rmtree(field.root)
        elif how == "store":
            shutil.rmtree(field.store)
        else:
            field.root.rename(field.base / "r2")
        if how == "replaced":
            (field.base / "x").mkdir()
            make_field(field.base / "x").root.rename(field.root)
        wait_for(lambda: seen.ended)
        assert isinstance(seen.ended, NotFound)
        assert (seen.ended.code, seen.ended.exit_status) == ("no_store", 5)
        assert str(field.root) in seen.ended.message


def test_a_folder_removed_and_made_again_is_heard(field):
    with watching(field) as seen:
        for at in range(3):
            shutil.rmtree(field.root / "docs")
            (field.root / "docs").mkdir()
            (field.root / "docs/spec.md").write_text("v0\n")
            seen.catch_up()
            field.write("me", f"docs/spec.md.draft-000{at + 1}@x", "dropped\n")
            wait_for(lambda: "unrecorded" in {each[0] for each in seen.standing})
            (field.root / f"docs/spec.md.draft-000{at + 1}@x").unlink()
            wait_for(lambda: not seen.standing)


def test_an_observer_that_died_is_replaced(field, monkeypatch):
    """A handler that raises ends watchdog's thread for good, while everything looks well."""
    on_event = Folders.on_event
    failures = iter([True, True, False])

    def fails(self, event):
        if next(failures, False):
            raise KeyError(event.name)
        on_event(self, event)

    monkeypatch.setattr(Folders, "on_event", fails)
    with watching(field) as seen:
        for at in range(3):
            was = seen.watcher._ear._hints
            field.write("me", f"docs/new-{at}.md", "x")
            if at < 2:
                wait_for(lambda was=was: seen.watcher._ear._hints not in (was, None))
        field.write("me", "docs/spec.md.draft-0001@x", "dropped\n")
        seen.catch_up()
        assert seen.standing


def test_an_observer_that_keeps_dying_is_tried_for_ever_less_often(field):
    tries = []

    class Dead:
        def refresh(self, **_):
            raise AssertionError

        def alive(self):
            return False

        def close(self):
            pass

    with watching(field, watch=lambda *_: tries.append(1) or Dead()) as seen:
        time.sleep(1.2)
        assert 3 <= len(tries) <= 6  # at 0, 0.05, 0.15, 0.35, 0.75
        field.write("me", "docs/spec.md.draft-0001@x", "dropped\n")
        assert seen.catch_up()


def test_without_hints_it_polls_and_says_so_once_and_hears_again_later(field):
    deaf = [True]

    def watch(root, ring):
        if deaf:
            raise CannotWatch("no inotify watches are left")
        return hints.watch(root, ring)

    with watching(field, watch=watch) as seen:
        hand_in(field, "v1\n")
        wait_for(lambda: seen.standing)
        assert seen.rest() >= 1
        deaf.clear()
        wait_for(lambda: ("note", "told of changes again") in seen.told)
        seen.catch_up()
        notes = [each[1] for each in seen.told if each[0] == "note"]
        assert notes == ["no inotify watches are left: looking every 0.2 s instead", "told of changes again"]


def test_watches_that_run_out_later_are_said(field, monkeypatch):
    with watching(field) as seen:
        monkeypatch.setattr(hints.inotify, "folders", _nothing_left)
        (field.root / "new").mkdir()
        wait_for(lambda: any("looking every" in each[1] for each in seen.told))
        assert seen.rest() >= 1


def _nothing_left(_):
    raise OSError(28, "inotify watch limit reached")


def test_a_look_that_fails_is_said_and_tried_again(field):
    fails = []

    def check(real):
        if fails:
            raise Busy("busy", "somebody holds the lock", hint="wait")
        return real()

    with watching(field, check=check, pace=slower(every=0.1)) as seen:
        number = hand_in(field, "v1\n")
        wait_for(lambda: seen.standing)
        fails.append(1)
        wait_for(lambda: ("note", "cannot look: somebody holds the lock") in seen.told)
        seen.rest()
        fails.clear()
        promote(field, number)
        wait_for(lambda: not seen.standing)
        assert ("note", "can look again") in seen.told
        assert len(seen.told) == 4


def test_a_store_that_cannot_be_opened_is_not_tried_all_the_time(field, monkeypatch):
    tries = []

    def fails(_):
        tries.append(1)
        raise Busy("busy", "somebody holds the lock", hint="wait")

    with watching(field) as seen:
        real = type(field).me
        monkeypatch.setattr(type(field), "me", property(fails))
        field.write("me", "docs/spec.md.draft-0001@x", "dropped\n")
        wait_for(lambda: len(tries) == 3)
        time.sleep(0.5)
        assert len(tries) <= 6  # at 0, and every 0.2
        monkeypatch.setattr(type(field), "me", real)
        assert seen.catch_up()
        assert [each[0] for each in seen.told] == ["note", "note", "raised"]


def test_storms_end_with_what_check_says(field):
    """New folders that fill before they are watched, a tree moved in, a checkout of 5,000 files, all of it removed."""
    ready = field.base / "ready"
    for at in range(50):
        (ready / f"m{at}/x/y").mkdir(parents=True)
        (ready / f"m{at}/x/y/t.md.draft-0001@x").write_text("moved in\n")
    with watching(field) as seen:
        for at in range(50):
            (field.root / f"n{at}/a/b/c").mkdir(parents=True)
            (field.root / f"n{at}/a/b/c/t.md.draft-0001@x").write_text("dropped\n")
        assert len(seen.catch_up()) == 50
        ready.rename(field.root / "ready")
        assert len(seen.catch_up()) == 100
        _commit_many(field)
        git("checkout", "-q", "many", cwd=field.root)
        field.write("me", "many/0499/t.md.draft-0001@x", "dropped\n")
        assert len(seen.catch_up()) == 101
        shutil.rmtree(field.root / "ready")
        (field.root / "many/0499/t.md.draft-0001@x").unlink()
        git("checkout", "-q", "main", cwd=field.root)
        assert len(seen.catch_up()) == 50
        assert len([each for each in seen.told if each[0] == "raised"]) == 101
        assert seen.rest() == 0


def _commit_many(field) -> None:
    """A branch with 500 folders of 10 files each, made without touching the checkout."""
    blob = git("hash-object", "-w", "docs/spec.md", cwd=field.root).strip()
    lines = "".join(f"100644 {blob}\tmany/{folder:04}/{file}.md\n" for folder in range(500) for file in range(10))

    def run(*command, data=None):
        environment = {**os.environ, "GIT_INDEX_FILE": str(field.base / "index")}
        return subprocess.run(
            ["git", *command],
            cwd=field.root,
            env=environment,
            input=data,
            text=True,
            stdout=subprocess.PIPE,
            check=True,
        ).stdout.strip()

    run("read-tree", "main")
    run("update-index", "--index-info", data=lines)
    run("branch", "many", run("commit-tree", "-m", "many", "-p", "main", run("write-tree")))


def test_it_does_not_wake_itself(field):
    """Who writes into the root for each finding causes one more look, and no more."""
    with watching(field) as seen:
        hand_in(field, "v1\n")
        wait_for(lambda: seen.standing)
        field.write("me", "watch.log", "raised\n")
        assert seen.rest() == 0
        assert len(seen.told) == 1


def test_constant_changes_do_not_take_up_the_machine(field):
    """With a share of 10, scans take up no more than a tenth of the time, however much happens."""
    took = []

    def check(real):
        began = time.monotonic()
        time.sleep(0.05)
        took.append(time.monotonic() - began)
        return real()

    with watching(field, check=check, pace=slower(share=10.0)) as seen:
        end, before = time.monotonic() + 2, len(took)
        while time.monotonic() < end:
            field.write("me", "busy.log", str(time.monotonic()))
            time.sleep(0.01)
        assert 1 <= len(took) - before <= 5
        assert seen.watcher._ear.hears
