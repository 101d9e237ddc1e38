"""`promote --undo`: the bytes, the choice and the acceptances that the last promotion replaced, and nobody's edit lost."""

import os
import stat

import pytest

from draftfs import DraftRef, EnvironmentFault, NotFound, Refused, layout
from draftfs.engine import fs
from tests.promotion.test_replacing import refused, sha
from tests.support import git

SPEC = "docs/spec.md"


def undo(desk, *targets, **options):
    return desk.field.me.undo(targets or [SPEC], **options)


def state(desk, job):
    return desk.field.me.job(job).job.state


def states(desk, target=SPEC):
    return {each.draft.number: each.draft.state for each in desk.line(target, everything=True).drafts}


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def contest(field, *targets):
    """Jobs 3 and 4 on the same targets, by ann and bob, both submitted; their drafts have the numbers 1 and 2."""
    targets = targets or (SPEC,)
    jobs = [job.id for job in field.me.add_job("best", list(targets), contest=2).jobs]
    for name, job in zip(("ann", "bob"), jobs, strict=True):
        field.agent(name).claim(job, seen=1)
        for target in targets:
            field.put(name, target, f"{name}'s {target}")
        field.agent(name).submit()
    return jobs


def transitions(field, target=SPEC):
    kept = field.me.engine.read(lambda view: view.get(layout.admitted(target)))
    return [(each.before and each.before.oid, each.after and each.after.oid) for each in kept.transitions]


def blob(field, text):
    (field.base / "blob").write_text(text)
    return git("hash-object", str(field.base / "blob"), cwd=field.root).strip()


def test_bytes_mode_job_and_draft(field, desk):
    (desk.root / SPEC).chmod(0o640)
    desk.promote(desk.draft("drafted", mode=0o755))
    assert mode(desk.root / SPEC) == 0o750
    said = undo(desk, dry_run=True)
    assert (desk.read(), state(desk, 3)) == (b"drafted", "accepted")
    undone = undo(desk)
    assert (undone.undone, undone.returned, undone.plan) == (said.undone, (3,), said.plan)
    line = undone.undone[0]
    assert (line.number, line.sha256, line.previous_sha256) == (1, sha("v0\n"), sha("drafted"))
    assert (line.kept, line.chosen, line.changed) == (None, None, True)
    assert (desk.read(), mode(desk.root / SPEC)) == (b"v0\n", 0o640)
    assert [(each.job, each.state) for each in undone.jobs] == [(3, "submitted")]
    assert (desk.line().chosen, states(desk)) == (None, {1: "waiting"})
    (event,) = [each for each in field.me.log() if each.kind == "draft.undone"]
    assert (event.job, event.data["author"], event.data["number"]) == (3, "ann", 1)
    assert desk.litter() == []
    assert desk.promote(DraftRef(SPEC, 1)).accepted == (3,)


def test_a_file_that_was_not_there_and_one_that_was_deleted(desk):
    desk.promote(desk.draft("new", "new/n.md"), desk.draft(None, "a.txt", delete=True))
    assert not (desk.root / "a.txt").exists()
    lines = undo(desk, "new/n.md", "a.txt").undone
    assert [(each.sha256, each.previous_sha256) for each in lines] == [(None, sha("new")), (sha("one\n"), None)]
    assert (desk.read("a.txt"), (desk.root / "new/n.md").exists()) == (b"one\n", False)


def test_nothing_to_undo(field, desk):
    with pytest.raises(NotFound) as fault:
        undo(desk)
    assert fault.value.code == "no_draft"
    desk.promote(desk.draft("drafted"))
    before = desk.everything()
    with pytest.raises(NotFound):
        undo(desk, SPEC, "a.txt")
    assert desk.everything() == before, "all, or none"
    refused("agents_cannot_promote", field.ann.undo, [SPEC])


def test_a_hand_edit_since(field, desk):
    desk.promote(desk.draft("drafted"))
    field.write("me", SPEC, "by hand")
    before = desk.everything()
    fault = refused("target_moved", undo, desk)
    assert "--force" in fault.hint
    assert desk.everything() == before
    kept = undo(desk, force=True).undone[0].kept
    assert (desk.read(), desk.read(kept), kept) == (b"v0\n", b"by hand", f"{SPEC}.draft-0002@hand-edit")


def test_it_holds_already_what_was_there_before(field, desk):
    desk.promote(desk.draft("drafted"))
    field.write("me", SPEC, "v0\n")
    assert undo(desk).undone[0].changed is False
    assert (desk.line().chosen, state(desk, 3)) == (None, "submitted")


def test_step_by_step_back_through_a_contest(field, desk):
    contest(field)
    for number in (1, 2):
        desk.promote(DraftRef(SPEC, number))
    back = undo(desk)
    assert (back.undone[0].chosen, back.accepted, back.returned) == (1, (3,), (4,))
    assert (desk.read(), desk.line().chosen, desk.line().stale) == (b"ann's docs/spec.md", 1, False)
    assert states(desk) == {1: "promoted", 2: "waiting"}
    back = undo(desk)
    assert (back.undone[0].chosen, back.accepted, back.returned) == (None, (), (3,))
    assert (desk.read(), states(desk)) == (b"v0\n", {1: "waiting", 2: "waiting"})
    with pytest.raises(NotFound):
        undo(desk)


def test_the_choice_before_was_turned_down_since(field, desk):
    contest(field)
    for number in (1, 2):
        desk.promote(DraftRef(SPEC, number))
    field.me.reject([DraftRef(SPEC, 1)], because="no")
    back = undo(desk)
    assert (back.undone[0].chosen, back.returned, desk.read()) == (None, (4,), b"ann's docs/spec.md")
    assert states(desk) == {1: "rejected", 2: "waiting"}


def test_the_choice_before_was_not_what_stood_there(field, desk):
    """A hand's bytes come back: they are nobody's choice."""
    contest(field)
    desk.promote(DraftRef(SPEC, 1))
    field.write("me", SPEC, "by hand")
    desk.promote(DraftRef(SPEC, 2), force=True)
    back = undo(desk)
    assert (back.undone[0].chosen, desk.read(), desk.line().chosen) == (None, b"by hand", None)
    assert (state(desk, 3), state(desk, 4)) == ("submitted", "submitted")


def test_work_on_top_of_accepted_work(field, desk):
    """The job whose work was built upon stays accepted all the while."""
    desk.promote(desk.draft("first"))
    field.write("bob", SPEC, "first")
    desk.promote(desk.draft("second", by="bob"))
    back = undo(desk)
    assert (desk.read(), back.undone[0].chosen, back.accepted, back.returned) == (b"first", 1, (), (4,))
    assert (state(desk, 3), states(desk)) == ("accepted", {1: "promoted", 2: "waiting"})


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_two_drafts_of_one_claim(field, desk, order):
    """Draft 1 was superseded when 2 was handed in; the job is accepted while one of them is chosen and 2 is decided."""
    field.ann.claim(1, seen=1)
    field.put("ann", SPEC, "one")
    field.put("ann", SPEC, "two")
    field.ann.submit()
    seen = [(states(desk), state(desk, 1))]
    for number in order:
        desk.promote(DraftRef(SPEC, number))
        seen.append((states(desk), state(desk, 1)))
    for then in reversed(seen[:-1]):
        undo(desk)
        assert (states(desk), state(desk, 1)) == then


def test_a_newer_promotion_of_an_older_draft_is_undone_when_nothing_else_counts_again(field, desk):
    field.ann.claim(1, seen=1)
    for text in ("one", "two"):
        field.put("ann", SPEC, text)
    field.ann.submit()
    field.me.reject([DraftRef(SPEC, 2)], because="no")
    desk.promote(DraftRef(SPEC, 1))
    undo(desk)
    assert state(desk, 1) == "submitted"
    desk.promote(DraftRef(SPEC, 1))
    assert desk.read() == b"one"


def test_of_an_abandoned_draft(field, desk):
    desk.promote(desk.draft("left", submit=False))
    undo(desk)
    assert states(desk) == {1: "abandoned"}


def test_while_its_claim_lives_and_after_its_claim_ended(field, desk):
    field.ann.claim(1, seen=1)
    field.put("ann", SPEC, "early")
    desk.promote(DraftRef(SPEC, 1))
    undo(desk)
    assert states(desk) == {1: "waiting"}
    desk.promote(DraftRef(SPEC, 1))
    field.ann.release()
    undo(desk)
    assert states(desk) == {1: "abandoned"}


def test_one_of_two_targets(field, desk):
    field.ann.claim_paths([SPEC, "a.txt"])
    for target in (SPEC, "a.txt"):
        field.put("ann", target, "x")
    field.ann.submit()
    desk.promote(*field.me.job_drafts(3))
    assert undo(desk, "a.txt").returned == (3,)
    assert (desk.read(), desk.read("a.txt"), desk.line().chosen) == (b"x", b"one\n", 1)
    assert desk.promote(DraftRef("a.txt", 1)).accepted == (3,)


def test_after_a_job_that_comes_after_was_claimed(field, desk):
    desk.promote(desk.draft("drafted"))
    field.me.add_job("later", ["later.md"], after=[3])
    field.bob.claim(4, seen=1)
    field.bob.release()
    before = desk.everything()
    for force in (False, True):
        fault = refused("dependent_claimed", undo, desk, force=force)
        assert (fault.details["job"], fault.details["followed_by"]) == (3, 4)
    assert desk.everything() == before


def test_on_another_branch(field, desk):
    desk.promote(desk.draft("drafted"))
    git("commit", "-qam", "promoted", cwd=field.root)
    git("switch", "-qc", "other", cwd=field.root)
    before = desk.everything()
    for force in (False, True):
        assert "git switch main" in refused("target_moved", undo, desk, force=force).hint
    assert desk.everything() == before
    git("switch", "-q", "main", cwd=field.root)
    undo(desk)
    assert desk.read() == b"v0\n"


class TestAdmission:
    """What may be committed after it: the way back from what HEAD holds, and never the way that was taken back."""

    def test_not_committed(self, field, desk):
        desk.promote(desk.draft("drafted\n"))
        assert transitions(field) == [(blob(field, "v0\n"), blob(field, "drafted\n"))]
        undo(desk)
        assert transitions(field) == []

    def test_not_committed_over_another_choice(self, field, desk):
        contest(field)
        for number in (1, 2):
            desk.promote(DraftRef(SPEC, number))
        undo(desk)
        assert transitions(field) == [(blob(field, "v0\n"), blob(field, f"ann's {SPEC}"))]

    def test_committed(self, field, desk):
        start = git("rev-parse", "HEAD", cwd=field.root).strip()
        desk.promote(desk.draft("drafted\n"))
        git("commit", "-qam", "promoted", cwd=field.root)
        undo(desk)
        git("commit", "-qam", "undone", cwd=field.root)
        assert not field.me.verify(f"{start}..main").findings
        there, back = (blob(field, "v0\n"), blob(field, "drafted\n")), (blob(field, "drafted\n"), blob(field, "v0\n"))
        assert transitions(field) == [there, back]
        field.write("me", SPEC, "drafted\n")
        git("commit", "-qam", "slipped back in", cwd=field.root)
        assert [each.change.path for each in field.me.verify(f"{start}..main").findings] == [SPEC]


class TestRaces:
    @pytest.mark.parametrize("call", ["open", "append", "exchange"])
    def test_an_editor_saves_meanwhile(self, desk, at, call):
        """Before the lock it is looked at again, and refused; behind it the edit is kept."""
        desk.promote(desk.draft("drafted"))
        part = {"open": "/lock", "append": "journal", "exchange": "spec.md"}[call]
        left = at(call, lambda _: (desk.root / SPEC).write_bytes(b"by hand"), part)
        if call == "open":
            refused("target_moved", undo, desk)
            assert desk.read() == b"by hand"
        else:
            kept = undo(desk).undone[0].kept
            assert (desk.read(), desk.read(kept)) == (b"v0\n", b"by hand")
        assert left[0] == 0

    def test_a_folder_comes_in_its_place(self, desk, at):
        desk.promote(desk.draft("drafted"))

        def swap(_):
            os.replace(desk.root / SPEC, desk.root / "moved-away")
            (desk.root / SPEC).mkdir()

        at("append", swap)
        with pytest.raises(EnvironmentFault, match="the choice is recorded, but") as fault:
            undo(desk)
        assert "draftfs promote --force -- docs/spec.md 1" in fault.value.hint
        assert (desk.root / SPEC).is_dir()

    def test_somebody_else_undoes_or_promotes_first(self, field, desk, at):
        contest(field)
        desk.promote(DraftRef(SPEC, 1))
        at("open", lambda _: field.me.undo([SPEC]), "/lock")
        with pytest.raises(NotFound):
            undo(desk)
        desk.promote(DraftRef(SPEC, 1))
        at("open", lambda _: field.me.promote([DraftRef(SPEC, 2)]), "/lock")
        assert undo(desk).undone[0].number == 2, "what was chosen last is what is undone"

    def test_the_same_key_again(self, field, desk):
        contest(field)
        for number in (1, 2):
            desk.promote(DraftRef(SPEC, number))
        first = undo(desk, receipt="K")
        again = undo(desk, receipt="K")
        assert (again.replayed, again.undone, desk.line().chosen) == (True, first.undone, 1)


def test_a_replay_does_not_say_what_is_not_so(field, desk, at):
    desk.promote(desk.draft("drafted"))
    at("append", lambda _: os.replace(desk.root / SPEC, desk.root / "kept") or (desk.root / SPEC).mkdir())
    with pytest.raises(EnvironmentFault):
        undo(desk, receipt="K")
    (desk.root / SPEC).rmdir()
    os.replace(desk.root / "kept", desk.root / SPEC)
    with pytest.raises(EnvironmentFault, match="it still holds what was there before"):
        undo(desk, receipt="K")


def test_eight_promotions_back_and_no_further(field, desk):
    field.ann.claim(1, seen=1)
    for text in ("one", "two"):
        field.put("ann", SPEC, text)
    field.ann.submit()
    for turn in range(10):
        desk.promote(DraftRef(SPEC, 1 + turn % 2))
    chosen = [undo(desk).undone[0].chosen for _ in range(9)]
    assert chosen == [1, 2, 1, 2, 1, 2, 1, 2, None]
    with pytest.raises(NotFound):
        undo(desk)


def test_refusals_are_refusals(desk):
    desk.promote(desk.draft("drafted"))
    (desk.root / SPEC).unlink()
    (desk.root / SPEC).symlink_to("../a.txt")
    with pytest.raises(Refused) as fault:
        undo(desk, force=True)
    assert (fault.value.code, os.readlink(desk.root / SPEC)) == ("not_a_file", "../a.txt")


def test_killed_before_the_swap(field, desk):
    """The next command that can write the root ends it."""
    desk.promote(desk.draft("drafted"))
    child = os.fork()
    if child == 0:
        try:
            fs.observer = lambda call, _: os._exit(9) if call == "exchange" else None
            field.me.undo([SPEC])
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert desk.read() == b"drafted"
    field.me.ls()
    assert (desk.read(), state(desk, 3), desk.litter()) == (b"v0\n", "submitted", [])
