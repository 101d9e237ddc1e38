from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli._call import FINDINGS, Answer, Call
from draftfs.cli._command import command, usage
from draftfs.cli._show import count
from draftfs.git import refusal

if TYPE_CHECKING:
    from draftfs.git.gate import Judged


@command(
    "verify",
    "Find commits that nothing admits: what got past the hooks, or would not get past them",
    synopsis="[RANGE | --staged]",
    examples=["draftfs verify main..job-7-17", "draftfs verify", "draftfs verify --staged"],
)
@click.argument("range_", required=False, metavar="RANGE")
@click.option("--staged", is_flag=True, help="Judge what is staged, as a commit made here and now.")
def run(call: Call, range_: str | None, staged: bool) -> Answer:
    """RANGE is A..B, or one revision: what people's branches do not have of it (HEAD unless given). A change of a path that
    was ever reserved is admitted when it was made under a claim that was not lost or turned down, promoted, or vouched
    for with draftfs admit. Exits with 6 when something is not."""
    if staged and range_ is not None:
        usage("RANGE and --staged exclude each other", "draftfs verify --help")
    store = call.store()
    judged = store.verify_staged(call.index()) if staged else store.verify(range_)
    data = {"findings": [refusal.plain(each) for each in judged.findings]}
    return Answer(data, _lines(judged, range_), status=FINDINGS if judged.findings else 0)


def _lines(judged: Judged, range_: str | None) -> Iterator[str]:
    for finding in judged.findings:
        yield refusal.line(finding)
    if not judged.findings:
        yield "all is admitted"
        return
    yield f"{count(len(judged.findings), 'change')} that nothing admits"
    if range_ is not None:
        yield f"a person can vouch for them: draftfs admit {range_} --because TEXT"
