"""`promote --commit`: just the promoted targets become a commit, whatever is staged, edited or configured."""

import errno
import fcntl
import os
import stat

import pytest

from draftfs import BadRequest, DraftRef, EnvironmentFault, Store
from draftfs.git import committing, hooks
from tests.promotion.test_undoing import SPEC, contest, state
from tests.support import git


def out(desk, *arguments):
    return git(*arguments, cwd=desk.root)


def head(desk):
    return out(desk, "rev-parse", "HEAD").strip()


def committed(desk, name):
    return out(desk, "show", f"HEAD:{name}")


def changed(desk):
    return out(desk, "show", "--format=", "--name-status", "-z", "HEAD").split("\0")[:-1]


def status(desk):
    return sorted(out(desk, "status", "--porcelain", "-z").split("\0")[:-1])


def hook(desk, name, body):
    path = desk.root / ".git/hooks" / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def busy(field, desk):
    """Somebody is in the middle of other work: staged, staged and edited since, edited only, new, deleted, untracked."""
    for name in ("staged", "both", "edited", "deleted"):
        field.write("me", name, "old\n")
    out(desk, "add", "."), out(desk, "commit", "-qm", "more")
    for name in ("staged", "both", "edited"):
        field.write("me", name, "new\n")
    field.write("me", "added", "added\n")
    out(desk, "add", "staged", "both", "added"), out(desk, "rm", "-q", "deleted")
    field.write("me", "both", "newer\n"), field.write("me", "untracked", "x\n")
    return desk


def test_whatever_else_is_staged(field, busy):
    before, index = status(busy), out(busy, "ls-files", "--stage", "-z", ":!docs")
    field.write("me", SPEC, "staged by hand\n"), out(busy, "add", SPEC), field.write("me", SPEC, "v0\n")
    promoted = busy.promote(busy.draft("drafted\n"), commit=True)
    assert (promoted.commit, changed(busy), committed(busy, SPEC)) == (head(busy), ["M", SPEC], "drafted\n")
    assert (status(busy), out(busy, "ls-files", "--stage", "-z", ":!docs")) == (before, index)
    lines = out(busy, "log", "-1", "--format=%B").splitlines()
    assert lines[0] == "Promote draft 1 of docs/spec.md, by ann"
    assert lines[2:5] == ["Draftfs-Job: 3", "Draftfs-Epoch: 1", "Draftfs-Draft: docs/spec.md.draft-0001@ann"]
    assert out(busy, "log", "-1", "--format=%(trailers:key=Draftfs-Draft,valueonly)").strip().endswith("@ann")
    assert (busy.line().chosen, busy.line().stale, os.listdir(busy.root / ".git").count("index.lock")) == (1, False, 0)
    assert not [name for name in os.listdir(busy.root / ".git") if name.startswith("draftfs-index")]


def test_all_kinds_of_change_in_one_commit(field, desk):
    """New, new in a folder, ignored, deleted, executable, and names that look like options and patterns."""
    (desk.root / ".gitignore").write_text("*.log\n")
    out(desk, "add", "."), out(desk, "commit", "-qm", "ignore")
    names = ["new/n.md", "build.log", "-rf.md", ":(top)x", "*.md", "[a].md", "--all", "two\nlines", "caf\udce9"]
    refs = [desk.draft(f"{name!r}\n", name) for name in names]
    refs += [desk.draft(None, "a.txt", delete=True), desk.draft("run\n", SPEC, mode=0o755)]
    before = status(desk)
    promoted = desk.promote(*refs, commit=True)
    assert promoted.commit == head(desk)
    told = dict(zip(changed(desk)[1::2], changed(desk)[::2], strict=True))
    assert told == {**dict.fromkeys(names, "A"), "a.txt": "D", SPEC: "M"}
    assert out(desk, "ls-tree", "HEAD", SPEC).startswith("100755 ")
    assert (status(desk), before) == ([], [])
    assert out(desk, "log", "-1", "--format=%s").strip() == f"Promote {len(refs)} drafts"
    assert out(desk, "fsck", "--strict") == ""


def test_nothing_differs_from_what_is_committed(field, busy):
    ref = busy.draft("drafted\n")
    busy.promote(ref, commit=True)
    at = head(busy)
    again = busy.promote(ref, commit=True)
    assert (again.commit, again.promoted[0].changed, head(busy)) == (None, False, at)


def test_promoted_before_and_committed_now(desk):
    ref = desk.draft("drafted\n")
    desk.promote(ref)
    assert desk.promote(ref, commit=True).commit == head(desk)


def test_what_was_chosen_is_committed_and_not_what_an_editor_made_of_it(desk, monkeypatch):
    from draftfs.recording import Recording

    commit = Recording.commit

    def meanwhile(self, answer, text):
        (desk.root / SPEC).write_text("edited since\n")
        return commit(self, answer, text)

    monkeypatch.setattr(Recording, "commit", meanwhile)
    desk.promote(desk.draft("drafted\n"), commit=True)
    assert (committed(desk, SPEC), desk.read(), status(desk)) == ("drafted\n", b"edited since\n", [f" M {SPEC}"])


def test_undone_and_committed(field, desk):
    start = head(desk)
    contest(field)
    for number in (1, 2):
        desk.promote(DraftRef(SPEC, number), commit=True)
    undone = field.me.undo([SPEC], commit=True)
    assert (undone.commit, committed(desk, SPEC), status(desk)) == (head(desk), f"ann's {SPEC}", [])
    assert "Undo the promotion of draft 2 of docs/spec.md, by bob" in out(desk, "log", "-1", "--format=%s")
    field.me.undo([SPEC], commit=True, message="back to the start\n\nfor good")
    assert committed(desk, SPEC) == "v0\n"
    assert out(desk, "log", "-1", "--format=%B").startswith("back to the start\n\nfor good\n\nDraftfs-Job: 3\n")
    assert not field.me.verify(f"{start}..main").findings
    assert (state(desk, 3), state(desk, 4)) == ("submitted", "submitted")


STATES = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "git am",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
    "index.lock": "another git",
}


class TestRefusedBefore:
    """Then nothing was promoted either."""

    def test_in_the_middle_of_something(self, desk):
        ref = desk.draft("drafted\n")
        for name, said in STATES.items():
            (desk.root / ".git" / name).write_text("x")
            before = desk.everything()
            with pytest.raises(EnvironmentFault, match=said) as fault:
                desk.promote(ref, commit=True)
            assert (fault.value.code, desk.everything() == before) == ("git", True)
            (desk.root / ".git" / name).unlink()
        desk.promote(ref, commit=True)

    def test_with_a_conflict_of_another_file(self, field, desk):
        ref = desk.draft("drafted\n")
        for branch in ("one", "two"):
            out(desk, "switch", "-qc", branch, "main"), field.write("me", "a.txt", branch)
            out(desk, "commit", "-qam", branch)
        git("merge", "one", cwd=desk.root, check=False)
        (desk.root / ".git/MERGE_HEAD").unlink()
        with pytest.raises(EnvironmentFault, match=r"a\.txt: not merged yet"):
            desk.promote(ref, commit=True)
        assert desk.read() == b"v0\n"
        out(desk, "reset", "-q", "--hard")

    def test_without_a_message(self, desk):
        ref = desk.draft("drafted\n")
        with pytest.raises(BadRequest):
            desk.promote(ref, commit=True, message=" \n")
        assert desk.read() == b"v0\n"


def test_trailers_of_the_given_message_stay_trailers():
    own, ours = "Signed-off-by: me <me@x>\nCloses: 3", [("Draftfs-Job", "1")]
    assert committing.message(f"what\n\n{own}\n", [], ours) == f"what\n\n{own}\nDraftfs-Job: 1\n"
    for text in ("docs: what", "what\n\nbecause", "what\n\nNote: this\nand that"):
        assert committing.message(text, [], ours) == f"{text}\n\nDraftfs-Job: 1\n"


class TestHooks:
    def test_they_see_just_these_targets_and_nothing_opens(self, busy, monkeypatch):
        monkeypatch.setenv("GIT_EDITOR", "false")
        monkeypatch.setenv("LC_ALL", "C.UTF-8")
        hook(busy, "pre-commit", 'git diff --cached --name-only >"$PWD/.git/seen"; printf %s "$LC_ALL" >.git/language')
        hook(busy, "commit-msg", 'echo "Checked: yes" >>"$1"')
        busy.promote(busy.draft("drafted\n"), commit=True)
        assert ((busy.root / ".git/seen").read_text(), (busy.root / ".git/language").read_text()) == (
            f"{SPEC}\n",
            "C.UTF-8",
        )
        assert "Checked: yes" in out(busy, "log", "-1", "--format=%B")

    def test_one_that_refuses(self, busy):
        before, index, at = status(busy), out(busy, "ls-files", "--stage", "-z"), head(busy)
        hook(busy, "pre-commit", "echo too bad >&2; exit 1")
        ref = busy.draft("drafted\n")
        with pytest.raises(EnvironmentFault, match="nothing was committed: too bad") as fault:
            busy.promote(ref, commit=True)
        assert (fault.value.code, fault.value.details["promoted"]["accepted"]) == ("git", [3])
        assert "git commit -- docs/spec.md" in fault.value.hint
        assert (head(busy), out(busy, "ls-files", "--stage", "-z"), busy.read()) == (at, index, b"drafted\n")
        assert (status(busy), busy.line().chosen) == (sorted([*before, f" M {SPEC}"]), 1)
        (busy.root / ".git/hooks/pre-commit").unlink()
        assert busy.promote(ref, commit=True).commit == head(busy)

    def test_one_that_adds_more(self, busy):
        """It is in the commit then, and not taken back by the index."""
        hook(busy, "pre-commit", "git add -u")
        busy.promote(busy.draft("drafted\n"), commit=True)
        assert committed(busy, "edited") == "new\n"
        assert status(busy) == ["?? untracked", "A  added"]

    def test_a_filter_that_must_run_and_cannot(self, desk):
        (desk.root / ".gitattributes").write_text("*.md filter=up\n")
        out(desk, "config", "filter.up.clean", "no-such-program"), out(desk, "config", "filter.up.required", "true")
        at, ref = head(desk), desk.draft("drafted\n")
        with pytest.raises(EnvironmentFault, match="nothing was committed: git hash-object failed"):
            desk.promote(ref, commit=True)
        assert (head(desk), desk.read()) == (at, b"drafted\n")

    def test_a_signature_that_fails(self, desk):
        out(desk, "config", "commit.gpgSign", "true"), out(desk, "config", "gpg.program", "false")
        at, ref = head(desk), desk.draft("drafted\n")
        with pytest.raises(EnvironmentFault, match=r"nothing was committed: .*gpg") as fault:
            desk.promote(ref, commit=True)
        assert (fault.value.code, head(desk), desk.read()) == ("git", at, b"drafted\n")

    @pytest.mark.parametrize("committed_before", [False, True])
    def test_one_that_rewrites_the_file(self, field, desk, committed_before):
        """What is committed is what is chosen from then on."""
        start = head(desk)
        contest(field)
        if committed_before:
            desk.promote(DraftRef(SPEC, 2), commit=True)
        hook(desk, "pre-commit", f"echo formatted >{SPEC}; git add {SPEC}")
        desk.promote(DraftRef(SPEC, 1), commit=True)
        assert (committed(desk, SPEC), desk.read(), status(desk)) == ("formatted\n", b"formatted\n", [])
        assert (desk.line().chosen, desk.line().stale) == (1, False)
        assert not field.me.verify(f"{start}..main").findings
        assert desk.promote(DraftRef(SPEC, 1)).promoted[0].changed is False
        field.write("me", SPEC, "by hand\n")
        assert desk.line().stale
        field.me.regenerate()
        assert desk.read() == b"formatted\n"
        (desk.root / ".git/hooks/pre-commit").unlink()
        assert desk.promote(DraftRef(SPEC, 2), commit=True).returned == (3,), "changing one's mind is still free"
        field.me.undo([SPEC])
        assert (desk.read(), desk.line().chosen) == (b"formatted\n", 1)

    def test_ours_as_well(self, field, desk):
        hooks.install(str(desk.root))
        desk.promote(desk.draft("drafted\n"), commit=True)
        field.me.configure("git.root", "refuse")
        desk.promote(desk.draft("next\n"), commit=True, force=True)
        assert committed(desk, SPEC) == "next\n"


def test_line_ends_and_filters(field, desk):
    (desk.root / ".gitattributes").write_text("*.md text eol=crlf\n*.up filter=up\n")
    out(desk, "config", "filter.up.clean", "tr a-z A-Z"), out(desk, "config", "filter.up.smudge", "cat")
    out(desk, "add", "."), out(desk, "commit", "-qm", "attributes")
    desk.promote(desk.draft("one\r\ntwo\r\n", force := SPEC), desk.draft("shout\n", "x.up"), commit=True)
    assert (desk.read(force), committed(desk, SPEC)) == (b"one\r\ntwo\r\n", "one\ntwo\n")
    assert (desk.read("x.up"), committed(desk, "x.up"), status(desk)) == (b"shout\n", "SHOUT\n", [])
    assert desk.line().stale is False


def test_the_first_commit_of_a_branch(field, desk):
    ref = desk.draft("drafted\n")
    out(desk, "switch", "-q", "--orphan", "fresh")
    promoted = desk.promote(ref, force=True, commit=True)
    assert (promoted.commit, out(desk, "rev-list", "--count", "HEAD").strip()) == (head(desk), "1")
    assert out(desk, "ls-tree", "-r", "--name-only", "HEAD") == f"{SPEC}\n"


def test_by_another_index_while_somebody_stages(desk):
    """git's own lock keeps others out of the index meanwhile, so nothing that they stage is lost."""
    hook(desk, "pre-commit", "unset GIT_INDEX_FILE; echo x >other; git add other 2>.git/refused || exit 0")
    desk.promote(desk.draft("drafted\n"), commit=True)
    assert "index.lock" in (desk.root / ".git/refused").read_text()
    assert status(desk) == ["?? other"]


def test_made_but_the_index_could_not_follow(desk, at):
    """It says that there is a commit, and how to bring the index up to it."""
    ref = desk.draft("drafted\n")

    def full(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    at("rename", full, "r/.git/index")
    with pytest.raises(
        EnvironmentFault, match=r"committed as [0-9a-f]{12}, but git's index does not hold that"
    ) as fault:
        desk.promote(ref, commit=True)
    assert (fault.value.details["commit"], fault.value.hint) == (head(desk), f"git reset -q -- {SPEC}")
    out(desk, *fault.value.hint.split()[1:])
    assert (status(desk), committed(desk, SPEC)) == ([], "drafted\n")
    assert not (desk.root / ".git/index.lock").exists()


def test_a_disk_that_refuses(desk, at):
    ref = desk.draft("drafted\n")

    def refuse(path):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), path)

    at("create", refuse, "index.lock")
    with pytest.raises(EnvironmentFault, match="nothing was committed: the commit failed at") as fault:
        desk.promote(ref, commit=True)
    assert (fault.value.code, desk.read(), status(desk)) == ("permission", b"drafted\n", [f" M {SPEC}"])


def test_killed_in_between(field, desk, at):
    """The same command again, by the same key, makes the commit that is missing."""
    ref = desk.draft("drafted\n")

    class Killed(BaseException):
        pass

    def kill(_):
        raise Killed

    at("create", kill, "index.lock")
    with pytest.raises(Killed):
        desk.promote(ref, commit=True, receipt="K")
    again = desk.promote(ref, commit=True, receipt="K")
    assert (again.replayed, again.commit, committed(desk, SPEC)) == (True, head(desk), "drafted\n")
    field.write("me", SPEC, "v0\n"), out(desk, "commit", "-qam", "by hand")
    assert stat.S_IMODE(os.stat(desk.root / ".git/index").st_mode) == 0o644


def test_a_replay_makes_no_second_commit(field, desk):
    """Not even when somebody has committed another content since: that would undo it."""
    ref = desk.draft("drafted\n")
    first = desk.promote(ref, commit=True, receipt="K")
    field.write("me", SPEC, "third\n"), out(desk, "commit", "-qam", "third")
    at = head(desk)
    again = desk.promote(ref, commit=True, receipt="K")
    assert (again.replayed, again.commit, head(desk)) == (True, first.commit, at)


@pytest.mark.parametrize("then", [None, "third\n", "v0\n"], ids=["at once", "another commit", "a revert"])
def test_killed_after_the_commit(field, desk, at, then):
    """The lock that was left is ours, and of no live process. The commit is not made again; the index follows it."""
    ref, git_dir, start = desk.draft("drafted\n"), desk.root / ".git", head(desk)

    class Killed(BaseException):
        pass

    def kill(_):
        (git_dir / "kept").write_bytes((git_dir / "index.lock").read_bytes())
        raise Killed

    at("rename", kill, "r/.git/index")
    with pytest.raises(Killed):
        desk.promote(ref, commit=True, receipt="K")
    assert (status(desk), committed(desk, SPEC)) == ([f"MM {SPEC}"], "drafted\n")
    if then is not None:
        field.write("me", SPEC, then), out(desk, "commit", "-qam", "then")
    (git_dir / "kept").rename(git_dir / "index.lock")
    again = desk.promote(ref, commit=True, receipt="K")
    assert (again.replayed, status(desk), committed(desk, SPEC)) == (True, [], then or "drafted\n")
    assert out(desk, "rev-list", "--count", f"{start}..HEAD") == ("1\n" if then is None else "2\n")
    assert not (git_dir / "index.lock").exists()


def test_killed_after_a_commit_that_hooks_rewrote(desk, at):
    """It is made once, all the same."""
    ref = desk.draft("drafted\n")
    hook(desk, "pre-commit", f"echo formatted >{SPEC}; git add {SPEC}")

    class Killed(BaseException):
        pass

    def kill(_):
        raise Killed

    at("rename", kill, "r/.git/index")
    with pytest.raises(Killed):
        desk.promote(ref, commit=True, receipt="K")
    made = head(desk)
    desk.promote(ref, commit=True, receipt="K")
    assert (head(desk), committed(desk, SPEC)) == (made, "formatted\n")


def test_somebody_commits_right_before(field, desk, at):
    """Their commit is built upon, and not undone."""
    ref = desk.draft("drafted\n")

    def meanwhile(_):
        field.write("me", "a.txt", "theirs\n"), out(desk, "commit", "-qm", "theirs", "a.txt")

    at("create", meanwhile, "index.lock")
    desk.promote(ref, commit=True)
    assert (changed(desk), committed(desk, "a.txt"), status(desk)) == (["M", SPEC], "theirs\n", [])


def test_another_git_is_waited_for(desk, monkeypatch):
    ref, lock = desk.draft("drafted\n"), desk.root / ".git/index.lock"
    lock.touch()
    monkeypatch.setattr("draftfs.git.committing.time.sleep", lambda _: lock.unlink())
    assert desk.promote(ref, commit=True).commit == head(desk)


def test_a_lock_of_ours_that_somebody_still_holds(field, desk):
    """Not its maker perhaps, but the git that it has started."""
    ref, lock = desk.draft("drafted\n"), desk.root / ".git/index.lock"
    lock.write_bytes(b"draftfs\n")
    me = field.me
    me.engine.lock_wait = 0
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(EnvironmentFault, match="another git is at work"):
            me.promote([ref], commit=True)
    assert (lock.read_bytes(), desk.read()) == (b"draftfs\n", b"v0\n")
    lock.unlink()


def test_an_edit_as_young_as_the_index(field, desk):
    """Same size, same time as when it was staged: git must still see it, in the index that we wrote as well."""
    out(desk, "config", "core.trustctime", "false")  # in one tick that would be the same, too
    then = (1_500_000_000, 1_500_000_000)
    os.utime(field.write("me", "a.txt", "two\n"), then), out(desk, "add", "a.txt")
    os.utime(desk.root / ".git/index", then)
    os.utime(field.write("me", "a.txt", "six\n"), then)
    desk.promote(desk.draft("drafted\n"), commit=True)
    assert status(desk) == ["MM a.txt"]


def test_a_file_where_a_folder_was_and_a_folder_where_a_file_was(field, desk):
    field.write("me", "d/x", "x\n"), field.write("me", "f", "f\n")
    out(desk, "add", "."), out(desk, "commit", "-qm", "more")
    refs = [desk.draft(None, "d/x", delete=True), desk.draft(None, "f", delete=True)]
    desk.promote(*refs)
    (desk.root / "d/x.draft-0001.delete@ann").unlink(), (desk.root / "d").rmdir()
    (desk.root / "f.draft-0001.delete@ann").unlink()
    for name in ("d", "f/y"):
        made = desk.root / f"{name}.draft-0001@zed"
        made.parent.mkdir(exist_ok=True), made.write_text(f"{name}\n")
    desk.promote(*field.me.draft_refs(["d.draft-0001@zed", "f/y.draft-0001@zed"]), commit=True)
    assert out(desk, "ls-tree", "-r", "--name-only", "HEAD").split() == ["a.txt", "d", SPEC, "f/y"]
    assert status(desk) == []


@pytest.mark.parametrize("how", ["sha256", "split index", "bare"])
def test_repositories_of_other_kinds(tmp_path, how):
    top = tmp_path / "r"
    git("init", "-q", "-b", "main", *(["--object-format=sha256"] if how == "sha256" else []), str(top), cwd=tmp_path)
    (top / "a.txt").write_text("one\n")
    git("add", ".", cwd=top), git("commit", "-qm", "start", cwd=top)
    if how == "split index":
        git("config", "core.splitIndex", "true", cwd=top), git("update-index", "--split-index", cwd=top)
    if how == "bare":
        git("clone", "-q", "--bare", str(top), str(tmp_path / "b"), cwd=tmp_path)
        top = tmp_path / "l"
        git("worktree", "add", "-q", str(top), "main", cwd=tmp_path / "b")
    me, _ = Store.init(str(top), **({"root": "."} if how == "bare" else {}))
    (top / "a.txt.draft-0001@zed").write_text("two\n"), (top / "b.txt.draft-0001.delete@zed").write_text("")
    (top / "b.txt").write_text("b\n"), git("add", "b.txt", cwd=top), git("commit", "-qm", "b", cwd=top)
    (top / "c.txt").write_text("staged\n"), git("add", "c.txt", cwd=top)
    made = me.promote(me.draft_refs(["a.txt.draft-0001@zed", "b.txt.draft-0001.delete@zed"]), commit=True).commit
    assert git("rev-parse", "HEAD", cwd=top).strip() == made
    assert git("ls-tree", "-r", "--name-only", "HEAD", cwd=top) == "a.txt\n"
    assert git("show", "HEAD:a.txt", cwd=top) == "two\n"
    assert git("status", "--porcelain", cwd=top) == "A  c.txt\n"
