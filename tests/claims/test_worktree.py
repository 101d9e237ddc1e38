"""The worktree that a claim is made in: whose it is, what it starts from, and where its token is kept."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from draftfs import layout
from draftfs.errors import BadRequest, Fenced, Refused
from tests.protocol import data, error, refused, run
from tests.support import git


def lease(field, job):
    return field.me.engine.read(lambda view: view.get(layout.lease(job)))


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def commit(where, path, text):
    (where / path).parent.mkdir(parents=True, exist_ok=True)
    (where / path).write_text(text)
    git("add", "-A", "--", path, cwd=where)
    git("commit", "-q", "-m", path, cwd=where)


# ── whose it is ──


def test_a_worktree_has_one_holder(field):
    field.ann.claim(1, seen=1)
    in_hers = field.open(field.worktree("ann"), agent="bob")
    with refused(field, "worktree_held") as caught:
        in_hers.claim(2, seen=1)
    assert caught.value.details["holder"] == "ann"
    assert "worktree add" in caught.value.hint
    field.ann.release()
    assert in_hers.claim(2, seen=1).claim.holder == "bob"


def test_a_lapsed_holder_holds_no_worktree(field):
    field.ann.claim(1, seen=1, ttl=10)
    field.clock.advance(10)
    assert field.open(field.worktree("ann"), agent="bob").claim(2, seen=1).standing == "live"


def test_one_agent_holds_several_claims_in_one_worktree(field):
    one, two = field.ann.claim(1, seen=1), field.ann.claim(2, seen=1)
    for ambiguous in (field.ann.renew, field.ann.submit, field.ann.release):
        with refused(field, "usage") as caught:
            ambiguous()
        assert "1, 2" in caught.value.message
        assert "--job" in caught.value.hint
    assert field.ann.renew(job=2).claim.epoch == two.claim.epoch
    assert field.ann.renew(token=one.claim.token).claim.job == 1
    (info,) = field.put("ann", "a.txt", "two\n").drafts
    assert info.job == 2, "the claim that covers the path"
    with refused(field, "usage"):
        field.ann.draft(["docs/spec.md", "a.txt"])
    assert field.ann.submit(job=1).job.id == 1
    assert field.ann.submit().job.id == 2, "the one that is left"


def test_an_agent_does_not_claim_in_the_root_but_a_person_may(field):
    in_root = field.open(agent="ann")
    for call in (lambda: in_root.claim(1, seen=1), lambda: in_root.claim_paths(["x"]), in_root.claim_next):
        with refused(field, "claim_in_root") as caught:
            call()
        assert "worktree add" in caught.value.hint
    claimed = field.me.claim(1, seen=1)
    assert claimed.standing == "live"
    (field.root / "docs/spec.md").write_text("mine\n")
    assert field.me.draft(["docs/spec.md"]).drafts[0].author.startswith("_")
    (field.root / "docs/spec.md").write_text("v0\n")
    assert field.me.submit().job.state == "submitted"


def test_the_holder_is_remembered_for_later_commands(field):
    field.ann.claim(1, seen=1)
    assert field.open(field.worktree("ann")).actor.name == "ann"
    assert field.open(field.worktree("ann")).actor.is_agent


# ── what it starts from ──


def test_uncommitted_leftovers_are_refused_or_adopted(field):
    field.write("ann", "docs/spec.md", "leftovers")
    with refused(field, "dirty_worktree") as caught:
        field.ann.claim(1, seen=1)
    assert "docs/spec.md" in caught.value.message
    assert "--adopt" in caught.value.hint
    field.ann.claim(1, seen=1, adopt=True)
    (base,) = lease(field, 1).bases
    assert base.content.sha256 == sha("v0\n"), "the base stays what people had"


def test_committed_leftovers_are_refused_or_adopted(field):
    commit(field.worktree("ann"), "docs/spec.md", "leftovers\n")
    with refused(field, "dirty_worktree"):
        field.ann.claim(1, seen=1)
    field.ann.claim(1, seen=1, adopt=True)
    assert lease(field, 1).bases[0].content.sha256 == sha("v0\n")


@pytest.mark.parametrize("change", ["delete", "mode", "untracked"])
def test_any_difference_counts_as_leftovers(field, change):
    file = field.worktree("ann") / "docs/spec.md"
    if change == "delete":
        file.unlink()
    elif change == "mode":
        file.chmod(0o755)
    else:
        (file.parent / "new.md").write_text("x")
    with refused(field, "dirty_worktree"):
        field.ann.claim_paths(["docs/new.md" if change == "untracked" else "docs/spec.md"])


def test_leftovers_elsewhere_do_not_count(field):
    field.write("ann", "a.txt", "leftovers")
    assert field.ann.claim(1, seen=1).newer == ()


def test_the_base_is_the_roots_bytes_where_the_worktree_holds_them(field):
    """Also where people have not committed them yet."""
    (field.root / "docs/spec.md").write_text("v1, not committed\n")
    field.write("ann", "docs/spec.md", "v1, not committed\n")
    claimed = field.ann.claim(1, seen=1)
    assert (claimed.newer, lease(field, 1).bases[0].content.sha256) == ((), sha("v1, not committed\n"))


def test_the_base_is_the_merge_bases_where_the_root_is_newer(field):
    field.worktree("ann")
    commit(field.root, "docs/spec.md", "v1\n")
    claimed = field.ann.claim(1, seen=1)
    assert claimed.newer == ("docs/spec.md",)
    assert lease(field, 1).bases[0].content.sha256 == sha("v0\n")
    git("merge", "-q", "main", cwd=field.worktree("ann"))
    field.ann.release()
    again = field.ann.claim(1, seen=field.version(1))
    assert (again.newer, lease(field, 1).bases[0].content.sha256) == ((), sha("v1\n"))


def test_a_file_that_is_not_there_yet_has_no_base(field):
    field.ann.claim_paths(["new.md"])
    assert lease(field, 3).bases[0].content is None


def test_a_folders_base_is_a_commit(field):
    field.ann.claim_paths(["docs"])
    head = git("rev-parse", "HEAD", cwd=field.root).strip()
    assert [(base.path, base.commit) for base in lease(field, 3).bases] == [("docs", head)]
    (info,) = field.put("ann", "docs/spec.md", "v1").drafts
    assert info.base_sha256 == sha("v0\n")
    field.ann.release()
    commit(field.root, "docs/spec.md", "v1\n")
    field.write("ann", "docs/spec.md", "v0\n")
    assert field.ann.claim_paths(["docs"]).newer == ("docs",)


def test_base_contents_are_kept_as_objects(field):
    field.ann.claim(1, seen=1)
    digest = lease(field, 1).bases[0].content.sha256
    assert (field.store / layout.object_file(digest)).read_bytes() == b"v0\n"


# ── where its token is kept ──


def tokens_in(field, name="ann"):
    folder = field.ann.worktree.folder if name == "ann" else field.agent(name).worktree.folder
    return sorted(each for each in os.listdir(folder) if each.startswith("claim-"))


def test_kept_tokens_are_secret_and_outlive_the_process(field):
    token = field.ann.claim(1, seen=1).claim.token
    (name,) = tokens_in(field)
    path = Path(field.ann.worktree.folder, name)
    assert json.loads(path.read_text())["token"] == token
    assert path.stat().st_mode & 0o777 == 0o600
    assert field.ann.renew().claim.epoch == 1


def test_a_successors_token_takes_the_place_of_an_older_one(field):
    for _ in range(3):
        field.ann.claim(1, seen=field.version(1))
        field.ann.release()
    assert tokens_in(field) == ["claim-1-3.json"]
    with refused(field, "fenced") as caught:
        field.ann.renew()
    assert "was released" in caught.value.message


def test_tokens_of_claims_that_are_over_do_not_pile_up(field):
    from draftfs.holdings import OVER_KEPT

    for number in range(OVER_KEPT + 5):
        field.ann.claim_paths([f"x-{number}.md"])
        field.ann.release()
    field.ann.claim(1, seen=1)
    assert len(tokens_in(field)) == OVER_KEPT + 1
    assert field.ann.renew().claim.job == 1


def test_a_repeated_end_finds_its_claim_though_another_is_held_by_now(field):
    field.ann.claim(1, seen=1)
    first = field.ann.submit(receipt="K")
    field.ann.claim(2, seen=1)
    again = field.ann.submit(receipt="K")
    assert (again.replayed, again.job) == (True, first.job)
    assert field.ann.renew().claim.job == 2


def test_a_repeated_end_finds_its_claim_by_the_token_alone(field):
    """Also from a checkout that keeps nothing."""
    token = field.ann.claim(1, seen=1).claim.token
    elsewhere = field.open(field.worktree("carl"), agent="ann")
    first = elsewhere.submit(token=token, receipt="K")
    again = elsewhere.submit(token=token, receipt="K")
    assert (again.replayed, again.job) == (True, first.job)


def test_without_a_token_nothing_is_written(field):
    field.ann.claim(1, seen=1)
    for call in (field.bob.renew, field.bob.submit, lambda: field.bob.release(job=1)):
        with refused(field, "no_token") as caught:
            call()
        assert "draftfs claim" in caught.value.hint
    assert "ann holds it until" in caught.value.message


def test_another_stores_kept_token_is_none_here(field):
    from draftfs.worktree import Kept

    token = field.ann.claim(1, seen=1).claim.token
    field.bob.worktree.keep(Kept(1, 1, token, "bob", "some other store"))
    with refused(field, "no_token") as caught:
        field.bob.renew()
    assert "another store's" in caught.value.message


def test_a_token_of_no_job_named_is_looked_for(field):
    token = field.ann.claim(1, seen=1).claim.token
    carl = field.agent("carl")
    assert carl.renew(token=token).claim.job == 1
    field.ann.release()
    with pytest.raises(Fenced):
        carl.renew(token=token)


def test_a_damaged_lease_hides_no_other_claim(field):
    field.damaged = True
    hers, his = field.ann.claim(1, seen=1).claim.token, field.bob.claim(2, seen=1).claim.token
    field.me.engine.checkpoint()
    (field.store / "leases" / "0001.yaml").write_bytes(b"torn")
    carl = field.agent("carl")
    assert carl.renew(token=his).claim.job == 2
    with pytest.raises(Exception, match="0001") as caught:
        carl.renew(token=hers)
    assert caught.value.code == "damaged"


def test_a_new_worktree_inherits_nothing(field):
    field.ann.claim(1, seen=1)
    top = field.ann.add_worktree(str(field.base / "fresh"), agent="ann")
    fresh = field.open(top)
    assert (fresh.actor.name, fresh.worktree.kept()) == ("ann", ())
    with pytest.raises(Refused):
        fresh.renew()
    with pytest.raises(BadRequest):
        field.me.add_worktree(str(field.base / "bad"), agent="../x")


def test_processes_find_what_the_worktree_keeps(real):
    claimed = data(run(real, "ann", "claim", "1", "--seen", "1"))
    token = claimed["claim"]["token"]
    data(run(real, "ann", "claim", "2", "--seen", "1"))
    error(run(real, "ann", "renew"), 2, "usage")
    assert data(run(real, "ann", "renew", "--job", "2"))["claim"]["job"] == 2
    assert data(run(real, "bob", "renew", "--token", token))["claim"]["job"] == 1
    error(run(real, "bob", "renew", "--token", token, "--job", "2"), 4, "fenced")
    held = real.open(real.worktree("ann"), agent="bob")
    with pytest.raises(Refused) as caught:
        held.claim_paths(["x"])
    assert caught.value.code == "worktree_held"
