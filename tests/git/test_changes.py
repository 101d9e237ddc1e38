"""What an index, a range, a push and two tips change, as git's own objects have it, whatever shape history takes (§8)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from draftfs.errors import EnvironmentFault
from draftfs.git import changes
from draftfs.records import TreeEntry
from tests.support import git


class Repository:
    """A repository of one test, and short words for what the shapes are made of."""

    def __init__(self, top: Path, *options: str) -> None:
        self.top = top
        git("init", "-q", "-b", "main", *options, str(top), cwd=top.parent)

    def git(self, *arguments, **options):
        return git(*arguments, cwd=self.top, **options).removesuffix("\n")

    def write(self, path, content, mode=None):
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        if mode is not None:
            file.chmod(mode)

    def commit(self, **files):
        """Commit these files (by name, dots for `_`; None deletes) beside what was changed already."""
        for name, content in files.items():
            path = name.replace("_", ".")
            if content is None:
                (self.top / path).unlink()
            else:
                self.write(path, content)
        self.git("--literal-pathspecs", "add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "c")
        return self.head

    def branch(self, name, start="main"):
        self.git("switch", "-q", "-c", name, start)

    def switch(self, name):
        self.git("switch", "-q", name)

    def merge(self, *branches, how=(), check=True):
        self.git("merge", "-q", "--no-ff", "-m", "m", *how, *branches, check=check)
        return self.head

    @property
    def head(self):
        return self.git("rev-parse", "HEAD")

    def of(self, commit, path):
        """The entry that a commit holds at a path; the empty commit is "nothing"."""
        line = self.git("--literal-pathspecs", "ls-tree", "-z", commit, "--", path) if commit else ""
        return TreeEntry(line.split()[0], line.split()[2]) if line else None

    def steps(self, *expected):
        """Changes as (path, commit before, commit after)."""
        return {(path, self.of(before, path), self.of(after, path)) for path, before, after in expected}

    def last(self, **options):
        """The newest commit alone."""
        return self.range(["HEAD"], [f"HEAD^{nth}" for nth in range(1, 4)], **options)[-1]

    def range(self, include, exclude=(), **options):
        return changes.commits(str(self.top), include, exclude, **options)


def steps(found):
    assert len(set(found)) == len(found)
    return {(each.path, each.before, each.after) for each in found}


def paths(found):
    return [each.path for each in found]


@pytest.fixture
def repo(tmp_path):
    made = Repository(tmp_path / "r")
    made.commit(a_txt="a\n" * 9, b_txt="b\n" * 9, c_txt="c\n")
    return made


@pytest.fixture
def sides(repo):
    """Two branches: `side` changed b.txt, `main` changed a.txt."""
    repo.branch("side")
    repo.commit(b_txt="side\n" + "b\n" * 9)
    repo.switch("main")
    repo.commit(a_txt="main\n" + "a\n" * 9)
    return repo


# ── commits with one parent, or none ──


def test_first_commit_is_against_nothing(repo):
    (first,) = repo.range(["main"])
    assert (first.oid, first.parents) == (repo.head, ())
    assert steps(first.counted) == repo.steps(*((name, "", "HEAD") for name in ("a.txt", "b.txt", "c.txt")))
    assert first.free == first.dropped == ()


def test_linear_range_oldest_first_each_once(repo):
    made = [repo.commit(a_txt=f"{number}\n") for number in range(3)]
    found = repo.range(["main", "HEAD", made[1]], [f"{made[0]}^"])
    assert [each.oid for each in found] == made
    assert steps(found[1].counted) == repo.steps(("a.txt", made[0], made[1]))
    assert found[1].parents == (made[0],)


def test_revert_is_a_change_back(repo):
    repo.commit(a_txt="new\n")
    repo.git("revert", "--no-edit", "HEAD")
    assert steps(repo.last().counted) == repo.steps(("a.txt", "HEAD^", "HEAD^^"))


def test_mode_alone(repo):
    repo.write("a.txt", "a\n" * 9, 0o755)
    repo.commit()
    (change,) = repo.last().counted
    assert (change.before.mode, change.after.mode, change.before.oid) == ("100644", "100755", change.after.oid)


def test_file_to_symlink_to_folder(repo):
    (repo.top / "c.txt").unlink()
    (repo.top / "c.txt").symlink_to("a.txt")
    link = repo.commit()
    assert steps(repo.last().counted) == repo.steps(("c.txt", "HEAD^", "HEAD"))
    assert repo.of("HEAD", "c.txt").mode == "120000"
    (repo.top / "c.txt").unlink()
    repo.write("c.txt/inner", "x\n")
    repo.commit()
    assert steps(repo.last().counted) == {("c.txt", repo.of(link, "c.txt"), None)} | repo.steps(
        ("c.txt/inner", link, "HEAD")
    )


def test_rename_is_a_deletion_and_an_addition(repo):
    repo.git("mv", "a.txt", "moved.txt")
    repo.commit()
    assert steps(repo.last().counted) == repo.steps(("a.txt", "HEAD^", "HEAD"), ("moved.txt", "HEAD^", "HEAD"))


def test_empty_commit(repo):
    repo.commit()
    assert repo.last().counted == ()


ODD = [
    *("nl\nx.md", 'a"b.md', "a\\b.md", "tab\tx.md", " lead.md", "trail .md", "-rf.md", "--", "a b/ b/c.md", "café.md"),
    *("bad\udcff.md", ":100644 100644 a b M", ":(top)x", "*.md", "x => y", "0" * 40, "sub/\x01"),
]


@pytest.mark.parametrize("quote", ["true", "false"])
def test_names_with_any_byte(repo, quote):
    repo.git("config", "core.quotePath", quote)
    for name in ODD:
        file = os.fsencode(repo.top) + b"/" + os.fsencode(name)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        Path(os.fsdecode(file)).write_bytes(b"x\n")
    repo.commit()
    assert set(paths(repo.last().counted)) == set(ODD)
    assert set(paths(changes.net(str(repo.top), "HEAD^", "HEAD"))) == set(ODD)
    for name in ODD:
        Path(os.fsdecode(os.fsencode(repo.top) + b"/" + os.fsencode(name))).write_bytes(b"y\n")
    repo.git("--literal-pathspecs", "add", "-A")
    assert set(paths(changes.staged(str(repo.top)))) == set(ODD)


def test_gitlink_that_gitmodules_wants_ignored(repo, tmp_path):
    inner = Repository(tmp_path / "inner")
    inner.commit(x="1\n")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.top), "sub")
    repo.git("config", "-f", ".gitmodules", "submodule.sub.ignore", "all")
    repo.git("config", "submodule.sub.ignore", "all")
    repo.git("config", "diff.ignoreSubmodules", "all")
    repo.commit()
    sub = repo.top / "sub"
    git("commit", "-q", "--allow-empty", "-m", "bump", cwd=sub)
    repo.git("add", "--force", "sub")
    assert repo.git("update-index", "--cacheinfo", f"160000,{git('rev-parse', 'HEAD', cwd=sub).strip()},sub") == ""
    assert paths(changes.staged(str(repo.top))) == ["sub"]
    repo.git("commit", "-q", "--allow-empty", "-m", "bump")
    assert steps(repo.last().counted) == repo.steps(("sub", "HEAD^", "HEAD"))
    assert paths(changes.net(str(repo.top), "HEAD^", "HEAD")) == ["sub"]
    assert repo.of("HEAD", "sub").mode == "160000"


# ── merges of two ──


def test_clean_merge_is_free(sides):
    repo, merged = sides, sides.merge("side")
    found = repo.last()
    assert found.parents == (repo.git("rev-parse", "HEAD^1"), repo.git("rev-parse", "HEAD^2"))
    assert found.counted == found.dropped == ()
    assert steps(found.free) == repo.steps(("b.txt", "HEAD^1", merged), ("a.txt", "HEAD^2", merged))


def test_both_sides_changed_one_file_that_merges_clean(sides):
    repo = sides
    repo.switch("side")
    repo.commit(a_txt="a\n" * 9 + "side\n")
    repo.switch("main")
    repo.merge("side")
    found = repo.last()
    assert found.counted == found.dropped == ()
    assert steps(found.free) == repo.steps(
        ("a.txt", "HEAD^1", "HEAD"), ("a.txt", "HEAD^2", "HEAD"), ("b.txt", "HEAD^1", "HEAD")
    )


@pytest.mark.parametrize("path", ["c.txt", "a.txt", "b.txt", "new.txt"])
def test_edit_slipped_into_a_merge(sides, path):
    repo = sides
    repo.merge("side")
    repo.write(path, "slipped in\n")
    repo.git("add", "-A")
    repo.git("commit", "-q", "--amend", "--no-edit")
    found = repo.last()
    assert steps(found.counted) == repo.steps((path, "HEAD^1", "HEAD"), (path, "HEAD^2", "HEAD"))
    assert path not in paths(found.free + found.dropped)


def test_an_old_content_slipped_into_a_merge_that_one_side_still_has(sides):
    """`side` never touched a.txt: what it holds there is what main had before."""
    repo = sides
    repo.merge("side")
    repo.git("checkout", "HEAD^2", "--", "a.txt")
    repo.git("commit", "-q", "--amend", "--no-edit")
    found = repo.last()
    assert found.counted == ()
    assert steps(found.dropped) == repo.steps(("a.txt", "HEAD^1", "HEAD"))
    assert steps(found.free) == repo.steps(("b.txt", "HEAD^1", "HEAD"))


def test_strategy_ours_drops_the_other_side(sides):
    repo = sides
    repo.merge("side", how=("-s", "ours"))
    found = repo.last()
    assert found.counted == ()
    assert steps(found.dropped) == repo.steps(("b.txt", "HEAD^2", "HEAD"))
    assert steps(found.free) == repo.steps(("a.txt", "HEAD^2", "HEAD"))


@pytest.mark.parametrize("side", ["--ours", "--theirs", None])
def test_conflict(sides, side):
    repo = sides
    repo.switch("side")
    repo.commit(a_txt="side\n" + "a\n" * 9)
    repo.switch("main")
    repo.merge("side", check=False)
    if side:
        repo.git("checkout", "-q", side, "a.txt")
    repo.commit(**({} if side else {"a_txt": "a third\n"}))
    found = repo.last()
    both = [("a.txt", "HEAD^1", "HEAD"), ("a.txt", "HEAD^2", "HEAD")]
    assert steps(found.free) == repo.steps(("b.txt", "HEAD^1", "HEAD"))
    if side is None:
        assert steps(found.counted) == repo.steps(*both)
    else:
        assert found.counted == ()
        assert steps(found.dropped) == repo.steps(both[0 if side == "--theirs" else 1])


def conflicted(repo, one, other):
    """A merge in conflict on main: `one` and `other` say what each side does."""
    repo.branch("other")
    other(repo)
    repo.commit()
    repo.switch("main")
    one(repo)
    repo.commit()
    repo.merge("other", check=False)
    assert (repo.top / ".git" / "MERGE_HEAD").exists()


def test_conflicts_that_leave_no_difference(repo):
    """Of a binary file git keeps ours, of one deleted on one side what the other has: `log --raw` is silent on both."""

    def change(binary):
        return lambda repo: repo.write("bin", binary)

    repo.write("bin", b"a\0b")
    repo.commit(gone_txt="one\n", quo_te="x\n")

    def theirs(repo):
        repo.write("bin", b"a\0c")
        (repo.top / "gone.txt").unlink()

    def ours(repo):
        repo.write("bin", b"a\0d")
        repo.write("gone.txt", "two\n")

    conflicted(repo, ours, theirs)
    repo.git("checkout", "-q", "--ours", "bin")
    repo.commit()
    found = repo.last()
    assert found.counted == found.free == ()
    assert steps(found.dropped) == repo.steps(("bin", "HEAD^2", "HEAD"), ("gone.txt", "HEAD^2", "HEAD"))


@pytest.mark.parametrize("name", ['nl\nx"b.md', "bad\udcff.md", " lead.md", "sp ace ace.md", "a b/c a b/c"])
@pytest.mark.parametrize("quote", ["true", "false"])
def test_conflict_without_a_difference_in_a_file_of_any_name(repo, name, quote):
    repo.git("config", "core.quotePath", quote)
    file = Path(os.fsdecode(os.fsencode(repo.top) + b"/" + os.fsencode(name)))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"one\n")
    repo.commit()
    conflicted(repo, lambda _: file.write_bytes(b"two\n"), lambda _: file.unlink())
    repo.commit()
    assert paths(repo.last().dropped) == [name]
    assert repo.last().free == ()


def test_a_file_where_the_other_side_has_a_folder(repo):
    def theirs(repo):
        repo.write("thing/inner", "x\n")

    conflicted(repo, lambda repo: repo.write("thing", "a file\n"), theirs)
    for leftover in repo.top.glob("thing~*"):
        leftover.unlink()
    repo.commit()
    found = repo.last()
    assert repo.of("HEAD", "thing/inner")
    assert "thing" in paths(found.dropped)
    assert "thing" not in paths(found.free)


def test_rename_on_one_side_edit_on_the_other(repo):
    repo.branch("side")
    repo.git("mv", "a.txt", "z.txt")
    repo.commit()
    repo.switch("main")
    repo.commit(a_txt="main\n" + "a\n" * 9)
    repo.merge("side")
    found = repo.last()
    assert found.counted == found.dropped == ()
    assert {("a.txt", repo.of("HEAD^1", "a.txt"), None)} | repo.steps(
        ("z.txt", "HEAD^1", "HEAD"), ("z.txt", "HEAD^2", "HEAD")
    ) == steps(found.free)


def test_a_rename_cannot_hide_that_the_other_sides_edit_was_dropped(repo):
    """Nothing says that z.txt is a.txt, so the deletion of a.txt must not be free when z.txt was done by hand."""
    repo.branch("side")
    repo.git("mv", "a.txt", "z.txt")
    repo.commit()
    repo.switch("main")
    repo.commit(a_txt="main\n" + "a\n" * 9)
    repo.merge("side")
    repo.git("checkout", "HEAD^2", "--", "z.txt")
    repo.git("commit", "-q", "--amend", "--no-edit")
    found = repo.last()
    assert found.counted == found.free == ()
    assert steps(found.dropped) == {("a.txt", repo.of("HEAD^1", "a.txt"), None)} | repo.steps(
        ("z.txt", "HEAD^1", "HEAD")
    )


def test_merge_driver_that_keeps_ours_hides_nothing(sides):
    repo = sides
    (repo.top / ".git" / "info" / "attributes").write_text("*.txt merge=ours\n*.bin merge=also\n")
    repo.git("config", "merge.ours.driver", "true")
    repo.git("config", "merge.also.driver", "exit 255")
    repo.git("config", "merge.default", "ours")
    repo.switch("side")
    repo.commit(a_txt="a\n" * 9 + "side\n")
    repo.switch("main")
    repo.merge("side")
    assert repo.of("HEAD", "a.txt") == repo.of("HEAD^1", "a.txt"), "the driver dropped what side did"
    found = repo.last()
    assert found.counted == ()
    assert steps(found.dropped) == repo.steps(("a.txt", "HEAD^2", "HEAD"))


def test_merge_driver_whose_name_cannot_be_overruled(sides):
    repo = sides
    repo.git("config", "merge.a=b.driver", "true")
    repo.merge("side")
    found = repo.last()
    assert found.counted == found.free == ()
    assert sorted(paths(found.dropped)) == ["a.txt", "b.txt"]


def test_no_program_of_the_config_is_run(sides, tmp_path):
    repo, ran = sides, tmp_path / "ran"
    (repo.top / ".git" / "info" / "attributes").write_text("*.txt merge=spy diff=spy filter=spy\n")
    program = tmp_path / "spy"
    program.write_text(f"#!/bin/sh\necho >>{ran} $0 $*; cat $1\n")
    program.chmod(0o755)
    repo.switch("side")
    repo.commit(a_txt="side\n" + "a\n" * 9)
    repo.switch("main")
    repo.merge("side", check=False)
    repo.commit(a_txt="third\n")
    for key in ("merge.spy.driver", "diff.spy.command", "diff.spy.textconv", "filter.spy.clean", "diff.external"):
        repo.git("config", key, str(program))
    repo.git("config", "merge.renormalize", "true")
    assert paths(repo.last().counted) == ["a.txt", "a.txt"]
    changes.net(str(repo.top), "HEAD^", "HEAD")
    assert not ran.exists()


def test_unrelated_histories(repo):
    repo.git("switch", "-q", "--orphan", "other")
    repo.commit(o_txt="o\n")
    repo.switch("main")
    repo.merge("other", how=("--allow-unrelated-histories",))
    found = repo.last()
    assert found.counted == found.dropped == ()
    assert "o.txt" in paths(found.free)


def test_criss_cross(sides):
    repo = sides
    repo.git("branch", "main-1")
    repo.merge("side")
    repo.switch("side")
    repo.merge("main-1")
    repo.commit(c_txt="side's\n")
    repo.switch("main")
    repo.commit(b_txt="main too\n" + "side\n" + "b\n" * 9)
    repo.merge("side")
    found = repo.last()
    assert found.counted == found.dropped == ()
    assert steps(found.free) == repo.steps(("c.txt", "HEAD^1", "HEAD"), ("b.txt", "HEAD^2", "HEAD"))


def test_one_change_where_both_parents_held_the_same(sides):
    repo = sides
    repo.merge("side")
    repo.write("c.txt", "slipped in\n")
    repo.git("commit", "-qa", "--amend", "--no-edit")
    assert len(repo.last().counted) == 1


# ── octopus ──


@pytest.fixture
def octopus(repo):
    for name, path in (("one", "a.txt"), ("two", "b.txt")):
        repo.branch(name)
        repo.write(path, f"{name}\n")
        repo.commit()
        repo.switch("main")
    repo.commit(c_txt="main\n")
    repo.merge("one", "two")
    assert len(repo.git("rev-parse", "HEAD^@").split()) == 3
    return repo


def test_clean_octopus_is_free(octopus):
    found = octopus.last()
    assert found.counted == found.dropped == ()
    pairs = [("c.txt", 2), ("c.txt", 3), ("a.txt", 1), ("a.txt", 3), ("b.txt", 1), ("b.txt", 2)]
    assert steps(found.free) == octopus.steps(*((path, f"HEAD^{nth}", "HEAD") for path, nth in pairs))


def test_edit_in_an_octopus_counts(octopus):
    octopus.write("a.txt", "slipped in\n")
    octopus.git("commit", "-qa", "--amend", "--no-edit")
    found = octopus.last()
    assert steps(found.counted) == octopus.steps(*(("a.txt", f"HEAD^{nth}", "HEAD") for nth in (1, 2, 3)))
    assert "a.txt" not in paths(found.free)


def test_octopus_that_drops_a_side(octopus):
    octopus.git("checkout", "HEAD^1", "--", "a.txt")
    octopus.git("commit", "-q", "--amend", "--no-edit")
    found = octopus.last()
    assert found.counted == ()
    assert steps(found.dropped) == octopus.steps(("a.txt", "HEAD^2", "HEAD"))


def test_octopus_of_sides_that_branched_off_at_different_places(octopus):
    octopus.branch("late")
    octopus.commit(d_txt="d\n")
    octopus.switch("main")
    octopus.branch("later")
    octopus.commit(e_txt="e\n")
    octopus.git("switch", "-q", "one")
    octopus.commit(f_txt="f\n")
    octopus.merge("late", "later")
    found = octopus.last()
    assert found.counted == found.free == ()
    assert "d.txt" in paths(found.dropped)


# ── what may hide a change, or speak for another repository ──


def test_replacements_and_grafts_hide_nothing(sides):
    repo = sides
    merged = repo.merge("side")
    late = repo.commit(a_txt="late\n")
    expected = repo.range(["main"])
    repo.git("replace", late, repo.git("commit-tree", f"{merged}^{{tree}}", "-p", merged, "-m", "c"))
    assert repo.range(["main"]) == expected
    assert paths(changes.net(str(repo.top), merged, late)) == ["a.txt"]
    repo.git("replace", "-d", late)
    (repo.top / ".git" / "info" / "grafts").write_text(f"{late} {late}^{{}}\n{merged}\n{late}\n")
    assert repo.range(["main"]) == expected
    assert changes.is_ancestor(str(repo.top), f"{merged}^2", "main")


HOSTILE = {
    "log.diffMerges": "off",
    "log.showSignature": "true",
    "log.showRoot": "false",
    "log.follow": "true",
    "log.decorate": "full",
    "log.mailmap": "true",
    "log.date": "format:%%",
    "format.pretty": "oneline",
    "diff.relative": "true",
    "diff.renames": "copies",
    "diff.ignoreSubmodules": "all",
    "diff.noprefix": "true",
    "diff.mnemonicPrefix": "true",
    "diff.orderFile": "order",
    "diff.context": "0",
    "diff.algorithm": "patience",
    "diff.submodule": "log",
    "diff.colorMoved": "zebra",
    "color.ui": "always",
    "core.abbrev": "7",
    "core.quotePath": "true",
    "merge.renames": "false",
    "merge.directoryRenames": "true",
    "merge.conflictStyle": "diff3",
    "rev-list.foo": "x",
    "status.relativePaths": "true",
    "core.pager": "false",
    "gpg.program": "false",
}


def test_no_setting_of_the_user_changes_an_answer(sides):
    repo = sides
    repo.write("folder/x.txt", "x\n")
    repo.write("order", "z*\n")
    repo.commit()
    repo.merge("side")
    repo.write("copy.txt", "a\n" * 9)
    repo.write("folder/x.txt", "y\n")
    repo.commit()
    repo.switch("side")
    repo.commit(a_txt="side\n" + "a\n" * 9)
    repo.switch("main")
    repo.merge("side", check=False)
    repo.git("checkout", "-q", "--ours", "a.txt")
    repo.commit()
    repo.write("folder/x.txt", "staged\n")
    repo.write("copied.txt", "a\n" * 9)
    repo.git("add", "-A")

    def answers(cwd):
        return [
            changes.commits(str(cwd), ["HEAD"]),
            changes.net(str(cwd), "HEAD~3", "HEAD"),
            changes.staged(str(cwd)),
        ]

    expected = answers(repo.top)
    assert [len(each) > 0 for each in expected] == [True] * 3
    for key, value in HOSTILE.items():
        repo.git("config", key, value)
    assert answers(repo.top) == expected
    assert answers(repo.top / "folder") == expected


@pytest.mark.parametrize("in_hook", [False, True])
def test_variables_of_another_repository(sides, tmp_path, monkeypatch, in_hook):
    """They count inside our own hooks only."""
    repo, other = sides, Repository(tmp_path / "other")
    other.commit(o_txt="o\n")
    monkeypatch.setenv("GIT_DIR", str(other.top / ".git"))
    found = paths(repo.range(["HEAD"], in_hook=in_hook)[-1].counted)
    assert found == (["o.txt"] if in_hook else ["a.txt"])


# ── the index ──


def test_staged_is_the_index_alone(repo):
    repo.write("a.txt", "staged\n")
    repo.git("add", "a.txt")
    repo.write("a.txt", "not staged\n")
    repo.write("b.txt", "not staged\n")
    repo.git("rm", "-q", "--cached", "c.txt")
    found = changes.staged(str(repo.top))
    assert paths(found) == ["a.txt", "c.txt"]
    assert found[0].after.oid == repo.git("rev-parse", ":a.txt")
    assert found[1].after is None


def test_intent_to_add_is_not_staged(repo):
    repo.write("new.txt", "x\n")
    repo.git("add", "--intent-to-add", "new.txt")
    assert changes.staged(str(repo.top)) == ()
    repo.git("rm", "-q", "--cached", "c.txt")
    repo.git("add", "--intent-to-add", "c.txt")
    assert [(each.path, each.after) for each in changes.staged(str(repo.top))] == [("c.txt", None)]


def test_staged_on_an_unborn_branch_and_against_nothing(repo, tmp_path):
    fresh = Repository(tmp_path / "fresh")
    assert changes.staged(str(fresh.top)) == ()
    fresh.write("x", "x\n")
    fresh.git("add", "x")
    assert [(each.path, each.before) for each in changes.staged(str(fresh.top))] == [("x", None)]
    assert len(changes.staged(str(repo.top), against=None)) == 3


def test_staged_against_another_commit(repo):
    first = repo.head
    repo.commit(a_txt="new\n")
    assert changes.staged(str(repo.top)) == ()
    assert steps(changes.staged(str(repo.top), against=first)) == repo.steps(("a.txt", first, "HEAD"))


def test_staged_with_a_conflict_is_a_fault(sides):
    repo = sides
    repo.switch("side")
    repo.commit(a_txt="side\n")
    repo.switch("main")
    repo.merge("side", check=False)
    with pytest.raises(EnvironmentFault) as caught:
        changes.staged(str(repo.top))
    assert "a.txt" in caught.value.message


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["commit", "-qa", "-m", "x"], ["a.txt", "b.txt", "c.txt"]),
        (["commit", "-q", "--only", "b.txt", "-m", "x"], ["b.txt"]),
        (["commit", "-q", "--include", "b.txt", "-m", "x"], ["b.txt", "c.txt"]),
        (["commit", "-q", "-m", "x"], ["c.txt"]),
    ],
    ids=lambda value: value[1] if value[0] == "commit" else "",
)
@pytest.mark.parametrize("where", ["r", "w"])
def test_index_of_the_commit_that_is_being_made(repo, tmp_path, arguments, expected, where):
    """`commit -a` and `--only` have an index of their own, which git names to the hook."""
    repo.git("worktree", "add", "-q", str(tmp_path / "w"))
    top, said = tmp_path / where, tmp_path / "said"
    program = (
        "import sys, json; sys.path.insert(0, sys.argv[1]); from draftfs.git import changes; "
        "json.dump([c.path for c in changes.staged('.', in_hook=True)], open(sys.argv[2], 'w'))"
    )
    hook = repo.top / ".git" / "hooks" / "prepare-commit-msg"
    source = Path(__file__).parents[2]
    hook.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{program}" "{source}" "{said}"\n')
    hook.chmod(0o755)
    for name in ("a.txt", "b.txt", "c.txt"):
        (top / name).write_text("new\n")
    git("add", "c.txt", cwd=top)
    git(*arguments, cwd=top)
    assert json.loads(said.read_text()) == expected


# ── ranges ──


def test_exclude_that_this_repository_does_not_have(repo):
    first = repo.head
    second = repo.commit(a_txt="new\n")
    for exclude in ([first, "refs/heads/nope", "1" * len(first)], [f"{first}^{{tree}}", first]):
        assert [each.oid for each in repo.range(["HEAD"], exclude)] == [second]
    assert repo.range(["HEAD"], ["HEAD"]) == ()
    assert repo.range([], ["HEAD"]) == ()


def test_include_that_is_missing_is_a_fault_with_any_exclude(repo):
    for exclude in ([], ["HEAD"], ["refs/heads/nope"]):
        with pytest.raises(EnvironmentFault):
            repo.range(["1" * 40], exclude)
        with pytest.raises(EnvironmentFault):
            repo.range(["nope"], exclude)


@pytest.mark.parametrize("revision", ["--all", "^HEAD", "HEAD..main", "HEAD\nmain", ""])
def test_what_is_not_one_revision(repo, revision):
    for include, exclude in (([revision], []), (["HEAD"], [revision])):
        with pytest.raises(ValueError, match="not one revision"):
            repo.range(include, exclude)


def test_tags_and_what_is_no_commit(repo):
    repo.git("tag", "-a", "-m", "t", "v1")
    repo.git("tag", "-a", "-m", "t", "tree", "HEAD^{tree}")
    top = str(repo.top)
    assert changes.peeled(top, "v1") == repo.head
    assert changes.peeled(top, repo.git("rev-parse", "v1")) == repo.head
    assert changes.peeled(top, "tree") is changes.peeled(top, "1" * 40) is changes.peeled(top, "nope") is None
    assert changes.known(top, ["nope", "v1", "HEAD:a.txt"]) == {"v1": repo.head}
    assert [each.oid for each in repo.range(["v1"])] == [repo.head]


def test_is_ancestor(sides):
    top = str(sides.top)
    assert changes.is_ancestor(top, "main^", "side")
    assert not changes.is_ancestor(top, "main", "side")
    assert not changes.is_ancestor(top, "1" * 40, "side")
    with pytest.raises(EnvironmentFault):
        changes.is_ancestor(top, "side", "1" * 40)


def test_parents(octopus):
    top = str(octopus.top)
    assert changes.parents(top, "HEAD") == tuple(octopus.git("rev-parse", "HEAD^1", "HEAD^2", "HEAD^3").split())
    assert changes.parents(top, "HEAD^1^") == changes.parents(top, "nope") == ()


def test_net_difference_sees_through_every_merge(sides):
    repo = sides
    old = repo.head
    repo.switch("side")
    repo.merge("main", how=("-s", "ours"))
    top = str(repo.top)
    found = changes.net(top, old, "HEAD")
    assert steps(found) == repo.steps(("a.txt", old, "HEAD"), ("b.txt", old, "HEAD"))
    assert changes.net(top, "HEAD", "HEAD") == ()
    assert {each.path for each in changes.net(top, None, "HEAD")} == {"a.txt", "b.txt", "c.txt"}
    assert all(each.after is None for each in changes.net(top, "HEAD", None))


def test_sha256_repository(tmp_path):
    repo = Repository(tmp_path / "long", "--object-format=sha256")
    assert changes.staged(str(repo.top)) == ()
    first = repo.commit(a_txt="a\n", b_txt="b\n")
    repo.branch("side")
    repo.commit(b_txt="side\n")
    repo.switch("main")
    repo.commit(a_txt="main\n")
    repo.merge("side")
    found = repo.range(["HEAD"], ["1" * 64, first])
    assert len(found) == 3
    assert len(found[0].oid) == 64
    assert sorted(paths(found[-1].free)) == ["a.txt", "b.txt"]
    assert len(changes.net(str(repo.top), None, "HEAD")) == 2


def test_shallow_clone(sides, tmp_path):
    repo = sides
    repo.commit(c_txt="last\n")
    git("clone", "-q", "--depth=1", f"file://{repo.top}", str(tmp_path / "shallow"), cwd=tmp_path)
    (found,) = changes.commits(str(tmp_path / "shallow"), ["HEAD"])
    assert found.parents == ()
    assert len(found.counted) == 3, "where history ends, everything counts"


def test_objects_of_a_push_that_is_not_accepted_yet(sides, tmp_path):
    """pre-receive: the commits, merges among them, lie in quarantine."""
    repo, bare, said = sides, tmp_path / "bare", tmp_path / "said"
    first = repo.git("rev-parse", "HEAD^")
    git("init", "-q", "--bare", str(bare), cwd=tmp_path)
    repo.git("push", "-q", str(bare), f"{first}:refs/heads/main")
    merged = repo.merge("side")
    hook, source = bare / "hooks" / "pre-receive", Path(__file__).parents[2]
    program = (
        "import sys, json; sys.path.insert(0, sys.argv[1]); from draftfs.git import changes; "
        "old, new, ref = sys.stdin.read().split(); "
        "json.dump([[c.oid, [x.path for x in c.counted], [x.path for x in c.free]] "
        "for c in changes.commits('.', [new], [old], in_hook=True)], open(sys.argv[2], 'w'))"
    )
    hook.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{program}" "{source}" "{said}"\n')
    hook.chmod(0o755)
    repo.git("push", "-q", str(bare), "main")
    found = json.loads(said.read_text())
    assert [each[0] for each in found][-1] == merged
    assert [each[1] for each in found] in ([["a.txt"], ["b.txt"], []], [["b.txt"], ["a.txt"], []])
    assert sorted(found[-1][2]) == ["a.txt", "b.txt"]
    assert git("for-each-ref", "--format=%(objectname)", cwd=bare).strip() == merged


# ── cost ──


def imported(repo, commits, paths_each=1):
    """A linear history, made by fast-import in one go."""
    stream = ["blob\nmark :1\ndata 1\nx\n", "blob\nmark :2\ndata 1\ny\n"]
    for number in range(commits):
        start = f"commit refs/heads/long\ncommitter A <a@a> {1_700_000_000 + number} +0000\ndata 1\nc\n"
        begin = "from refs/heads/main^0\n" if number == 0 else ""
        files = "".join(f"M 100644 :{1 + number % 2} d/{number % 7}/{path}\n" for path in range(paths_each))
        stream.append(start + begin + files + "\n")
    subprocess.run(["git", "fast-import", "--quiet"], cwd=repo.top, input="".join(stream), text=True, check=True)


@pytest.fixture
def processes(tmp_path, monkeypatch):
    """How many git commands were started since it was last asked."""
    log = tmp_path / "trace"
    log.mkdir()
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(log))

    def count():
        files = list(log.iterdir())
        for file in files:
            file.unlink()
        return len(files)

    return count


def test_a_thousand_commits_take_two_processes(repo, processes):
    imported(repo, 1000)
    processes()
    found = repo.range(["long"], ["main"])
    assert processes() == 2
    assert len(found) == 1000
    assert sum(len(each.counted) for each in found) >= 990


def test_merges_take_two_processes_more(sides, processes):
    for number in range(5):
        sides.switch("side")
        sides.commit(b_txt=f"{number}\n")
        sides.switch("main")
        sides.commit(a_txt=f"{number}\n")
        sides.merge("side")
    processes()
    assert len(sides.range(["HEAD"])) == 18
    assert processes() == 4
    changes.net(str(sides.top), "HEAD^", "HEAD")
    assert processes() == 1
    changes.staged(str(sides.top))
    assert processes() == 2


def test_more_commits_than_one_batch(repo, monkeypatch):
    imported(repo, 50)
    whole = repo.range(["long"])
    monkeypatch.setattr(changes, "_BATCH", 7)
    assert repo.range(["long"]) == whole


def test_five_thousand_paths(repo):
    imported(repo, 1, 5000)
    (found,) = repo.range(["long"], ["main"])
    assert len(found.counted) == 5000
