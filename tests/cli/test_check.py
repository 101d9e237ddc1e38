"""`draftfs check`: findings by kind for people, by line for pipes, as JSON for programs; exit status 6 for any."""

from __future__ import annotations

import json

import pytest

from draftfs.check import KINDS
from draftfs.cli import check
from draftfs.cli._show import Paint
from draftfs.git import hooks
from tests.support import draftfs


@pytest.fixture
def waiting(real):
    hooks.install(str(real.root))
    real.ann.claim(1, seen=1)
    real.put("ann", "docs/spec.md", "new\n")
    real.ann.submit()
    return real


def test_nothing_is_status_zero_and_anything_six(real):
    hooks.install(str(real.root))
    clean = draftfs("check", cwd=real.root)
    assert (clean.status, clean.out, clean.err) == (0, "", "")
    (real.root / "a.txt.draft-0001@eve").write_text("x")
    assert draftfs("check", cwd=real.root).status == 6
    assert draftfs("check", "--kind", "stale", "--kind", "missing", cwd=real.root).status == 0
    assert draftfs("check", "docs", cwd=real.root).status == 0


def test_json_has_every_field_under_its_name(waiting):
    ran = draftfs("check", "--json", cwd=waiting.root)
    answer = json.loads(ran.out)
    assert (ran.status, answer["ok"], answer["data"]["notes"]) == (6, True, [])
    (finding,) = answer["data"]["findings"]
    age = finding.pop("age")
    assert 0 <= age < 60
    assert finding == {
        "kind": "unpromoted",
        "path": "docs/spec.md",
        "message": "docs/spec.md.draft-0001@ann waits",
        "repair": "draftfs promote -- docs/spec.md.draft-0001@ann",
        "severity": "warning",
        "subject": None,
        "number": 1,
        "job": 1,
    }


def test_quiet_says_it_by_the_status_alone_and_pipes_get_columns(waiting):
    quiet = draftfs("check", "--quiet", cwd=waiting.root)
    assert (quiet.status, quiet.out, quiet.err) == (6, "", "")
    cells = draftfs("check", cwd=waiting.root / "docs").out.rstrip("\n").split("\t")
    assert cells[:3] == ["unpromoted", "docs/spec.md", ""]
    assert cells[4:] == [
        "docs/spec.md.draft-0001@ann waits",
        "draftfs promote -- spec.md.draft-0001@ann",
    ]


def test_an_unknown_kind_is_refused_with_those_that_there_are(real):
    ran = draftfs("check", "--kind", "old", cwd=real.root)
    assert ran.status == 2
    assert "unrecorded" in ran.err


def test_every_kind_has_its_heading_in_the_order_of_gravity():
    assert tuple(check._HEADINGS) == KINDS


def test_the_table_groups_by_kind_and_says_a_command_once(field):
    lines = list(check._table(field.me.check(), Paint(on=False)))
    assert lines[0] == "hooks that are not active (4)"
    assert [line for line in lines if line.startswith("    run: ")] == [
        f"    run: draftfs -C {field.root} hooks install"
    ]
    assert lines[-1] == "4 findings"
    assert list(check._table(field.me.check(["docs"]), Paint(on=False))) == ["nothing to do"]
