"""Numbers to rows of the table."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One line of the table: what was done, what was measured, and that as a ratio within the run."""

    what: str
    measured: str
    ratio: str


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table, its columns aligned."""
    lines = [Row("What", "Measured", "Ratio"), *rows]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    drawn = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    rule = "-|-".join("-" * width for width in widths)
    return "\n".join([f"| {drawn[0]} |", f"|-{rule}-|", *(f"| {line} |" for line in drawn[1:])])


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest of `values` that `percent` of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * percent / 100), len(ordered) - 1)]


def median_ratio(measured: Sequence[float], baseline: Sequence[float]) -> float:
    """The median over the rounds of measured / baseline, both of the same round."""
    return statistics.median(mine / base for mine, base in zip(measured, baseline, strict=True))


def times(ratio: float, of: str) -> str:
    return f"{ratio:.2f} x {of}" if ratio < 9.995 else f"{ratio:,.0f} x {of}"


def rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s" if per_second >= 99.5 else f"{per_second:.1f}/s"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.2f}" if seconds < 0.00995 else f"{seconds * 1000:,.1f}"


def spread(seconds: Sequence[float]) -> str:
    """p50, p99 and maximum, in ms."""
    three = (percentile(seconds, 50), percentile(seconds, 99), max(seconds))
    return f"{' / '.join(milliseconds(each) for each in three)} ms"
