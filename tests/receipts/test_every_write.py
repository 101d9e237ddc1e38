"""G1 for every operation that writes: the same request again is answered alike and changes nothing; any other with its
key is refused."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from draftfs.answers import Written
from draftfs.errors import DraftfsError
from draftfs.records import DraftRef, NewJob
from tests.protocol import data, error, records, refused, run

SPEC = DraftRef("docs/spec.md", 1)


def nothing(field):
    pass


def held(field):
    field.ann.claim(1, seen=1)


def edited(field):
    held(field)
    field.write("ann", "docs/spec.md", "v1\n")


def drafted(field):
    held(field)
    field.put("ann", "docs/spec.md", "v1\n")


def handed_in(field):
    drafted(field)
    field.ann.submit()


def chosen(field):
    handed_in(field)
    field.me.promote([SPEC])


def edited_since(field):
    chosen(field)
    field.write("me", "docs/spec.md", "by hand\n")


def moved_on(field):
    handed_in(field)
    field.write("me", "docs/spec.md", "by hand\n")


def turned_down(field):
    handed_in(field)
    field.me.reject([SPEC], because="x")


def empty_handed(field):
    held(field)
    field.ann.submit()


WRITES = {
    "job add": (nothing, lambda f, k: f.me.add_job("x", ["x.md"], receipt=k)),
    "job add, many": (nothing, lambda f, k: f.me.add_jobs([NewJob("x", ("x",)), NewJob("y", ("y",), (1,))], receipt=k)),
    "job edit": (nothing, lambda f, k: f.me.edit_job(1, title="other", receipt=k)),
    "job retry": (nothing, lambda f, k: f.me.retry_job(1, attempts=2, receipt=k)),
    "job cancel": (held, lambda f, k: f.me.cancel_job(1, because="x", receipt=k)),
    "job revoke": (held, lambda f, k: f.me.revoke_job(1, because="x", receipt=k)),
    "job accept": (empty_handed, lambda f, k: f.me.accept_job(1, receipt=k)),
    "job reject": (handed_in, lambda f, k: f.me.reject_job(1, because="x", receipt=k)),
    "claim": (nothing, lambda f, k: f.ann.claim(1, seen=1, receipt=k)),
    "claim --next": (nothing, lambda f, k: f.ann.claim_next(receipt=k)),
    "claim PATH": (nothing, lambda f, k: f.ann.claim_paths(["docs", "x.md"], receipt=k)),
    "renew": (held, lambda f, k: f.ann.renew(receipt=k)),
    "release": (held, lambda f, k: f.ann.release(note="n", receipt=k)),
    "release --failed": (drafted, lambda f, k: f.ann.release(failed=True, receipt=k)),
    "draft": (edited, lambda f, k: f.ann.draft(["docs/spec.md"], note="n", receipt=k)),
    "draft --delete": (held, lambda f, k: f.ann.draft(["docs/spec.md"], delete=True, receipt=k)),
    "submit": (drafted, lambda f, k: f.ann.submit(note="n", receipt=k)),
    "promote": (handed_in, lambda f, k: f.me.promote([SPEC], receipt=k)),
    "promote --undo": (chosen, lambda f, k: f.me.undo(["docs/spec.md"], receipt=k)),
    "regenerate": (edited_since, lambda f, k: f.me.regenerate(receipt=k)),
    "reject": (handed_in, lambda f, k: f.me.reject([SPEC], because="x", receipt=k)),
    "merge": (moved_on, lambda f, k: f.me.merge(SPEC, receipt=k)),
    "tidy": (turned_down, lambda f, k: f.me.tidy(["docs"], receipt=k)),
    "config": (nothing, lambda f, k: f.me.configure("claim.ttl", "20m", receipt=k)),
}


def lasting(answer):
    """What of an answer never changes."""
    names = {each.name for each in fields(Written)}
    plain = replace(answer, **dict.fromkeys(names))
    if hasattr(plain, "drafts"):  # whether a draft's file is there is as of now
        shown = [replace(each, shown=None) if hasattr(each, "shown") else each for each in plain.drafts]
        plain = replace(plain, drafts=tuple(shown))
    return plain


@pytest.mark.parametrize("name", WRITES)
def test_the_same_request_again_changes_nothing(field, name):
    before, write = WRITES[name]
    before(field)
    first = write(field, "K")
    assert (first.replayed, first.receipt) == (False, "K")
    afterwards = records(field)
    for _ in range(2):
        again = write(field, "K")
        assert (again.replayed, again.receipt) == (True, "K")
        assert lasting(again) == lasting(first)
        assert records(field) == afterwards
    info = field.me.receipt("K")
    assert name.startswith(info.operation)
    assert info.answer["receipt" if "receipt" in info.answer else next(iter(info.answer))] is not None


@pytest.mark.parametrize("name", WRITES)
def test_another_request_with_its_key_is_refused(field, name):
    before, write = WRITES[name]
    before(field)
    write(field, "K")
    with refused(field, "receipt_mismatch") as caught:
        field.me.add_job("unlike any other", ["z.md"], receipt="K")
    said = f"{caught.value.message} {caught.value.hint} {caught.value.details}"
    assert "docs/spec.md" not in said
    assert "ann" not in said.replace("cannot", ""), "nothing of the first request is told"


@pytest.mark.parametrize("name", WRITES)
def test_the_same_request_with_another_key_is_another_request(field, name):
    before, write = WRITES[name]
    before(field)
    write(field, "K")
    try:
        code = "replayed" if write(field, "L").replayed else "done anew"
    except DraftfsError as refusal:
        code = refusal.code
    assert code in {"done anew", "job_not_open", "fenced", "path_clash", "no_draft"}


@pytest.mark.parametrize("key", ["", "a\0b", "\ud800", "x" * (257 << 10)])
def test_keys_that_cannot_be_kept_are_refused(field, key):
    """An empty key is nobody's secret: anybody could derive the claim's token from it."""
    with refused(field, "usage"):
        field.ann.claim(1, seen=1, receipt=key)


@pytest.mark.parametrize("key", [" ", "caf\u00e9", "cafe\u0301", "\udcff", "--json", "../../x", "x" * 10_000])
def test_any_other_text_is_a_key_of_its_own(field, key):
    first = field.me.add_job("x", ["x.md"], receipt=key)
    assert field.me.add_job("x", ["x.md"], receipt=key).replayed
    assert field.me.add_job("y", ["y.md"], receipt=f"{key}.").jobs != first.jobs


def test_keys_are_store_wide(field):
    field.ann.claim(1, seen=1, receipt="K")
    with refused(field, "receipt_mismatch"):
        field.bob.claim(1, seen=1, receipt="K")


def test_an_answer_outlives_what_it_is_about(field):
    """What a receipt gives back is the first answer, not what the records say by now."""
    first = field.me.add_job("x", ["x.md"], receipt="K")
    field.me.edit_job(3, title="y", paths=["y.md"])
    field.me.cancel_job(3)
    assert field.me.add_job("x", ["x.md"], receipt="K").jobs == first.jobs


def test_standing_is_told_where_a_claim_is_involved_and_nowhere_else(field):
    assert field.me.add_job("x", ["x.md"]).standing is None
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "v1")
    assert field.ann.renew(receipt="K").standing == "live"
    assert field.ann.release().standing == "released"
    assert field.ann.renew(receipt="K").standing == "released"
    assert field.me.edit_job(1, title="other").standing is None
    assert field.me.configure("claim.ttl", "1h").standing is None


def test_a_receipt_lands_with_its_change_or_not_at_all(field):
    with refused(field, "job_not_open"):
        field.me.accept_job(1, receipt="K")
    with refused(field, "no_receipt"):
        field.me.receipt("K")
    held(field)
    field.ann.submit()
    assert not field.me.accept_job(1, receipt="K").replayed


def test_processes_replay_across_flag_order_spelling_and_folder(real):
    first = data(run(real, "ann", "claim", "--receipt", "K", "--ttl", "60s", "--seen", "1", "1"))
    again = data(run(real, "ann", "claim", "1", "--seen", "1", "--ttl", "1m", "--receipt", "K"))
    assert (again["replayed"], again["standing"]) == (True, "live")
    assert again["claim"]["token"] == first["claim"]["token"]
    real.write("ann", "docs/spec.md", "v1\n")
    drafted = data(run(real, "ann", "draft", "docs/spec.md", "--receipt", "L"))
    again = data(run(real, "ann", "-C", "docs", "draft", "--receipt", "L", "../docs//spec.md"))
    assert (again["replayed"], again["drafts"]) == (True, drafted["drafts"])
    data(run(real, "ann", "submit", "--receipt", "M"))
    assert data(run(real, "ann", "submit", "--receipt", "M"))["standing"] == "submitted"
    error(run(real, "ann", "submit", "--note", "other", "--receipt", "M"), 3, "receipt_mismatch")
    shown = data(run(real, "me", "receipt", "show", "M"))
    assert "submit" in str(shown)
