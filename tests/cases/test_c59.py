"""C59: a watched folder is removed and made again."""

import shutil
from pathlib import Path

from tests.cases.watches import watching
from tests.support import git, wait_for


def test_folders_branches_worktrees_and_the_root_itself(site):
    site.field.damaged = True
    site.git("me", "checkout", "-q", "-b", "bare")
    site.git("me", "rm", "-qr", "docs")
    site.git("me", "commit", "-qm", "no docs")
    site.git("me", "checkout", "-q", "main")
    site.hand_in("ann", "docs/spec.md", "chosen\n")
    site.run("me", "promote --yes", "docs/spec.md", "1")
    site.git("me", "commit", "-qam", "chosen")
    saved = site.field.base / "saved"
    shutil.copytree(site.root / "docs", saved)
    with watching(site) as watch:
        watch.catch_up()
        for at in (1, 2):
            shutil.rmtree(site.root / "docs")
            watch.wait("stale", "docs/spec.md", *["raised", "lowered"] * (at - 1), "raised")
            shutil.copytree(saved, site.root / "docs")
            watch.wait("stale", "docs/spec.md", *["raised", "lowered"] * at)
        for branch in ("bare", "main") * 2:
            site.git("me", "checkout", "-q", branch)
            watch.catch_up()
        assert watch.told("stale", "docs/spec.md") == ["raised", "lowered"] * 2
        moved = Path(f"{site.root}2")
        site.root.rename(moved)
        git("init", "-q", str(site.root), cwd=site.field.base)
        assert watch.process.wait(5) == 5
        last = watch.lines[-1]
        assert last["ok"] is False
        assert last["error"]["code"] == "no_store"
        assert str(site.root) in last["error"]["message"]


def test_a_worktree_that_is_removed_ends_nothing(site):
    """Not the claim that was made in it, and not the watch that was started in it."""
    held = site.hold("bob", "a.txt")
    with watching(site, who="bob") as watch:
        site.git("me", "worktree", "remove", "--force", str(site.where("bob")))
        site.write("me", "docs/spec.md.draft-0001@x", "dropped\n")
        wait_for(lambda: ("unrecorded", "docs/spec.md.draft-0001@x") in {each[:2] for each in watch.catch_up()})
        assert watch.process.poll() is None
        assert site.run("me", "job show", str(held["job"]["id"]))["job"]["state"] == "claimed"
