"""What a hook does when nobody can judge: C63's policy, with a stand-in for the program."""

from __future__ import annotations

import shutil

import pytest

from tests.support import git

BROKEN = {
    "interpreter": lambda shim: shim.python.unlink(),
    "program": lambda shim: shim.answer(8),
    "crash": lambda shim: shim.answer(139),
    "store": lambda shim: (
        shutil.rmtree(shim.root / ".git/draftfs"),
        git("config", "draftfs.store", "draftfs", cwd=shim.root),
    ),
}
broken = pytest.mark.parametrize("fault", BROKEN)


def told(ran) -> str:
    """The one line that the hook says."""
    (line,) = [each for each in ran.err.splitlines() if each.startswith("draftfs: ")]
    return line


@broken
def test_refused_where_a_claim_was_held_with_one_line(shim, fault):
    shim.held()
    BROKEN[fault](shim)
    ran = shim.commit(shim.wa)
    assert ran.status != 0
    assert "refused" in ran.err
    assert "draftfs hooks install" in ran.err
    assert "DRAFTFS_BYPASS=REASON" in ran.err
    assert git("log", "--format=%s", "wa", cwd=shim.root) == "start\n"


@broken
def test_elsewhere_warned_and_passed(shim, fault):
    BROKEN[fault](shim)
    assert "warning" in told(shim.commit())
    ran = shim.commit(shim.wa, "-m", "another than the one in the main checkout")
    assert ran.status == 0
    assert "warning" in told(ran)


@broken
def test_a_person_gets_past_it_once_with_a_reason(shim, fault):
    shim.held()
    BROKEN[fault](shim)
    ran = shim.commit(shim.wa, DRAFTFS_BYPASS="hooks broken")
    assert ran.status == 0
    assert "NOT CHECKED" in ran.err
    assert "hooks broken" in ran.err
    if fault == "program":
        assert any(call[0].startswith("bypassed") for call in shim.calls())
    assert shim.commit(shim.wa, DRAFTFS_BYPASS="").status != 0, "an empty reason is none"
    assert shim.commit(shim.wa, DRAFTFS_BYPASS="mine", DRAFTFS_AGENT="ann").status != 0, "an agent has none"
    assert shim.commit(shim.wa, DRAFTFS_BYPASS="mine", DRAFTFS_AGENT="").status != 0, "even one without a name"


def test_nobody_gets_past_a_refusal(shim):
    shim.answer(1)
    for where in (shim.root, shim.wa):
        assert shim.commit(where, "--no-verify", DRAFTFS_BYPASS="please").status != 0


@broken
def test_fetching_and_switching_branches_go_on(shim, fault, tmp_path):
    git("clone", "-q", "--bare", str(shim.root), str(tmp_path / "other"), cwd=tmp_path)
    new = git("commit-tree", "HEAD^{tree}", "-m", "new", cwd=tmp_path / "other").strip()
    git("branch", "topic", new, cwd=tmp_path / "other")
    shim.held()
    BROKEN[fault](shim)
    for command in (
        ("fetch", "-q", str(tmp_path / "other"), "+refs/heads/*:refs/remotes/o/*"),
        ("switch", "-q", "-c", "fresh", "main"),
        ("switch", "-q", "wa"),
        ("gc", "-q"),
        ("stash", "list"),
    ):
        ran = shim.git(*command, cwd=shim.wa)
        assert (ran.status, ran.err) == (0, ""), command


def test_a_repository_without_a_store_notices_nothing(shim):
    shutil.rmtree(shim.root / ".git/draftfs")
    shim.held()
    for fault in ("crash", "interpreter"):
        BROKEN[fault](shim)
        ran = shim.commit(shim.wa)
        assert (ran.status, ran.err) == (0, "")
    assert shim.calls() == []


def test_a_store_elsewhere_is_found_by_the_config(shim, tmp_path):
    (shim.root / ".git/draftfs").rename(tmp_path / "moved")
    git("config", "draftfs.store", str(tmp_path / "moved"), cwd=shim.root)
    shim.commit()
    assert len(shim.calls()) == 1


def test_the_variable_of_the_self_check_opens_no_gate(shim):
    assert shim.commit(DRAFTFS_SELFTEST="yes").status != 0


def test_pushes_are_asked_about_whole(shim, tmp_path):
    git("clone", "-q", "--bare", str(shim.root), str(tmp_path / "other"), cwd=tmp_path)
    shim.commit()
    shim.calls()
    at = git("rev-parse", "HEAD", cwd=shim.root).strip()
    assert shim.git("push", "-q", str(tmp_path / "other"), "main").status == 0
    (call,) = shim.calls()
    assert f"refs/heads/main {at} refs/heads/main" in call[-1]
    shim.answer(1)
    shim.commit(GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="core.hooksPath", GIT_CONFIG_VALUE_0="/dev/null")
    assert shim.git("push", "-q", str(tmp_path / "other"), "main").status != 0


def test_what_arrives_is_asked_about_in_every_namespace(shim, tmp_path):
    git("clone", "-q", str(shim.root), str(tmp_path / "other"), cwd=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "late", cwd=tmp_path / "other")
    shim.answer(1)
    for ref in ("refs/heads/x", "refs/tags/x", "refs/draft/x"):
        assert shim.git("push", "-q", "origin", f"HEAD:{ref}", cwd=tmp_path / "other").status != 0
        (call,) = shim.calls()
        assert "pre-receive" in "\n".join(call)
        assert call[-1].endswith(ref)
