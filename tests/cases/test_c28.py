"""C28: hashes that look like numbers are text. (As titles, notes and receipt keys: test_c27.)"""

from __future__ import annotations

import re

import pytest

from tests.cases.odd_text import by_two_readers, cli_json
from tests.support import git


def test_a_short_id_of_digits_e_digits_is_text(field):
    """C28: what git calls a commit is never a number."""
    for number in range(600):
        git("commit", "-q", "--allow-empty", "-m", str(number), cwd=field.root)
        full = git("rev-parse", "HEAD", cwd=field.root).strip()
        found = re.match(r"[0-9]+e[0-9]+", full)
        if found and len(found[0]) >= 4:
            break
        git("reset", "-q", "--soft", "HEAD~1", cwd=field.root)
    else:
        pytest.skip("no such id came")
    short = full[:7]
    field.me.add_job(short, ["x.md"], text=full)
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "x\n")
    field.ann.submit(note=short)
    promoted = field.me.promote(field.me.job_drafts(1), receipt=short)
    record = by_two_readers(field.store / "drafts/docs+spec.md/target.yaml")
    assert record["choice"]["head"] == full
    assert cli_json("receipt", "show", short, cwd=field.root)["receipt"]["answer"]["accepted"] == list(
        promoted.accepted
    )
    assert cli_json("job", "show", "3", cwd=field.root)["job"]["text"] == full
