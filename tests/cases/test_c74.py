"""C74: paths from a subfolder."""

import os
import subprocess
import sys

import pytest

from tests.support import draftfs, git


def test_arguments_from_the_folder_and_answers_from_the_root(site):
    job = site.run("ann", "job add", "s", "spec.md", folder="docs")["jobs"][0]
    assert job["paths"] == ["docs/spec.md"]
    site.run("ann", "claim", str(job["id"]), "--seen", "1", folder="docs")
    site.write("ann", "docs/spec.md", "x\n")
    first = site.run("ann", "draft", "spec.md", "--receipt", "K", folder="docs")
    second = site.run("ann", "draft", "docs/spec.md", "--receipt", "K")
    assert (first["replayed"], second["replayed"]) == (False, True)
    assert first["drafts"] == second["drafts"]
    assert first["drafts"][0]["target"] == "docs/spec.md"
    site.run("ann", "release", folder="docs")


def test_a_jobs_file_is_read_from_the_root(site):
    (site.where("ann") / "docs/jobs.yaml").write_text("jobs:\n- title: s\n  paths: [docs/spec.md]\n", encoding="utf-8")
    ran = site.raw("ann", "job", "add", "--from", "jobs.yaml", "--json", folder="docs")
    assert ran.status == 0, ran.out
    assert '"docs/spec.md"' in ran.out


def test_through_a_symlink(site):
    link = site.field.base / "link"
    link.symlink_to(site.where("ann"))
    ran = draftfs("claim", "--json", "--", "spec.md", cwd=link / "docs", agent="ann", PWD=str(link / "docs"))
    assert ran.status == 0, ran.out
    assert '"docs/spec.md"' in ran.out


def test_in_the_root(site):
    folder = site.root / "docs"
    for arguments, agent in ((["--as", "ann"], None), ([], "ann")):
        ran = draftfs("claim", "1", "--seen", "1", *arguments, cwd=folder, agent=agent)
        assert ran.status == 3
        assert "draftfs -C .. worktree add ../ann --as ann" in ran.err
    ran = draftfs("claim", "1", "--seen", "1", cwd=folder)
    assert ran.status == 0, ran.err


def test_another_repositorys_variables(site):
    other = site.field.base / "other"
    git("init", "-q", str(other), cwd=site.field.base)
    foreign = {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)}
    ran = draftfs("claim", "1", "--seen", "1", "--json", cwd=site.root / "docs", **foreign)
    assert ran.status == 0, ran.out
    assert '"docs/spec.md"' in ran.out
    assert not (other / ".git/draftfs").exists()


COMMANDS = [["ls"], ["job", "add", "s", "x.md"], ["claim", "1", "--seen", "1"], ["draft", "x.md"]]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_where_there_is_no_checkout(site, arguments):
    outside, inside = draftfs(*arguments, cwd=site.field.base), draftfs(*arguments, cwd=site.root / ".git")
    assert (outside.status, inside.status) == (5, 2)
    gone = site.root / "gone"
    gone.mkdir()
    leave = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.executable, [sys.executable, '-m', 'draftfs', *sys.argv[1:]])"
    deleted = subprocess.run(
        [sys.executable, "-c", leave, *arguments],
        cwd=gone,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    assert deleted.returncode == 2, deleted.stderr
    assert deleted.stderr.startswith("error: the working directory")
    for ran in (outside, inside):
        assert "Traceback" not in ran.out + ran.err


def test_what_leaves_the_checkout_has_the_right_spelling_in_the_hint(site):
    error = site.refused("ann", "bad_path", "claim", "--", str(site.root / "docs/spec.md"), status=2)
    assert error["hint"].endswith("docs/spec.md")
    for path in ("", "../x", ".git/config", str(site.field.store / "lock")):
        site.refused("me", "bad_path", "claim", "--", path, status=2)
