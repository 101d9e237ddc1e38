"""C24: letter case tells names apart where the file system does, whatever git's setting says."""

import shutil
import subprocess

import pytest

from draftfs import Refused, Store
from draftfs.git import hooks
from draftfs.paths import Fold
from tests.support import git


@pytest.mark.parametrize("setting", ["true", "false"])
def test_on_a_volume_that_keeps_case(site, setting):
    if site.field.me.info.fold != Fold():
        pytest.skip("this file system folds names")
    git("config", "core.ignorecase", setting, cwd=site.root)
    site.hold("ann", "Docs/A.md")
    site.hold("bob", "docs/a.md")


def test_on_a_volume_that_folds_case(tmp_path):
    image, mount = tmp_path / "image", tmp_path / "mount"
    if not all(map(shutil.which, ("mkfs.ext4", "mount", "umount", "chattr"))):
        pytest.skip("no mkfs.ext4 on the PATH")
    with open(image, "wb") as file:
        file.truncate(32 << 20)
    mount.mkdir()
    make = ["mkfs.ext4", "-q", "-O", "casefold", "-E", "encoding=utf8", str(image)]
    if subprocess.run(make, check=False, capture_output=True).returncode:
        pytest.skip("no mkfs.ext4 with casefold")
    if subprocess.run(["mount", "-o", "loop", str(image), str(mount)], check=False, capture_output=True).returncode:
        pytest.skip("cannot mount a folding volume")
    try:
        root = mount / "r"
        root.mkdir()
        subprocess.run(["chattr", "+F", str(root)], check=True)
        git("init", "-q", "-b", "main", cwd=root)
        (root / "a.md").write_text("v0\n")
        git("add", "-A", cwd=root)
        git("commit", "-qm", "start", cwd=root)
        me, _ = Store.init(str(root))
        assert me.info.fold == Fold(case=True, form=True)
        stores = []
        for name in ("ann", "bob"):
            git("worktree", "add", "-q", str(mount / name), "-b", name, cwd=root)
            stores.append(Store.open(str(mount / name), agent=name))
        ann, bob = stores
        ann.claim_paths(["A.md"])
        with pytest.raises(Refused) as fault:
            bob.claim_paths(["a.md"])
        assert fault.value.code == "path_clash"
        assert fault.value.details["clashes"][0]["held"] == "A.md"
        (mount / "ann" / "A.md").write_text("new\n")
        hooks.install(str(root))
        git("mv", "a.md", "A.md", cwd=mount / "ann")
        git("commit", "-qm", "only the case", cwd=mount / "ann")
        git("mv", "-f", "a.md", "A.md", cwd=mount / "bob")
        ran = subprocess.run(
            ["git", "commit", "-qm", "x"], cwd=mount / "bob", capture_output=True, text=True, check=False
        )
        assert ran.returncode != 0
        assert "held by ann" in ran.stderr
        for name in ("Alice", "alice"):
            assert Store.open(str(root), agent=name).read(limit=1).page == f"{name}:1:1"
        Store.open(str(root), agent="Alice").acknowledge("Alice:1:1")
        assert Store.open(str(root), agent="alice").read(limit=1).acknowledged == 0
        first = ann.draft(["A.md"]).drafts[0]
        second = ann.draft(["a.md"]).drafts[0]
        assert (first.number, second.number, second.target) == (1, 2, first.target)
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)


@pytest.mark.parametrize("setting", ["true", "false"])
def test_a_commit_of_the_other_spelling(guarded, setting):
    """Two files where the file system keeps case, whatever git's setting says."""
    site = guarded
    if site.field.me.info.fold != Fold():
        pytest.skip("this file system folds names")
    git("config", "core.ignorecase", setting, cwd=site.root)
    site.hold("ann", "Docs/A.md")
    site.write("bob", "docs/a.md", "bob's\n")
    site.git("bob", "add", "docs/a.md")
    site.commit("bob")
    site.write("bob", "Docs/A.md", "bob's\n")
    site.git("bob", "add", "Docs/A.md")
    if setting == "false":
        assert "held by ann" in site.blocked("bob", "commit", "-qm", "x")
