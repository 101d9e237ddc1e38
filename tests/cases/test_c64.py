"""C64: what is checked is not what is committed. The committed content is judged, never the disk. (`check` comes with that
command; `ls` says what is stale.)"""

from __future__ import annotations

import pytest

SPEC = "docs/spec.md"
GOOD = "v2\n"


@pytest.fixture
def promoted(guarded):
    """docs/spec.md promoted from draft 2, not committed yet."""
    guarded.hold("ann", SPEC)
    guarded.put("ann", SPEC, "v1\n")
    guarded.put("ann", SPEC, GOOD)
    guarded.run("ann", "submit")
    guarded.run("me", "promote --yes", SPEC, "2")
    guarded.git("ann", "checkout", "-q", ".")
    guarded.where("bob")
    return guarded


def stage(site, who: str, way: str) -> None:
    """Stage the hand-edited version so that the disk shows something else."""
    if way in ("assume-unchanged", "skip-worktree"):
        site.git(who, "update-index", f"--{way}", SPEC)
    if way == "sparse":
        site.git(who, "checkout", "-q", SPEC)
        site.git(who, "sparse-checkout", "set", "--no-cone", "a.txt")
    if way in ("good bytes put back", "deleted"):
        site.write(who, SPEC, "by hand\n")
        site.git(who, "add", SPEC)
        site.write(who, SPEC, GOOD)
        if way == "deleted":
            (site.where(who) / SPEC).unlink()
    else:
        blob = site.git(who, "hash-object", "-w", "--stdin", feed="by hand\n").out.strip()
        site.git(who, "update-index", "--cacheinfo", f"100644,{blob},{SPEC}")


WAYS = ["good bytes put back", "deleted", "assume-unchanged", "skip-worktree", "sparse"]


@pytest.mark.parametrize("policy", ["warn", "refuse", "off"])
@pytest.mark.parametrize("way", WAYS)
def test_a_hand_edit_that_the_disk_does_not_show(promoted, way, policy):
    """(a) (c) (d)"""
    site = promoted
    site.run("me", "config", "git.root", policy)
    stage(site, "me", way)
    before = site.tip("me")
    ran = site.git("me", "commit", "-qm", "x", status=None)
    assert (ran.status != 0, site.tip("me") == before) == (policy == "refuse", policy == "refuse")
    assert ran.err.count("draftfs:") == (policy != "off")
    assert (SPEC in ran.err) is (policy != "off")
    # Let through or not, it is not recorded: an agent's worktree still refuses it.
    blob = site.git("me", "hash-object", "-w", "--stdin", feed="by hand\n").out.strip()
    site.hold("bob", SPEC)
    site.git("ann", "update-index", "--cacheinfo", f"100644,{blob},{SPEC}")
    assert "held by bob" in site.blocked(
        "ann", "commit", "-qm", "the same"
    )  # by another name, or it is that very commit


@pytest.mark.parametrize("way", WAYS)
def test_the_same_while_bob_holds_the_path(promoted, way):
    site = promoted
    site.hold("bob", SPEC)
    stage(site, "ann", way)
    said = site.blocked("ann", "commit", "-qm", "x")
    assert SPEC in said
    assert "held by bob until" in said


@pytest.mark.parametrize("policy", ["warn", "refuse", "off"])
def test_the_promoted_bytes_staged_and_the_disk_edited(promoted, policy):
    """(b)"""
    site = promoted
    site.run("me", "config", "git.root", policy)
    site.git("me", "add", SPEC)
    site.write("me", SPEC, "by hand\n")
    site.commit("me")
    assert site.line(SPEC)["stale"] is True
    site.write("me", SPEC, GOOD)
    assert site.line(SPEC)["stale"] is False


def test_exactly_the_promoted_change_passes_in_a_worktree(promoted):
    site = promoted
    site.hold("bob", SPEC)
    site.write("ann", SPEC, GOOD)
    (site.where("ann") / SPEC).chmod(0o755)
    site.git("ann", "add", SPEC)
    site.blocked("ann", "commit", "-qm", "another mode")
    (site.where("ann") / SPEC).chmod(0o644)
    site.git("ann", "add", SPEC)
    site.write("ann", SPEC, "edited on\n")
    site.commit("ann")
    assert site.run("me", "verify", "main..wa")["findings"] == []


def test_after_an_ordinary_promote_and_commit_all_is_clean(promoted):
    site = promoted
    before = site.tip("me")
    site.git("me", "add", SPEC)
    site.commit("me")
    site.git("ann", "merge", "-q", "main")
    site.hold("ann", SPEC)
    site.put("ann", SPEC, "v3\n")
    site.run("ann", "submit")
    site.run("me", "promote --yes", SPEC, "3")
    site.commit("me", "-a")
    assert site.run("me", "verify", f"{before}..main")["findings"] == []
