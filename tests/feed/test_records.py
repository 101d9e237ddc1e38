"""The records of readers: what is checked, what is damaged, what is mended."""

from __future__ import annotations

from dataclasses import replace

import pytest

from draftfs import DraftfsError, layout
from draftfs.engine import yamlfile
from draftfs.records import Filter, HandedOut


def test_readers_whose_names_differ_in_case_have_two_files_everywhere(field):
    """Also on a volume that folds case: the names are told apart in small letters."""
    names = ["Alice", "alice", "ALICE", "aLiCe", "007", "7", "con", "a" * 64, "A" * 64, "a.b", "a-b", "_Ann-Lee"]
    files = {layout.reader(name).name for name in names}
    assert len({file.casefold() for file in files}) == len(names)
    assert not [file for file in files if layout.is_stray(file) or file != file.lower()]
    for name in ("Alice", "alice"):
        field.open(agent=name).read(limit=1)
    field.open(agent="Alice").acknowledge("Alice:1:1")
    assert field.open(agent="alice").read(limit=1).acknowledged == 0


def test_a_damaged_reader_fails_that_reader_only(field):
    field.damaged = True
    r, other = field.open(agent="r"), field.open(agent="other")
    r.acknowledge(r.read(kinds=["job.added"]).page)
    other.read()
    field.me.engine.checkpoint()
    path = field.store / "readers/r.yaml"
    path.write_bytes(path.read_bytes()[:-20])
    for call in (r.read, lambda: r.acknowledge("r:1:1"), lambda: field.me.trim(1)):
        with pytest.raises(DraftfsError) as caught:
            call()
        assert (caught.value.code, caught.value.details["file"]) == ("damaged", "readers/r.yaml")
    other.acknowledge(other.read().page)
    field.me.send(None, "x")
    (finding,) = field.me.doctor().findings
    assert finding.path == "readers/r.yaml"
    assert "G5 feed: positions rise by one, without a gap" in [
        name for name, kept in field.me.doctor().checks.items() if not kept
    ]
    mended = field.me.doctor(fix=True)
    assert (mended.findings, "begins with the feed again" in mended.fixed[0]) == ((), True)
    with pytest.raises(DraftfsError) as caught:
        r.acknowledge("r:1:2")
    assert caught.value.code == "page_fenced", "no page of before can be acknowledged"
    again = r.read(kinds=["job.added"], mine=False)
    assert ([event.position for event in again.events], again.acknowledged) == ([1, 2], 0)
    assert field.me.engine.read(lambda view: view.get(layout.reader("r"))).filter == Filter(("job.added",))


@pytest.mark.parametrize(
    "wrong",
    [
        {"acknowledged": 9},
        {"handed_out": 99},
        {"pages": (HandedOut(2, 2),)},
        {"pages": (HandedOut(0, 2),), "acknowledged": 1},
        {"acknowledged": -1},
    ],
)
def test_positions_that_cannot_be_are_found_and_mended(field, wrong):
    r = field.open(agent="r")
    r.read()
    path = field.store / "readers/r.yaml"
    record = field.me.engine.read(lambda view: view.get(layout.reader("r")))
    field.me.engine.checkpoint()
    path.write_bytes(yamlfile.encode(replace(record, **wrong)))
    (finding,) = field.me.doctor().findings
    assert (finding.kind, finding.path) == ("reader", "readers/r.yaml")
    assert not field.me.doctor(fix=True).findings
    assert r.read().acknowledged == 0


def test_what_lies_among_readers_and_is_none(field):
    field.open(agent="r").read()
    (field.store / "readers/R copy.yaml").write_bytes((field.store / "readers/r.yaml").read_bytes())
    (field.store / "readers/s.yaml").write_bytes((field.store / "readers/r.yaml").read_bytes())
    kinds = {finding.path: finding.kind for finding in field.me.doctor().findings}
    assert kinds == {"readers/R copy.yaml": "stray", "readers/s.yaml": "misplaced"}
    with pytest.raises(DraftfsError, match="belongs into"):
        field.open(agent="s").read()
    assert not field.me.doctor(fix=True).findings
