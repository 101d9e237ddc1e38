"""C42: content decides, not time; and history can end a choice (tests/promotion/test_history.py has all of it)."""

import os

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
