"""docs/ENFORCEMENT.md shows what the other tests of this folder measure."""

from __future__ import annotations

from tests.enforcement.table import PAGE, renewed


def test_the_tables_are_the_measured_ones():
    page = PAGE.read_text("utf-8")
    assert page.count("<!-- table: ") == 2
    assert renewed(page) == page, "python -m tests.enforcement.table writes them anew"
