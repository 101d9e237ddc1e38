"""G7: a person chooses. The target becomes the draft, byte for byte; over what it may be put, and over what not."""

import hashlib

import pytest

from draftfs import BadRequest, DraftRef, Fenced, NotFound, Refused


def sha(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def refused(code, act, *arguments, **options):
    with pytest.raises(Refused) as fault:
        act(*arguments, **options)
    assert fault.value.code == code
    return fault.value


def test_byte_for_byte(desk):
    data = bytes(range(256)) * 100
    ref = desk.draft(data)
    promoted = desk.promote(ref).promoted[0]
    assert desk.read() == data
    assert (promoted.sha256, promoted.previous_sha256) == (sha(data), sha("v0\n"))
    assert (promoted.kept, promoted.replaced, promoted.changed) == (None, None, True)
    line = desk.line()
    assert (line.chosen, line.stale, line.drafts) == (1, False, ())
    assert desk.litter() == []


def test_a_submitted_job_of_which_all_is_decided_is_accepted(field, desk):
    field.ann.claim_paths(["docs/spec.md", "a.txt"])
    field.put("ann", "docs/spec.md", "x")
    field.put("ann", "a.txt", "y")
    field.ann.submit()
    assert desk.promote(DraftRef("a.txt", 1)).accepted == ()
    assert desk.promote(DraftRef("docs/spec.md", 1)).accepted == (3,)
    assert field.me.job(3).job.state == "accepted"


def test_one_promoted_and_the_rest_rejected_is_accepted(field, desk):
    field.ann.claim_paths(["docs/spec.md", "a.txt"])
    field.put("ann", "docs/spec.md", "x")
    field.put("ann", "a.txt", "y")
    field.ann.submit()
    desk.promote(DraftRef("a.txt", 1))
    rejected = field.me.reject([DraftRef("docs/spec.md", 1)], because="no")
    assert (rejected.accepted, rejected.drafts[0].because) == ((3,), "no")
    (event,) = [each for each in field.me.log() if each.kind == "draft.rejected"]
    assert (event.job, event.data["author"], event.data["because"]) == (3, "ann", "no")


def test_all_rejected_is_not_accepted(field, desk):
    ref = desk.draft("x")
    assert field.me.reject([ref], because="no").accepted == ()
    assert field.me.job(3).job.state == "submitted"
    assert desk.read() == b"v0\n"


def test_a_promoted_draft_cannot_be_rejected(field, desk):
    ref = desk.draft("x")
    desk.promote(ref)
    refused("job_not_open", field.me.reject, [ref], because="no")


def test_a_rejected_draft_can_still_be_promoted(field, desk):
    ref = desk.draft("x")
    field.me.reject([ref], because="no")
    assert desk.promote(ref).accepted == (3,)
    assert desk.line(everything=True).drafts[0].draft.state == "promoted"


class TestTargetMoved:
    def test_an_unrelated_draft_over_accepted_work(self, desk):
        first, second = desk.draft("first", submit=True), desk.draft("second", by="bob", submit=True)
        desk.promote(first)
        before = desk.everything()
        fault = refused("target_moved", desk.promote, second)
        assert (fault.details["base_sha256"], fault.details["target_sha256"]) == (sha("v0\n"), sha("first"))
        assert desk.everything() == before
        assert desk.line().drafts[0].flags == ("outdated",)

    def test_forced_over_a_choice_keeps_no_hand_edit(self, desk):
        first, second = desk.draft("first"), desk.draft("second", by="bob")
        desk.promote(first)
        promoted = desk.promote(second, force=True).promoted[0]
        assert (promoted.kept, promoted.replaced, desk.read()) == (None, 1, b"second")
        assert desk.line(everything=True).drafts[0].draft.state == "superseded"

    def test_a_hand_edit(self, field, desk):
        ref = desk.draft("drafted")
        field.write("me", "docs/spec.md", "by hand").chmod(0o755)
        before = desk.everything()
        refused("target_moved", desk.promote, ref)
        assert desk.everything() == before
        promoted = desk.promote(ref, force=True).promoted[0]
        assert promoted.kept == "docs/spec.md.draft-0002@hand-edit"
        assert promoted.previous_sha256 == sha("by hand")
        assert (desk.read(), desk.read(promoted.kept)) == (b"drafted", b"by hand")
        (line,) = desk.line().drafts
        assert (line.draft.author, line.draft.job, line.draft.mode) == ("hand-edit", None, "100755")
        assert line.draft.base_sha256 == sha("v0\n")

    def test_the_hand_edit_can_be_promoted_in_turn(self, field, desk):
        ref = desk.draft("drafted")
        field.write("me", "docs/spec.md", "by hand")
        desk.promote(ref, force=True)
        hand = field.me.draft_refs(["docs/spec.md.draft-0002@hand-edit"])
        refused("target_moved", desk.promote, *hand)
        promoted = desk.promote(*hand, force=True).promoted[0]
        assert (desk.read(), promoted.kept, promoted.replaced) == (b"by hand", None, 1)
        assert len(desk.line(everything=True).drafts) == 2

    def test_a_target_that_is_gone(self, desk):
        ref = desk.draft("drafted")
        (desk.root / "docs/spec.md").unlink()
        refused("target_moved", desk.promote, ref)
        promoted = desk.promote(ref, force=True).promoted[0]
        assert (desk.read(), promoted.kept, promoted.previous_sha256) == (b"drafted", None, None)

    def test_a_target_that_came_up(self, field, desk):
        ref = desk.draft("drafted", "new.md")
        field.write("me", "new.md", "by hand")
        refused("target_moved", desk.promote, ref)
        assert desk.promote(ref, force=True).promoted[0].kept == "new.md.draft-0002@hand-edit"

    def test_a_target_that_holds_the_drafts_bytes_already(self, field, desk):
        ref = desk.draft("same")
        field.write("me", "docs/spec.md", "same")
        promoted = desk.promote(ref).promoted[0]
        assert (promoted.changed, promoted.kept) == (False, None)
        assert desk.line().chosen == 1


class TestAlternatives:
    def test_two_of_one_claim_in_turn(self, field, desk):
        field.ann.claim(1, seen=1)
        field.put("ann", "docs/spec.md", "one")
        field.put("ann", "docs/spec.md", "two")
        field.ann.submit()
        one, two = DraftRef("docs/spec.md", 1), DraftRef("docs/spec.md", 2)
        for ref, text, replaced in ((two, b"two", None), (one, b"one", 2), (two, b"two", 1)):
            assert desk.promote(ref).promoted[0].replaced == replaced
            assert desk.read() == text
            assert desk.line().chosen == ref.number

    def test_of_one_job_by_two_workers(self, field, desk):
        field.ann.claim(1, seen=1)
        field.put("ann", "docs/spec.md", "ann's")
        field.ann.release()
        field.bob.claim(1, seen=field.version(1))
        field.put("bob", "docs/spec.md", "bob's")
        field.bob.submit()
        desk.promote(DraftRef("docs/spec.md", 1))
        promoted = desk.promote(DraftRef("docs/spec.md", 2))
        assert (promoted.accepted, desk.read()) == ((1,), b"bob's")

    def test_the_same_twice_is_no_change(self, field, desk):
        ref = desk.draft("x")
        desk.promote(ref)
        target, position = (desk.root / "docs/spec.md").stat(), field.me.log()[-1].position
        again = desk.promote(ref)
        assert (again.promoted[0].changed, again.promoted[0].replaced, again.accepted) == (False, None, ())
        assert (desk.root / "docs/spec.md").stat() == target
        assert field.me.log()[-1].position == position

    def test_promoting_again_mends_a_hand_edit_only_with_force(self, field, desk):
        ref = desk.draft("x")
        desk.promote(ref)
        field.write("me", "docs/spec.md", "by hand")
        assert desk.line().stale
        refused("target_moved", desk.promote, ref)
        assert desk.promote(ref, force=True).promoted[0].kept == "docs/spec.md.draft-0002@hand-edit"
        assert (desk.read(), desk.line().stale) == (b"x", False)


class TestContest:
    def hand_in(self, field, third=True):
        jobs = [job.id for job in field.me.add_job("best", ["docs/spec.md"], contest=3).jobs]
        for name, job in zip(("ann", "bob"), jobs, strict=False):
            field.agent(name).claim(job, seen=1)
            field.put(name, "docs/spec.md", f"{name}'s")
            field.agent(name).submit()
        if third:
            field.agent("cy").claim(jobs[2], seen=1)
        return jobs

    def test_the_first_promotion_cancels_the_held_sibling_and_fences_its_worker(self, field, desk):
        jobs = self.hand_in(field)
        promoted = desk.promote(DraftRef("docs/spec.md", 1))
        assert (promoted.accepted, promoted.cancelled) == ((jobs[0],), (jobs[2],))
        assert [field.me.job(job).job.state for job in jobs] == ["accepted", "submitted", "cancelled"]
        with pytest.raises(Fenced):
            field.put("cy", "docs/spec.md", "late")
        assert desk.line().drafts[0].draft.number == 2

    def test_changing_ones_mind_between_siblings_before_the_acceptance(self, field, desk):
        jobs = [job.id for job in field.me.add_job("best", ["docs/spec.md", "a.txt"], contest=2).jobs]
        for name, job in zip(("ann", "bob"), jobs, strict=True):
            field.agent(name).claim(job, seen=1)
            field.put(name, "docs/spec.md", f"{name}'s")
            field.put(name, "a.txt", f"{name}'s text")
            field.agent(name).submit()
        for number in (1, 2, 1):
            assert desk.promote(DraftRef("docs/spec.md", number)).accepted == ()
        assert desk.read() == b"ann's"
        assert desk.promote(DraftRef("a.txt", 1)).accepted == (jobs[0],)


class TestAllOrNone:
    def test_one_bad_name(self, desk):
        ref = desk.draft("x")
        before = desk.everything()
        with pytest.raises(NotFound) as fault:
            desk.promote(ref, DraftRef("a.txt", 9))
        assert fault.value.code == "no_draft"
        assert desk.everything() == before

    @pytest.mark.parametrize("name", ["docs/spec.md.draft-0001@bob", "docs/spec.md.draft-0001.delete@ann"])
    def test_a_name_that_is_not_quite_it(self, field, desk, name):
        desk.draft("x")
        with pytest.raises(NotFound) as fault:
            field.me.draft_refs([name])
        assert fault.value.code == "no_draft"

    def test_one_moved_target_refuses_all(self, field, desk):
        first, second = desk.draft("x"), desk.draft("y", "a.txt")
        field.write("me", "a.txt", "by hand")
        before = desk.everything()
        refused("target_moved", desk.promote, first, second)
        assert desk.everything() == before

    def test_one_tampered_file_refuses_all(self, desk):
        first, second = desk.draft("x"), desk.draft("y", "a.txt")
        (desk.root / "a.txt.draft-0001@ann").unlink()
        (desk.root / "a.txt.draft-0001@ann").write_text("z")
        refused("tampered", desk.promote, first, second)
        assert desk.read() == b"v0\n"

    def test_many_at_once(self, desk):
        refs = [desk.draft(f"{n}", f"many/{n}.txt") for n in range(5)]
        promoted = desk.promote(*refs)
        assert [each.target for each in promoted.promoted] == [f"many/{n}.txt" for n in range(5)]
        assert [desk.read(f"many/{n}.txt") for n in range(5)] == [b"%d" % n for n in range(5)]

    def test_one_target_twice(self, field, desk):
        field.ann.claim(1, seen=1)
        field.put("ann", "docs/spec.md", "one")
        field.put("ann", "docs/spec.md", "two")
        with pytest.raises(BadRequest):
            desk.promote(DraftRef("docs/spec.md", 1), DraftRef("docs/spec.md", 2))
        assert desk.read() == b"v0\n"

    def test_by_job(self, field, desk):
        field.ann.claim_paths(["docs/spec.md", "a.txt"])
        field.put("ann", "docs/spec.md", "old")
        field.put("ann", "docs/spec.md", "x")
        field.put("ann", "a.txt", "y")
        with pytest.raises(NotFound):
            field.me.job_drafts(3)
        field.ann.submit()
        assert desk.promote(*field.me.job_drafts(3)).accepted == (3,)
        assert (desk.read(), desk.read("a.txt")) == (b"x", b"y")


class TestDryRun:
    def cases(self, field, desk):
        moved = desk.draft("y", "a.txt")
        field.write("me", "a.txt", "by hand")
        return [desk.draft("x"), desk.draft("n", "new/n.txt"), moved]

    def test_changes_nothing_and_tells_what_happens(self, field, desk):
        refs = self.cases(field, desk)
        before = desk.everything()
        said = desk.promote(*refs, force=True, dry_run=True)
        assert desk.everything() == before
        assert not (desk.root / "new/n.txt").exists()
        done = desk.promote(*refs, force=True)
        assert (said.promoted, said.accepted, said.cancelled) == (done.promoted, done.accepted, done.cancelled)
        assert done.promoted[2].kept

    def test_refuses_what_would_be_refused(self, field, desk):
        refs = self.cases(field, desk)
        refused("target_moved", desk.promote, *refs, dry_run=True)


class TestNewTargets:
    def test_in_new_folders(self, desk):
        ref = desk.draft("n", "new/dir/n.md")
        assert desk.promote(ref).promoted[0].previous_sha256 is None
        assert desk.read("new/dir/n.md") == b"n"

    def test_the_folders_gone_again(self, desk):
        ref = desk.draft("n", "new/dir/n.md")
        (desk.root / "new/dir/n.md.draft-0001@ann").unlink()
        (desk.root / "new/dir").rmdir()
        (desk.root / "new").rmdir()
        desk.promote(ref)
        assert desk.read("new/dir/n.md") == b"n"

    def test_under_a_file(self, desk):
        ref = desk.draft("n", "new/n.md")
        (desk.root / "new/n.md.draft-0001@ann").unlink()
        (desk.root / "new").rmdir()
        (desk.root / "new").write_text("a file")
        for force in (False, True):
            refused("not_a_file", desk.promote, ref, force=force)
        assert desk.read("new") == b"a file"


class TestDeletion:
    def test_removes_the_target(self, desk):
        ref = desk.draft(None, delete=True)
        promoted = desk.promote(ref).promoted[0]
        assert (promoted.sha256, promoted.previous_sha256) == (None, sha("v0\n"))
        assert not (desk.root / "docs/spec.md").exists()
        assert (desk.line().chosen, desk.line().stale) == (1, False)
        assert desk.litter() == []

    def test_of_what_is_gone_already(self, desk):
        ref = desk.draft(None, delete=True)
        (desk.root / "docs/spec.md").unlink()
        assert desk.promote(ref).promoted[0].changed is False

    def test_of_what_somebody_edited(self, field, desk):
        ref = desk.draft(None, delete=True)
        field.write("me", "docs/spec.md", "by hand")
        refused("target_moved", desk.promote, ref)
        kept = desk.promote(ref, force=True).promoted[0].kept
        assert desk.read(kept) == b"by hand"

    def test_and_back_by_an_alternative(self, field, desk):
        field.ann.claim(1, seen=1)
        field.put("ann", "docs/spec.md", "one")
        field.ann.draft(["docs/spec.md"], delete=True)
        field.ann.submit()
        desk.promote(DraftRef("docs/spec.md", 2))
        assert not (desk.root / "docs/spec.md").exists()
        desk.promote(DraftRef("docs/spec.md", 1))
        assert desk.read() == b"one"


class TestAgents:
    def acts(self, store, ref):
        return {
            "promote": lambda: store.promote([ref]),
            "dry run": lambda: store.promote([ref], dry_run=True),
            "forced": lambda: store.promote([ref], force=True),
            "reject": lambda: store.reject([ref], because="x"),
        }

    @pytest.mark.parametrize("act", ["promote", "dry run", "forced", "reject"])
    def test_refused_in_every_form(self, field, desk, act):
        ref = desk.draft("x")
        plain = field.base / "plain"
        from tests.support import git

        git("worktree", "add", "-q", str(plain), "-b", "plain", cwd=field.root)
        callers = [field.ann, field.open(field.root, agent="ann"), field.open(field.worktree("ann")), field.open(plain)]
        for caller in callers:
            refused("agents_cannot_promote", self.acts(caller, ref)[act])
        assert desk.read() == b"v0\n"
        assert desk.line().drafts[0].draft.state == "waiting"

    def test_the_setting_allows_it(self, field, desk):
        ref = desk.draft("x")
        field.me.configure("agents.promote", "true")
        assert field.ann.promote([ref]).accepted == (3,)
        assert desk.read() == b"x"
        assert (field.worktree("ann") / "docs/spec.md").read_text() == "x"
