"""What a program changed becomes drafts, whatever it knows of draftfs; what it wrote elsewhere is never lost."""

from __future__ import annotations

import os
import subprocess

import pytest

from draftfs import DraftRef
from tests.run.conftest import git


def drafted(run: dict) -> dict[str, bool]:
    return {each["target"]: each["delete"] for each in run["drafts"]}


def waiting(runs, target: str) -> bytes:
    (line,) = [each for each in runs.field.me.ls() if each.target == target]
    return (runs.root / line.drafts[-1].draft.file).read_bytes()


def test_a_change_is_drafted_submitted_and_the_worktree_goes(runs):
    run = runs.run("1", script="echo v1 >docs/spec.md; echo said; pwd >$OUT/pwd")
    assert (run["job"], run["epoch"], run["ended"], run["status"]) == (1, 1, "submitted", 0)
    assert drafted(run) == {"docs/spec.md": False}
    assert waiting(runs, "docs/spec.md") == b"v1\n"
    assert (runs.root / "docs/spec.md").read_text() == "v0\n"
    assert runs.job(1).state == "submitted"
    assert runs.job(1).because == run["note"] == "exit status 0; 1 draft"
    folder = runs.worktree("job-1-1")
    assert (runs.out / "pwd").read_text().strip() == str(folder) == run["worktree"]["path"]
    assert (run["worktree"]["removed"], run["worktree"]["branch_removed"]) == (True, True)
    assert not folder.exists()
    assert git("branch", "--format=%(refname:short)", cwd=runs.root) == "main\n"
    assert "said" in runs.started[0].err  # beside --json, standard output is for the one object


def test_without_json_the_program_has_both_streams_and_the_lines_are_ours(runs):
    running = runs.begin("1", script="echo hers; echo v1 >docs/spec.md")
    assert running.status() == 0
    assert running.out == "hers\n"
    assert all(line.startswith("draftfs: ") for line in running.err.splitlines())
    for said in ("claimed job 1 (epoch 1): write the spec", "drafted docs/spec.md.draft-0001@ann", "1 draft"):
        assert said in running.err


def test_what_the_program_finds_in_its_environment(runs):
    runs.field.me.add_job("two things", ["x y", "docs/b.md"], text="do it\nwell")
    shown = "DRAFTFS_AGENT DRAFTFS_JOB DRAFTFS_EPOCH DRAFTFS_TITLE DRAFTFS_TEXT DRAFTFS_PATHS DRAFTFS_TOKEN GIT_DIR PWD"
    script = f'for each in {shown}; do eval "printf \'%s\\n\' \\"$each=\\${{$each-unset}}\\""; done >$OUT/env'
    runs.run("3", script=script, DRAFTFS_TOKEN="9.x", DRAFTFS_JOB="1", GIT_DIR=str(runs.root / ".git"))
    assert (runs.out / "env").read_text() == (
        "DRAFTFS_AGENT=ann\nDRAFTFS_JOB=3\nDRAFTFS_EPOCH=1\nDRAFTFS_TITLE=two things\nDRAFTFS_TEXT=do it\nwell\n"
        f"DRAFTFS_PATHS=docs/b.md\nx y\nDRAFTFS_TOKEN=unset\nGIT_DIR=unset\nPWD={runs.worktree('job-3-1')}\n"
    )


def test_nothing_changed_is_submitted_and_said(runs):
    run = runs.run("1", script="true")
    assert (run["ended"], run["drafts"], run["note"]) == ("submitted", [], "exit status 0; nothing was changed")
    assert run["worktree"]["removed"]
    assert runs.job(1).state == "submitted"


def test_a_failing_program_fails_the_job_and_keeps_its_work(runs):
    run = runs.run("1", script="echo half >docs/spec.md; exit 7", status=7)
    assert (run["ended"], run["status"], run["drafts"]) == ("failed", 7, [])
    assert runs.job(1).state == "open"
    assert runs.job(1).attempts.used == 1
    assert runs.job(1).because == "exit status 7"
    assert (runs.worktree("job-1-1") / "docs/spec.md").read_text() == "half\n"
    assert not run["worktree"]["removed"]


def test_a_failing_program_that_changed_nothing_leaves_nothing(runs):
    run = runs.run("1", script="exit 3", status=3)
    assert run["worktree"]["removed"]
    assert run["worktree"]["branch_removed"]


def test_a_program_that_is_killed_has_the_status_that_shells_give(runs):
    assert runs.run("1", script="kill -KILL $$", status=137)["ended"] == "failed"


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [("no-such-program", 127, "there is no such program"), ("./a.txt", 126, "Permission denied")],
)
def test_a_program_that_cannot_be_started_costs_no_attempt(runs, command, status, said):
    import json
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "draftfs", "run", "1", "--as", "ann", "--json", "--", command],
        cwd=runs.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    error = json.loads(done.stdout)["error"]
    assert error["message"].endswith(f"{command} cannot be started: {said}")
    assert (runs.job(1).state, runs.job(1).attempts.used) == ("open", 0)
    assert not runs.worktree("job-1-1").exists()
    assert git("branch", "--format=%(refname:short)", cwd=runs.root) == "main\n"


def test_a_text_that_is_too_long_for_the_environment_is_said(runs):
    runs.field.me.add_job("long", ["long"], text="x" * 200_000)
    error = runs.run("3", script="true", status=126)
    assert "too long for the environment" in error["message"]
    assert runs.job(3).attempts.used == 0


def test_a_file_that_is_no_program_is_said(runs):
    (runs.root / "a.txt").chmod(0o755)
    git("commit", "-qam", "executable", cwd=runs.root)
    from tests.support import draftfs

    ran = draftfs("run", "1", "--", "./a.txt", cwd=runs.root, agent="ann")
    assert ran.status == 126
    assert "its first line names none (#!)" in ran.err


def test_deletions_modes_and_new_files_under_a_folder(runs):
    for name in ("gone.md", "tool", "same.md"):
        (runs.root / "docs" / name).write_text(f"{name}\n")
    git("add", "-A", cwd=runs.root)
    git("commit", "-q", "-m", "more", cwd=runs.root)
    (runs.root / ".gitignore").write_text("*.o\n")
    git("add", "-A", cwd=runs.root)
    git("commit", "-q", "-m", "ignore", cwd=runs.root)
    runs.field.me.add_job("all pages", ["docs"])
    run = runs.run(
        "3",
        script="rm docs/gone.md; chmod +x docs/tool; mkdir docs/new; echo n >docs/new/n.md; echo o >docs/x.o;"
        " cat docs/same.md >t; rm docs/same.md; cp t docs/same.md; rm t",
    )
    assert drafted(run) == {"docs/gone.md": True, "docs/new/n.md": False, "docs/tool": False}
    assert {each["target"]: each["mode"] for each in run["drafts"]}["docs/tool"] == "100755"
    assert run["worktree"]["removed"]  # an ignored build file does not count


def test_what_was_committed_counts_by_its_files(runs):
    script = "echo v1 >docs/spec.md; git commit -qam one; echo v2 >docs/spec.md; git commit -qam two"
    run = runs.run("1", script=script)
    assert drafted(run) == {"docs/spec.md": False}
    assert waiting(runs, "docs/spec.md") == b"v2\n"
    assert run["worktree"]["removed"]
    assert not run["worktree"]["branch_removed"]  # it has commits
    assert git("log", "--format=%s", "job-1-1", cwd=runs.root) == "two\none\nstart\n"


def test_a_change_that_was_committed_and_taken_back_is_none(runs):
    script = "echo v1 >docs/spec.md; git commit -qam one; echo v0 >docs/spec.md"
    assert runs.run("1", script=script)["note"] == "exit status 0; nothing was changed"


def test_changes_outside_the_claim_are_named_and_stay(runs):
    script = "echo v1 >docs/spec.md; echo two >a.txt; mkdir n; echo n >'n/b c'; git init -q sub; echo s >sub/s"
    run = runs.run("1", script=script)
    assert drafted(run) == {"docs/spec.md": False}
    assert run["outside"] == ["a.txt", "n/b c", "sub/"]
    assert "changed outside the claim, not drafted: a.txt, n/b c, sub/" in runs.job(1).because
    assert not run["worktree"]["removed"]
    assert (runs.worktree("job-1-1") / "a.txt").read_text() == "two\n"
    assert runs.job(1).state == "submitted"


def test_what_no_draft_can_hold_is_named_and_stays(runs):
    runs.field.me.add_job("all pages", ["docs", "a.txt"])
    script = "ln -s spec.md docs/link; echo d >docs/spec.md.draft-0009@eve; git init -q docs/in; rm a.txt; mkdir a.txt; echo >a.txt/b"
    run = runs.run("3", script=script)
    assert run["drafts"] == []
    assert sorted(run["unfit"]) == ["a.txt", "a.txt/b", "docs/in/", "docs/link", "docs/spec.md.draft-0009@eve"]
    assert not run["worktree"]["removed"]
    assert runs.job(3).state == "submitted"


def test_a_worktree_stays_where_git_would_lose_a_commit_with_it(runs):
    script = "git checkout -q --detach; git commit -q --allow-empty -m lost"
    run = runs.run("1", script=script)
    assert "is on no branch" in run["worktree"]["because"]
    run = runs.run("2", script="git checkout -q -b mine; git commit -q --allow-empty -m kept")
    assert run["worktree"]["removed"]
    assert run["worktree"]["branch_removed"]
    assert git("log", "-1", "--format=%s", "mine", cwd=runs.root) == "kept\n"


def test_a_file_that_was_just_ignored_is_not_thrown_away(runs):
    runs.field.me.add_job("ignore", [".gitignore"])
    run = runs.run("3", script="echo '*.log' >.gitignore; echo work >my.log")
    assert drafted(run) == {".gitignore": False}
    assert not run["worktree"]["removed"]
    assert "my.log" in run["worktree"]["because"]


def test_keep_keeps(runs):
    run = runs.run("1", "--keep", script="echo v1 >docs/spec.md")
    assert not run["worktree"]["removed"]
    assert runs.worktree("job-1-1").exists()


ODD = ["new\nline", "-dash", 'quo"te', " space ", "*", "ümlaut", os.fsdecode(b"byte\xff"), "[ab]", "a\\b"]


def test_odd_names(runs):
    runs.field.me.add_job("odd", ["odd"])
    names = runs.field.base / "names"
    names.write_bytes(b"\0".join(os.fsencode(each) for each in ODD))
    code = "import os,sys\nos.mkdir('odd')\nfor n in open(sys.argv[1],'rb').read().split(b'\\0'): open(b'odd/'+n,'wb').write(n)"
    import shlex
    import sys

    run = runs.run("3", script=f"{shlex.quote(sys.executable)} -c {shlex.quote(code)} {shlex.quote(str(names))}")
    assert {each["target"] for each in run["drafts"]} == {f"odd/{each}" for each in ODD}
    assert run["worktree"]["removed"]
    draft = runs.field.me.sides(DraftRef("odd/-dash", 1))
    assert draft is not None


def test_a_program_that_knows_draftfs_may_draft_and_submit_itself(runs):
    import shlex
    import sys

    d = f"{shlex.quote(sys.executable)} -m draftfs"
    run = runs.run("1", script=f"echo v1 >docs/spec.md; {d} draft docs/spec.md --note mine")
    assert run["drafts"] == []  # it stands as its own draft already
    assert (run["ended"], run["worktree"]["removed"]) == ("submitted", True)
    assert runs.field.me.ls()[0].drafts[0].draft.note == "mine"
    run = runs.run("2", script=f"echo t >a.txt; {d} draft a.txt; {d} submit --note done; echo after >a.txt")
    assert (run["ended"], run["status"]) == ("submitted", 0)
    assert runs.job(2).because == "done"
    assert not run["worktree"]["removed"]


def test_what_is_left_running_is_stopped_before_drafting(runs):
    script = "echo v1 >docs/spec.md; (trap '' TERM; echo $$ >$OUT/left; while :; do sleep 0.05; echo late >>docs/spec.md; done) & sleep 0.2"
    run = runs.run("1", "--grace", "0.3", script=script)
    assert run["ended"] == "submitted"
    assert run["worktree"]["removed"]
