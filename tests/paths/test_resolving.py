"""C74, C39, C44 by the API: which target a path means, from where, and which paths mean none."""

import os
import subprocess
import sys

import pytest

from draftfs import BadRequest, DraftRef, NotFound, Refused, Store
from draftfs.layout import DraftName, parse_draft_name
from draftfs.paths import Fold, clash, covers, target_path
from tests.support import draftfs, git


class TestFromAnywhere:
    @pytest.mark.parametrize("spelling", ["spec.md", "./spec.md", "../docs/spec.md", "..//docs/./spec.md"])
    def test_one_path_whatever_the_spelling(self, field, spelling):
        store = field.open(field.worktree("ann") / "docs", agent="ann")
        job = store.add_job("s", [spelling]).jobs[0]
        assert job.paths == ("docs/spec.md",)

    def test_absolute(self, field):
        store, path = field.ann, str(field.worktree("ann") / "docs/spec.md")
        assert store.add_job("s", [path]).jobs[0].paths == ("docs/spec.md",)

    def test_a_draft_from_elsewhere_is_a_replay(self, field):
        field.ann.claim(1, seen=1)
        field.write("ann", "docs/spec.md", "x")
        inside = field.open(field.worktree("ann") / "docs", agent="ann")
        first = inside.draft(["spec.md"], receipt="K")
        second = field.ann.draft(["docs/spec.md"], receipt="K")
        assert (first.replayed, second.replayed) == (False, True)
        assert first.drafts == second.drafts

    def test_through_a_symlink_to_the_worktree(self, field):
        worktree, link = field.worktree("ann"), field.base / "link"
        link.symlink_to(worktree)
        store = field.open(link / "docs", agent="ann")
        assert store.add_job("s", ["spec.md", str(link / "a.txt")]).jobs[0].paths == ("a.txt", "docs/spec.md")

    def test_paths_of_a_contest_or_a_list_are_stored_once(self, field):
        job = field.me.add_job("s", ["docs", "docs/spec.md", "./docs/", "a.txt"]).jobs[0]
        assert job.paths == ("a.txt", "docs")

    def test_another_repositorys_variables_change_nothing(self, field, monkeypatch):
        other = field.base / "other"
        git("init", "-q", str(other), cwd=field.base)
        monkeypatch.setenv("GIT_DIR", str(other / ".git"))
        monkeypatch.setenv("GIT_WORK_TREE", str(other))
        store = Store.open(str(field.root / "docs"), clock=field.clock)
        assert store.add_job("s", ["spec.md"]).jobs[0].paths == ("docs/spec.md",)
        assert not (other / ".git/draftfs").exists()


class TestNone:
    @pytest.mark.parametrize(
        "path", ["", ".", "..", "../x", "/", "/etc/passwd", "a\0b", ".git", ".git/config", "docs/../.git/x"]
    )
    def test_bad_paths(self, field, path):
        for store in (field.me, field.ann):
            with pytest.raises(BadRequest) as fault:
                store.add_job("s", [path])
            assert fault.value.code == "bad_path"

    def test_in_another_worktree_the_hint_has_the_right_spelling(self, field):
        with pytest.raises(BadRequest) as fault:
            field.ann.add_job("s", [str(field.root / "docs/spec.md")])
        assert "docs/spec.md" in fault.value.hint

    def test_the_store(self, field):
        with pytest.raises(BadRequest):
            field.me.add_job("s", [".git/draftfs/store.yaml"])

    def test_a_nested_repository(self, field):
        git("init", "-q", str(field.root / "nested"), cwd=field.root)
        with pytest.raises(BadRequest, match="nested"):
            field.me.add_job("s", ["nested/x"])

    @pytest.mark.parametrize("name", ["spec.md.draft-0001@ann", "spec.md.draft-0001.delete@ann", "x.draft-12345@_me"])
    def test_a_draft(self, field, name):
        with pytest.raises(BadRequest) as fault:
            field.me.add_job("s", [f"docs/{name}"])
        assert name.split(".draft")[0] in fault.value.hint

    def test_a_deleted_folder(self, field):
        gone = field.root / "gone"
        gone.mkdir()
        script = "import os, sys; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); from draftfs.cli import main; sys.argv[1:] = sys.argv[2:]; sys.exit(main())"
        for arguments in (["ls"], ["job", "add", "s", "x.md"], ["claim", "1", "--seen", "1"], ["draft", "x.md"]):
            gone.mkdir(exist_ok=True)
            done = subprocess.run(
                [sys.executable, "-c", script, str(gone), *arguments],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "PYTHONPATH": os.getcwd()},
            )
            assert done.returncode == 2, done.stderr
            assert "Traceback" not in done.stderr
            assert "working directory" in done.stderr

    @pytest.mark.parametrize(
        "arguments", [["ls"], ["job", "add", "s", "x.md"], ["claim", "1", "--seen", "1"], ["draft", "x.md"]]
    )
    def test_outside_and_inside_git(self, field, arguments):
        outside, inside = draftfs(*arguments, cwd=field.base), draftfs(*arguments, cwd=field.root / ".git")
        assert outside.status == 5
        assert inside.status == 2
        assert "Traceback" not in outside.err + inside.err

    def test_no_repository_at_all(self, tmp_path):
        with pytest.raises(NotFound) as fault:
            Store.open(str(tmp_path))
        assert fault.value.code == "no_store"


class TestSymlinks:
    def test_linked_folders_are_resolved_and_clash(self, field):
        (field.root / "lnk").symlink_to("docs")
        git("add", "lnk", cwd=field.root)
        git("commit", "-qm", "link", cwd=field.root)
        for name in ("ann", "bob"):
            git("merge", "-q", "main", cwd=field.worktree(name))
        field.ann.claim(1, seen=1)
        with pytest.raises(Refused) as fault:
            field.bob.claim_paths(["lnk/spec.md"])
        assert fault.value.code == "path_clash"
        assert "docs/spec.md" in str(fault.value)

    def test_a_link_in_last_place_is_itself(self, field):
        for place in (field.root, field.worktree("ann"), field.worktree("bob")):
            (place / "CLAUDE.md").symlink_to("a.txt")
        assert field.ann.claim_paths(["CLAUDE.md"]).claim.paths == ("CLAUDE.md",)
        assert field.bob.claim_paths(["a.txt"]).claim.paths == ("a.txt",)

    def test_a_link_out_of_the_checkout(self, field):
        (field.base / "outside").mkdir()
        (field.root / "out").symlink_to("../outside")
        with pytest.raises(BadRequest):
            field.me.add_job("s", ["out/x"])


class TestKinds:
    """C44: file becomes folder, folder becomes file."""

    def test_drafting_them(self, field):
        git("mv", "a.txt", "A1", cwd=field.root)
        (field.root / "d").mkdir()
        (field.root / "d/x").write_text("x")
        git("add", "-A", cwd=field.root)
        git("commit", "-qm", "kinds", cwd=field.root)
        for name in ("ann", "bob"):
            git("merge", "-q", "main", cwd=field.worktree(name))
        worktree = field.worktree("ann")
        field.ann.claim_paths(["A1"])
        field.put("ann", "A1", "x")
        (worktree / "A1").unlink()
        (worktree / "A1").mkdir()
        (worktree / "A1/A1").touch()
        with pytest.raises(BadRequest, match="regular"):
            field.ann.draft(["A1"])
        with pytest.raises(Refused) as fault:
            field.bob.claim_paths(["A1/A1"])
        assert fault.value.code == "path_clash"
        field.ann.submit()
        (field.root / "A1").unlink()
        (field.root / "A1").mkdir()
        (field.root / "A1/A1").write_text("inside")
        for force in (False, True):
            with pytest.raises(Refused) as fault:
                field.me.promote([DraftRef("A1", 1)], force=force)
            assert fault.value.code == "not_a_file"
        assert (field.root / "A1/A1").read_text() == "inside"

    def test_a_file_in_place_of_the_folder(self, field):
        (field.root / "d").mkdir()
        (field.root / "d/x").write_text("x")
        git("add", "-A", cwd=field.root)
        git("commit", "-qm", "d", cwd=field.root)
        worktree = field.worktree("ann")
        git("merge", "-q", "main", cwd=worktree)
        field.ann.claim_paths(["d/x"])
        (worktree / "d/x").unlink()
        (worktree / "d").rmdir()
        (worktree / "d").touch()
        with pytest.raises(BadRequest) as fault:
            field.ann.draft(["d/x"])
        assert fault.value.code == "bad_file"
        assert field.ann.draft(["d/x"], delete=True).drafts[0].delete
        with pytest.raises(Refused):
            field.bob.claim_paths(["d"])
        assert field.ann.release().job.state == "open"


class TestNames:
    """C23, C24: ext4 keeps letter case and Unicode form apart, whatever git is told."""

    PAIRS = pytest.mark.parametrize(("one", "two"), [("caf\u00e9.md", "cafe\u0301.md"), ("Docs/A.md", "docs/a.md")])

    @PAIRS
    @pytest.mark.parametrize("setting", [None, "core.precomposeunicode", "core.ignorecase"])
    def test_kept_apart(self, field, one, two, setting):
        if field.me.info.fold != Fold():
            pytest.skip("this file system folds names")
        if setting is not None:
            git("config", setting, "true", cwd=field.root)
        for name, target in (("ann", one), ("bob", two)):
            field.agent(name).claim_paths([target])
            info = field.put(name, target, name).drafts[0]
            field.agent(name).submit()
            assert info.file == f"{target}.draft-0001@{name}"
        field.me.promote([DraftRef(one, 1), DraftRef(two, 1)])
        assert ((field.root / one).read_text(), (field.root / two).read_text()) == ("ann", "bob")

    @PAIRS
    def test_on_a_folding_file_system_they_clash(self, one, two):
        fold = Fold(case=True, form=True)
        assert clash(one, two, fold)
        assert not clash(one, two, Fold())

    def test_segments(self):
        assert covers("src", "src/a", Fold())
        assert not covers("src", "src-app", Fold())
        assert not covers("src/a", "src", Fold())

    @pytest.mark.parametrize("path", ["a", "a/b", "a//b/", "./a/./b", "x/../a/b"])
    def test_target_path_is_stable(self, path):
        once = target_path(path)
        assert target_path(once) == once


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        ("x.draft-0001@ann", DraftName("x", 1, "ann", False)),
        ("x.draft-0001.delete@ann", DraftName("x", 1, "ann", True)),
        ("a.draft-0001@b.draft-0002@c", DraftName("a.draft-0001@b", 2, "c", False)),
        ("nl\nx.draft-0010@_me", DraftName("nl\nx", 10, "_me", False)),
        ("x.draft-001@ann", None),
        (".draft-0001@ann", None),
        ("x.draft-0001@", None),
        ("x.draft-0001@a b", None),
        ("x.draft-0001", None),
        ("x.draft-٠٠٠١@ann", None),
        ("x.draft-0001@ann\n", None),
    ],
)
def test_draft_names(name, parsed):
    assert parse_draft_name(name) == parsed
    if parsed is not None:
        assert str(parsed) == name
