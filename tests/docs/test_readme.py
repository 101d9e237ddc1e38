"""The README cannot rot: its examples run as they stand, its tables are the code's, its links lead somewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from draftfs.cli._app import GROUPS
from draftfs.errors import CODES
from tests.docs.session import ROOT, Session, Step, alike, steps
from tests.support import draftfs

README = (ROOT / "README.md").read_text("utf-8")


@dataclass
class Tour:
    """What came of every step of the page, in order, and where it left its files."""

    folder: Path
    ran: list[tuple[Step, str, int]]

    def statuses(self, command: str) -> list[int]:
        return [status for step, _, status in self.ran if step.text == command]


@pytest.fixture(scope="module")
def tour(tmp_path_factory) -> Tour:
    session = Session(tmp_path_factory.mktemp("readme"))
    return Tour(session.base / "tour", [(step, session.run(step), session.status) for step in steps(README)])


def test_every_example_prints_what_the_page_shows(tour):
    """All console blocks and programs run in one session, in order; only times, durations and ids may differ."""
    assert len(tour.ran) > 20
    for step, printed, status in tour.ran:
        assert alike(printed) == alike(step.shown), f"README.md:{step.line}: {step.text}\n{printed}"
        assert status == 0 or step.kind == "console", printed


def test_the_tour_ends_as_the_page_tells(tour):
    """The late worker's writes were refused with status 4, the choice is on disk, and the store is well."""
    assert tour.statuses("draftfs draft data/recipes.csv") == [4]
    assert tour.statuses("draftfs submit") == [0, 4]
    chosen = (tour.folder / "bakery/data/recipes.csv").read_bytes()
    assert chosen == (tour.folder / "bob/data/recipes.csv").read_bytes()
    assert chosen != (tour.folder / "ann/data/recipes.csv").read_bytes()
    checked = draftfs("doctor", cwd=tour.folder / "bakery")
    assert checked.status == 0, checked.err


def _status_table() -> dict[int, set[str]]:
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]*)\|$", README, re.MULTILINE)
    return {int(status): set(re.findall(r"`(\w+)`", codes)) for status, codes in rows}


def test_the_table_of_exit_statuses_is_that_of_the_code():
    """Every code stands in the row of its status, and no other code stands there."""
    expected: dict[int, set[str]] = {status: set() for status in range(9)}
    for code, kind in CODES.items():
        expected[kind.exit_status].add(code)
    assert _status_table() == expected


def test_codes_that_are_not_given_yet_are_not_in_the_source():
    """The list is as short as it can be: whoever begins to raise one of them takes it off."""
    listed = README.partition("not given yet: ")[2].partition(".\n")[0]
    codes = set(re.findall(r"`(\w+)`", listed))
    assert codes <= set(CODES)
    # errors.py lists all codes, and the command line knows which answers leave a question open.
    lists = {"draftfs/errors.py", "draftfs/cli/_run.py"}
    for file in sorted((ROOT / "draftfs").rglob("*.py")):
        if str(file.relative_to(ROOT)) not in lists:
            assert not codes & set(re.findall(r'"(\w+)"', file.read_text("utf-8"))), file


def test_every_command_on_the_page_exists():
    """Whatever is written as a command of draftfs is one."""
    known = {name for group in GROUPS.values() for name in group} | {"COMMAND"}
    for words in re.findall(r"(?:`|\$ )draftfs ([^`\n]*)", README):
        first, _, rest = words.partition(" ")
        name = first if first in known or first.startswith("-") else f"{first} {rest.split(' ')[0]}"
        assert name in known or name.startswith("-"), words


def test_make_has_the_targets_that_the_page_names():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in set(re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_benchmark_has_its_place():
    assert README.index("<!-- bench -->") < README.index("<!-- /bench -->")
