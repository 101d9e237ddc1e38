"""People in the root: their plain work goes on, promoted work is nobody's to warn about, and a warning is said once."""

from __future__ import annotations

import pytest

from tests.honest.conftest import SPEC, TEXT
from tests.support import git

WARNING = "draftfs: warning:"


def handed_in(place, who: str, name: str, data: str) -> str:
    """A job done by the book: claimed, drafted, submitted. The draft's file."""
    place.hold(who, name, adopt=True)
    drafted = place.draft(who, name, data)
    place.submit(who)
    return f"{name}.draft-{drafted.number:04d}@{who}"


@pytest.fixture
def upstream(place):
    """A repository elsewhere that main follows, with a checkout of people's ("far") that has no store."""
    other = place.base / "up.git"
    git("clone", "-q", "--bare", str(place.root), str(other), cwd=place.base)
    git("clone", "-q", str(other), str(place.base / "far"), cwd=place.base)
    git("remote", "add", "origin", str(other), cwd=place.root)
    git("fetch", "-q", "origin", cwd=place.root)
    git("branch", "-q", "--set-upstream-to=origin/main", "main", cwd=place.root)
    return place


def test_promote_and_commit(place):
    place.promote(handed_in(place, "ann", SPEC, "v1\n"))
    place.git("me", "commit", "-qam", "promoted")
    place.promote(handed_in(place, "ann", SPEC, "v2\n"))
    place.promote(handed_in(place, "bob", SPEC, "v3\n"), force=True)
    place.git("me", "commit", "-qam", "promoted twice")
    place.git("me", "commit", "-q", "--amend", "-m", "other words")


def test_promote_of_a_new_file_and_of_a_deletion(place):
    place.promote(handed_in(place, "ann", "new/file", "x\n"))
    place.git("me", "add", "new")
    place.git("me", "commit", "-qm", "new")
    place.hold("ann", TEXT)
    place.store("ann").draft([TEXT], delete=True)
    place.submit("ann")
    place.promote(f"{TEXT}.draft-0001.delete@ann")
    place.git("me", "commit", "-qam", "gone")


def test_promoted_then_merged_as_well(place):
    """ann commits on her branch, and drafts the same bytes; people promote, commit, and merge the branch later."""
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.store("ann").draft([SPEC])
    place.submit("ann")
    place.promote(f"{SPEC}.draft-0001@ann")
    place.git("me", "commit", "-qam", "promoted")
    place.git("me", "merge", "-q", "--no-edit", "wa")
    place.git("ann", "merge", "-q", "main")


@pytest.mark.parametrize("options", [("--no-ff",), ("--ff-only",), ("--squash",), ()])
def test_merge_of_an_accepted_branch(place, options):
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.commit("ann", SPEC, "v2\n")
    place.submit("ann")
    place.store("me").accept_job(3)
    if "--ff-only" not in options:
        place.commit("me", "f0", "moved on\n")
    edit = () if options == ("--squash",) else ("--no-edit",)
    place.git("me", "merge", "-q", *edit, *options, "wa")
    if options == ("--squash",):
        place.git("me", "commit", "-qm", "all of it")
    assert (place.root / SPEC).read_text() == "v2\n"


def test_merges_of_two_agents_who_started_alike(place):
    place.hold("ann", SPEC)
    place.hold("bob", TEXT)
    place.commit("ann", SPEC, "ann's\n")
    place.commit("bob", TEXT, "bob's\n")
    place.submit("ann")
    place.submit("bob")
    place.git("me", "merge", "-q", "--no-ff", "--no-edit", "wa")
    place.git("me", "merge", "-q", "--no-ff", "--no-edit", "wb")
    place.git("me", "reset", "-q", "--hard", place.start)
    place.git("me", "merge", "-q", "--no-ff", "-m", "both", "wa", "wb")
    place.git("me", "reset", "-q", "--hard", place.start)
    place.git("me", "cherry-pick", "wa", "wb")
    place.git("me", "rebase", "-q", "--force-rebase", place.start)


def test_feature_branches(place):
    """A person's topic branches, merged with and without a merge commit, rebased, squashed, released."""
    place.git("me", "checkout", "-qb", "develop")
    place.git("me", "checkout", "-qb", "feature/x")
    place.commit("me", "f0", "x\n")
    place.commit("me", "f1", "x\n")
    place.git("me", "checkout", "-q", "develop")
    place.commit("me", "f2", "x\n")
    place.git("me", "merge", "-q", "--no-ff", "-m", "feature", "feature/x")
    place.git("me", "branch", "-d", "feature/x")
    place.git("me", "checkout", "-qb", "release/1")
    place.commit("me", "f3", "x\n")
    place.git("me", "checkout", "-q", "main")
    place.git("me", "merge", "-q", "--no-ff", "-m", "release", "release/1")
    place.git("me", "tag", "-am", "one", "v1")
    place.git("me", "checkout", "-q", "develop")
    place.git("me", "merge", "-q", "--no-edit", "main")
    place.git("me", "rebase", "-q", "main")
    place.git("me", "checkout", "-q", "main")


@pytest.mark.parametrize(
    "how", [("--ff-only",), ("--no-rebase", "--no-edit"), ("--rebase",), ("origin", "main", "--no-rebase", "--no-edit")]
)
def test_pull_of_what_others_did(upstream, how):
    """Other people's hand edits of reserved paths, and another store's agents' work: it is people's once it is upstream."""
    place = upstream
    place.hand_made = True
    place.hold("ann", SPEC)
    place.commit("far", SPEC, "from afar\n")
    place.git("far", "checkout", "-qb", "topic", "HEAD~1")
    place.commit("far", TEXT, "from afar\n")
    place.git("far", "checkout", "-q", "main")
    place.git("far", "merge", "-q", "--no-edit", "topic")
    place.git("far", "push", "-q", "origin", "main")
    if "--ff-only" not in how:
        place.commit("me", "f0", "mine\n")
    place.git("me", "pull", "-q", *how)
    assert (place.root / SPEC).read_text() == "from afar\n"


def test_ones_own_warned_commit_is_not_warned_again(upstream):
    place = upstream
    place.hand_made = True
    place.hold("ann", SPEC)
    said = place.git("me", "commit", "--allow-empty", "-qm", "nothing").err
    place.write("me", SPEC, "by hand\n")
    said = place.git("me", "commit", "-qam", "by hand", says=True).err
    assert said.count(WARNING) == said.count("draftfs:") == 1
    assert said.count(SPEC) == 1
    assert "held by ann until" in said
    place.git("me", "tag", "mark")
    place.git("me", "branch", "other")
    place.git("me", "checkout", "-q", "other")
    place.git("me", "checkout", "-q", "main")
    place.commit("me", "f0", "x\n")
    place.git("ann", "fetch", "-q", ".", "main:refs/heads/copy")
    place.git("bob", "merge", "-q", "main")


HOW = [("-qam", "x"), ("-qm", "x", "--only", SPEC), ("-qa", "-F", "../message"), ("-qam", "x", "--no-verify"), ("-qa",)]


@pytest.mark.parametrize(
    ("how", "policy"),
    [*((how, "warn") for how in HOW), (HOW[0], "refuse"), (HOW[-1], "refuse"), (HOW[0], "off"), (HOW[-1], "off")],
)
def test_the_three_policies(place, policy, how):
    place.hold("ann", SPEC)
    place.store("me").configure("git.root", policy)
    (place.base / "message").write_text("x\n")
    place.write("me", SPEC, "by hand\n")
    before = place.tip("me")
    editor = {"GIT_EDITOR": "sh -c 'echo words >\"$1\"' -"}
    ran = place.git("me", "commit", *how, status=None, says=policy != "off", **editor)
    assert (ran.status == 0) is (policy != "refuse"), ran.err
    assert ran.err.count("draftfs:") == (policy != "off")
    assert (place.tip("me") == before) is (policy == "refuse")
    place.hand_made = policy != "refuse"


@pytest.mark.parametrize("policy", ["warn", "refuse", "off"])
def test_a_person_who_resolves_by_hand(place, policy):
    place.hand_made = True
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "ann's\n")
    place.submit("ann")
    place.commit("me", SPEC, "mine\n", says=True)
    place.store("me").configure("git.root", policy)
    place.git("me", "merge", "wa", status=1)
    place.write("me", SPEC, "both\n")
    place.git("me", "add", SPEC)
    ran = place.git("me", "commit", "-qm", "both", status=None, says=policy != "off")
    assert (ran.status == 0) is (policy != "refuse")
    assert ran.err.count("draftfs:") == (policy != "off")
    if policy == "refuse":
        assert "git merge --abort" in ran.err
        place.git("me", "merge", "--abort")


def test_an_agent_in_the_root_is_refused(place):
    place.hold("bob", SPEC)
    place.write("me", SPEC, "by an agent\n")
    place.refused("me", "commit", "-qam", "x", DRAFTFS_AGENT="ann")
    place.git("me", "checkout", "-q", ".")
    place.commit("me", "f0", "x\n", DRAFTFS_AGENT="ann")


def test_a_detached_root(place):
    place.git("me", "checkout", "-q", "--detach")
    place.commit("me", "f0", "x\n")
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.git("me", "checkout", "-q", "main")


def test_a_persons_own_worktree(place):
    """A linked worktree that never held a claim: unreserved work goes on there as in the root."""
    place.git("me", "worktree", "add", "-q", "-b", "hotfix", str(place.base / "hot"), "main")
    place.commit("hot", "f0", "x\n")
    place.git("me", "merge", "-q", "hotfix")
    place.hold("ann", SPEC)
    place.commit("ann", SPEC, "v1\n")
    place.submit("ann")
    place.git("hot", "merge", "-q", "--no-edit", "wa")


def test_undo_of_a_promotion_by_git(place):
    """A person's revert of a promoted commit is a change by hand: warned, once."""
    place.hand_made = True
    place.promote(handed_in(place, "ann", SPEC, "v1\n"))
    place.git("me", "commit", "-qam", "promoted")
    said = place.git("me", "revert", "--no-edit", "HEAD", says=True).err
    assert said.count(WARNING) == 1


@pytest.mark.parametrize("policy", ["warn", "refuse"])
def test_what_git_does_before_a_refusal_is_said_once(place, policy):
    """Cherry-picks, reverts and rebases of a hand-made change: one warning for each thing that was made, none in between."""
    place.hand_made = True
    place.hold("ann", SPEC)
    hand_made = place.commit("me", SPEC, "by hand\n", says=True)
    place.store("me").configure("git.root", policy)
    refuses = policy == "refuse"
    place.git("me", "checkout", "-qb", "topic", place.start)
    place.unpassed.add("refs/heads/topic")
    ran = place.git("me", "cherry-pick", hand_made, status=None, says=True)
    assert (ran.status != 0, ran.err.count("draftfs:")) == (refuses, 1)
    if refuses:
        assert "git cherry-pick --abort" in ran.err
        place.git("me", "cherry-pick", "--abort", status=None)
    place.git("me", "checkout", "-q", "main")
    ran = place.git("me", "revert", "--no-edit", "HEAD", status=None, says=True)
    assert (ran.status != 0, ran.err.count("draftfs:")) == (refuses, 1)
    place.git("me", "revert", "--abort", status=None)
    place.git("me", "reset", "-q", "--hard", hand_made)
    place.commit("me", "f0", "x\n")
    place.git("me", "commit", "-q", "--amend", "-m", "only f0")
