"""The worktree of one claim: where it is made, what it is filled with, and what becomes of the claim where it cannot be."""

from __future__ import annotations

import os

import pytest

from draftfs import Fenced, Store
from draftfs.worktree import Worktree
from tests.run.conftest import WAITS, git
from tests.support import draftfs


def test_it_is_filled_with_the_roots_bytes_of_now(runs):
    (runs.root / "a.txt").write_text("people's own\n")
    (runs.root / "a.txt").chmod(0o755)
    (runs.root / "docs/new.md").write_text("untracked\n")
    (runs.root / "docs/spec.md").unlink()
    (runs.root / "other.txt").write_text("not reserved\n")
    runs.field.me.add_job("all", ["a.txt", "docs"])
    script = "cat a.txt docs/new.md >$OUT/seen; ls -R . >$OUT/list; test -x a.txt && echo x >$OUT/x"
    run = runs.run("3", script=script)
    assert (runs.out / "seen").read_text() == "people's own\nuntracked\n"
    listed = (runs.out / "list").read_text()
    assert "spec.md" not in listed
    assert "other.txt" not in listed
    assert (runs.out / "x").exists()
    assert run["note"] == "exit status 0; nothing was changed"
    assert run["worktree"]["removed"]
    assert (runs.root / "docs/new.md").exists()


def test_the_bases_are_the_roots_bytes(runs):
    (runs.root / "docs/spec.md").write_text("people's own\n")
    runs.run("1", script="echo v1 >docs/spec.md")
    (line,) = runs.field.me.ls()
    assert line.drafts[0].flags == ()  # not outdated
    assert [each.number for each in runs.field.me.promote(1).promoted] == [1]


def test_where_the_commit_has_something_else_in_the_way(runs):
    (runs.root / "d").mkdir()
    (runs.root / "d/x").write_text("x\n")
    (runs.field.base / "elsewhere").mkdir()
    os.symlink(runs.field.base / "elsewhere", runs.root / "link")
    git("add", "-A", cwd=runs.root)
    git("commit", "-q", "-m", "more", cwd=runs.root)
    (runs.root / "d/x").unlink()
    (runs.root / "d").rmdir()
    (runs.root / "d").write_text("now a file\n")
    (runs.root / "link").unlink()
    (runs.root / "link").mkdir()
    (runs.root / "link/in").write_text("now a folder\n")
    runs.field.me.add_job("all", ["d", "link/in"])
    runs.run("3", script="cat d link/in >$OUT/seen; echo more >>d")
    assert (runs.out / "seen").read_text() == "now a file\nnow a folder\n"
    assert list((runs.field.base / "elsewhere").iterdir()) == []


def test_its_notes_are_there_for_hooks_and_later_commands(runs):
    running = runs.begin("1", script=WAITS)
    runs.meets("pid")
    folder = runs.worktree("job-1-1")
    notes = Worktree(str(runs.root / ".git/worktrees/job-1-1"))
    assert notes.holder() == "ann"
    assert [(each.job, each.epoch) for each in notes.kept()] == [(1, 1)]
    assert os.path.lexists(f"{notes.folder}/held.json")
    assert Store.open(str(folder)).actor.name == "ann"
    other = draftfs("claim", "--next", cwd=folder, agent="bob")
    assert other.status == 3
    assert "belongs to ann" in other.err
    (runs.out / "go").touch()
    assert running.status() == 0


def test_a_name_that_is_taken_gets_a_number_and_stays_what_it_was(runs):
    git("branch", "job-1-1", cwd=runs.root)
    runs.worktree("job-1-1-2").mkdir(parents=True)
    run = runs.run("1", script="true")
    assert run["worktree"]["branch"] == "job-1-1-3"
    assert runs.worktree("job-1-1-2").exists()
    assert "job-1-1\n" in git("branch", "--format=%(refname:short)", cwd=runs.root)


def test_where_it_cannot_be_made_the_attempt_comes_back(runs):
    (runs.field.base / "r.jobs").write_text("in the way\n")
    error = runs.run("1", script="true", status=8)
    assert error["code"] == "git"
    assert "r.jobs" in error["message"]
    assert (runs.job(1).state, runs.job(1).attempts.used) == ("open", 0)
    assert "its worktree could not be made" in runs.job(1).because
    assert git("branch", "--format=%(refname:short)", cwd=runs.root) == "main\n"
    assert runs.run("1", "--worktrees", "../there", script="true")["worktree"]["path"] == str(
        runs.field.base / "there/job-1-2"
    )


def test_where_it_cannot_be_filled_nothing_is_left_of_it(runs, monkeypatch):
    from draftfs import fresh
    from draftfs.errors import EnvironmentFault

    def full(*_):
        raise EnvironmentFault("disk_full", "no space")

    monkeypatch.setattr(fresh, "fill", full)
    with pytest.raises(EnvironmentFault):
        runs.field.open(agent="ann").claim_fresh()
    assert runs.job(1).attempts.used == 0
    assert not runs.worktree("job-1-1").exists()
    assert git("worktree", "list", cwd=runs.root).count("\n") == 1
    assert git("branch", "--format=%(refname:short)", cwd=runs.root) == "main\n"


def test_from_anywhere(runs):
    """From a folder of the root, from a linked worktree that somebody else holds, with another repository in GIT_DIR."""
    other = runs.field.base / "other"
    git("init", "-q", str(other), cwd=runs.field.base)
    runs.field.bob.claim(2, seen=1)
    for cwd in (runs.root / "docs", runs.field.worktree("bob")):
        run = runs.run("1", script="true", cwd=cwd, GIT_DIR=str(other / ".git"))
        assert run["worktree"]["path"] == str(runs.worktree(f"job-1-{run['epoch']}"))
        runs.field.me.reject_job(1, because="again")


def test_who_is_no_agent_is_told_so(runs):
    ran = draftfs("run", "1", "--", "true", cwd=runs.root)
    assert ran.status == 2
    assert "--as NAME" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [["1"], ["1", "--"], ["true", "--as", "ann"], ["1", "2", "--", "true"], ["--next", "1", "--", "true"],
     ["--loop", "1", "--", "true"], ["x", "--", "true"]],
)  # fmt: skip
def test_how_it_is_called(runs, arguments):
    ran = draftfs("run", *arguments, cwd=runs.root, agent="ann")
    assert ran.status == 2
    assert "hint: draftfs run" in ran.err
    assert runs.job(1).attempts.used == 0


def test_a_program_of_an_earlier_claim_does_not_write_with_its_successors_token(runs):
    ann = runs.field.ann
    ann.claim(1, seen=1)
    ann.release()
    ann.claim(1, seen=3)
    place = runs.field.worktree("ann")
    runs.field.write("ann", "docs/spec.md", "late\n")
    late = draftfs("draft", "docs/spec.md", cwd=place, agent="ann", DRAFTFS_JOB="1", DRAFTFS_EPOCH="1")
    assert late.status == 4
    assert "epoch 1" in late.err
    assert draftfs("renew", cwd=place, agent="ann", DRAFTFS_JOB="1", DRAFTFS_EPOCH="1").status == 4
    assert draftfs("renew", cwd=place, agent="ann", DRAFTFS_JOB="1", DRAFTFS_EPOCH="x").status == 2
    assert draftfs("renew", cwd=place, agent="ann", DRAFTFS_JOB="1", DRAFTFS_EPOCH="2").status == 0
    assert draftfs("renew", cwd=place, agent="ann", DRAFTFS_JOB="7", DRAFTFS_EPOCH="1").status == 0
    with pytest.raises(Fenced):
        runs.field.open(place, agent="ann", running=(1, 1)).submit()
