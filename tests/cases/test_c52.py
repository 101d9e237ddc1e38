"""C52: a retry long after. (Clearing receipts comes with `gc`; keys of one's own are kept for ever.)"""

from __future__ import annotations

from draftfs.records import DraftRef
from tests.protocol import records


def test_a_key_of_ones_own_answers_for_ever(field):
    year = 365 * 24 * 3600
    claimed = field.ann.claim(1, seen=1, receipt="claim")
    field.write("ann", "docs/spec.md", "v1\n")
    drafted = field.ann.draft(["docs/spec.md"], receipt="draft")
    field.ann.submit(receipt="submit")
    field.me.promote([DraftRef("docs/spec.md", 1)], receipt="promote")
    added = field.me.add_job("x", ["x.md"], receipt="add")
    field.bob.claim_paths(["docs/spec.md"], adopt=True)
    field.put("bob", "docs/spec.md", "v2\n")
    field.bob.submit()
    field.me.promote([DraftRef("docs/spec.md", 2)], force=True)
    field.clock.jump_wall(year)
    field.clock.advance(year)
    field.me.jobs()
    before = records(field)
    again = field.ann.claim(1, seen=1, receipt="claim")
    assert (again.replayed, again.standing, again.claim.token) == (True, "submitted", claimed.claim.token)
    assert field.ann.draft(["docs/spec.md"], receipt="draft").drafts[0].number == drafted.drafts[0].number
    assert field.ann.submit(receipt="submit").replayed
    assert field.me.promote([DraftRef("docs/spec.md", 1)], receipt="promote").replayed, "no choice is turned back"
    assert field.me.add_job("x", ["x.md"], receipt="add").jobs == added.jobs
    assert records(field) == before
