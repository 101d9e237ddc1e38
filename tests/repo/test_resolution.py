"""Which checkout a folder belongs to, where its HEAD stands, and what git is asked to say about both."""

import os
import shutil
import subprocess
import sys

import pytest

from draftfs import repo as repo_module
from draftfs.errors import BadRequest, EnvironmentFault, NotFound
from draftfs.filesystems import SHARED_FILE_SYSTEMS, file_system, probe_fold
from draftfs.paths import Fold
from draftfs.repo import Head, Repo


def find(place) -> Repo:
    return Repo.find(str(place))


def refused(kind, code, place):
    with pytest.raises(kind) as caught:
        find(place)
    assert caught.value.code == code
    assert "\n" not in caught.value.message
    return caught.value


# ── which checkout ──


def test_main_checkout(main):
    found = find(main)
    assert found == Repo(str(main), str(main), f"{main}/.git", f"{main}/.git")
    assert not found.linked
    assert found.main_checkout() == str(main)
    assert found.exclude_file() == f"{main}/.git/info/exclude"


def test_linked_worktree_from_a_subfolder(main, tmp_path):
    worktree = main.worktree(tmp_path / "wa")
    found = find(worktree.top / "docs")
    assert found == Repo(f"{worktree}/docs", str(worktree), f"{main}/.git/worktrees/wa", f"{main}/.git")
    assert found.linked
    assert found.main_checkout() == str(main)


def test_one_process_resolves(main, monkeypatch):
    calls = []
    real = repo_module.run
    monkeypatch.setattr(repo_module, "run", lambda *a, **k: calls.append(a) or real(*a, **k))
    found = find(main)
    assert len(calls) == 1
    found.target("docs/new.md")
    assert len(calls) == 1
    found.head()
    assert len(calls) == 2


@pytest.mark.parametrize("name", ["line\nend", " lead", "--draftfs", "nl\n--", "bad\udcff", 'q"uote'])
def test_top_with_any_name(checkout_at, tmp_path, name):
    top = tmp_path / name
    top.mkdir()
    checkout = checkout_at(top)
    checkout.git("init", "-q")
    assert find(top).top == str(top)
    assert find(top).git_dir == f"{top}/.git"


def test_through_a_symlink(main, tmp_path):
    (tmp_path / "link").symlink_to(main.top / "docs")
    found = find(tmp_path / "link")
    assert (found.cwd, found.top) == (f"{main}/docs", str(main))


def test_variables_of_a_hook_of_another_repository_change_nothing(main, checkout_at, tmp_path, monkeypatch):
    other = checkout_at(tmp_path / "other")
    other.top.mkdir()
    other.git("init", "-q", "-b", "elsewhere")
    other.write("docs/spec.md", "other\n")
    other.commit()
    before = find(main), find(main).head(), find(main).entry("HEAD", "docs/spec.md")
    for name, value in {
        "GIT_DIR": f"{other}/.git",
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": f"{other}/.git/index",
        "GIT_COMMON_DIR": f"{other}/.git",
        "GIT_OBJECT_DIRECTORY": f"{other}/.git/objects",
        "GIT_PREFIX": "docs/",
        "GIT_CONFIG_PARAMETERS": "'core.bare'='true'",
        "GIT_GLOB_PATHSPECS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    assert (find(main), find(main).head(), find(main).entry("HEAD", "docs/spec.md")) == before
    assert find(main).changed_under(before[1].commit, "docs") == ()


def test_outside_any_repository(tmp_path):
    assert refused(NotFound, "no_store", tmp_path).hint == "git init && draftfs init"


def test_inside_gits_own_folder(main, tmp_path):
    main.worktree(tmp_path / "wa")
    for place in (".git", ".git/hooks", ".git/worktrees/wa"):
        refused(BadRequest, "bad_path", main.top / place)


def test_bare_repository(main, tmp_path, checkout_at):
    main.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    refused(NotFound, "no_store", tmp_path / "bare.git")
    bare = checkout_at(tmp_path / "bare.git")
    inside = bare.worktree(tmp_path / "bare.git" / "inside", "-b", "b")
    found = find(inside)
    assert found.linked
    assert found.main_checkout() is None
    assert found.target("docs/x") == "docs/x"


def test_separate_git_dir(checkout_at, tmp_path):
    top = tmp_path / "sep"
    top.mkdir()
    checkout = checkout_at(top)
    checkout.git("init", "-q", "--separate-git-dir", str(tmp_path / "store.git"))
    checkout.commit()
    found = find(top)
    assert (found.git_dir, found.linked, found.main_checkout()) == (str(tmp_path / "store.git"), False, str(top))
    worktree = checkout.worktree(tmp_path / "wa")
    assert find(worktree).main_checkout() is None
    checkout.git("config", "core.worktree", str(top))
    assert find(worktree).main_checkout() == str(top)


def test_submodule(main, checkout_at, tmp_path):
    library = checkout_at(tmp_path / "library")
    library.top.mkdir()
    library.git("init", "-q")
    library.write("f", "f")
    library.commit()
    main.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    submodule = checkout_at(main.top / "sub")
    found = find(submodule)
    assert (found.top, found.common_dir, found.linked) == (f"{main}/sub", f"{main}/.git/modules/sub", False)
    assert found.main_checkout() == f"{main}/sub"
    worktree = submodule.worktree(tmp_path / "ws")
    assert find(worktree).main_checkout() == f"{main}/sub"
    refused(BadRequest, "bad_path", main.top / ".git/modules/sub")


def test_config_of_the_main_worktree_alone(main, tmp_path):
    main.git("config", "extensions.worktreeConfig", "true")
    worktree = main.worktree(tmp_path / "wa")
    worktree.git("config", "--worktree", "core.bare", "false")
    assert find(worktree).main_checkout() == str(main)


def test_moved_worktree_works_on(main, tmp_path):
    worktree = main.worktree(tmp_path / "wa")
    git_dir = find(worktree).git_dir
    main.git("worktree", "move", str(worktree), str(tmp_path / "wb"))
    assert find(tmp_path / "wb").git_dir == git_dir
    os.rename(tmp_path / "wb", tmp_path / "wc")
    assert find(tmp_path / "wc") == Repo(str(tmp_path / "wc"), str(tmp_path / "wc"), git_dir, f"{main}/.git")


def test_moved_main_checkout_needs_a_repair(main, tmp_path, checkout_at):
    worktree = main.worktree(tmp_path / "wa")
    os.rename(main.top, tmp_path / "moved")
    said = refused(EnvironmentFault, "git", worktree)
    assert "git worktree repair" in said.hint
    checkout_at(tmp_path / "moved").git("worktree", "repair")
    assert find(worktree).main_checkout() == str(tmp_path / "moved")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_ownership_that_git_doubts_is_passed_on(main):
    os.chown(main.top, 12345, 12345)
    said = refused(EnvironmentFault, "git", main)
    assert "dubious ownership" in said.message
    assert said.hint == f"git config --global --add safe.directory {main}"


def test_deleted_working_folder(main, tmp_path):
    refused(BadRequest, "usage", tmp_path / "gone")
    code = (
        "import os, sys; from draftfs.repo import Repo; from draftfs.errors import BadRequest\n"
        "os.mkdir('d'); os.chdir('d'); os.rmdir('../d')\n"
        "try: Repo.find('.')\n"
        "except BadRequest as fault: print(fault.code)"
    )
    package = os.path.dirname(os.path.dirname(repo_module.__file__))
    surroundings = {**os.environ, "PYTHONPATH": package}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=main.top, env=surroundings, capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"usage\n", b"")


def test_no_git_on_the_path(main, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install git" in refused(EnvironmentFault, "git", main).hint


def test_git_too_old_to_give_absolute_paths(main, tmp_path, monkeypatch):
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    real = shutil.which("git")
    # An old rev-parse repeats the option that it does not know, and goes on.
    old.write_text(f'#!/bin/sh\necho --path-format=absolute\nshift 2\nexec {real} rev-parse "$@"\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    assert "2.36" in refused(EnvironmentFault, "git", main).hint


# ── HEAD ──


def test_head_of_this_and_another_checkout(main, tmp_path):
    commit = main.git("rev-parse", "HEAD")
    worktree = main.worktree(tmp_path / "wa", "-b", "ann/job-7")
    second = worktree.commit()
    found = find(worktree)
    assert found.head() == Head(second, "ann/job-7")
    assert found.head(str(main)) == Head(commit, "main")


def test_head_unborn_detached_packed(empty):
    assert find(empty).head() == Head(None, "main")
    commit = empty.commit()
    empty.git("pack-refs", "--all")
    assert find(empty).head() == Head(commit, "main")
    empty.git("checkout", "-q", "--detach")
    assert find(empty).head() == Head(commit, None)


def test_head_beside_files_and_branches_of_that_name(main):
    commit = main.git("rev-parse", "HEAD")
    main.write("HEAD", "a file")
    assert find(main).head() == Head(commit, "main")
    main.git("update-ref", "refs/heads/HEAD", commit)
    assert find(main).head() == Head(commit, "main")
    main.git("checkout", "-q", "--detach")
    assert find(main).head() == Head(commit, None)


def test_emptied_ref_is_not_an_unborn_branch(main):
    main.write(".git/refs/heads/main", "")
    with pytest.raises(EnvironmentFault, match="fatal: "):
        find(main).head()


def test_merge_base(main):
    base = main.git("rev-parse", "HEAD")
    main.git("branch", "side")
    ours = main.commit()
    main.git("checkout", "-q", "side")
    theirs = main.commit("other")
    main.git("checkout", "-q", "--orphan", "alone")
    alone = main.commit("alone")
    found = find(main)
    assert found.merge_base(ours, theirs) == base
    assert found.merge_base(ours, alone) is None
    with pytest.raises(EnvironmentFault, match="fatal: Not a valid"):
        found.merge_base(ours, "0" * 40 + "1")


# ── settings, people, worktrees ──


def test_config(main, tmp_path):
    found = find(main.worktree(tmp_path / "wa"))
    assert found.config("draftfs.store") is None
    for value in ("draftfs", "-x", "line\nend", "../bad\udcff"):
        found.set_config("draftfs.store", value)
        assert find(main).config("draftfs.store") == value


@pytest.mark.parametrize(
    ("configured", "name"), [("Ann Lee", "Ann Lee"), ("a\x1b[31m\nb", "a?[31m?b"), ("J\u00f6rg", "J\u00f6rg")]
)
def test_person(main, configured, name):
    main.git("config", "user.name", configured)
    assert find(main).person() == name


def test_person_without_a_name_is_the_login(main):
    import pwd

    assert find(main).person() == pwd.getpwuid(os.getuid()).pw_name
    main.git("config", "user.name", "")
    assert find(main).person() == pwd.getpwuid(os.getuid()).pw_name


def test_worktree_add(main, tmp_path):
    commit = main.git("rev-parse", "HEAD")
    found = find(main.top / "docs")
    assert found.worktree_add("../../-wa", "ann", commit) == str(tmp_path / "-wa")
    assert find(tmp_path / "-wa").head() == Head(commit, "ann")
    assert found.worktree_add(str(tmp_path / "wb"), None, commit) == str(tmp_path / "wb")
    assert find(tmp_path / "wb").head() == Head(commit, None)
    with pytest.raises(EnvironmentFault, match=r"fatal: .*ann.* already exists"):
        found.worktree_add(str(tmp_path / "wc"), "ann", commit)


# ── file systems ──


def test_probe_leaves_nothing(tmp_path):
    (tmp_path / "NAME").write_text("stays")
    assert probe_fold(str(tmp_path)) == Fold(
        case=(tmp_path / "name").exists(), form=sys.platform == "darwin" and (tmp_path / "name").exists()
    )
    assert os.listdir(tmp_path) == ["NAME"]
    with pytest.raises(EnvironmentFault):
        probe_fold(str(tmp_path / "missing"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
def test_file_system(tmp_path):
    told = subprocess.run(["df", "--output=fstype", tmp_path], capture_output=True, text=True, check=True).stdout
    found = file_system(str(tmp_path))
    assert told.split() == ["Type", found]
    assert file_system("/proc/self") == "proc"
    assert found not in SHARED_FILE_SYSTEMS
    assert {"nfs4", "9p", "virtiofs"} <= SHARED_FILE_SYSTEMS
