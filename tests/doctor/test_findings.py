"""The self-check sees each way in which a store can disagree with itself, names the guarantee, and raises no false alarm."""

from __future__ import annotations

import random

import pytest

from draftfs import BadRequest, Fenced, NotFound, Refused
from draftfs.doctor import GUARANTEES
from draftfs.engine import yamlfile
from draftfs.layout import key_named
from draftfs.records import DraftRef
from tests.damage.lived import edit
from tests.support import git


@pytest.fixture
def store(field):
    """A store with something of everything; its journal begins anew, so that only the records themselves can tell."""
    field.damaged = True
    field.me.add_job("third", ["c.md"], after=[2])
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "v1\n")
    field.put("ann", "docs/spec.md", "v2\n")
    field.bob.claim(2, seen=1)
    field.put("bob", "a.txt", "b1\n")
    field.bob.submit()
    field.me.promote([DraftRef("a.txt", 1)])
    field.me.engine.checkpoint()
    assert not field.me.doctor().findings
    return field


DISAGREEMENTS = {
    # what: file, old text, new text, guarantees that are broken
    "a counter of jobs behind": ("counters.yaml", "job: 3", "job: 2", "G8"),
    "a counter of epochs behind": ("counters.yaml", "epoch: 2", "epoch: 1", "G8"),
    "a wrong number of leases": ("counters.yaml", "live: 1", "live: 2", "G8"),
    "a counter of positions behind": ("counters.yaml", "position: 11", "position: 10", "G8"),
    "a counter of positions ahead": ("counters.yaml", "position: 11", "position: 12", "G5 G10"),
    "a claimed job without holder": ("jobs/0001.yaml", 'holder: "ann"', "holder: null", "G2 G4"),
    "an open job whose attempts are used up": ("jobs/0003.yaml", "used: 0", "used: 3", "G2"),
    "more attempts than there are": ("jobs/0003.yaml", "used: 0", "used: 4", "G2"),
    "an unknown predecessor": ("jobs/0003.yaml", "after:\n  - 2", "after:\n  - 7", "G2"),
    "a job of an earlier epoch": ("jobs/0001.yaml", "epoch: 1", "epoch: 0", "G2 G4"),
    "a lease of somebody else": ("leases/0001.yaml", 'holder: "ann"', 'holder: "eve"', "G4"),
    "a lease of another epoch": ("leases/0001.yaml", "epoch: 1", "epoch: 2", "G4"),
    "a lease of other paths": ("leases/0001.yaml", '- "docs/spec.md"', '- "docs"', "G4"),
    "a claim of another epoch": ("claims/0002/2.yaml", "epoch: 2", "epoch: 1", "G4 G10"),
    "a receipt of the future": ("receipts/*/*", "position: 4", "position: 400", "G8"),
    "a receipt of no job": ("receipts/*/*", "job: 1", "job: 100", "G1"),
    "a receipt with another answer": ("receipts/*/*", 'operation: "claim"', 'operation: "draft"', "G1"),
    "a draft of another number": ("drafts/docs+spec.md/0001.yaml", "number: 1", "number: 3", "G6 G10"),
    "a draft of another target": ("drafts/docs+spec.md/0001.yaml", "docs/spec.md", "docs/spam.md", "G6 G10"),
    "a decided draft that waits": ("drafts/docs+spec.md/0001.yaml", '"superseded"', '"waiting"', "G6"),
    "an undecided draft that is not listed": (
        "drafts/docs+spec.md/target.yaml",
        "undecided:\n  - 2",
        "undecided: []",
        "G6",
    ),
    "a last number that is behind": ("drafts/docs+spec.md/target.yaml", "last: 2", "last: 1", "G8"),
    "a choice nobody promoted": ("drafts/a.txt/0001.yaml", '"promoted"', '"superseded"', "G7"),
    "a draft of other bytes": ("drafts/docs+spec.md/0002.yaml", "size: 3", "size: 4", "G6"),
    "an unknown state": ("drafts/a.txt/0001.yaml", '"promoted"', '"lost"', "G6 G10"),
}


@pytest.mark.parametrize("what", DISAGREEMENTS)
def test_a_disagreement_is_found_under_its_guarantee(store, what):
    pattern, old, new, guarantees = DISAGREEMENTS[what]
    path = next(path for path in sorted(store.store.glob(pattern)) if old in path.read_text())
    edit(path, old, new, recheck=True)
    checkup = store.me.doctor()
    broken = {name.split()[0] for name, holds in checkup.checks.items() if not holds}
    assert set(guarantees.split()) <= broken, checkup.findings
    for _ in range(2):  # what can be mended is mended, and the rest does no harm to it
        mended = store.me.doctor(fix=True)
        assert {finding.path for finding in mended.findings} <= {finding.path for finding in checkup.findings}
        assert all(finding.repair is None for finding in mended.findings if finding.kind != "object"), mended


def test_each_guarantee_is_one_line_and_holds_in_a_healthy_store(store):
    checks = store.me.doctor().checks
    assert [name.split()[0] for name in checks] == [f"G{number}" for number in range(1, 11)] == list(GUARANTEES)
    assert all(checks.values())


def test_two_claims_of_one_epoch_are_found(store):
    store.bob.claim_paths(["new.md"])
    store.me.engine.checkpoint()
    for name in ("leases/0004.yaml", "jobs/0004.yaml"):
        edit(store.store / name, "epoch: 3", "epoch: 1", recheck=True)
    found = store.me.doctor()
    assert "epoch" in {finding.kind for finding in found.findings}
    assert not found.checks["G4 tokens: every claim has its own epoch, and one lease while it is live"]


def test_a_job_in_both_folders_is_found_and_the_finished_one_stays(store):
    done = (store.store / "done/0002.yaml").read_bytes()
    record = yamlfile.decode(key_named("done/0002.yaml").kind, done, "done/0002.yaml")
    (store.store / "jobs/0002.yaml").write_bytes(
        yamlfile.encode(record.__class__(**{**vars(record), "state": "submitted"}))
    )
    assert "twice" in {finding.kind for finding in store.me.doctor().findings}
    assert not store.me.doctor(fix=True).findings
    assert store.me.job(2).job.state == "accepted"
    assert not (store.store / "jobs/0002.yaml").exists()


def test_looking_changes_nothing(store):
    before = {path: path.read_bytes() for path in store.store.rglob("*") if path.is_file()}
    for _ in range(3):
        store.me.doctor()
    store.me.doctor(fix=True)
    assert {path: path.read_bytes() for path in store.store.rglob("*") if path.is_file()} == before


def test_what_people_and_git_do_beside_the_store_is_no_damage(store):
    git("clean", "-qfdx", cwd=store.root)
    (store.root / "a.txt").write_text("by hand\n")
    (store.root / "docs/spec.md").unlink()
    (store.root / "c.md.draft-0001@stranger").write_text("dropped\n")
    git("worktree", "remove", "--force", str(store.worktree("bob")), cwd=store.root)
    assert not store.me.doctor().findings


@pytest.mark.parametrize("seed", range(6))
def test_no_walk_through_the_protocol_raises_an_alarm(field, seed):
    """Whatever is done, in whatever order, refused or not: the store agrees with itself after every step."""
    dice = random.Random(seed)
    agents = [field.agent(name) for name in ("ann", "bob", "cat")]
    me, paths = field.me, ["a.txt", "docs/spec.md", "x.md", "d/y.md"]
    me.add_job("contest", ["d"], contest=2)
    me.add_job("later", ["x.md"], after=[1], attempts=1)

    def draft(agent):
        path = dice.choice(paths)
        field.write(agent.actor.name, path, str(dice.random()))
        return agent.draft([path], delete=dice.random() < 0.1)

    def decide(refs):
        return dice.choice(
            [lambda: me.promote(refs, force=dice.random() < 0.5), lambda: me.reject(refs, because="x")]
        )()

    def waiting():
        refs = [DraftRef(line.target, each.draft.number) for line in me.ls() for each in line.drafts]
        return [dice.choice(refs)] if refs else []

    number = lambda: dice.choice(me.jobs()).job  # noqa: E731
    steps = [
        lambda agent: agent.claim_next(ttl=dice.choice([1, 60, 3600]), adopt=True),
        lambda agent: agent.claim_paths([dice.choice(paths)], adopt=True),
        draft,
        draft,
        lambda agent: agent.submit(),
        lambda agent: agent.release(failed=dice.random() < 0.5),
        lambda agent: agent.renew(),
        lambda _: decide(waiting()),
        lambda _: decide(waiting()),
        lambda _: me.add_job("more", [dice.choice(paths)]),
        lambda _: me.edit_job(number().id, title="again"),
        lambda _: me.retry_job(number().id),
        lambda _: me.revoke_job(number().id, because="x"),
        lambda _: me.reject_job(number().id, because="x"),
        lambda _: me.accept_job(number().id),
        lambda _: me.cancel_job(number().id) if dice.random() < 0.3 else None,
        lambda _: field.clock.advance(dice.choice([1, 90, 4000])),
        lambda _: field.clock.reboot() if dice.random() < 0.2 else me.engine.checkpoint(),
    ]
    done = 0
    for _ in range(60):
        try:
            dice.choice(steps)(dice.choice(agents))
            done += 1
        except (BadRequest, Refused, Fenced, NotFound, IndexError):
            pass  # refused, or no job is left to choose from
        checkup = me.doctor()
        assert not checkup.findings, checkup.findings
    assert done > 20
