"""What is told, and when: each finding raised once and lowered once, whatever happens meanwhile."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from itertools import count

import pytest

from draftfs.answers import Checked, Finding
from draftfs.errors import NotFound
from draftfs.watch import Watcher
from tests.support import wait_for
from tests.watch.watching import QUICK, hand_in, promote, slower, watching

FALSE = Finding("stale", "docs/spec.md", "docs/spec.md is stale", None)


def test_a_finding_is_raised_once_and_lowered_once(field):
    with watching(field) as seen:
        number = hand_in(field, "v1\n")
        wait_for(lambda: ("raised", "unpromoted", "docs/spec.md") in seen.told)
        field.write("me", "docs/other.md", "x")
        seen.rest()
        promote(field, number)
        wait_for(lambda: ("lowered", "unpromoted", "docs/spec.md") in seen.told)
        seen.catch_up()
        assert len(seen.told) == 2


def test_its_own_promotions_raise_nothing(field):
    """Also in the middle of a scan: a promotion falls behind each look that the scan takes at the store, in turn."""
    numbers = [hand_in(field, f"{at}\n") for at in range(2)]
    promote(field, numbers[0])
    field.me.promote(field.me.draft_refs(["docs/spec.md", str(numbers[1])]), force=True)  # from now on none waits
    counted, turns = [], [0]
    _behind_each_read(field.me, counted.append).check()

    def check(real):
        turn = turns[-1]

        def promote_at(place):
            if place == turn:
                turns.append(place + 1)
                field.me.promote(field.me.draft_refs(["docs/spec.md", str(numbers[place % 2])]), force=True)

        _behind_each_read(real.__self__, promote_at)
        return real()

    with watching(field, check=check, pace=slower(every=0.05, patience=60)) as seen:
        wait_for(lambda: len(turns) > len(counted))
        seen.catch_up()
        assert len(counted) > 1
        assert {each[1] for each in seen.told} <= {"unpromoted", "outdated"}


def _behind_each_read(store, do):
    """Call `do` with 0, 1, … behind each look that the store's engine takes."""
    read, places = store.engine.read, count()

    def paused(look):
        answer = read(look)
        do(next(places))
        return answer

    store.engine.read = paused
    return store


def test_a_targets_bytes_that_leave_the_choice_are_stale_until_they_are_back(field):
    promote(field, hand_in(field, "chosen\n"))
    target = field.root / "docs/spec.md"
    stale = ("stale", "docs/spec.md")
    with watching(field) as seen:
        for at, save in enumerate((_in_place, _by_rename, _truncated, _removed)):
            save(target)
            wait_for(lambda: {each[:2] for each in seen.standing} == {stale})
            target.unlink(missing_ok=True)
            target.write_text("chosen\n")
            wait_for(lambda: not seen.standing)
            assert len(seen.told) == 2 * at + 2
        seen.catch_up()


def _in_place(target) -> None:
    with target.open("r+") as file:
        file.write("C")


def _by_rename(target) -> None:
    target.with_name("new").write_text("edited\n")
    target.rename(target.with_name("spec.md~"))
    target.with_name("new").rename(target)


def _truncated(target) -> None:
    with target.open("r+") as file:
        file.truncate(0)


def _removed(target) -> None:
    target.unlink()


def test_a_finding_that_only_grows_older_is_not_raised_again(field):
    ages = count(1)
    over = []

    def check(_):
        age = float(next(ages))
        return Checked(() if over else (replace(FALSE, age=age),))

    with watching(field, check=check, pace=slower(every=0.05)) as seen:
        wait_for(lambda: seen.scans > 4)
        assert seen.told == [("raised", "stale", "docs/spec.md")]
        over.append(1)
        wait_for(lambda: len(seen.told) == 2)
        raised, lowered = (each.finding for each in seen.changes)
        assert (raised.age, lowered.age > 1) == (1.0, True)


def test_a_finding_that_is_another_is_told_again(field):
    """A second draft that waits is news to whoever knows of the first."""
    with watching(field) as seen:
        for number in (1, 2):
            assert hand_in(field, f"v{number}\n") == number
            wait_for(lambda number=number: len(seen.told) == number)
        seen.catch_up()
        assert [each[:2] for each in seen.told] == [("raised", "unpromoted"), ("changed", "unpromoted")]
        assert seen.changes[-1].finding.message == "docs/spec.md: 2 drafts wait"


@pytest.mark.parametrize("what", ["event", "store", "head", "index.lock"])
def test_what_a_scan_shows_while_something_changes_is_not_told_at_once(field, what):
    """A scan in the middle of a change finds what is none, once; nothing is told. What stays is told after a while."""
    looks = []

    def check(real):
        looks.append(what)
        if len(looks) == 2 or always:
            {
                "event": seen.watcher._bell.set,
                "store": lambda: field.me.configure("git.unclaimed", ("allow", "refuse")[len(looks) % 2]),
                "head": lambda: (field.root / ".git/logs/HEAD").write_text("x" * len(looks)),
                "index.lock": (field.root / ".git/index.lock").touch,
            }[what]()
            return Checked((FALSE,))
        (field.root / ".git/index.lock").unlink(missing_ok=True)
        return Checked(())

    always = False
    with watching(field, check=check, pace=slower(every=0.1)) as seen:
        wait_for(lambda: len(looks) >= 5)
        assert not seen.told
        always = True
        wait_for(lambda: seen.told, 10)
        assert seen.told == [("raised", "stale", "docs/spec.md")]


def test_a_claim_lapses_in_time(field):
    field.ann.claim(1, seen=1, ttl=60)
    field.bob.claim(2, seen=1, ttl=7200)
    with watching(field) as seen:
        field.clock.advance(61)
        began = time.monotonic()
        wait_for(
            lambda: (
                field.open().engine.read(lambda view: view.events(view.counters.position - 1, 1))[0].kind
                == "claim.lapsed"
            )
        )
        assert time.monotonic() - began < 2
        wait_for(lambda: ("raised", "lapsed", "docs/spec.md") in seen.told)
        field.ann.claim(1, seen=field.version(1))
        wait_for(lambda: ("lowered", "lapsed", "docs/spec.md") in seen.told)
        field.bob.release()


def test_a_renewal_moves_what_it_waits_for(field):
    field.ann.claim(1, seen=1, ttl=60)
    with watching(field) as seen:
        field.ann.renew(ttl=600)
        wait_for(lambda: seen.watcher._lapse_ns > field.clock.now().awake_ns + 500e9)
        field.clock.advance(61)
        assert seen.rest() == 0
        assert not seen.told


def test_a_watcher_needs_a_store(field):
    shutil.rmtree(field.store)
    field.damaged = True
    with pytest.raises(NotFound, match=r"no draftfs store|gone"):
        Watcher(field.open, QUICK)
