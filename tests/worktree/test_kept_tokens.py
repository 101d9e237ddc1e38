"""A claim's token in its worktree's own git folder: who finds it, who must not, and what is left of it (C37, C66)."""

import json
import os
import stat

import pytest

from draftfs.errors import Damaged, EnvironmentFault
from draftfs.worktree import Kept, Worktree


def kept(job, epoch, store="s", holder="ann"):
    return Kept(job=job, epoch=epoch, token=f"{epoch}.secret", holder=holder, store=store)


def ever_held(worktree):
    """The mark by which hooks tell, before they start Python, that a claim was held here."""
    return os.path.lexists(os.path.join(worktree.folder, "held.json"))


def modes(folder):
    found = {}
    for place, _, files in os.walk(folder):
        found[place] = stat.S_IMODE(os.stat(place).st_mode) & 0o777
        found |= {name: stat.S_IMODE(os.stat(os.path.join(place, name)).st_mode) for name in files}
    return found


def test_nothing_kept_is_no_error_and_makes_no_folder(worktree):
    assert (worktree.id(), worktree.holder(), worktree.kept(), ever_held(worktree)) == (None, None, (), False)
    worktree.forget(7)
    assert not os.path.exists(worktree.folder)


def test_kept_oldest_epoch_first_and_forgotten_by_job(worktree):
    for each in (kept(7, 12), kept(3, 40), kept(10, 9)):
        worktree.keep(each)
    assert worktree.kept() == (kept(10, 9), kept(7, 12), kept(3, 40))
    worktree.forget(7)
    worktree.forget(1)
    assert worktree.kept() == (kept(10, 9), kept(3, 40))
    assert Worktree(os.path.dirname(worktree.folder)).kept() == worktree.kept()


def test_newest_of_one_job_stands(worktree):
    worktree.keep(kept(7, 12))
    worktree.keep(kept(7, 13))
    assert worktree.kept() == (kept(7, 13),)
    assert not [name for name in os.listdir(worktree.folder) if "12" in name]


def test_late_worker_does_not_write_over_its_successors_token(worktree):
    worktree.keep(kept(7, 13))
    worktree.keep(kept(7, 12))
    assert worktree.kept() == (kept(7, 13),)
    worktree.forget(7, before=13)
    assert worktree.kept() == (kept(7, 13),)
    worktree.forget(7, before=14)
    assert worktree.kept() == ()


def test_the_mark_of_a_claim_outlives_its_token(worktree):
    worktree.keep(kept(7, 12))
    assert ever_held(worktree)
    worktree.forget(7)
    assert (worktree.kept(), ever_held(worktree)) == ((), True)


def test_holder_and_id(worktree):
    for name in ("ann", "no", "007"):
        worktree.remember_holder(name)
        assert worktree.holder() == name
    made = worktree.ensure_id()
    assert worktree.ensure_id() == made == worktree.id()
    assert len(made) == 32


def test_two_processes_get_one_id(worktree, process):
    code = (
        "import sys; from draftfs.worktree import Worktree; w = Worktree(sys.argv[1])\n"
        "print('ready', flush=True); sys.stdin.readline(); print(w.ensure_id())"
    )
    several = [process(code, os.path.dirname(worktree.folder)) for _ in range(6)]
    for one in several:
        assert one.stdout.readline() == "ready\n"
    for one in several:
        one.stdin.write("\n")
        one.stdin.flush()
    assert {one.stdout.readline().strip() for one in several} == {worktree.id()}
    assert os.listdir(worktree.folder) == ["id.json"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_private_whatever_the_umask_and_shared_setting(worktree, git, umask):
    git("config", "core.sharedRepository", "group")
    os.chmod(os.path.dirname(worktree.folder), 0o0775)
    before = os.umask(umask)
    try:
        worktree.keep(kept(7, 12))
        worktree.remember_holder("ann")
        worktree.ensure_id()
    finally:
        os.umask(before)
    found = modes(worktree.folder)
    assert found.pop(worktree.folder) & ~0o700 == 0
    assert len(found) == 4
    assert set(found.values()) == {0o600}


def test_worktree_moved_removed_and_made_again(worktree, git, tmp_path):
    worktree.keep(kept(7, 12))
    first = worktree.ensure_id()
    git("worktree", "move", "../wa", "../wb")
    moved = Worktree(git("rev-parse", "--absolute-git-dir", at="wb"))
    assert (moved.kept(), moved.id()) == ((kept(7, 12),), first)
    git("worktree", "remove", "../wb")
    git("worktree", "add", "-q", "../wa", "wa")
    again = Worktree(git("rev-parse", "--absolute-git-dir", at="wa"))
    assert (again.kept(), again.id(), ever_held(again)) == ((), None, False)
    assert again.ensure_id() != first


def test_one_worktrees_tokens_are_not_anothers(worktree, git):
    worktree.keep(kept(7, 12))
    assert Worktree(git("rev-parse", "--absolute-git-dir")).kept() == ()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"format": 2}', b"\xff", b"[" * 100_000, b'{"format": 1, "job": true, "epoch": 12}'],
)
def test_damage_is_named_not_skipped(worktree, content):
    worktree.keep(kept(7, 12))
    worktree.keep(kept(8, 13))
    file = os.path.join(worktree.folder, "claim-7-12.json")
    with open(file, "wb") as stream:
        stream.write(content)
    with pytest.raises(Damaged) as caught:
        worktree.kept()
    assert (caught.value.code, caught.value.details["path"]) == ("damaged", file)
    assert file in caught.value.message
    worktree.forget(7)
    assert worktree.kept() == (kept(8, 13),)


def test_damaged_fields(worktree):
    worktree.keep(kept(7, 12))
    file = os.path.join(worktree.folder, "claim-7-12.json")
    with open(file, "rb") as stream:
        whole = json.load(stream)
    for change in ({"job": "7"}, {"job": True}, {"job": 8}, {"epoch": 1}, {"more": 1}, {"token": None}):
        with open(file, "w") as stream:
            json.dump({**whole, **change}, stream)
        with pytest.raises(Damaged):
            worktree.kept()
    worktree.remember_holder("ann")
    with open(os.path.join(worktree.folder, "holder.json"), "w") as stream:
        stream.write("{}")
    with pytest.raises(Damaged):
        worktree.holder()


def test_a_folder_that_cannot_be_used_is_an_error_of_ours(worktree):
    with open(worktree.folder, "w"):
        pass
    with pytest.raises(EnvironmentFault):
        worktree.keep(kept(7, 12))
    with pytest.raises(EnvironmentFault):
        worktree.kept()


def test_leftovers_of_a_killed_writer_count_for_nothing(worktree):
    worktree.keep(kept(7, 12))
    with open(os.path.join(worktree.folder, ".0123.new"), "w") as stream:
        stream.write("{")
    assert worktree.kept() == (kept(7, 12),)
