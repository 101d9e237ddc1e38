"""Each finding of §7: raised when its cause is there, with a command that ends it, and gone with its cause."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest

from draftfs.check import KINDS
from draftfs.git import hooks
from draftfs.records import DraftRef
from draftfs.workspace import Workspace
from tests.support import draftfs, git

SPEC, ONE = "docs/spec.md", DraftRef("docs/spec.md", 1)
DRAFT = "docs/spec.md.draft-0001@ann"


def found(field, *kinds, paths=()):
    """Kind, path and subject of what is found; hooks left out unless asked for."""
    wanted = kinds or [kind for kind in KINDS if kind != "hook"]
    checked = field.me.check(paths, kinds=wanted)
    keys = [(each.kind, each.path, each.subject) for each in checked.findings]
    assert len(set(keys)) == len(keys)
    return keys


def one(field, kind):
    (finding,) = field.me.check(kinds=[kind]).findings
    return finding


def hand_in(field, text="new\n"):
    job = field.me.job(1).job
    field.ann.claim(1, seen=job.version, adopt=True)
    field.put("ann", SPEC, text)
    field.ann.submit()


def chosen(field, text="new\n"):
    hand_in(field, text)
    field.me.promote([ONE])


def test_nothing_at_first(field):
    assert found(field) == []


def test_unpromoted_one_for_each_target_with_its_oldest_age(field):
    field.ann.claim(1, seen=1)
    field.put("ann", SPEC, "x\n")
    field.clock.advance(90)
    finding = one(field, "unpromoted")
    assert (finding.path, finding.subject, finding.number, finding.job, finding.age) == (SPEC, None, 1, 1, 90)
    assert finding.repair == f"draftfs promote -- {DRAFT}"
    field.ann.submit()
    field.me.add_job("again", [SPEC])
    field.bob.claim(3, seen=1)
    field.put("bob", SPEC, "y\n")
    finding = one(field, "unpromoted")
    assert ("2 drafts wait" in finding.message, finding.repair) == (True, f"draftfs ls -- {SPEC}")
    field.me.reject([ONE, DraftRef(SPEC, 2)], because="no")
    assert found(field) == []


def test_stale_until_regenerated_and_not_while_it_waits_to_be_committed(field):
    chosen(field)
    assert found(field) == []
    field.write("me", SPEC, "hand\n")
    finding = one(field, "stale")
    assert (finding.path, finding.subject, finding.repair) == (SPEC, "1", f"draftfs regenerate -- {SPEC}")
    subprocess.run(["git", "add", SPEC], cwd=field.root, check=True)
    assert found(field) == [("stale", SPEC, "1")]
    field.me.regenerate([SPEC])
    assert found(field, "stale") == []
    os.unlink(field.root / SPEC)
    assert "it is gone" in one(field, "stale").message
    field.write("me", SPEC, "new\n")
    assert found(field, "stale") == []


def test_a_folder_in_the_place_of_a_target_is_named(field):
    chosen(field)
    os.unlink(field.root / SPEC)
    os.makedirs(field.root / SPEC / "inside")
    finding = one(field, "stale")
    assert "it is a folder" in finding.message
    assert finding.repair == f"mv -n -- {SPEC} {SPEC}.aside && draftfs regenerate -- {SPEC}"


@pytest.mark.parametrize("how", ["edited", "folder", "gone", "moved"])
def test_outdated_says_what_became_of_the_target(field, how):
    hand_in(field)
    assert found(field, "outdated") == []
    if how == "edited":
        field.write("me", SPEC, "other\n")
        says, repair = "has changed", f"draftfs merge -- {DRAFT}"
    elif how == "folder":
        os.unlink(field.root / SPEC)
        os.mkdir(field.root / SPEC)
        says, repair = "made from a file, but it is a folder", "draftfs reject"
    elif how == "gone":
        git("rm", "-q", SPEC, cwd=field.root)
        says, repair = "is gone", f"draftfs promote --force -- {DRAFT}"
    else:
        git("mv", SPEC, "docs/better.md", cwd=field.root)
        says, repair = "perhaps renamed to docs/better.md", "draftfs promote --force"
    finding = one(field, "outdated")
    assert (finding.path, finding.subject) == (SPEC, "1")
    assert says in finding.message
    assert finding.repair.startswith(repair)
    if how == "moved":
        git("mv", "docs/better.md", SPEC, cwd=field.root)
    else:
        if how == "folder":
            os.rmdir(field.root / SPEC)
        git("checkout", "HEAD", "--", SPEC, cwd=field.root)
    assert found(field, "outdated") == []


def test_an_alternative_to_what_was_chosen_is_not_outdated(field):
    """Promoting it is free: outdated is what promoting refuses."""
    field.me.add_job("best of two", [SPEC], contest=2)
    for name, job in (("ann", 3), ("bob", 4)):
        field.agent(name).claim(job, seen=1)
        field.put(name, SPEC, f"by {name}\n")
        field.agent(name).submit()
    hand_in(field)
    for chosen in (1, 2):
        field.me.promote([DraftRef(SPEC, chosen)])
        assert found(field, "outdated") == [("outdated", SPEC, "3")]
        flags = {each.draft.number: each.flags for each in field.me.ls()[0].drafts}
        assert flags == {3 - chosen: (), 3: ("outdated",)}
    field.write("me", SPEC, "by hand\n")
    assert found(field, "outdated") == [("outdated", SPEC, "1"), ("outdated", SPEC, "3")]


def test_missing_and_tampered_drafts_are_ended_by_what_the_findings_say(real):
    field = real
    hand_in(field)
    os.unlink(field.root / DRAFT)
    finding = one(field, "missing")
    assert (finding.path, finding.subject, "stashed or cleaned?" in finding.message) == (DRAFT, "1", True)
    assert run(field, finding.repair).status == 0
    assert found(field, "missing", "tampered") == []
    os.chmod(field.root / DRAFT, 0o644)
    (field.root / DRAFT).write_text("meddled\n")
    finding = one(field, "tampered")
    subprocess.run(finding.repair.partition(" && ")[0], shell=True, cwd=field.root, check=True)
    assert run(field, finding.repair.partition(" && ")[2]).status == 0
    assert found(field) == [("unpromoted", SPEC, None)]
    assert (field.root / "docs/spec.md.aside-0001").read_text() == "meddled\n"
    os.chmod(field.root / DRAFT, 0o644)
    (field.root / DRAFT).write_text("once more\n")
    subprocess.run(one(field, "tampered").repair.partition(" && ")[0], shell=True, cwd=field.root, check=False)
    assert (field.root / "docs/spec.md.aside-0001").read_text() == "meddled\n", "nothing of what was put aside is lost"


def run(field, command):
    return draftfs(*shlex.split(command)[1:], cwd=field.root)


def test_decided_drafts_need_no_file(field):
    chosen(field)
    os.unlink(field.root / DRAFT)
    assert found(field) == []


def test_lapsed_until_somebody_takes_it_up(field):
    field.ann.claim(1, seen=1, ttl=60)
    field.clock.advance(100)
    finding = one(field, "lapsed")
    assert (finding.path, finding.subject, finding.job, finding.age) == (SPEC, "1", 1, 40)
    assert finding.repair == "draftfs claim 1 --seen 3"
    field.bob.claim(1, seen=3)
    assert found(field) == []
    field.bob.release()
    assert found(field) == [], "given back is not lapsed"
    field.ann.claim(1, seen=field.version(1), ttl=60)
    field.clock.advance(100)
    field.bob.claim(1, seen=field.version(1), ttl=60)
    field.clock.advance(100)
    assert one(field, "lapsed").repair == "draftfs job retry 1", "the third attempt was the last"
    field.me.cancel_job(1)
    assert found(field) == []


def test_unadmitted_commits_of_agents_worktrees_until_they_are_vouched_for_or_gone(field):
    field.ann.claim(1, seen=1)
    field.write("bob", SPEC, "slipped\n")
    field.write("bob", "free.md", "nobody ever reserved it\n")
    worktree = field.worktree("bob")
    git("add", "-A", cwd=worktree)
    git("commit", "-qm", "x", cwd=worktree)
    tip = git("rev-parse", "HEAD", cwd=worktree).strip()
    finding = one(field, "unadmitted")
    assert (finding.path, finding.subject, finding.repair) == (SPEC, tip, f"draftfs verify {tip}")
    assert "held by ann" in finding.message
    assert [each.commit for each in field.me.verify(tip).findings] == [tip]
    assert found(field, "unadmitted", paths=["a.txt"]) == []
    field.me.admit(f"main..{tip}", because="looked at it")
    assert found(field, "unadmitted") == []
    field.write("bob", SPEC, "more\n")
    git("commit", "-qam", "y", cwd=worktree)
    assert len(found(field, "unadmitted")) == 1
    git("reset", "-q", "--hard", "main", cwd=worktree)
    assert found(field, "unadmitted") == []


def test_hooks_are_findings_until_they_are_installed_and_again_when_one_goes(field):
    missing = field.me.check(kinds=["hook"]).findings
    assert {each.repair for each in missing} == {f"draftfs -C {field.root} hooks install"}
    assert len(missing) == len({each.subject for each in missing}) == 4
    hooks.install(str(field.root))
    assert found(field, "hook") == []
    field.worktree("ann")
    os.chmod(field.root / ".git/hooks/pre-push", 0o644)
    assert found(field, "hook") == [("hook", str(field.root), "pre-push")], "once, though two worktrees look there"
    os.chmod(field.root / ".git/hooks/pre-push", 0o755)
    git("config", "extensions.worktreeConfig", "true", cwd=field.root)
    git("config", "--worktree", "core.hooksPath", "/nowhere", cwd=field.worktree("ann"))
    assert {each[1] for each in found(field, "hook")} == {str(field.worktree("ann"))}
    assert field.me.check(["docs"], kinds=["hook"]).findings == ()


def test_the_look_at_hooks_leaves_the_store_as_it_is(field):
    """By a clock of its own it would take the store for one that a reboot has left, and recover it."""
    field.me.add_job("one", ["x.md"])

    def held():
        return {path.name: path.read_bytes() for path in field.store.iterdir() if path.is_file()}

    before = held()
    field.me.check(kinds=["hook"])
    assert held() == before


def test_damaged_records_are_findings_and_hide_no_others(field):
    field.damaged = True
    hand_in(field)
    path = field.store / "drafts/docs+spec.md/0001.yaml"
    path.write_bytes(path.read_bytes() + b"x")
    (field.store / "jobs/0002.yaml").write_text("<<<<<<< HEAD\n")
    (field.root / "a.txt.draft-0007@eve").write_text("dropped\n")
    assert found(field) == [
        ("damaged", "drafts/docs+spec.md/0001.yaml", None),
        ("damaged", "jobs/0002.yaml", None),
        ("unrecorded", "a.txt.draft-0007@eve", None),
    ]


def test_lost_bytes_of_a_waiting_draft_are_damage(field):
    field.damaged = True
    hand_in(field)
    (content,) = [
        each for each in (field.store / "objects").rglob("*") if each.is_file() and each.read_text() == "new\n"
    ]
    os.unlink(content)
    assert one(field, "damaged").repair == "draftfs doctor"


def test_unrecorded_drafts_anywhere_in_the_root_but_not_in_other_repositories(field):
    root = field.root
    (root / ".gitignore").write_text("ignored/\n")
    for folder in ("ignored", "new/deep", "nested", "docs"):
        os.makedirs(root / folder, exist_ok=True)
    git("init", "-q", cwd=root / "nested")
    git("worktree", "add", "-q", "inside", "-b", "inside", cwd=root)
    names = ["ignored/x.draft-0001@eve", "new/deep/y.draft-0002.delete@eve", "docs/spec.md.draft-0004@eve"]
    names += ["nested/z.draft-0001@eve", "inside/z.draft-0001@eve", ".git/z.draft-0001@eve"]
    for name in names:
        (root / name).write_text("")
    os.symlink("docs", root / "link")
    os.symlink("docs/spec.md", root / "s.draft-0001@eve")
    os.mkfifo(root / "p.draft-0001@eve")
    git("add", "-f", "docs/spec.md.draft-0004@eve", cwd=root)
    assert found(field, "unrecorded") == [("unrecorded", name, None) for name in sorted(names[:3])]
    assert found(field, "unrecorded", paths=["docs"]) == [("unrecorded", names[2], None)]
    os.unlink(root / names[0])
    os.unlink(root / names[2])
    assert found(field, "unrecorded") == [("unrecorded", names[1], None)], "one in the index that is gone is none"


def test_a_file_under_a_drafts_number_and_another_name_is_unrecorded(field):
    hand_in(field)
    other = "docs/spec.md.draft-0001@eve"
    (field.root / other).write_text("mine\n")
    assert found(field, "unrecorded") == [("unrecorded", other, None)]
    field.me.promote([ONE])
    assert found(field, "unrecorded") == [("unrecorded", other, None)]


def test_a_promoted_drop_is_recorded(field):
    (field.root / "docs/spec.md.draft-0004@eve").write_text("dropped\n")
    assert found(field) == [("unrecorded", "docs/spec.md.draft-0004@eve", None)]
    field.me.promote([DraftRef(SPEC, 4)])
    assert found(field) == []


def test_paths_limit_what_is_found_and_repairs_are_typed_where_the_caller_stands(field):
    hand_in(field)
    field.bob.claim(2, seen=1)
    field.put("bob", "a.txt", "x\n")
    assert found(field, paths=["a.txt"]) == [("unpromoted", "a.txt", None)]
    assert found(field, paths=["docs"]) == [("unpromoted", SPEC, None)]
    store = field.open(field.root / "docs")
    repairs = [each.repair for each in store.check(kinds=["unpromoted"]).findings]
    assert repairs == ["draftfs promote -- ../a.txt.draft-0001@bob", "draftfs promote -- spec.md.draft-0001@ann"]


def test_a_draft_that_cannot_be_shown_yet_is_not_called_missing(field, monkeypatch):
    monkeypatch.setattr("draftfs.tree.Tree.is_writable", lambda *_: False)
    field.ann.claim(1, seen=1)
    field.put("ann", SPEC, "x\n")
    assert not (field.root / DRAFT).exists()
    assert found(field) == [("unpromoted", SPEC, None)]
    monkeypatch.undo()
    assert found(field) == [("unpromoted", SPEC, None)]
    assert (field.root / DRAFT).exists(), "whoever can write the root shows it"


def test_what_is_promoted_while_it_looks_is_no_finding(field, monkeypatch):
    """The records are read, then somebody promotes another draft, then the files are looked at."""
    field.me.add_job("two", [SPEC], contest=2)
    for agent, job in (("ann", 3), ("bob", 4)):
        field.agent(agent).claim(job, seen=1)
        field.put(agent, SPEC, f"{agent}'s\n")
        field.agent(agent).submit()
    field.me.promote([ONE])
    after, once = Workspace.standing_now, []

    def meanwhile(self, choices, stamps):
        if not once:
            once.append(field.open().promote([DraftRef(SPEC, 2)], force=True))
        return after(self, choices, stamps)

    monkeypatch.setattr(Workspace, "standing_now", meanwhile)
    assert found(field, "stale") == []
    assert once
    assert (field.root / SPEC).read_text() == "bob's\n"


def test_a_path_that_nobody_knows_is_said(field):
    assert field.me.check(["docs/spec.md"], kinds=["stale"]).notes == ()
    (note,) = field.me.check(["docs/spek.md"], kinds=["stale"]).notes
    assert note == "docs/spek.md: there is no such file, and nothing is recorded of it"
