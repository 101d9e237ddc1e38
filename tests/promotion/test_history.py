"""C42: a choice is one of its branch, and holds while history has not moved past it."""

import pytest

from draftfs import DraftRef
from draftfs.rules import drafts
from tests.support import git


@pytest.fixture
def chosen(field, desk):
    """A choice, not committed yet; returns a function that says (chosen, stale)."""
    desk.promote(desk.draft("chosen\n"))

    def standing(target="docs/spec.md"):
        line = desk.line(target)
        return (line.chosen, line.stale) if line is not None else (None, False)

    assert standing() == (1, False)
    return standing


def commit(field, data=None, message="c", target="docs/spec.md"):
    if data is not None:
        field.write("me", target, data)
    git("commit", "-qam", message, cwd=field.root)
    return git("rev-parse", "HEAD", cwd=field.root).strip()


def test_another_branch_and_back(field, desk, chosen):
    commit(field)
    git("checkout", "-q", "-b", "other", "HEAD~", cwd=field.root)
    assert desk.read() == b"v0\n"
    assert chosen() == (None, False)
    git("checkout", "-q", "main", cwd=field.root)
    assert chosen() == (1, False)


def test_another_branch_and_back_with_the_choice_uncommitted(field, desk, chosen):
    git("stash", "-q", cwd=field.root)
    assert chosen() == (1, True)
    git("checkout", "-q", "-b", "other", cwd=field.root)
    assert chosen() == (None, False)
    git("checkout", "-q", "main", cwd=field.root)
    git("stash", "pop", "-q", cwd=field.root)
    assert chosen() == (1, False)


def test_its_own_commit_keeps_it(field, chosen):
    commit(field)
    assert chosen() == (1, False)
    field.write("me", "docs/spec.md", "edited\n")
    assert chosen() == (1, True)


def test_unrelated_commits_keep_it(field, desk, chosen):
    field.write("me", "a.txt", "more\n")
    git("commit", "-qm", "other file", "a.txt", cwd=field.root)
    assert chosen() == (1, False)
    field.write("me", "docs/spec.md", "v0\n")
    assert chosen() == (1, True)


def test_a_third_content_in_a_commit_ends_it(field, chosen):
    commit(field)
    commit(field, "third\n")
    assert chosen() == (None, False)


def test_a_third_content_committed_over_it_at_once_ends_it(field, chosen):
    commit(field, "third\n")
    assert chosen() == (None, False)


def test_a_revert_ends_it(field, desk, chosen):
    commit(field)
    git("revert", "--no-edit", "HEAD", cwd=field.root)
    assert desk.read() == b"v0\n"
    assert chosen() == (None, False)


def test_a_revert_of_the_revert_brings_it_back(field, desk, chosen):
    commit(field)
    git("revert", "--no-edit", "HEAD", cwd=field.root)
    git("revert", "--no-edit", "HEAD", cwd=field.root)
    assert (desk.read(), chosen()) == (b"chosen\n", (1, False))


def test_a_pull_that_brings_a_third_content_ends_it(field, desk, chosen):
    commit(field)
    upstream = field.base / "upstream"
    git("clone", "-q", str(field.root), str(upstream), cwd=field.base)
    (upstream / "docs/spec.md").write_text("upstream\n")
    git("commit", "-qam", "upstream", cwd=upstream)
    git("pull", "-q", "--ff-only", str(upstream), "main", cwd=field.root)
    assert desk.read() == b"upstream\n"
    assert chosen() == (None, False)


def test_a_merge_that_drops_it_ends_it(field, desk, chosen):
    commit(field)
    git("checkout", "-q", "-b", "side", "HEAD~", cwd=field.root)
    commit(field, "side\n")
    git("checkout", "-q", "main", cwd=field.root)
    git("merge", "-q", "-s", "ours", "side", "-m", "keeps ours", cwd=field.root)
    assert chosen() == (1, False)
    git("reset", "-q", "--hard", "side", cwd=field.root)
    assert chosen() == (None, False)


def test_a_reset_to_before_its_commit_leaves_it_uncommitted(field, desk, chosen):
    """As right after the promotion: HEAD holds what it held then, so the target should hold the choice."""
    commit(field)
    git("reset", "-q", "--hard", "HEAD~", cwd=field.root)
    assert chosen() == (1, True)
    git("reset", "-q", "--hard", "ORIG_HEAD", cwd=field.root)
    assert chosen() == (1, False)


def test_a_reset_back_to_its_commit_revives_it(field, desk, chosen):
    own = commit(field)
    commit(field, "third\n")
    git("reset", "-q", "--hard", own, cwd=field.root)
    assert (desk.read(), chosen()) == (b"chosen\n", (1, False))


def test_an_amended_commit_below_keeps_it(field, chosen):
    """Made anew, with the same change: what HEAD held when it was chosen is what it holds now."""
    git("commit", "-q", "--amend", "--only", "-m", "other words", cwd=field.root)
    assert chosen() == (1, False)
    field.write("me", "docs/spec.md", "by hand\n")
    assert chosen() == (1, True)


def test_an_amended_commit_keeps_it(field, chosen):
    commit(field)
    git("commit", "-q", "--amend", "-m", "other words", cwd=field.root)
    assert chosen() == (1, False)


def test_a_new_file(field, desk):
    desk.promote(desk.draft("n\n", "new.md"))
    assert desk.line("new.md").chosen == 1
    (desk.root / "new.md").unlink()
    assert desk.line("new.md").stale
    field.write("me", "new.md", "n\n")
    git("add", "new.md", cwd=field.root)
    commit(field)
    assert (desk.line("new.md").chosen, desk.line("new.md").stale) == (1, False)
    git("rm", "-q", "new.md", cwd=field.root)
    commit(field)
    assert desk.line("new.md") is None


def test_a_deletion(field, desk):
    desk.promote(desk.draft(None, delete=True))
    commit(field)
    assert (desk.line().chosen, desk.line().stale) == (1, False)
    git("revert", "--no-edit", "HEAD", cwd=field.root)
    assert desk.line() is None


def test_content_decides_not_time(field, desk, chosen):
    import os

    target = desk.root / "docs/spec.md"
    for when in (-31_536_000, 0, 2_147_483_648, 4_000_000_000):
        os.utime(target, (when, when))
        assert chosen() == (1, False)
    before = target.stat()
    target.write_text("chosem\n")
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert chosen() == (1, True)


def test_an_edit_in_the_same_tick_as_the_promotion(field, desk):
    ref = desk.draft("chosen\n")
    for _ in range(20):
        desk.promote(ref, force=True)
        in_same_tick = desk.root / "docs/spec.md"
        in_same_tick.write_text("edited\n")
        assert desk.line().stale


def test_touch_copy_and_worktree_change_nothing(field, desk, chosen):
    import os
    import shutil

    target = desk.root / "docs/spec.md"
    os.utime(target)
    assert chosen() == (1, False)
    shutil.copy2(target, desk.root / "copy")
    shutil.copy2(desk.root / "copy", target)
    assert chosen() == (1, False)
    field.worktree("cy")
    assert chosen() == (1, False)


def test_before_the_first_commit(tmp_path):
    from draftfs import Store

    root = tmp_path / "fresh"
    git("init", "-q", "-b", "main", str(root), cwd=tmp_path)
    store, _ = Store.init(str(root))
    store.claim_paths(["a.md"])
    (root / "a.md").write_text("x")
    drafted = store.draft(["a.md"])
    store.submit()
    (root / "a.md").unlink()
    store.promote(store.draft_refs([drafted.drafts[0].file]))
    (line,) = store.ls()
    assert (line.chosen, line.stale, (root / "a.md").read_text()) == (1, False, "x")
    git("add", "a.md", cwd=root)
    git("commit", "-qm", "first", cwd=root)
    (line,) = store.ls()
    assert (line.chosen, line.stale) == (1, False)


def test_detached(field, desk):
    git("checkout", "-q", "--detach", cwd=field.root)
    desk.promote(desk.draft("x"))
    assert desk.line().chosen == 1
    git("stash", "-q", cwd=field.root)
    git("checkout", "-q", "main", cwd=field.root)
    assert desk.line() is None


class TestTheSameAgain:
    """Promoted once more where the choice does not count: from then on it does."""

    def test_on_another_branch(self, field, desk, chosen):
        commit(field)
        git("switch", "-q", "-c", "other", cwd=field.root)
        assert chosen() == (None, False)
        again = desk.promote(DraftRef("docs/spec.md", 1))
        assert (again.promoted[0].changed, chosen()) == (False, (1, False))
        field.me.undo(["docs/spec.md"])
        assert (desk.read(), chosen()) == (b"v0\n", (None, False))

    def test_after_a_third_content(self, field, desk, chosen):
        commit(field), commit(field, "third\n")
        field.write("me", "docs/spec.md", "chosen\n")
        assert desk.promote(DraftRef("docs/spec.md", 1), commit=True).commit
        assert chosen() == (1, False)
        assert not field.me.verify("main~2..main").findings[1:], "the third one only"

    def test_where_it_counts_nothing_happens(self, field, desk, chosen):
        def record():
            return field.me.engine.read(lambda view: drafts.of_target(view, "docs/spec.md"))

        before = record()
        desk.promote(DraftRef("docs/spec.md", 1))
        commit(field), commit(field, "x\n", target="a.txt")
        desk.promote(DraftRef("docs/spec.md", 1))
        assert (record(), chosen()) == (before, (1, False))
