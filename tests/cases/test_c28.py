"""C28: hashes that look like numbers are text. (As titles, notes and receipt keys: test_c27.)"""

from __future__ import annotations

import re

import pytest

from tests.cases.odd_text import by_two_readers, cli_json
from tests.support import git


def commit_that_looks_like_a_number(field) -> str:
    """The id of a commit on main that begins with digits, e, digits."""
    for number in range(600):
        git("commit", "-q", "--allow-empty", "-m", str(number), cwd=field.root)
        full = git("rev-parse", "HEAD", cwd=field.root).strip()
        found = re.match(r"[0-9]+e[0-9]+", full)
        if found and len(found[0]) >= 4:
            break
        git("reset", "-q", "--soft", "HEAD~1", cwd=field.root)
    else:
        pytest.skip("no such id came")
    return full


def test_a_short_id_of_digits_e_digits_is_text(field):
    """C28: what git calls a commit is never a number."""
    full = commit_that_looks_like_a_number(field)
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


def test_as_a_range(site):
    """The part of the id that is digits, e, digits names the commit where git finds it to be unique."""
    full = commit_that_looks_like_a_number(site.field)
    short = re.match(r"[0-9]+e[0-9]+", full)[0][:7]
    site.hold("bob", "a.txt")
    site.git("me", "checkout", "-qb", "number", full)
    site.write("me", "a.txt", "late\n")
    site.git("me", "commit", "-qam", "x")
    site.git("me", "checkout", "-q", "main")
    (found,) = site.run("me", "verify", f"{short}..number", status=6)["findings"]
    assert site.run("me", "verify", f"{short}^..{short}")["findings"] == []
    vouched = site.run("me", "admit", f"{short}..number", "--because", short)
    assert vouched["admitted"][0]["commit"] == found["commit"]
    assert site.run("me", "verify", f"{short}..number")["findings"] == []
    assert site.run("me", "log")["events"][-1]["data"]["because"] == short
