"""C75: clients that run no hooks. (`check` comes with that command; what it would say, `verify` says.)"""

from __future__ import annotations

import pytest

from tests.support import git

TEXT = "a.txt"
NO_HOOKS = ("-c", "core.hooksPath=/dev/null")


@pytest.fixture
def site(guarded):
    """bob holds a.txt; a bare repository asks the same store."""
    guarded.hold("bob", TEXT)
    guarded.where("ann")
    other = guarded.field.base / "bare.git"
    git("clone", "-q", "--bare", str(guarded.root), str(other), cwd=guarded.field.base)
    git("config", "draftfs.store", str(guarded.field.store), cwd=other)
    (other / "hooks/pre-receive").write_bytes((guarded.root / ".git/hooks/pre-receive").read_bytes())
    (other / "hooks/pre-receive").chmod(0o755)
    git("remote", "add", "origin", str(other), cwd=guarded.root)
    return guarded


def plumbed(site, data: str = "late\n", parent: str = "HEAD") -> str:
    """A commit by ann on bob's path, made by plumbing; no ref names it."""
    site.write("ann", TEXT, data)
    site.git("ann", "add", TEXT)
    tree = site.git("ann", "write-tree").out.strip()
    return site.git("ann", "commit-tree", tree, "-p", parent, "-m", "x").out.strip()


def slipped(site) -> str:
    """The same, on her branch, past every local hook."""
    oid = plumbed(site)
    site.git("ann", *NO_HOOKS, "update-ref", "refs/heads/wa", oid)
    return oid


def test_with_hooks_plumbing_is_refused_too(site):
    oid = plumbed(site)
    said = site.blocked("ann", "update-ref", "refs/heads/wa", oid)
    assert "held by bob until" in said
    site.blocked("ann", "update-ref", "HEAD", oid)
    site.blocked("ann", "branch", "evade", oid)


def test_without_hooks_verify_finds_it(site):
    oid = slipped(site)
    (found,) = site.run("me", "verify", "main..wa", status=6)["findings"]
    assert (found["kind"], found["commit"], found["path"]) == ("unadmitted", oid, TEXT)
    assert (found["holder"], found["job"]) == ("bob", 3)
    assert found["expires_at"]
    assert found["from"]["oid"] != found["to"]["oid"]
    assert site.run("ann", "verify", status=6)["findings"] == [found]
    text = site.raw("me", "verify", "main..wa")
    assert oid[:12] in text.out
    assert "held by bob" in text.out


@pytest.mark.parametrize(
    "ref", ["refs/heads/wa", "refs/heads/new", "refs/tags/x", "refs/x/y", "refs/replace/y", "refs/notes/x"]
)
def test_pushes(site, ref):
    slipped(site)
    said = site.git("ann", "push", "origin", f"HEAD:{ref}", status=1)
    assert "draftfs: refused" in said.err
    assert "remote:" not in said.err, "pre-push has stopped it"
    said = site.git("ann", "push", "--no-verify", "origin", f"HEAD:{ref}", status=1)
    assert "remote: draftfs: refused" in said.err
    assert site.tip("ann") not in git("for-each-ref", ref, cwd=site.field.base / "bare.git")
    if ref != "refs/replace/y":
        site.git("bob", "push", "origin", f"HEAD:{ref}")


def test_a_detached_commit(site):
    site.git("ann", "checkout", "-q", "--detach")
    oid = plumbed(site)
    assert "draftfs: refused" in site.git("ann", "push", "origin", f"{oid}:refs/heads/x", status=1).err
    assert "draftfs: refused" in site.git("ann", "push", "--no-verify", "origin", f"{oid}:refs/heads/x", status=1).err


def with_bobs_work(site) -> None:
    """What bob made is people's by now, and was pushed."""
    site.write("bob", TEXT, "bob's\n")
    site.git("bob", "commit", "-qam", "bob's")
    site.run("bob", "submit")
    site.git("me", "merge", "-q", "--no-edit", "wb")
    site.git("me", "push", "-q", "origin", "main")


def is_found(site) -> None:
    found = site.run("me", "verify", "main..wa", status=6)["findings"]
    assert TEXT in {each["path"] for each in found}
    for flags in ((), ("--no-verify",)):
        assert "draftfs: refused" in site.git("ann", "push", *flags, "origin", "HEAD:main", status=1).err


@pytest.mark.parametrize("hooks", [(), NO_HOOKS])
def test_a_merge_that_drops_bobs_admitted_work(site, hooks):
    """Its commits change nothing of their own: the difference of the two tips tells."""
    with_bobs_work(site)
    site.write("ann", "other.md", "x\n")
    site.git("ann", "add", "other.md")
    site.commit("ann")
    site.git("ann", *hooks, "merge", "-q", "--no-edit", "-s", "ours", "main")
    is_found(site)


def test_a_merge_that_keeps_what_was_slipped_in(site):
    with_bobs_work(site)
    site.git("ann", *NO_HOOKS, "update-ref", "refs/heads/wa", plumbed(site, "ann's own\n"))
    site.git("ann", *NO_HOOKS, "merge", "-q", "--no-edit", "-X", "ours", "main")
    is_found(site)


def test_a_person_vouches(site):
    slipped(site)
    error = site.run("ann", "admit", "main..wa", "--because", "x", status=3)
    assert error["code"].startswith("agents_cannot")
    admitted = site.run("me", "admit", "main..wa", "--because", "read by me")["admitted"]
    assert [each["path"] for each in admitted] == [TEXT]
    assert site.run("me", "verify", "main..wa")["findings"] == []
    event = site.run("me", "log")["events"][-1]
    assert (event["kind"], event["data"]["because"]) == ("commit.vouched", "read by me")
    site.git("ann", "push", "-q", "origin", "HEAD:refs/heads/wa", "HEAD:refs/tags/x", "HEAD:refs/x/y")
    assert site.run("me", "admit", "main..wa", "--because", "again")["admitted"] == []
