"""What becomes of a draft: superseded, abandoned, promoted, rejected; under which claim, over which base."""

import hashlib
import os
import stat

import pytest

from draftfs import BadRequest, DraftRef, Fenced, Refused
from tests.support import git


def sha(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def states(field, target="docs/spec.md"):
    return {
        line.draft.number: line.draft.state for each in field.me.ls([target], everything=True) for line in each.drafts
    }


def test_a_newer_draft_of_the_same_claim_supersedes_the_older(field):
    field.ann.claim(1, seen=1)
    for text in ("a", "b"):
        field.put("ann", "docs/spec.md", text)
    assert states(field) == {1: "superseded", 2: "waiting"}
    assert field.ann.submit().drafts == (DraftRef("docs/spec.md", 2),)


def test_a_draft_of_another_claim_supersedes_nothing(field):
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "a")
    field.ann.submit()
    field.me.add_job("again", ["docs/spec.md"])
    field.bob.claim(3, seen=1)
    field.put("bob", "docs/spec.md", "b")
    assert states(field) == {1: "waiting", 2: "waiting"}


@pytest.mark.parametrize("how", ["release", "lapse", "revoke", "cancel"])
def test_drafts_of_a_claim_that_was_not_submitted_are_abandoned_and_promotable(field, how):
    field.ann.claim(1, seen=1, ttl=60)
    field.put("ann", "docs/spec.md", "a")
    if how == "release":
        assert field.ann.release().drafts == (DraftRef("docs/spec.md", 1),)
    elif how == "lapse":
        field.clock.advance(61)
    elif how == "revoke":
        field.me.revoke_job(1, because="late")
    else:
        field.me.cancel_job(1, because="no need")
    (line,) = field.me.ls()
    assert line.drafts[0].draft.state == "abandoned"
    assert "abandoned" in line.drafts[0].flags
    with pytest.raises(Exception, match="no draft that waits"):
        field.me.job_drafts(1)
    promoted = field.me.promote(field.me.draft_refs(["docs/spec.md.draft-0001@ann"]))
    assert promoted.accepted == ()
    assert (field.root / "docs/spec.md").read_text() == "a"


def test_a_draft_promoted_before_it_was_superseded_stays_the_choice(field):
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "a")
    field.me.promote([DraftRef("docs/spec.md", 1)])
    field.put("ann", "docs/spec.md", "b")
    assert states(field) == {1: "promoted", 2: "waiting"}
    assert field.me.ls()[0].chosen == 1


def test_a_late_worker_drafts_nothing(field):
    field.ann.claim(1, seen=1, ttl=2)
    field.clock.advance(3)
    field.bob.claim(1, seen=field.version(1))
    field.write("ann", "docs/spec.md", "late")
    with pytest.raises(Fenced):
        field.ann.draft(["docs/spec.md"])
    assert states(field) == {}
    assert os.listdir(field.root / "docs") == ["spec.md"]


def test_several_paths_all_or_none(field):
    field.ann.claim_paths(["docs/spec.md", "a.txt"])
    field.write("ann", "docs/spec.md", "x")
    (field.worktree("ann") / "a.txt").unlink()
    with pytest.raises(BadRequest) as refused:
        field.ann.draft(["docs/spec.md", "a.txt"])
    assert refused.value.code == "bad_file"
    assert "--delete" in refused.value.hint
    assert not list(field.root.rglob("*.draft-*"))
    field.write("ann", "a.txt", "y")
    drafted = field.ann.draft(["docs/spec.md", "a.txt"])
    assert [(each.target, each.number) for each in drafted.drafts] == [("a.txt", 1), ("docs/spec.md", 1)]


def test_one_uncovered_path_refuses_all(field):
    field.ann.claim(1, seen=1)
    field.write("ann", "docs/spec.md", "x")
    field.write("ann", "docs/specs.md", "y")
    with pytest.raises(Refused) as refused:
        field.ann.draft(["docs/spec.md", "docs/specs.md"])
    assert refused.value.code == "not_covered"
    assert refused.value.details["paths"] == ["docs/specs.md"]
    assert not list(field.root.rglob("*.draft-*"))


class TestFolderClaim:
    def test_base_of_files_under_it(self, field):
        field.ann.claim_paths(["docs"])
        field.write("ann", "docs/new.md", "new")
        old, new = field.put("ann", "docs/spec.md", "x").drafts[0], field.ann.draft(["docs/new.md"]).drafts[0]
        assert old.base_sha256 == sha("v0\n")
        assert new.base_sha256 is None
        field.ann.submit()
        promoted = field.me.promote(field.me.job_drafts(3))
        assert promoted.accepted == (3,)
        assert (field.root / "docs/new.md").read_text() == "new"

    def test_a_file_that_people_made_meanwhile_is_not_overwritten(self, field):
        field.ann.claim_paths(["docs"])
        field.put("ann", "docs/new.md", "new")
        field.ann.submit()
        field.write("me", "docs/new.md", "theirs")
        with pytest.raises(Refused) as refused:
            field.me.promote(field.me.job_drafts(3))
        assert refused.value.code == "target_moved"

    def test_uncommitted_work_of_people_that_the_worktree_holds_is_the_base(self, field):
        field.write("me", "docs/spec.md", "people's\n")
        field.write("ann", "docs/spec.md", "people's\n")
        field.ann.claim_paths(["docs"])
        drafted = field.put("ann", "docs/spec.md", "x").drafts[0]
        assert drafted.base_sha256 == sha("people's\n")

    @pytest.mark.parametrize("path", ["docs-more/x.md", "docsx", "a.txt"])
    def test_outside(self, field, path):
        field.ann.claim_paths(["docs"])
        field.write("ann", path, "x")
        with pytest.raises(Refused) as refused:
            field.ann.draft([path])
        assert refused.value.code == "not_covered"


def test_the_base_is_what_the_claim_found(field):
    field.ann.claim(1, seen=1)
    field.write("me", "docs/spec.md", "moved on")
    drafted = field.put("ann", "docs/spec.md", "a").drafts[0]
    assert (drafted.base_sha256, drafted.sha256) == (sha("v0\n"), sha("a"))


def test_deletion(field):
    field.ann.claim(1, seen=1)
    drafted = field.ann.draft(["docs/spec.md"], delete=True).drafts[0]
    assert (drafted.delete, drafted.sha256, drafted.size) == (True, None, None)
    file = field.root / "docs/spec.md.draft-0001.delete@ann"
    assert drafted.file == str(file.relative_to(field.root))
    assert file.read_bytes() == b""
    assert stat.S_IMODE(file.stat().st_mode) == 0o444


def test_an_empty_file_is_no_deletion(field):
    field.ann.claim(1, seen=1)
    drafted = field.put("ann", "docs/spec.md", "").drafts[0]
    assert (drafted.delete, drafted.size, drafted.file) == (False, 0, "docs/spec.md.draft-0001@ann")
    field.ann.submit()
    field.me.promote(field.me.job_drafts(1))
    assert (field.root / "docs/spec.md").read_bytes() == b""


@pytest.mark.parametrize(("mode", "recorded", "shown"), [(0o755, "100755", 0o555), (0o600, "100644", 0o444)])
def test_executable_bit(field, mode, recorded, shown):
    field.ann.claim(1, seen=1)
    field.write("ann", "docs/spec.md", "x").chmod(mode)
    drafted = field.ann.draft(["docs/spec.md"]).drafts[0]
    assert drafted.mode == recorded
    assert stat.S_IMODE((field.root / drafted.file).stat().st_mode) == shown


def test_a_person_signs_with_a_name_that_no_agent_can_have(field):
    git("config", "user.name", "../x\nÿ Zoë .", cwd=field.root)
    field.write("me", "docs/spec.md", "v0\n")
    field.me.claim(1, seen=1)
    field.write("me", "docs/spec.md", "by hand")
    drafted = field.me.draft(["docs/spec.md"]).drafts[0]
    assert drafted.author.startswith("_")
    assert (field.root / drafted.file).read_text() == "by hand"
    assert field.me.draft_refs([drafted.file]) == (DraftRef("docs/spec.md", 1),)


class TestLongNames:
    def test_the_longest(self, field):
        longest = "n" * (255 - len(".draft-1000000.delete@hand-edit"))
        field.ann.claim_paths([longest])
        drafted = field.put("ann", longest, "x").drafts[0]
        assert drafted.shown
        field.ann.submit()
        field.write("me", longest, "by hand")
        promoted = field.me.promote([DraftRef(longest, 1)], force=True).promoted[0]
        assert (field.root / promoted.kept).read_text() == "by hand"

    @pytest.mark.parametrize("name", ["n" * 225, "ü" * 113, "n" * 255])
    def test_longer_is_refused_with_the_limit(self, field, name):
        field.ann.claim_paths([name])
        with pytest.raises(BadRequest, match="255") as refused:
            field.put("ann", name, "x")
        assert refused.value.code == "bad_path"

    def test_a_long_agents_name_counts(self, field):
        agent, name = "a" * 64, "n" * 200
        field.agent(agent).claim_paths([name])
        with pytest.raises(BadRequest, match="255"):
            field.put(agent, name, "x")


class TestSource:
    def test_a_file(self, field):
        field.ann.claim(1, seen=1)
        (field.base / "made.md").write_text("made")
        (field.base / "made.md").chmod(0o755)
        drafted = field.ann.draft(["docs/spec.md"], source=str(field.base / "made.md")).drafts[0]
        assert (drafted.sha256, drafted.mode) == (sha("made"), "100755")
        assert (field.worktree("ann") / "docs/spec.md").read_text() == "v0\n"

    def test_relative_to_the_callers_folder(self, field):
        field.ann.claim(1, seen=1)
        field.write("ann", "docs/made.md", "made")
        store = field.open(field.worktree("ann") / "docs", agent="ann")
        assert store.draft(["spec.md"], source="made.md").drafts[0].sha256 == sha("made")

    @pytest.mark.parametrize(("mode", "recorded"), [(0o755, "100755"), (0o644, "100644"), (None, "100644")])
    def test_a_descriptor_takes_the_mode_of_the_file_in_place(self, field, mode, recorded):
        field.ann.claim(1, seen=1)
        place = field.worktree("ann") / "docs/spec.md"
        if mode is None:
            place.unlink()
        else:
            place.chmod(mode)
        reading, writing = os.pipe()
        os.write(writing, b"piped")
        os.close(writing)
        drafted = field.ann.draft(["docs/spec.md"], source=reading).drafts[0]
        os.close(reading)
        assert (drafted.sha256, drafted.mode) == (sha("piped"), recorded)

    @pytest.mark.parametrize("paths", [[], ["docs/spec.md", "a.txt"]])
    def test_goes_with_exactly_one_path(self, field, paths):
        field.ann.claim_paths(["docs/spec.md", "a.txt"])
        with pytest.raises(BadRequest) as refused:
            field.ann.draft(paths, source="a.txt")
        assert refused.value.code == "usage"

    def test_not_with_a_deletion(self, field):
        field.ann.claim(1, seen=1)
        with pytest.raises(BadRequest):
            field.ann.draft(["docs/spec.md"], source="a.txt", delete=True)


class TestNotAFile:
    def make(self, place, kind):
        place.unlink(missing_ok=True)
        if kind == "link":
            place.symlink_to("a.txt")
        elif kind == "dangling":
            place.symlink_to("nowhere")
        elif kind == "folder":
            place.mkdir()
        elif kind == "fifo":
            os.mkfifo(place)

    @pytest.mark.parametrize("kind", ["link", "dangling", "folder", "fifo"])
    @pytest.mark.parametrize("how", ["own", "from", "descriptor", "delete"])
    def test_refused_where_it_is_drafted(self, field, kind, how):
        field.ann.claim(2, seen=1)
        self.make(field.worktree("ann") / "a.txt", kind)
        field.write("ann", "other.txt", "x")
        options = {"from": {"source": "other.txt"}, "descriptor": {"source": 0}, "delete": {"delete": True}}
        with pytest.raises(BadRequest) as refused:
            field.ann.draft(["a.txt"], **options.get(how, {}))
        assert refused.value.code == "bad_file"
        assert not list(field.root.glob("a.txt.draft-*"))

    @pytest.mark.parametrize("kind", ["link", "dangling", "folder", "fifo"])
    def test_refused_as_a_source(self, field, kind):
        field.ann.claim(2, seen=1)
        self.make(field.worktree("ann") / "source", kind)
        with pytest.raises(BadRequest) as refused:
            field.ann.draft(["a.txt"], source="source")
        assert refused.value.code == "bad_file"

    def test_the_message_says_where_a_link_points(self, field):
        field.ann.claim(2, seen=1)
        self.make(field.worktree("ann") / "a.txt", "dangling")
        with pytest.raises(BadRequest, match="nowhere"):
            field.ann.draft(["a.txt"])
