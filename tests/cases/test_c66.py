"""C66: a worktree is moved, removed, pruned, copied."""

import shutil
import subprocess

from tests.support import draftfs, git


def held(site):
    site.hold("ann", "docs/spec.md")
    site.put("ann", "docs/spec.md", "x\n")


def works_from(site, place):
    (place / "docs/spec.md").write_text("more\n")
    for command in (["renew"], ["draft", "docs/spec.md"], ["ls"], ["release"]):
        ran = draftfs(*command, cwd=place, agent="ann")
        assert ran.status == 0, ran.err


def test_moved_by_git(site):
    held(site)
    moved = site.field.base / "moved"
    git("worktree", "move", str(site.where("ann")), str(moved), cwd=site.root)
    works_from(site, moved)


def test_moved_by_hand(site):
    held(site)
    moved = site.field.base / "moved"
    site.where("ann").rename(moved)
    works_from(site, moved)


def test_removed_and_pruned_then_made_anew(site):
    held(site)
    shutil.rmtree(site.where("ann"))
    git("worktree", "prune", cwd=site.root)
    git("branch", "-D", "wa", cwd=site.root)
    error = site.refused("ann", "no_token", "release", "--job", "3")
    assert "ann" in error["message"]
    assert site.line("docs/spec.md")["drafts"][0]["draft"]["number"] == 1
    assert site.run("me", "job revoke", "3", "--because", "gone")["job"]["state"] == "open"
    site.run("me", "promote --yes", "docs/spec.md", "1")
    assert site.read("docs/spec.md") == b"x\n"


def test_the_root_moved_then_repaired(site):
    held(site)
    worktree, moved = site.where("ann"), site.field.base / "elsewhere"
    site.root.rename(moved)
    ran = draftfs("renew", cwd=worktree, agent="ann")
    assert ran.status == 8
    assert "git worktree repair" in ran.err
    git("worktree", "repair", str(worktree), cwd=moved)
    works_from(site, worktree)
    assert (moved / "docs/spec.md.draft-0002@ann").read_text() == "more\n"
    moved.rename(site.root)
    git("worktree", "repair", str(worktree), cwd=site.root)


def test_a_copy_touches_nothing_of_the_original(site):
    held(site)
    copy = site.field.base / "copy"
    subprocess.run(["cp", "-a", str(site.root), str(copy)], check=True)
    before = site.line("docs/spec.md")
    ran = draftfs("claim", "--", "docs/other.md", cwd=copy)
    assert ran.status == 0, ran.err
    (copy / "docs/other.md").write_text("in the copy\n")
    assert draftfs("draft", "docs/other.md", cwd=copy).status == 0
    assert draftfs("promote", "--yes", "docs/spec.md", "1", cwd=copy).status == 0
    assert (copy / "docs/spec.md").read_text() == "x\n"
    assert site.read("docs/spec.md") == b"v0\n"
    after = site.line("docs/spec.md")
    assert after["drafts"][0]["draft"] == before["drafts"][0]["draft"]
    assert site.line("docs/other.md") is None


def commits_from(site, place, data: str = "committed\n"):
    (place / "docs/spec.md").write_text(data)
    git("commit", "-qam", "x", cwd=place)
    assert draftfs("verify", "main..wa", cwd=place).status == 0


def test_commits_after_a_move(guarded):
    site = guarded
    held(site)
    moved, worktree = site.field.base / "moved", site.where("ann")
    git("worktree", "move", str(worktree), str(moved), cwd=site.root)
    commits_from(site, moved, "moved by git\n")
    moved.rename(site.field.base / "by-hand")
    commits_from(site, site.field.base / "by-hand", "moved by hand\n")
    elsewhere = site.field.base / "elsewhere"
    site.root.rename(elsewhere)
    git("worktree", "repair", str(site.field.base / "by-hand"), cwd=elsewhere)
    commits_from(site, site.field.base / "by-hand", "the root moved\n")
    assert draftfs("release", cwd=site.field.base / "by-hand", agent="ann").status == 0
    elsewhere.rename(site.root)
    git("worktree", "repair", str(site.field.base / "by-hand"), cwd=site.root)


def test_a_worktree_made_anew_has_no_token_to_commit_with(guarded):
    site = guarded
    held(site)
    shutil.rmtree(site.where("ann"))
    git("worktree", "prune", cwd=site.root)
    git("branch", "-D", "wa", cwd=site.root)
    site.write("ann", "docs/spec.md", "by whom?\n")
    assert "held by ann until" in site.blocked("ann")


def test_a_commit_in_a_copy_asks_the_copys_store(guarded):
    site = guarded
    held(site)
    site.commit("ann", "-a")
    copy = site.field.base / "copy"
    subprocess.run(["cp", "-a", str(site.root), str(copy)], check=True)
    before = site.field.me.log()
    (copy / "a.txt").write_text("in the copy\n")
    git("commit", "-qam", "x", cwd=copy)
    assert draftfs("verify", "main..wa", cwd=copy).status == 0
    assert draftfs("job", "revoke", "3", "--because", "x", cwd=copy).status == 0
    assert draftfs("verify", "main..wa", cwd=copy).status == 6
    assert draftfs("verify", "main..wa", cwd=site.root).status == 0
    assert site.field.me.log() == before
