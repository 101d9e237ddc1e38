"""Which change is admitted: chains of standing transitions, who takes them back, and no cycle (DESIGN §8)."""

from __future__ import annotations

from itertools import product

import pytest

from draftfs import layout
from draftfs.records import Admissions, Change, Transition, TreeEntry
from draftfs.rules import admissions

SPEC = "docs/spec.md"


def entry(letter: str | None) -> TreeEntry | None:
    return None if letter is None else TreeEntry("100644", letter * 40)


def change(before: str | None, after: str | None, path: str = SPEC) -> Change:
    return Change(path, entry(before), entry(after))


def judged(field, *changes, held=(), **options):
    return field.me.engine.read(lambda view: admissions.judge(view, changes, held, **options))


def refused(field, *changes, **options) -> set[Change]:
    return {each.change for each in judged(field, *changes, **options).refused}


def lease_of(field, job: int):
    return field.me.engine.read(lambda view: view.get(layout.lease(job)))


def record(field, job: int, *changes: Change) -> None:
    lease = lease_of(field, job)
    field.me.engine.write(lambda tx: admissions.record(tx, [(lease, each) for each in changes]))


def recorded(field, path: str = SPEC) -> list[tuple[str | None, str | None]]:
    kept = field.me.engine.read(lambda view: view.get(layout.admitted(path)))

    def letter(side):
        return None if side is None else side.oid[0]

    return [(letter(each.before), letter(each.after)) for each in admissions.onward(kept.transitions)]


def claim(field, name: str, job: int = 1):
    return field.agent(name).claim(job, seen=field.version(job))


class TestWhatIsJudged:
    def test_only_what_was_ever_reserved(self, field):
        assert not refused(field, change("a", "b"), change("a", "b", "other.md"))
        claim(field, "ann")
        field.ann.release()
        assert refused(field, change("a", "b"), change("a", "b", "other.md")) == {change("a", "b")}

    def test_all_below_a_reserved_folder_and_nothing_beside_it(self, field):
        field.ann.claim_paths(["docs"])
        inside, beside = change("a", "b", "docs/x/y.md"), change("a", "b", "docs-old/x.md")
        assert refused(field, inside, beside) == {inside}

    def test_everything_where_unclaimed_paths_are_refused(self, field):
        assert refused(field, change("a", "b", "other.md"), everything=True) == {change("a", "b", "other.md")}

    def test_who_holds_it_is_told(self, field):
        claim(field, "bob")
        (found,) = judged(field, change("a", "b")).refused
        assert (found.by.holder, found.by.job) == ("bob", 1)

    def test_a_folded_name_is_the_same_name(self, field):
        from dataclasses import replace

        from draftfs.paths import Fold

        def fold(tx):
            tx.put(layout.STORE, replace(tx.store, fold=Fold(case=True)))

        field.me.engine.write(fold)
        claim(field, "ann")
        assert refused(field, change("a", "b", "Docs/SPEC.md"))


class TestChains:
    def test_the_live_claim_covers_and_is_recorded_once(self, field):
        claim(field, "ann")
        held = [lease_of(field, 1)]
        assert judged(field, change("a", "b"), held=held).recordable == ((held[0], change("a", "b")),)
        record(field, 1, change("a", "b"))
        again = judged(field, change("a", "b"), held=held)
        assert not again.recordable
        assert not again.refused

    def test_squashed_amended_and_repeated_steps_pass(self, field):
        claim(field, "ann")
        record(field, 1, change("a", "b"), change("b", "c"), change("c", None), change(None, "d"))
        for start, end in ("ab", "bc", "ac", "ad", "bd", "cd"):
            assert not refused(field, change(start, end))
        assert not refused(field, change("a", None), change(None, "d"))

    def test_new_content_and_old_content_do_not(self, field):
        claim(field, "ann")
        record(field, 1, change("a", "b"), change("b", "c"))
        wrong = [change("a", "x"), change("c", "a"), change("b", "a"), change("c", "b"), change(None, "b")]
        assert refused(field, *wrong) == set(wrong)

    def test_the_mode_is_part_of_it(self, field):
        claim(field, "ann")
        record(field, 1, change("a", "b"))
        executable = Change(SPEC, entry("a"), TreeEntry("100755", "b" * 40))
        assert refused(field, executable) == {executable}

    def test_steps_of_other_paths_do_not_help(self, field):
        field.ann.claim_paths(["docs", "a.txt"])
        field.me.engine.write(lambda tx: admissions.vouch(tx, [change("a", "b", "a.txt")], "me", "x"))
        assert refused(field, change("a", "b", "docs/new.md"))

    def test_free_steps_are_part_of_a_chain(self, field):
        claim(field, "ann")
        record(field, 1, change("b", "c"))
        free = {SPEC: [(entry("a"), entry("b"))]}
        assert not refused(field, change("a", "c"), free=free)
        assert refused(field, change("a", "c"))


class TestNoCycle:
    def test_going_back_takes_the_way_forward_with_it(self, field):
        claim(field, "ann")
        record(field, 1, change("a", "b"), change("b", "a"))
        assert recorded(field) == [("b", "a")]
        assert refused(field, change("a", "b"))

    def test_a_longer_way_back(self, field):
        claim(field, "ann")
        record(field, 1, change("a", "b"), change("b", "c"), change("c", "a"))
        assert recorded(field) == [("b", "c"), ("c", "a")]
        assert refused(field, change("a", "b"), change("a", "c")) == {change("a", "b"), change("a", "c")}

    def test_what_was_made_and_taken_back_passes_as_a_whole(self, field):
        claim(field, "ann")
        forth, back = change("a", "b"), change("b", "a")
        record(field, 1, forth, back)
        assert refused(field, forth) == {forth}
        assert not refused(field, forth, back, ends={forth: {entry("a")}, back: {entry("a")}})
        assert refused(field, forth, ends={forth: {entry("b")}}) == {forth}
        never = change("a", "x")
        assert refused(field, never, back, ends={never: {entry("a")}, back: {entry("a")}}) == {never}

    def test_a_step_made_again_is_the_newest(self, field):
        claim(field, "ann")
        record(field, 1, change("a", "b"), change("b", "a"), change("a", "b"))
        assert recorded(field) == [("a", "b")]

    def test_a_second_way_to_the_same_content_is_no_cycle(self, field):
        claim(field, "ann")
        record(field, 1, change("a", "b"), change("a", "c"), change("c", "b"))
        assert recorded(field) == [("a", "b"), ("a", "c"), ("c", "b")]

    def test_after_any_steps_nothing_leads_round(self, field):
        """All ways of three steps between three contents; every way begins with an empty record."""
        claim(field, "ann")
        engine, key = field.me.engine, layout.admitted(SPEC)
        for steps in product(["ab", "ba", "bc", "cb", "ca", "ac"], repeat=3):
            engine.write(lambda tx: tx.put(key, Admissions(SPEC)))
            record(field, 1, *[change(*step) for step in steps])
            kept = recorded(field)
            assert kept, steps
            for letter in "abc":
                for before, after in kept:
                    assert before != letter or not admissions.leads(kept, after, letter), steps


class TestWithdrawal:
    def made(self, field):
        claim(field, "ann")
        field.write("ann", SPEC, "x")
        field.ann.draft([SPEC])
        record(field, 1, change("a", "b"))
        assert not refused(field, change("a", "b"))

    def test_a_lapse_withdraws_even_before_it_is_noticed(self, field):
        self.made(field)
        field.clock.advance(31 * 60)
        assert refused(field, change("a", "b"))
        assert field.me.job(1).job.state == "open"
        assert refused(field, change("a", "b"))

    @pytest.mark.parametrize(
        "ending",
        [
            lambda field: field.ann.release(),
            lambda field: field.ann.release(failed=True),
            lambda field: field.me.revoke_job(1, because="x"),
            lambda field: field.me.cancel_job(1, because="x"),
            lambda field: (field.ann.submit(), field.me.reject_job(1, because="x")),
            lambda field: (field.ann.submit(), field.me.cancel_job(1, because="x")),
        ],
        ids=["release", "failed", "revoke", "cancel", "reject", "cancel after submit"],
    )
    def test_endings_that_withdraw(self, field, ending):
        self.made(field)
        ending(field)
        assert refused(field, change("a", "b"))

    def test_submitting_and_accepting_do_not(self, field):
        self.made(field)
        field.ann.submit()
        assert not refused(field, change("a", "b"))
        field.me.promote(1)
        assert field.me.job(1).job.state == "accepted"
        assert not refused(field, change("a", "b"))

    def test_the_next_claim_does_not_bring_it_back(self, field):
        self.made(field)
        field.ann.release()
        claim(field, "bob")
        assert refused(field, change("a", "b"))
        field.put("bob", SPEC, "y")
        field.bob.submit()
        assert refused(field, change("a", "b"))

    def test_a_renewal_keeps_it(self, field):
        self.made(field)
        field.clock.advance(29 * 60)
        field.ann.renew()
        field.clock.advance(29 * 60)
        assert not refused(field, change("a", "b"))

    def test_the_next_record_clears_what_does_not_stand(self, field):
        self.made(field)
        field.ann.release()
        claim(field, "bob")
        record(field, 1, change("a", "c"))
        assert recorded(field) == [("a", "c")]


class TestPromotion:
    def test_from_what_head_holds_and_from_what_was_replaced(self, field):
        claim(field, "ann")
        field.put("ann", SPEC, "v1\n")
        field.ann.submit()
        field.me.promote(1)
        (step,) = field.me.engine.read(lambda view: view.get(layout.admitted(SPEC))).transitions
        assert (step.draft, step.job, step.by) == (1, None, field.me.actor.name)

    def test_another_promotion_takes_its_place(self, field):
        claim(field, "ann")
        field.put("ann", SPEC, "v1\n")
        field.ann.submit()
        field.me.promote(1)
        claim(field, "bob", 2)
        field.bob.release()
        field.ann.claim_paths([SPEC], adopt=True)
        field.put("ann", SPEC, "v2\n")
        field.ann.submit()
        field.me.promote(3)
        steps = field.me.engine.read(lambda view: view.get(layout.admitted(SPEC))).transitions
        assert {step.draft for step in steps} == {2}
        assert len(steps) == 2  # v0, which HEAD still holds, and v1, which the root held


class TestDamage:
    def test_a_damaged_record_fails_who_needs_it_and_nobody_else(self, field):
        from draftfs.errors import Damaged

        field.damaged = True
        claim(field, "ann")
        (field.store / layout.admitted(SPEC).name).write_text("format: 1\n")
        with pytest.raises(Damaged, match=r"admitted/docs\+spec\.md\.yaml"):
            judged(field, change("a", "b"))
        assert not refused(field, change("a", "b", "other.md"))
        field.ann.release()
        claim(field, "bob")


def test_the_records_are_as_the_layout_says(field):
    claim(field, "ann")
    assert field.me.engine.read(lambda view: view.get(layout.admitted(SPEC))) == Admissions(SPEC)
    record(field, 1, change(None, "b"))
    (step,) = field.me.engine.read(lambda view: view.get(layout.admitted(SPEC))).transitions
    assert step == Transition(None, entry("b"), "ann", step.at, job=1, epoch=1)
