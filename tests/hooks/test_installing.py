"""Installing and taking away: where git looks, exact, repeatable, and never over somebody else's hook."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from draftfs.git import hooks
from draftfs.git.hooks.text import HOOKS, Program, Text, parse, program
from tests.support import draftfs, git, make_field


@pytest.fixture
def root(tmp_path):
    return make_field(tmp_path).root


def snapshot(folder) -> dict[str, tuple]:
    """Everything in a folder: kind and mode, bytes or what it points to, and when it was written."""
    found = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        facts = os.lstat(path)
        content = os.readlink(path) if os.path.islink(path) else os.path.isfile(path) and Path(path).read_bytes()
        found[name] = (facts.st_mode, content, facts.st_mtime_ns)
    return found


def states(where) -> set[str]:
    return {each.state for each in hooks.status(str(where)).hooks}


def test_they_are_put_where_git_looks_and_git_runs_them(root):
    assert states(root) == {"not_installed"}
    done = hooks.install(str(root))
    assert [(each.hook, each.action, each.kept) for each in done.hooks] == [(hook, "installed", None) for hook in HOOKS]
    assert states(root) == {"active"}
    assert {oct(os.stat(each.file).st_mode & 0o777) for each in done.hooks} == {"0o755"}


def test_a_second_install_changes_no_byte(root):
    hooks.install(str(root))
    before = snapshot(root / ".git/hooks")
    again = hooks.install(str(root))
    assert {each.action for each in again.hooks} == {"unchanged"}
    assert snapshot(root / ".git/hooks") == before


def foreign(kind: str, path) -> None:
    if kind == "link":
        target = path.parent / "elsewhere"
        target.write_text("#!/bin/sh\n")
        target.chmod(0o755)
        path.symlink_to("elsewhere")
    elif kind == "dangling":
        path.symlink_to("nothing/at/all")
    else:
        path.write_bytes(b"#!/bin/sh\r\n\xff" if kind == "crlf" else b"#!/bin/sh\nexit 0\n")
        path.chmod({"plain": 0o644, "odd mode": 0o4751}.get(kind, 0o755))


@pytest.mark.parametrize("kind", ["script", "plain", "odd mode", "crlf", "link", "dangling"])
def test_uninstall_brings_back_what_was_there(root, kind):
    for hook in ("pre-push", "reference-transaction"):
        foreign(kind, root / ".git/hooks" / hook)
        (root / ".git/hooks/elsewhere").unlink(missing_ok=True) if hook == "pre-push" and kind == "link" else None
    before = snapshot(root / ".git/hooks")
    done = hooks.install(str(root))
    assert [each.kept is not None for each in done.hooks] == [False, True, True, False]
    assert hooks.install(str(root)).hooks[1].action == "unchanged"
    assert states(root) == {"active"}
    gone = hooks.uninstall(str(root))
    assert [each.action for each in gone.hooks] == ["removed", "restored", "restored", "removed"]
    assert snapshot(root / ".git/hooks") == before
    assert {each.action for each in hooks.uninstall(str(root)).hooks} == {"absent", "foreign"}
    assert snapshot(root / ".git/hooks") == before


def test_a_kept_hook_is_never_overwritten(root):
    path = root / ".git/hooks/pre-push"
    for text in ("one", "two", "one"):
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        hooks.install(str(root))
    kept = {each.read_text() for each in path.parent.glob("pre-push.before-draftfs-*")}
    assert kept == {"one", "two"}
    path.unlink()
    path.write_text("one")
    path.chmod(0o700)
    hooks.install(str(root))
    assert sorted(oct(each.stat().st_mode & 0o777) for each in path.parent.glob("*-draftfs-*")) == [
        "0o700",
        "0o755",
        "0o755",
    ]
    hooks.uninstall(str(root))
    assert (path.read_text(), oct(path.stat().st_mode & 0o777)) == ("one", "0o700")


def test_an_older_hook_is_brought_up_to_date_and_keeps_what_it_kept(root):
    path = root / ".git/hooks/pre-push"
    foreign("script", path)
    hooks.install(str(root))
    text = parse(path.read_bytes())
    path.write_bytes(Text("pre-push", Program(sys.executable, program().boot), text.kept, version="0.0.9").encoded())
    assert [each.state for each in hooks.status(str(root)).hooks] == ["active", "active", "outdated", "active"]
    assert hooks.install(str(root)).hooks[2].action == "updated"
    hooks.uninstall(str(root))
    assert path.read_bytes() == b"#!/bin/sh\nexit 0\n"


def test_a_missing_hooks_folder_is_made_and_goes_again(root):
    for each in (root / ".git/hooks").iterdir():
        each.unlink()
    (root / ".git/hooks").rmdir()
    hooks.install(str(root))
    hooks.install(str(root))
    assert states(root) == {"active"}
    hooks.uninstall(str(root))
    assert not (root / ".git/hooks").exists()


def test_a_hooks_folder_that_is_a_link_is_followed(root, tmp_path):
    (root / ".git/hooks").rename(tmp_path / "hooks")
    (root / ".git/hooks").symlink_to(tmp_path / "hooks")
    before = snapshot(tmp_path / "hooks")
    hooks.install(str(root))
    assert states(root) == {"active"}
    hooks.uninstall(str(root))
    assert snapshot(tmp_path / "hooks") == before
    assert (root / ".git/hooks").is_symlink()


def test_without_a_store_nothing_is_written(tmp_path):
    git("init", "-q", "r", cwd=tmp_path)
    ran = draftfs("hooks", "install", cwd=tmp_path / "r")
    assert (ran.status, "hint: draftfs init" in ran.err) == (5, True)
    assert draftfs("hooks", "status", cwd=tmp_path / "r").status == 0


def test_a_folder_with_the_name_of_a_hook_is_refused(root):
    (root / ".git/hooks/pre-push").mkdir()
    assert draftfs("hooks", "install", cwd=root).status == 8


# ── core.hooksPath ──


def test_a_local_folder_is_written_where_it_is(root):
    (root / ".git/info/exclude").write_text(".husky/_\n")
    git("config", "core.hooksPath", ".husky/_", cwd=root)
    git("worktree", "add", "-q", str(root.parent / "w"), cwd=root)
    hooks.install(str(root))
    assert (root / ".husky/_/pre-push").exists()
    assert not (root / ".git/hooks/pre-push").exists()
    found = {(each.worktree, each.state): each for each in hooks.status(str(root)).hooks}
    assert set(found) == {(str(root), "active"), (f"{root.parent}/w", "disabled")}, (
        "a relative path is another one there"
    )
    repair = found[f"{root.parent}/w", "disabled"].repair
    assert draftfs(*repair.split()[1:], cwd=root).status == 0
    assert states(root) == {"active"}
    hooks.uninstall(str(root))
    assert not (root / ".husky/_").exists()


def test_a_global_folder_is_only_written_when_asked(root, tmp_path, monkeypatch):
    (tmp_path / "config").write_text(f"[core]\n\thooksPath = {tmp_path}/everywhere\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    (tmp_path / "everywhere").mkdir()
    where = {"GIT_CONFIG_GLOBAL": str(tmp_path / "config")}
    ran = draftfs("hooks", "install", cwd=root, **where)
    assert ran.status == 3
    assert "every repository of this user" in ran.err
    assert "--shared-folder" in ran.err
    assert os.listdir(tmp_path / "everywhere") == []
    assert draftfs("hooks", "status", cwd=root, **where).status == 6
    assert draftfs("hooks", "install", "--shared-folder", cwd=root, **where).status == 0
    assert draftfs("hooks", "status", cwd=root, **where).status == 0
    git("init", "-q", "other", cwd=tmp_path)
    done = subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x", "commit", "--allow-empty", "-m", "x"],
        cwd=tmp_path / "other",
        capture_output=True,
        text=True,
        env={**os.environ, **where},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("tracked", [True, False])
def test_a_tracked_folder_or_one_outside_is_only_written_when_asked(root, tmp_path, tracked):
    folder = root / ".githooks" if tracked else tmp_path / "outside"
    folder.mkdir()
    if tracked:
        (folder / "README").write_text("ours")
        git("add", "-A", cwd=root)
    git("config", "core.hooksPath", str(folder), cwd=root)
    ran = draftfs("hooks", "install", cwd=root)
    assert ran.status == 3
    assert ("tracked" if tracked else "outside") in ran.err
    assert draftfs("hooks", "install", "--shared-folder", cwd=root).status == 0
    assert states(root) == {"active"}


@pytest.mark.parametrize("value", ["", "/dev/null"])
def test_hooks_that_are_switched_off_are_named_with_the_way_back(root, value):
    hooks.install(str(root))
    git("config", "core.hooksPath", value, cwd=root)
    assert draftfs("hooks", "install", cwd=root).status == 8
    found = hooks.status(str(root))
    assert {each.state for each in found.hooks} == {"disabled"}
    git(*found.hooks[0].repair.split()[1:], cwd=root)
    assert states(root) == {"active"}


def test_a_worktree_with_a_setting_of_its_own_is_seen_and_filled(root):
    wa = root.parent / "wa"
    git("worktree", "add", "-q", str(wa), cwd=root)
    git("config", "extensions.worktreeConfig", "true", cwd=root)
    git("config", "--worktree", "core.hooksPath", str(root / ".git/for-wa"), cwd=wa)
    hooks.install(str(root))
    assert {(each.worktree, each.state) for each in hooks.status(str(root)).hooks} == {
        (str(root), "active"),
        (str(wa), "disabled"),
    }
    hooks.install(str(wa))
    assert states(root) == {"active"}
    hooks.uninstall(str(root))
    assert states(root) == {"not_installed", "disabled"}


def test_what_git_would_pass_over_is_named(root):
    hooks.install(str(root))
    for hook in HOOKS:
        (root / ".git/hooks" / hook).chmod(0o644)
    ran = draftfs("hooks", "status", cwd=root)
    assert ran.status == 6
    assert ran.out.count("not executable") == len(HOOKS)
    assert hooks.install(str(root)).hooks[0].action == "updated"
    assert states(root) == {"active"}


@pytest.mark.parametrize(
    ("kind", "said"),
    [("dangling", "link to nothing"), ("plain", "not executable"), ("crlf", "carriage return"), ("script", "not ours")],
)
def test_a_hook_in_our_place_is_named_with_what_is_wrong(root, kind, said):
    hooks.install(str(root))
    (root / ".git/hooks/pre-push").unlink()
    foreign(kind, root / ".git/hooks/pre-push")
    (line,) = hooks.status(str(root)).missing
    assert (line.hook, line.state) == ("pre-push", "replaced")
    assert said in line.message
    hooks.install(str(root))
    assert not hooks.status(str(root)).missing


def test_a_program_that_is_gone_is_named(root):
    hooks.install(str(root))
    file = root / ".git/hooks/pre-push"
    for wrong, said in (
        (Program("/no/python", program().boot), "is gone"),
        (Program(program().python, "import os, sys\ntry:\n pass"), "does not start"),
    ):
        file.write_bytes(Text("pre-push", wrong).encoded())
        (line,) = hooks.status(str(root)).missing
        assert line.state == "broken"
        assert said in line.message


def test_hooks_in_git_s_config_are_listed(root):
    git("config", "hook.lint.command", "lint it", cwd=root)
    git("config", "hook.lint.event", "pre-push", cwd=root)
    git("config", "hook.lint.enabled", "false", cwd=root)
    (found,) = hooks.status(str(root)).config_hooks
    assert (found.name, found.event, found.command, found.enabled) == ("lint", "pre-push", "lint it", False)


# ── who, and at once ──


def test_an_agent_installs_but_does_not_take_away(root):
    wa = root.parent / "wa"
    git("worktree", "add", "-q", str(wa), cwd=root)
    assert draftfs("hooks", "install", cwd=wa, agent="ann").status == 0
    assert draftfs("hooks", "uninstall", cwd=wa).status == 3
    assert draftfs("hooks", "uninstall", cwd=root, agent="ann").status == 3
    assert states(wa) == {"active"}
    assert draftfs("hooks", "uninstall", cwd=root).status == 0


def test_thirty_two_at_once_end_exact_and_git_never_sees_half_a_hook(root):
    path = root / ".git/hooks/reference-transaction"
    path.write_text("#!/bin/sh\n# foreign\nexit 0\n")
    path.chmod(0o755)
    before = snapshot(path.parent)
    fork = multiprocessing.get_context("fork")
    running = [fork.Process(target=hooks.install, args=(str(root),), kwargs={"lock_wait": 60}) for _ in range(32)]
    for each in running:
        each.start()
    seen = set()
    while any(each.is_alive() for each in running):
        seen.add(path.read_bytes())
        assert os.access(path, os.X_OK)
        time.sleep(0.005)
    assert {each.exitcode for each in running} == {0}
    assert len(seen) <= 2
    assert states(root) == {"active"}
    assert len(list(path.parent.glob("*.before-draftfs-*"))) == 1
    hooks.uninstall(str(root))
    assert snapshot(path.parent) == before


def test_killed_between_any_two_steps_it_ends_exact_when_run_again(root, monkeypatch):
    from draftfs.engine import fs

    path = root / ".git/hooks/pre-push"
    path.write_text("#!/bin/sh\n# foreign\n")
    path.chmod(0o755)
    before = snapshot(path.parent)
    for step in range(200):
        calls = iter(range(step))

        def stop(*_, calls=calls):
            if next(calls, None) is None:
                raise KeyboardInterrupt

        monkeypatch.setattr(fs, "observer", stop)
        try:
            hooks.install(str(root))
            finished = True
        except KeyboardInterrupt:
            finished = False
        monkeypatch.setattr(fs, "observer", None)
        assert path.read_bytes() in (b"#!/bin/sh\n# foreign\n", hooks_text(path))
        hooks.install(str(root))
        assert all(parse((path.parent / hook).read_bytes()) for hook in HOOKS)
        hooks.uninstall(str(root))
        assert {name: each[:2] for name, each in snapshot(path.parent).items()} == {n: e[:2] for n, e in before.items()}
        if finished:
            break
    assert finished
    assert step > 10


def hooks_text(path) -> bytes:
    return Text("pre-push", kept=parse(path.read_bytes()).kept).encoded() if parse(path.read_bytes()) else b""


# ── init ──


def test_init_installs_them_asks_or_says_how(tmp_path):
    from tests.cli.conftest import answer, in_terminal

    for name in ("quiet", "yes", "asked", "declined", "no"):
        git("init", "-q", name, cwd=tmp_path)
    ran = draftfs("init", cwd=tmp_path / "quiet")
    assert "draftfs hooks install" in ran.out
    assert states(tmp_path / "quiet") == {"not_installed"}
    assert len(answer(draftfs("init", "--hooks", "--json", cwd=tmp_path / "yes"))["hooks"]["hooks"]) == len(HOOKS)
    assert states(tmp_path / "yes") == {"active"}
    assert in_terminal("init", cwd=tmp_path / "asked", typed=b"\n")[0] == 0
    assert states(tmp_path / "asked") == {"active"}
    assert "[Y/n]" not in in_terminal("init", cwd=tmp_path / "asked")[1]
    assert in_terminal("init", cwd=tmp_path / "declined", typed=b"n\n")[0] == 0
    assert states(tmp_path / "declined") == {"not_installed"}
    assert "[Y/n]" not in in_terminal("init", "--no-hooks", cwd=tmp_path / "no")[1]
    assert states(tmp_path / "no") == {"not_installed"}
