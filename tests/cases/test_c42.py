"""C42: content decides, not time; and history can end a choice (tests/promotion/test_history.py has all of it)."""

import os
import shutil
import time

from draftfs.records import DraftRef
from tests.support import git


def test_touched_then_edited_with_the_old_time(site):
    site.hand_in("ann", "docs/spec.md", "chosen\n")
    site.run("me", "promote --yes", "docs/spec.md", "1")
    target = site.root / "docs/spec.md"
    for when in (-3600, 2_147_483_648, 1_900_000_000):
        os.utime(target, (when, when))
        assert site.line("docs/spec.md")["stale"] is False
    before = target.stat()
    target.write_text("chosem\n")
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert site.line("docs/spec.md")["stale"] is True
    target.write_text("third\n")
    git("commit", "-qam", "third", cwd=site.root)
    assert site.line("docs/spec.md") is None
    git("checkout", "-q", "HEAD~", cwd=site.root)
    assert site.line("docs/spec.md") is None


def test_another_branch_and_back(site):
    site.hand_in("ann", "docs/spec.md", "chosen\n")
    site.run("me", "promote --yes", "docs/spec.md", "1")
    git("commit", "-qam", "chosen", cwd=site.root)
    git("checkout", "-q", "-b", "other", "HEAD~", cwd=site.root)
    assert site.line("docs/spec.md") is None
    git("checkout", "-q", "main", cwd=site.root)
    assert (site.line("docs/spec.md")["chosen"], site.line("docs/spec.md")["stale"]) == (1, False)


def test_only_content_counts_whatever_the_times_say(site):
    """All of the first group is well, with `cache/` there and deleted; all of the second is not."""
    field, path = site.field, site.root / "docs/spec.md"
    site.hand_in("ann", "docs/spec.md", "chosen\n")
    site.run("me", "promote --yes", "docs/spec.md", "1")

    def stale():
        found = [[each.path for each in field.me.check(kinds=["stale"]).findings] for _ in range(2)]
        shutil.rmtree(field.store / "cache", ignore_errors=True)
        found.append([each.path for each in field.me.check(kinds=["stale"]).findings])
        assert found[0] == found[1] == found[2]
        return found[0] == ["docs/spec.md"]

    path.touch()
    assert not stale()
    field.worktree("new")
    assert not stale()
    shutil.copy2(path, site.root / "copy")
    os.replace(site.root / "copy", path)
    assert not stale()
    for when in (-3600 * 24 * 365, 2_147_483_648, int(time.time()) + 365 * 86400):
        path.write_text("chosen\n")
        os.utime(path, (when, when))
        assert not stale()
        path.write_text("chosem\n")
        os.utime(path, (when, when))
        assert stale()


def test_an_edit_at_once_behind_the_promotion(site):
    """(tests/check/test_stamps.py has two hundred of them in one tick of a coarse clock.)"""
    field, path = site.field, site.root / "docs/spec.md"
    for number in range(1, 11):
        field.bob.claim_paths(["docs/spec.md"])
        field.put("bob", "docs/spec.md", f"{number:07d}\n")
        field.bob.submit()
        field.me.promote([DraftRef("docs/spec.md", number)], force=True)
        assert field.me.check(kinds=["stale"]).findings == ()
        with open(path, "r+b") as file:
            file.write(b"edited!")
        assert [each.number for each in field.me.check(kinds=["stale"]).findings] == [number]
        path.write_text(f"{number:07d}\n")
        git("commit", "-qam", "chosen", cwd=site.root)
        git("reset", "-q", "--hard", "main", cwd=field.worktree("bob"))


def test_history_moves_on(site):
    """A third content in HEAD ends the choice; (d&d) a reset to the commit that holds what was chosen revives it."""
    site.hand_in("ann", "docs/spec.md", "chosen\n")
    site.run("me", "promote --yes", "docs/spec.md", "1")
    git("commit", "-qam", "chosen", cwd=site.root)
    assert site.check("stale") == []
    git("clone", "-q", str(site.root), str(site.field.base / "other"), cwd=site.root)
    (site.field.base / "other/docs/spec.md").write_text("third\n")
    git("commit", "-qam", "third", cwd=site.field.base / "other")
    git("pull", "-q", "--ff-only", str(site.field.base / "other"), "main", cwd=site.root)
    assert site.check("stale") == []
    site.write("me", "docs/spec.md", "fourth\n")
    assert site.check("stale") == [], "nothing is chosen any more"
    assert site.run("me", "regenerate")["regenerated"] == []
    assert site.read("docs/spec.md") == b"fourth\n"
    git("reset", "-q", "--hard", "HEAD~", cwd=site.root)
    assert site.check("stale") == []
    site.write("me", "docs/spec.md", "fourth\n")
    assert site.check("stale") == [("stale", "docs/spec.md")]
    git("checkout", "-q", "-b", "side", cwd=site.root)
    assert site.check("stale") == [], "a choice is one of its branch"
