"""C33: every file of a store in use, cut, filled with NULs, appended to, removed. What needs it gets `damaged`, naming the
file and the repair; nothing else notices; nothing is read as free; `doctor --fix` mends it or says what is lost; and no
number is ever given twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from draftfs import Damaged, Refused, Store
from draftfs.errors import DraftfsError
from draftfs.records import Change, DraftRef, TreeEntry
from draftfs.rules import admissions
from tests.damage.lived import HAZARDS, KEYS, Lived, names_of

Needs = Callable[[Lived], object]

SPEC = "drafts/docs+spec.md"


def judged(lived: Lived, path: str) -> object:
    change = Change(path, None, TreeEntry("100644", "a" * 40))
    return lived.me.engine.read(lambda view: admissions.judge(view, [change], ()))


FILES: dict[str, list[Needs]] = {
    "admitted/docs+spec.md.yaml": [lambda lived: judged(lived, "docs/spec.md")],
    "admitted/b.txt.yaml": [
        lambda lived: judged(lived, "b.txt"),
        lambda lived: lived.me.admit("HEAD^..HEAD", because="x"),
    ],
    "counters.yaml": [
        lambda lived: lived.eve.claim_paths(["new.md"]),
        lambda lived: lived.me.add_job("another", ["new.md"]),
        lambda lived: lived.ann.release(),
        lambda lived: lived.me.log(),
    ],
    "jobs/0001.yaml": [
        lambda lived: lived.me.job(1),
        lambda lived: lived.eve.claim(1, seen=2),
        lambda lived: lived.ann.release(),
        lambda lived: lived.ann.submit(),
    ],
    "jobs/0007.yaml": [
        lambda lived: lived.me.reject_job(7, because="x"),
        lambda lived: lived.me.promote([DraftRef("d.txt", 1)]),
    ],
    "done/0003.yaml": [lambda lived: lived.me.job(3), lambda lived: lived.me.retry_job(3)],
    "leases/0001.yaml": [
        lambda lived: lived.ann.renew(),
        lambda lived: lived.ann.release(),
        lambda lived: lived.ann.draft(["docs/spec.md"]),
        lambda lived: lived.me.revoke_job(1, because="x"),
        lambda lived: lived.eve.claim(1, seen=2),
        lambda lived: lived.eve.claim_paths(["docs/spec.md"]),
        lambda lived: lived.eve.claim_paths(["docs"]),
    ],
    "claims/0004/4.yaml": [lambda lived: lived.me.receipt(KEYS["cat's claim"])],
    f"{SPEC}/0002.yaml": [
        lambda lived: lived.me.promote([DraftRef("docs/spec.md", 2)]),
        lambda lived: lived.me.sides(DraftRef("docs/spec.md", 2)),
    ],
    f"{SPEC}/target.yaml": [
        lambda lived: lived.ann.draft(["docs/spec.md"]),
        lambda lived: lived.me.promote([DraftRef("docs/spec.md", 2)]),
    ],
    "drafts/b.txt/target.yaml": [lambda lived: lived.me.promote([DraftRef("b.txt", 1)])],
    "feed/0000001.jsonl": [lambda lived: lived.me.log()],
}


def refuses(call: Callable[[], object]) -> DraftfsError:
    with pytest.raises(DraftfsError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("checkpointed", [False, True], ids=["journalled", "checkpointed"])
@pytest.mark.parametrize("hazard", HAZARDS)
@pytest.mark.parametrize("name", FILES)
def test_what_needs_the_file_is_told_and_everybody_else_goes_on(lived, name, hazard, checkpointed):
    if checkpointed:
        lived.me.engine.checkpoint()
    HAZARDS[hazard](lived.store / name)
    damaged = (lived.store / name).read_bytes() if (lived.store / name).exists() else None
    if (name.startswith("feed/"), hazard) == (True, "NULs appended"):
        assert not lived.examine().findings  # bytes behind the end are what a killed writer leaves
        return
    for need in FILES[name] if (name.partition("/")[0], hazard) != ("admitted", "removed") else ():
        fault = refuses(lambda need=need: need(lived))
        assert (fault.code, fault.exit_status) == ("damaged", 8), fault
        assert name in fault.message
        assert fault.details["file"] == name or (name, hazard) == ("done/0003.yaml", "removed")
        assert fault.hint == "draftfs doctor --fix"
    if name.startswith("admitted/") and hazard == "removed":
        assert judged(lived, "b.txt").refused
        assert judged(lived, "docs/spec.md").refused
    others_go_on(lived, name)
    nothing_is_free(lived)
    (finding,) = [each for each in lived.examine().findings if each.path == name]
    assert finding.repair == "draftfs doctor --fix"
    mended = lived.examine(fix=True)
    assert not mended.findings, mended
    assert any(name in said for said in mended.fixed)
    if damaged is not None and not name.startswith("feed/"):  # the feed was written on meanwhile
        assert damaged in [path.read_bytes() for path in (lived.store / "set-aside").iterdir()]
    assert not lived.examine(fix=True).fixed, "mending is done once"
    work_goes_on(lived)
    if not checkpointed:
        assert lived.ann.renew().claim.epoch == 1, "the journal held it: nobody lost a claim"


def others_go_on(lived: Lived, name: str) -> None:
    jobs, targets = lived.me.jobs(everything=True), lived.me.ls(everything=True)
    if name.startswith(("jobs/", "done/", "leases/", "drafts/")):
        said = [finding.path for finding in (*jobs.damaged, *targets.damaged)]
        removed_and_unnamed = name.startswith(("jobs/", "done/", "drafts/")) and not (lived.store / name).exists()
        assert said == [name] or (removed_and_unnamed and set(said) <= {name})
    kept = {1, 2, 3, 4, 5, 6, 7} - ({int(name[5:9])} if name.startswith(("jobs/", "done/")) else set())
    assert {line.job.id for line in jobs} == kept
    for target in ("docs/spec.md", "a.txt", "b.txt", "d.txt"):
        if not (name.startswith("drafts/") and target.split("/")[-1] in name):
            assert target in {line.target for line in targets}
    if name == "counters.yaml":
        return
    assert lived.bob.renew().claim.epoch == 2
    assert lived.eve.claim(5, seen=1).claim.epoch == 6
    lived.field.write("bob", "a.txt", "more\n")
    assert lived.bob.draft(["a.txt"]).drafts[0].number == 2
    lived.eve.release()


def nothing_is_free(lived: Lived) -> None:
    """Neither job nor path of ann's claim can be had by anybody."""
    for path in ("docs/spec.md", "docs"):
        assert refuses(lambda path=path: lived.eve.claim_paths([path])).code in ("path_clash", "damaged")
    version = next((line.job.version for line in lived.me.jobs() if line.job.id == 1), 2)
    assert refuses(lambda: lived.eve.claim(1, seen=version)).code in ("job_not_open", "damaged")


def work_goes_on(lived: Lived) -> None:
    job, epoch, position = lived.highest()
    assert lived.me.add_job("new", ["brand-new.md"]).jobs[0].id > job
    claimed = lived.eve.claim_paths(["newer.md"])
    assert claimed.claim.epoch > epoch
    lived.field.write("bob", "a.txt", "and more\n")
    assert lived.bob.draft(["a.txt"]).drafts[0].number > 1
    events = lived.me.log(after=0, limit=1000)
    assert [event.position for event in events] == list(range(1, len(events) + 1))
    assert len(events) > position
    lived.eve.release()
    assert not lived.me.doctor().findings
    if lived.me.job(1).job.state == "claimed":
        lived.field.write("ann", "docs/spec.md", "third\n")
        assert lived.ann.draft(["docs/spec.md"]).drafts[0].number == 3


# ── files that behave in their own way ──


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize("hazard", [each for each in HAZARDS if each != "removed"])
def test_a_damaged_receipt_answers_damaged_for_ever_and_its_request_never_runs_again(lived, hazard, checkpointed):
    if checkpointed:
        lived.me.engine.checkpoint()
    name, key = lived.receipt("bob's draft"), KEYS["bob's draft"]
    lived.field.write("bob", "a.txt", "bob's\n")
    HAZARDS[hazard](lived.store / name)
    for _ in range(2):
        for call in (lambda: lived.bob.draft(["a.txt"], receipt=key), lambda: lived.me.receipt(key)):
            fault = refuses(call)
            assert (fault.code, fault.details["file"]) == ("damaged", name)
        assert [draft.draft.number for line in lived.me.ls(["a.txt"]) for draft in line.drafts] == [1]
        (finding,) = lived.examine(fix=True).findings
        assert (finding.path, finding.repair) == (name, None)
    lived.field.write("bob", "a.txt", "under another key\n")
    assert lived.bob.draft(["a.txt"]).drafts[0].number == 2
    assert lived.eve.claim(5, seen=1).claim.epoch == 6


def test_a_receipt_that_was_removed_comes_back_while_the_journal_holds_it(lived):
    (lived.store / lived.receipt("bob's draft")).unlink()
    (finding,) = lived.examine().findings
    assert finding.path == lived.receipt("bob's draft")
    assert not lived.examine(fix=True).findings
    lived.field.write("bob", "a.txt", "bob's\n")
    assert lived.bob.draft(["a.txt"], receipt=KEYS["bob's draft"]).replayed


@pytest.mark.parametrize("hazard", HAZARDS)
def test_a_damaged_object_spoils_its_own_draft_only_and_comes_back_from_the_draft_s_file(lived, hazard):
    content = lived.me.ls(["a.txt"])[0].drafts[0].draft.sha256
    name = f"objects/{content[:2]}/{content}"
    HAZARDS[hazard](lived.store / name)
    fault = refuses(lambda: lived.me.promote([DraftRef("a.txt", 1)]))
    assert (fault.code, fault.details["file"]) == ("damaged", name)
    assert (lived.field.root / "a.txt").read_text() == "one\n"
    (line,) = lived.me.ls(["a.txt"])[0].drafts
    assert ("damaged" in line.flags) == (hazard != "NULs")
    assert lived.me.promote([DraftRef("d.txt", 1)]).accepted == (7,)
    assert [each.path for each in lived.examine().findings] == [name]
    assert not lived.examine(fix=True).findings
    assert lived.me.promote([DraftRef("a.txt", 1)]).promoted[0].changed
    assert (lived.field.root / "a.txt").read_text() == "bob's\n"


def test_an_object_that_nothing_holds_any_more_is_said_to_be_lost(lived):
    content = lived.me.ls(["a.txt"])[0].drafts[0].draft.sha256
    name = f"objects/{content[:2]}/{content}"
    (lived.field.root / "a.txt.draft-0001@bob").unlink()
    HAZARDS["NULs"](lived.store / name)
    for _ in range(2):
        (finding,) = lived.examine(fix=True).findings
        assert finding.path == name
        assert "a.txt.draft-0001@bob needs it" in finding.message
    assert lived.eve.claim(5, seen=1).claim.epoch == 6


@pytest.mark.parametrize("hazard", HAZARDS)
def test_the_lock_file_may_be_lost_at_any_time(lived, hazard):
    before = {name: (lived.store / name).read_bytes() for name in names_of(lived.store) - {"lock", "journal"}}
    HAZARDS[hazard](lived.store / "lock")
    assert not lived.examine().findings
    assert {name: (lived.store / name).read_bytes() for name in before} == before
    assert lived.ann.renew().claim.epoch == 1
    work_goes_on(lived)


def every_command_needs(lived: Lived) -> list[Callable[[], object]]:
    here = {"clock": lived.field.clock}
    return [
        lambda: Store.open(str(lived.field.root), **here),
        lambda: Store.open(str(lived.field.worktree("bob")), agent="bob", **here),
    ]


@pytest.mark.parametrize("hazard", HAZARDS)
@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_journal_that_cannot_be_read_stops_everything_until_it_is_mended(lived, hazard, checkpointed):
    if checkpointed:
        lived.me.engine.checkpoint()
    HAZARDS[hazard](lived.store / "journal")
    torn = hazard == "NULs appended" or (hazard in ("half", "one byte short") and not checkpointed)
    if torn:  # a torn tail is what a power cut leaves: cut off, and the rest replayed
        assert lived.ann.renew().claim.epoch == 1
    else:
        for call in (*every_command_needs(lived), lived.me.jobs, lived.ann.renew):
            fault = refuses(call)
            assert (fault.code, fault.details["file"], fault.hint) == ("damaged", "journal", "draftfs doctor --fix")
        (finding,) = lived.examine().findings
        assert finding.path == "journal"
        assert not any(lived.examine().checks.values()), "nothing can be said of the others"
        mended = lived.examine(fix=True)
        assert not mended.findings
        assert "nothing is lost" in mended.fixed[0]
        assert lived.ann.renew().claim.epoch == 1
    work_goes_on(lived)


@pytest.mark.parametrize("rebooted", [False, True])
def test_an_invalid_record_before_a_valid_one_is_no_torn_tail(lived, rebooted):
    data = (lived.store / "journal").read_bytes()
    frames = [at for at in range(len(data)) if data.startswith(b"DFJ1 ", at)]
    middle = frames[len(frames) // 2] + 60
    (lived.store / "journal").write_bytes(data[:middle] + bytes(8) + data[middle + 8 :])
    if rebooted:
        lived.field.clock.reboot()
    assert [each.path for each in lived.examine().findings] == ["journal"]
    if rebooted:
        for call in (*every_command_needs(lived), lived.me.jobs):
            assert refuses(call).details["file"] == "journal"
    mended = lived.examine(fix=True)
    assert not mended.findings, mended
    assert ("nothing is lost" in mended.fixed[0]) != rebooted
    work_goes_on(lived)


def test_after_a_power_cut_the_whole_records_of_a_damaged_journal_are_brought_to_the_files(lived):
    """The files fell back to what the disk had; the journal has one record that rotted."""
    data = (lived.store / "journal").read_bytes()
    frames = [at for at in range(len(data)) if data.startswith(b"DFJ1 ", at)]
    rotten = frames[3] + 60
    (lived.store / "journal").write_bytes(data[:rotten] + b"????" + data[rotten + 4 :])
    (lived.store / "lock").write_bytes(b"")
    for name in ("leases/0001.yaml", "jobs/0001.yaml", "counters.yaml", "feed/0000001.jsonl"):
        (lived.store / name).write_bytes(b"")
    mended = lived.examine(fix=True)
    assert not mended.findings, mended
    assert lived.ann.renew().claim.epoch == 1
    work_goes_on(lived)


@pytest.mark.parametrize("hazard", HAZARDS)
def test_without_its_own_record_no_command_does_anything_and_init_makes_nothing_anew(lived, hazard):
    HAZARDS[hazard](lived.store / "store.yaml")
    before = {name: (lived.store / name).read_bytes() for name in names_of(lived.store)}
    calls = [*every_command_needs(lived), lambda: Store.init(str(lived.field.root), clock=lived.field.clock)]
    for call in calls:
        fault = refuses(call)
        assert (fault.code, fault.details["file"], fault.hint) == ("damaged", "store.yaml", "draftfs doctor --fix")
    assert {name: (lived.store / name).read_bytes() for name in names_of(lived.store)} == before
    assert [each.path for each in lived.examine().findings] == ["store.yaml"]
    mended = lived.examine(fix=True)
    assert not mended.findings
    assert "draftfs config" in mended.fixed[0]
    lived.stores = {
        name: lived.field.open(store.repo.top, agent=None if name == "me" else name)
        for name, store in lived.stores.items()
    }
    assert lived.ann.renew().claim.epoch == 1, "the id is the same, so kept tokens count"
    work_goes_on(lived)


def test_an_agent_s_refusal_is_refused_still(lived):
    """The guard of this module: `nothing_is_free` would notice a path that became free."""
    with pytest.raises(Refused, match="held by ann"):
        lived.eve.claim_paths(["docs/spec.md"])
    lived.ann.release()
    with pytest.raises(pytest.fail.Exception):
        nothing_is_free(lived)


def test_damage_survives_pickling_as_itself(lived):
    import pickle

    HAZARDS["empty"](lived.store / "jobs/0001.yaml")
    fault = pickle.loads(pickle.dumps(refuses(lambda: lived.me.job(1))))
    assert isinstance(fault, Damaged)
    assert fault.details["file"] == "jobs/0001.yaml"


@pytest.mark.parametrize("hazard", HAZARDS)
def test_a_store_that_is_open_already_says_so_when_its_own_record_goes(lived, hazard):
    HAZARDS[hazard](lived.store / "store.yaml")
    for fix in (False, True):
        checkup = lived.me.doctor(fix=fix)
        assert [each.path for each in checkup.findings] == ["store.yaml"]
        assert not any(checkup.checks.values())
