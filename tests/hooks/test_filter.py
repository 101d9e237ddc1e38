"""What reaches the program, and what leaves before it: the part of a hook that everybody pays."""

from __future__ import annotations

import os

import pytest

from draftfs.git.hooks.text import HOOKS
from tests.support import git

ZERO = "0" * 40


def head(shim, cwd=None) -> str:
    return git("rev-parse", "HEAD", cwd=cwd or shim.root).strip()


def test_the_texts_are_plain_posix_sh(shim):
    import subprocess

    for hook in HOOKS:
        for shell in ("sh", "dash", "bash"):
            subprocess.run([shell, "-n", str(shim.hooks / hook)], check=True)


@pytest.mark.parametrize("ref", ["refs/tags/v1", "refs/remotes/origin/main", "refs/stash", "ORIG_HEAD", "refs/notes/x"])
def test_another_ref_costs_no_process(shim, ref):
    ran = shim.direct("reference-transaction", "prepared", stdin=f"{ZERO} {'1' * 40} {ref}\n" * 10_000, PATH="/nowhere")
    assert (ran.status, ran.out, ran.err) == (0, "", "")


@pytest.mark.parametrize(
    "line",
    [
        f"{'1' * 40} {ZERO} refs/heads/main",
        f"{'1' * 40} {'0' * 64} refs/heads/main",
        f"{'1' * 40} {'1' * 40} refs/heads/main",
        f"{'1' * 40} ref:refs/heads/b HEAD",
        f"{'1' * 40} {'2' * 40} HEAD",
    ],
)
def test_a_deletion_a_symbolic_ref_no_move_and_head_on_a_branch_cost_no_process(shim, line):
    assert shim.direct("reference-transaction", "prepared", stdin=f"{line}\n", PATH="/nowhere").err == ""


@pytest.mark.parametrize("state", ["committed", "aborted", "preparing", "unheard-of"])
def test_other_states_pass(shim, state):
    shim.answer(1)
    line = f"{ZERO} {'1' * 40} refs/heads/x\n"
    assert shim.direct("reference-transaction", state, stdin=line, PATH="/nowhere").status == 0


def test_a_new_commit_on_a_branch_is_asked_about_once_with_the_git_folders(shim):
    assert shim.compose(shim.wa).status == 0
    first, second = shim.calls()
    git_dir = f"{shim.root}/.git/worktrees/wa"
    assert "\n".join(first).startswith(f"prepare-commit-msg {git_dir} {shim.root}/.git {git_dir}/COMMIT_EDITMSG")
    assert "\n".join(second[:-1]) == f"reference-transaction {git_dir} {shim.root}/.git prepared"
    assert second[-1].split()[1:] == [head(shim, shim.wa), "refs/heads/wa"]


def test_a_person_in_the_main_checkout_is_spared_the_early_look(shim):
    assert shim.compose().status == 0
    (call,) = shim.calls()
    assert call[0].startswith("reference-transaction")
    shim.compose(DRAFTFS_AGENT="ann")
    assert [call[0].split()[0] for call in shim.calls()] == ["prepare-commit-msg", "reference-transaction"]


@pytest.mark.parametrize("cwd", ["root", "wa"])
def test_what_brings_no_commit_is_not_asked_about(shim, cwd):
    where = getattr(shim, cwd)
    shim.commit(where)
    shim.commit(where)
    shim.calls()
    shim.answer(1)
    for command in (
        ("branch", "there", "HEAD"),
        ("reset", "-q", "--hard", "HEAD~1"),
        ("tag", "v1"),
        ("pack-refs", "--all"),
        ("branch", "-m", "there", "other"),
        ("branch", "-D", "other"),
        ("checkout", "-q", "--detach"),
        ("checkout", "-q", "-"),
        ("switch", "-q", "-c", "more", "main"),
        ("gc", "-q"),
        ("worktree", "add", "-q", f"{shim.base}/w2"),
    ):
        ran = shim.git(*command, cwd=where)
        if command[:2] == ("branch", "there") and cwd == "wa":
            assert ran.status != 0, "of another branch than people's, the program judges"
            git("-c", "core.hooksPath=/dev/null", "branch", "there", "HEAD", cwd=where)
            shim.calls()
            continue
        assert ran.status == 0, (command, ran.err)
        assert shim.calls() == [], command


def test_a_late_commit_cannot_hide_behind_another_branch(shim):
    git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "late", cwd=shim.wa)
    shim.answer(1)
    for command in (("branch", "evade", "wa"), ("merge", "-q", "wa"), ("update-ref", "refs/heads/main", "wa")):
        assert shim.git(*command).status != 0
        assert len(shim.calls()) == 1


def test_a_detached_head_is_asked_about_but_not_in_a_rebase(shim):
    git("checkout", "-q", "--detach", cwd=shim.wa)
    assert shim.commit(shim.wa).status == 0
    assert shim.calls()[-1][-1].endswith(" HEAD")
    git("checkout", "-q", "wa", cwd=shim.wa)
    for n in range(2):
        (shim.wa / f"f{n}").write_text("x")
        git("add", "-A", cwd=shim.wa)
        git("commit", "-q", "-m", "x", cwd=shim.wa)
    (shim.root / "g").write_text("x")
    git("add", "-A", cwd=shim.root)
    git("commit", "-q", "-m", "x", cwd=shim.root)
    shim.calls()
    assert shim.git("rebase", "-q", "main", cwd=shim.wa).status == 0
    (call,) = shim.calls()
    assert call[-1].split()[2] == "refs/heads/wa"


def test_a_replacement_object_hides_nothing(shim):
    git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "late", cwd=shim.wa)
    late, start = head(shim, shim.wa), head(shim)
    git("replace", late, start, cwd=shim.root)
    shim.git("branch", "evade", late)
    assert len(shim.calls()) == 1


# ── many refs ──


def logged(shim, *names: str) -> str:
    """A folder for PATH whose programs note their names in `started`."""
    folder = shim.base / "bin"
    folder.mkdir()
    import shutil

    for name in names:
        (folder / name).write_text(
            f"#!/bin/sh\necho {name} >>'{folder}/started'\nexec {shutil.which(name)} \"$@\"\n".replace(
                f"'{folder}/started'", '"${0%/*}/started"'
            )
        )
        (folder / name).chmod(0o755)
    return str(folder)


def test_packing_ten_thousand_branches_starts_a_handful_of_processes_and_no_python(shim):
    at = head(shim)
    packed = shim.root / ".git/packed-refs"
    packed.write_text("# pack-refs with: sorted \n" + "".join(sorted(f"{at} refs/heads/b{n}\n" for n in range(10_000))))
    path = logged(shim, "git", "cut", "grep", "cat", "sort", "uniq")
    shim.answer(1)
    lines = "".join(f"{ZERO} {at} refs/heads/b{n}\n" for n in range(10_000))
    ran = shim.direct("reference-transaction", "prepared", stdin=lines, PATH=path)
    assert (ran.status, ran.err) == (0, "")
    started = (shim.base / "bin/started").read_text().split()
    assert sorted(started) == ["cut", "git", "grep", "sort", "sort", "uniq"]
    assert shim.calls() == []


def test_packing_refs_really_asks_nothing(shim):
    for n in range(40):
        git("branch", f"b{n}", "main", cwd=shim.root)
    shim.answer(1)
    assert shim.git("pack-refs", "--all").status == 0
    assert shim.git("gc", "-q").status == 0
    assert shim.calls() == []


def test_many_moves_are_one_question_without_what_is_not_asked_about(shim):
    new = git("commit-tree", "HEAD^{tree}", "-m", "new", cwd=shim.root).strip()
    lines = [f"{ZERO} {new} refs/heads/n{n}" for n in range(50)]
    others = [f"{new} {ZERO} refs/heads/gone", f"{ZERO} {new} refs/tags/t", f"{ZERO} {new} HEAD", f"{ZERO} ref:x HEAD"]
    mixed = [each for line in lines for each in (*others, line)]
    shim.answer(1)
    ran = shim.direct("reference-transaction", "prepared", stdin="\n".join(mixed) + "\n", PATH=os.environ["PATH"])
    assert ran.status == 1
    (call,) = shim.calls()
    assert [line for line in call if line.startswith(ZERO)] == lines


def test_a_fetch_of_many_branches_into_remotes_asks_nothing(shim, tmp_path):
    git("clone", "-q", "--bare", str(shim.root), str(tmp_path / "other"), cwd=tmp_path)
    new = git("commit-tree", "HEAD^{tree}", "-m", "new", cwd=tmp_path / "other").strip()
    for n in range(20):
        git("branch", f"n{n}", new, cwd=tmp_path / "other")
    shim.answer(1)
    assert shim.git("fetch", "-q", str(tmp_path / "other"), "+refs/heads/*:refs/remotes/o/*").status == 0
    assert shim.calls() == []
