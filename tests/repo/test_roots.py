"""Which checkout is the root, where a repository has no plain main checkout, or the root was moved (§3)."""

import os
import shutil

import pytest

from draftfs import Store
from draftfs.errors import BadRequest, DraftfsError, EnvironmentFault, NotFound, Refused
from draftfs.repo import Repo


@pytest.fixture
def bare(main, tmp_path, checkout_at):
    """A bare repository with the worktrees `people` and `wa`."""
    main.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    made = checkout_at(tmp_path / "bare.git")
    for name in ("people", "wa"):
        made.worktree(tmp_path / name, "-b", name)
    return made


@pytest.fixture
def separate(tmp_path, checkout_at):
    """A checkout whose git folder lies elsewhere, with a worktree `wa`."""
    made = checkout_at(tmp_path / "sep")
    made.top.mkdir()
    made.git("init", "-q", "-b", "main", "--separate-git-dir", str(tmp_path / "sep.git"))
    made.write("docs/spec.md", "one\n")
    made.commit()
    made.worktree(tmp_path / "wa", "-b", "wa")
    return made


@pytest.fixture
def submodule(main, checkout_at, tmp_path):
    library = checkout_at(tmp_path / "library")
    library.top.mkdir()
    library.git("init", "-q", "-b", "main")
    library.write("docs/spec.md", "one\n")
    library.commit()
    main.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "sub")
    main.commit()
    return checkout_at(main.top / "sub")


def refused(kind, code, cwd, **options):
    with pytest.raises(kind) as caught:
        Store.init(str(cwd), **options)
    assert caught.value.code == code
    assert "\n" not in caught.value.message + (caught.value.hint or "")
    return caught.value


def round_trip(root, worktree):
    """One draft by an agent in `worktree`, promoted by a person in `root`: each is what it is."""
    ann = Store.open(str(worktree), agent="ann")
    assert ann.tree.top == str(root)
    claimed = ann.claim_paths(["docs/spec.md"])
    assert claimed.claim.holder == "ann"
    (worktree / "docs" / "spec.md").write_text("drafted\n")
    (drafted,) = ann.draft(["docs/spec.md"]).drafts
    assert drafted.shown
    ann.submit()
    with pytest.raises(Refused) as caught:
        Store.open(str(worktree)).promote(drafted.job)
    assert caught.value.code == "agents_cannot_promote"
    me = Store.open(str(root))
    assert not me.actor.is_agent
    me.promote(drafted.job)
    assert (root / "docs" / "spec.md").read_text() == "drafted\n"
    assert not me.doctor().findings
    with pytest.raises(Refused) as caught:
        Store.open(str(root), agent="bob").claim_paths(["run.sh"])
    assert caught.value.code == "claim_in_root"


# ── bare repositories ──


def test_bare_with_worktrees_wants_its_root_named(bare, tmp_path):
    said = refused(BadRequest, "usage", tmp_path / "wa")
    assert "bare" in said.message
    assert "draftfs init --root WORKTREE" in said.hint
    said = refused(NotFound, "no_store", bare.top)
    assert "draftfs init --root" in said.hint
    assert not (bare.top / "draftfs").exists()


@pytest.mark.parametrize("cwd", ["bare.git", "wa", "people/docs", "people"])
def test_root_named_from_anywhere(bare, tmp_path, cwd):
    at = tmp_path / cwd
    store, made = Store.init(str(at), root=os.path.relpath(tmp_path / "people", at))
    assert made
    assert store.tree.top == str(tmp_path / "people")
    assert bare.git("config", "draftfs.store") == "draftfs"
    assert Store.init(str(tmp_path / "wa"))[1] is Store.init(str(at), root=str(tmp_path / "people"))[1] is False
    round_trip(tmp_path / "people", tmp_path / "wa")


def test_a_git_file_that_names_a_bare_repository(bare, tmp_path):
    """The layout with `.git` naming a bare repository beside the worktrees."""
    (tmp_path / ".git").write_text("gitdir: ./bare.git\n")
    store, _ = Store.init(str(tmp_path), root="people")
    assert store.tree.top == str(tmp_path / "people")


def test_an_agents_worktree_that_becomes_the_root_is_a_persons(bare, tmp_path):
    from draftfs.worktree import Worktree

    Worktree(Repo.find(str(tmp_path / "people")).git_dir).remember_holder("ann")
    store, _ = Store.init(str(bare.top), root=str(tmp_path / "people"))
    assert not store.actor.is_agent


@pytest.mark.parametrize("root", ["nowhere", "main", ".", "bare.git"])
def test_what_cannot_be_the_root(bare, tmp_path, root):
    said = refused(BadRequest, "bad_path", bare.top, root=str(tmp_path / root))
    assert "git worktree list" in said.hint
    assert not (bare.top / "draftfs").exists()


def test_bare_without_worktrees(main, tmp_path):
    main.git("clone", "-q", "--bare", ".", str(tmp_path / "alone.git"))
    for attempt in (Store.init, Store.open):
        with pytest.raises(NotFound) as caught:
            attempt(str(tmp_path / "alone.git"))
        assert caught.value.code == "no_store"
        assert "git worktree add" in caught.value.hint


def test_outside_any_repository(tmp_path, main):
    refused(NotFound, "no_store", tmp_path, root=str(main))
    refused(BadRequest, "bad_path", main, root=str(tmp_path))


def test_store_record_written_anew_keeps_the_root(bare, tmp_path):
    store, _ = Store.init(str(bare.top), root=str(tmp_path / "people"))
    store.engine.checkpoint()
    record = bare.top / "draftfs" / "store.yaml"
    record.write_bytes(record.read_bytes().replace(b"2", b"3"))
    checkup = Store.examine(str(tmp_path / "wa"), fix=True)
    assert checkup.fixed
    assert Store.open(str(tmp_path / "wa")).tree.top == str(tmp_path / "people")


# ── the root, moved ──


@pytest.mark.parametrize("by", ["git", "hand"])
def test_moved_root_of_a_bare_repository(bare, tmp_path, by):
    old, new = tmp_path / "people", tmp_path / "deeper" / "moved"
    new.parent.mkdir()
    Store.init(str(bare.top), root=str(old))
    Store.open(str(tmp_path / "wa"), agent="ann").claim_paths(["run.sh"])
    if by == "git":
        bare.git("worktree", "move", str(old), str(new))
    else:
        old.rename(new)
    with pytest.raises(EnvironmentFault) as caught:
        Store.open(str(new)).configure("claim.ttl", "2h")
    assert "draftfs init --root ." in caught.value.hint
    ann = Store.open(str(tmp_path / "wa"), agent="ann")
    assert not ann.draft(["run.sh"]).drafts[0].shown, "who works elsewhere goes on"
    ann.renew()
    with pytest.raises(EnvironmentFault) as caught:
        ann.claim_paths(["docs/other.md"])
    assert "the root is gone" in caught.value.message
    ann.submit()
    with pytest.raises(Refused) as caught:
        Store.init(str(new), root=".", agent="ann")
    assert caught.value.code == "agents_cannot_promote"
    store, made = Store.init(str(new), root=".")
    assert not made
    assert store.tree.top == str(new)
    assert store.log()[-1].kind == "root.moved"
    store.settle()
    assert list(new.glob("run.sh.draft-0001*"))
    round_trip(new, tmp_path / "wa")


def test_root_that_is_still_there_stays(bare, tmp_path):
    Store.init(str(bare.top), root=str(tmp_path / "people"))
    said = refused(BadRequest, "usage", tmp_path / "wa", root=".")
    assert str(tmp_path / "people") in said.message


def test_moved_main_checkout_of_a_separate_git_dir(separate, tmp_path):
    Store.init(str(separate))
    separate.top.rename(tmp_path / "moved")
    store, _ = Store.init(str(tmp_path / "moved"), root=".")
    assert store.tree.top == str(tmp_path / "moved")


# ── separate git folders, submodules ──


def test_separate_git_dir_from_its_main_checkout(separate, tmp_path):
    store, made = Store.init(str(separate))
    assert made
    assert store.tree.top == str(separate)
    assert store.folder == str(tmp_path / "sep.git" / "draftfs")
    assert Store.init(str(tmp_path / "wa"))[1] is False
    round_trip(separate.top, tmp_path / "wa")


def test_separate_git_dir_from_a_linked_worktree(separate, tmp_path):
    """Git itself does not know where the main checkout is (`git worktree list` names the git folder)."""
    said = refused(BadRequest, "usage", tmp_path / "wa")
    assert "draftfs init --root CHECKOUT" in said.hint
    refused(BadRequest, "usage", tmp_path / "wa", root=".")
    store, _ = Store.init(str(tmp_path / "wa"), root="../sep")
    assert store.tree.top == str(separate)
    round_trip(separate.top, tmp_path / "wa")


@pytest.mark.parametrize("where", ["main checkout", "linked worktree"])
def test_submodule_has_a_store_of_its_own(main, submodule, tmp_path, where):
    submodule.worktree(tmp_path / "ws", "-b", "ws")
    store, _ = Store.init(str(submodule) if where == "main checkout" else str(tmp_path / "ws"))
    assert store.folder == f"{main}/.git/modules/sub/draftfs"
    assert store.tree.top == str(submodule)
    assert not (main.top / ".git" / "draftfs").exists()
    with pytest.raises(NotFound):
        Store.open(str(main))
    round_trip(submodule.top, tmp_path / "ws")


def test_submodule_of_a_linked_worktree(main, submodule, tmp_path, checkout_at):
    worktree = main.worktree(tmp_path / "wa", "-b", "wa")
    worktree.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    inner = checkout_at(worktree.top / "sub")
    inner.worktree(tmp_path / "ws", "-b", "ws")
    Store.init(str(main))
    store, _ = Store.init(str(tmp_path / "ws"))
    assert store.folder == f"{main}/.git/worktrees/wa/modules/sub/draftfs"
    assert store.tree.top == str(inner)
    round_trip(inner.top, tmp_path / "ws")


def test_the_submodules_own_path_is_a_target_of_the_superproject(main, submodule, tmp_path):
    Store.init(str(main))
    worktree = main.worktree(tmp_path / "wa", "-b", "wa")
    claimed = Store.open(str(worktree), agent="ann").claim_paths(["sub"])
    assert claimed.claim.paths == ("sub",)
    with pytest.raises(DraftfsError) as caught:
        Store.open(str(worktree), agent="ann").claim_paths(["sub/docs/spec.md"])
    assert caught.value.code in ("path_clash", "bad_path", "worktree_held")


def test_linked_worktree_is_not_the_root_of_an_ordinary_repository(main, tmp_path):
    main.worktree(tmp_path / "wa")
    said = refused(BadRequest, "usage", main, root=str(tmp_path / "wa"))
    assert f"draftfs init --root {main}" in said.hint
    store, _ = Store.init(str(tmp_path / "wa"), root=str(main))
    assert store.tree.top == str(main)


def test_moved_repository_keeps_its_root(main, tmp_path):
    Store.init(str(main))
    moved = tmp_path / "elsewhere" / "deep"
    moved.parent.mkdir()
    shutil.move(str(main), str(moved))
    assert Store.open(str(moved)).tree.top == str(moved)


# ── git too old ──


@pytest.mark.parametrize(
    ("said", "fine"),
    [
        ("git version 2.35.8", False),
        ("git version 1.9.5.msysgit.0", False),
        ("git version 2.36.0", True),
        ("git version 2.39.5 (Apple Git-154)", True),
        ("git version 10.0", True),
        ("git version unknown", True),
    ],
)
def test_git_too_old(main, tmp_path, monkeypatch, said, fine):
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    real = shutil.which("git")
    program.write_text(f'#!/bin/sh\n[ "$1" = version ] && echo "{said}" && exit\nexec {real} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    if fine:
        assert Store.init(str(main))[1]
    else:
        fault = refused(EnvironmentFault, "git", main)
        assert "is too old" in fault.message
        assert "2.36" in fault.hint
