"""docs/ARCHITECTURE.md says what the code says: tables, examples, names and links."""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
from pathlib import Path

import pytest

from draftfs import layout
from draftfs.codec import from_plain
from draftfs.doctor import GUARANTEES
from draftfs.engine import journal, mark, yamlfile
from draftfs.records import Event, Lease
from draftfs.rules.jobs import TRANSITIONS
from tests.docs.session import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")])
PAGE = (ROOT / "docs/ARCHITECTURE.md").read_text("utf-8")


def _rows(heading: str) -> list[list[str]]:
    """The body of the first table behind a heading, as cells."""
    table = PAGE.partition(f"{heading}\n")[2].partition("\n| ")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def _example(name: str) -> str:
    found = re.search(rf"<!-- example: {name} -->\n```\w*\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found, name
    return found[1]


def test_the_transitions_of_a_job_are_those_of_the_code():
    """The table has every way through the states, in the order of the code, and no other."""
    listed = [((before, event), after) for before, event, after in _rows("## 4. The states of a job")]
    assert listed == list(TRANSITIONS.items())


def test_every_folder_and_file_of_the_store_is_listed():
    """Each name that layout makes stands in the table of files, in the form that it makes."""
    listed = {row[0].strip("`") for row in _rows("### In the store")}
    sha = "3fa9" + 60 * "0"
    made = {
        layout.STORE.name,
        layout.COUNTERS.name,
        layout.LOCK,
        layout.JOURNAL,
        layout.RESERVE,
        layout.job(7).name,
        layout.done(7).name,
        layout.lease(7).name,
        layout.ended_claim(7, 17).name,
        layout.receipt(sha).name.replace(sha, "3fa9…"),
        layout.draft("PATH", 3).name,
        layout.target("PATH").name,
        layout.admitted("PATH").name,
        layout.reader("ann").name,
        layout.object_file("abcd" + 60 * "0").replace(60 * "0", "…"),
        layout.segment(1),
        layout.ticket(7),
        f"{layout.STAGING}/",
        layout.STAMPS,
        f"{layout.SET_ASIDE}/",
    }
    assert listed == made
    assert {name.partition("/")[0] for name in listed} >= set(layout.FOLDERS)


def test_a_target_path_becomes_the_file_name_that_the_page_shows():
    assert layout.escape("docs/a b.md") == "docs+a%20b.md"
    assert "`docs/a b.md` is `docs+a%20b.md`" in PAGE


def test_the_example_of_a_record_is_one():
    """Header, checksum, fields and types are what the reader of records takes, and the writer writes."""
    data = _example("lease").encode()
    lease = yamlfile.decode(Lease, data, "leases/0001.yaml")
    assert lease.deadline_ns == lease.ttl * 10**9 + 86_460 * 10**9
    assert (
        yamlfile.encode(lease).partition(b"\n# ")[2].partition(b"\n")[2]
        == data.partition(b"\n# ")[2].partition(b"\n")[2]
    )


def test_the_example_of_a_journal_is_one():
    """Frames, lengths and checksums fit; the record marks the pending effect as done."""
    data = _example("journal").encode()
    found = journal.parse(data, "journal")
    assert (found.head["base"], found.last, found.has_tail) == (3, 4, False)
    assert found.records == ((4, {"done": [found.head["pending"][0]["id"]]}),)
    assert journal.frame(found.head["salt"], 4, found.records[0][1]) in data


def test_the_example_of_a_mark_fits_the_example_of_a_journal():
    found = mark.decode(_example("mark").encode())
    data = _example("journal").encode()
    assert found is not None
    head = journal.parse(data, "journal").head
    assert (found.sequence, found.end, found.count, found.salt, found.pending) == (4, len(data), 1, head["salt"], 0)


def test_the_example_of_an_event_is_one():
    event = from_plain(Event, json.loads(_example("event")))
    assert [each.name for each in dataclasses.fields(event)] == list(json.loads(_example("event")))


def test_each_guarantee_has_its_line():
    """G1 to G10, as `doctor` checks them, each with a place in the code and a file that shows it."""
    rows = _rows("## 6. Where each guarantee lives")
    assert [row[0] for row in rows] == list(GUARANTEES)
    for row in rows:
        assert re.search(r"`[a-z_.]+:\w", row[2]), row
        assert re.search(r"`(?:tests|bench)/[\w/]+\.py", row[3]), row


def test_every_module_and_function_named_exists():
    """`rules.claims:fence` is found by importing it."""
    named = {pair for page in PAGES for pair in re.findall(r"`([a-z_.]+):([A-Za-z_][\w.]*)`", page.read_text("utf-8"))}
    assert named
    for module, path in sorted(named):
        found = importlib.import_module(f"draftfs.{module}")
        for name in path.split("."):
            found = getattr(found, name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_named_exists(page: Path):
    """Whatever is written as a path of this repository is one; `FILE::NAME` names a test, or a part of its name."""
    for name, _, test in re.findall(
        r"`((?:draftfs|tests|docs|sample_repo|bench)/[\w./-]*\w)(::(\w+))?`", page.read_text("utf-8")
    ):
        file = ROOT / name
        assert file.exists(), f"{page.name}: {name}"
        assert not test or f"def {test}" in file.read_text("utf-8"), f"{page.name}: {name}::{test}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_internal_link_leads_somewhere(page: Path):
    """Files that are linked to are there, and so are the headings."""
    for link in re.findall(r"\]\(([^)#\s]*(?:#[^)\s]*)?)\)", page.read_text("utf-8")):
        if link.startswith("http"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE)
            assert anchor in {_anchor(heading) for heading in headings}, f"{page.name}: {link}"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
