from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli._call import FINDINGS, Answer, Call
from draftfs.cli._command import command
from draftfs.cli._show import Paint, count
from draftfs.codec import to_plain
from draftfs.names import shown, shown_command

if TYPE_CHECKING:
    from draftfs.answers import Checkup


@command(
    "doctor",
    "Check that every guarantee holds on disk",
    synopsis="[--fix]",
    examples=["draftfs doctor", "draftfs doctor --fix"],
)
@click.option("--fix", is_flag=True, help="Mend what can be mended without a guess.")
def run(call: Call, fix: bool) -> Answer:
    """Reads all records and contents of the store. Exits with 6 when something is left to look at, and says with each finding
    what to run."""
    from draftfs.store import Store

    checkup = Store.examine(call.folder, fix=fix, **call.options())
    return Answer(
        to_plain(checkup),
        _lines(checkup, call.paint),
        changed=bool(checkup.fixed),
        status=FINDINGS if checkup.findings else 0,
    )


def _lines(checkup: Checkup, paint: Paint) -> Iterator[str]:
    for fixed in checkup.fixed:
        yield f"fixed: {shown(fixed)}"
    for finding in checkup.findings:
        yield f"{paint('red' if finding.severity == 'error' else 'yellow', finding.severity)}: {shown(finding.message)}"
        if finding.repair is not None:
            yield f"  repair: {shown_command(finding.repair)}"
    broken = [name for name, holds in checkup.checks.items() if not holds]
    holding = len(checkup.checks) - len(broken)
    yield f"{count(holding, 'guarantee')} checked and kept" + (f"; broken: {', '.join(broken)}" if broken else "")
