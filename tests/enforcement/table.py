"""Writes the tables of docs/ENFORCEMENT.md from the rows that the tests measure: `python -m tests.enforcement.table`."""

from __future__ import annotations

import re

from tests.enforcement.evasions import EVASIONS, VERIFY, Evasion
from tests.enforcement.operations import OPERATIONS, PUSH, RECV, Operation
from tests.enforcement.scene import ROOT

PAGE = ROOT / "docs" / "ENFORCEMENT.md"
_TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def renewed(page: str) -> str:
    """The page with its tables as the rows are now."""
    tables = {"operations": _operations(), "evasions": _evasions()}
    return _TABLE.sub(lambda found: f"{found[1]}{tables[found[2]]}{found[3]}", page)


def _operations() -> str:
    head = ("operation", "our hooks that git runs", "the late worker", "left behind", "the way out")
    return _table(head, [_operation(each) for each in OPERATIONS])


def _operation(row: Operation) -> tuple[str, ...]:
    hooks = ", ".join(row.hooks)
    if not row.by:
        return row.name, hooks, "passes", "", ""
    refused = f"refused by {row.by}" + (" *" if row.holder else "")
    out = f"`{row.out}`" if row.out else row.shown
    return row.name, hooks, refused, ", ".join(_LEFT.get(each, each) for each in row.left), out


_LEFT = {"index": "staged changes", "files": "edited files"}


def _evasions() -> str:
    return _table(
        ("attempt by the late worker", "what comes of it"), [(each.name, _came_to(each)) for each in EVASIONS]
    )


def _came_to(row: Evasion) -> str:
    if row.by:
        return "refused by git itself" if row.by == "git" else f"refused by {row.by}"
    if not row.found:
        return f"out of reach: {row.because}"
    names = [f"`{each}`" if each == VERIFY else each for each in row.found]
    only = "" if {VERIFY, PUSH, RECV} == set(row.found) else " only"
    return f"passes here; found by {', '.join(names)}{only}"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
