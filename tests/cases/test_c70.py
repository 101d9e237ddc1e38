"""C70: the counter starts over. An old token is fenced whatever happened to the store, and no new one equals it."""

from __future__ import annotations

import shutil

import pytest

from draftfs import Store
from draftfs.errors import DraftfsError
from tests.support import Field

LAST = 50


def old_tokens(field: Field, last: int = LAST) -> dict[int, str]:
    """ann claims and releases job 1 until epoch `last`, each time under a key of her own."""
    ann, version, tokens = field.ann, field.version(1), {}
    first = max([0, *(event.data["epoch"] for event in field.me.log(limit=999) if event.kind == "claim.taken")])
    for epoch in range(first + 1, last + 1):
        claimed = ann.claim(1, seen=version, receipt=f"key {epoch}")
        assert claimed.claim.epoch == epoch
        tokens[epoch] = str(claimed.claim.token)
        version = ann.release().job.version
    return tokens


def refused(call) -> DraftfsError:
    with pytest.raises(DraftfsError) as caught:
        call()
    return caught.value


def assert_fenced(field: Field, token: str, code: str = "fenced") -> None:
    field.write("ann", "docs/spec.md", "late\n")
    ann = field.ann
    for call in (
        lambda: ann.renew(job=1, token=token),
        lambda: ann.draft(["docs/spec.md"], job=1, token=token),
        lambda: ann.submit(job=1, token=token),
        lambda: ann.release(job=1, token=token),
    ):
        assert refused(call).code == code


def test_a_checkpoint_forgets_no_epoch(field):
    """(a), as far as there is a `gc`: what it does to the journal."""
    tokens = old_tokens(field)
    field.me.engine.checkpoint()
    claimed = field.bob.claim(1, seen=field.version(1))
    assert claimed.claim.epoch == 51
    assert_fenced(field, tokens[40])


@pytest.mark.parametrize("journalled", [True, False])
def test_a_claim_whose_lease_is_gone_is_not_free(field, journalled):
    """(b)"""
    field.damaged = True
    tokens = old_tokens(field, 41)
    cat = field.agent("cat")
    live = cat.claim(1, seen=field.version(1))
    if not journalled:
        field.me.engine.checkpoint()
    (field.store / "leases/0001.yaml").unlink()
    version = field.me.jobs()[0].job.version
    assert refused(lambda: field.bob.claim(1, seen=version)).code == "damaged"
    assert refused(lambda: field.bob.claim_paths(["docs/spec.md"])).code == "damaged"
    assert_fenced(field, tokens[40], "damaged")
    assert not field.me.doctor(fix=True).findings
    assert_fenced(field, tokens[40])
    if journalled:
        assert cat.renew().claim.epoch == live.claim.epoch
    else:
        assert refused(cat.renew).code == "fenced"
        assert field.bob.claim(1, seen=field.version(1)).claim.epoch == 43


def test_a_store_made_anew_is_another_store(field):
    """(c)"""
    token = field.ann.claim(1, seen=1, receipt="key 1").claim.token
    root, clock = str(field.root), field.clock
    shutil.rmtree(field.store)
    gone = refused(field.open)
    assert (gone.code, gone.exit_status) == ("no_store", 5)
    assert "gone" in gone.message
    assert refused(lambda: field.ann).code == "no_store"
    assert not field.store.exists(), "nothing is made anew in silence"
    Store.init(root, clock=clock)
    field.me.add_job("write the spec", ["docs/spec.md"])
    kept = refused(field.ann.renew)
    assert kept.code == "no_token"
    assert "another store's" in kept.message
    field.bob.claim(1, seen=1)
    assert_fenced(field, str(token))
    field.bob.release()
    again = field.ann.claim(1, seen=field.version(1), receipt="key 1", adopt=True)
    assert again.claim.token != token, "the store's id is part of every token"


@pytest.mark.parametrize("fix", [False, True])
def test_a_copy_of_the_store_from_an_earlier_epoch_gives_no_token_twice(field, fix):
    """(d)"""
    field.damaged = True  # without the repair the counter stays behind the tokens that worktrees keep
    tokens = old_tokens(field, 30)
    shutil.copytree(field.store, field.base / "copy")
    tokens |= old_tokens(field)
    shutil.rmtree(field.store)
    shutil.copytree(field.base / "copy", field.store)
    assert_fenced(field, tokens[40])
    (finding,) = field.me.doctor().findings
    assert (finding.kind, finding.path) == ("counter", "counters.yaml")
    assert "older copy of the store was put back" in finding.message
    if fix:
        assert not field.me.doctor(fix=True).findings
    bob, version, given = field.bob, field.version(1), {}
    for _ in range(10):
        claimed = bob.claim(1, seen=version)
        given[claimed.claim.epoch] = claimed.claim.token
        version = bob.release().job.version
    assert sorted(given) == list(range(LAST + 1, LAST + 11) if fix else range(31, 41))
    assert not set(given.values()) & set(tokens.values())
    live = bob.claim(1, seen=version)
    assert_fenced(field, tokens[40])
    if not fix:
        assert live.claim.epoch == 41
        assert_fenced(field, tokens[41])
        assert "draftfs doctor" in refused(lambda: field.ann.renew(job=1, token=tokens[50])).message
    # The claimant who comes back with the key of then is the same claimant; nobody else has that token.
    bob.release()
    again = field.ann.claim(1, seen=field.version(1), receipt="key 42", adopt=True)
    assert (again.claim.token == tokens[42]) == (not fix)


def test_the_commits_of_all_four(guarded):
    """A commit in the worktree that keeps the old token."""
    site, field = guarded, guarded.field
    field.damaged = True
    tokens = old_tokens(field, 12)
    shutil.copytree(field.store, field.base / "copy")
    tokens |= old_tokens(field, 20)
    claim_again = ("claim", "1", "--seen", str(field.version(1)))

    def late() -> str:
        site.write("ann", "docs/spec.md", "late\n")
        return site.blocked("ann", DRAFTFS_TOKEN=tokens[20]) + site.blocked("ann")

    field.me.engine.checkpoint()  # (a)
    site.run("bob", *claim_again)
    assert "held by bob until" in late()
    field.me.engine.checkpoint()
    (field.store / "leases/0001.yaml").unlink()  # (b)
    late()
    assert not field.me.doctor(fix=True).findings
    late()
    shutil.rmtree(field.store)  # (c)
    assert "is gone" in late()
    assert "is gone" in site.git("me", "commit", "--allow-empty", "-qm", "x").err
    Store.init(str(field.root), clock=field.clock)
    field.me.add_job("write the spec", ["docs/spec.md"])
    site.run("bob", "claim", "1", "--seen", "1", "--adopt")
    assert "held by bob until" in late()
    shutil.rmtree(field.store)  # (d)
    shutil.copytree(field.base / "copy", field.store)
    late()
