from __future__ import annotations

import click

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command, usage
from draftfs.cli._difference import difference


@command(
    "diff",
    "Show what a draft would change",
    synopsis="DRAFT [DRAFT | --base]",
    examples=[
        "draftfs diff docs/spec.md.draft-0003@ann",
        "draftfs diff docs/spec.md.draft-0003@ann docs/spec.md.draft-0004@bob",
        "draftfs diff docs/spec.md 3 --base | delta",
    ],
)
@click.argument("drafts", nargs=-1, metavar="DRAFT…")
@click.option("--base", is_flag=True, help="Compare with what its author started from, not with the target of now.")
def run(call: Call, drafts: tuple[str, ...], base: bool) -> Answer:
    """Compares a draft with its target, with what its author started from, or with another draft. On a terminal it goes through
    git's pager, and control characters are escaped; in a pipe it is exact. Exits with 0 whether or not they differ."""
    if not drafts:
        usage("name the draft to compare", "draftfs ls")
    store = call.store()
    refs = store.draft_refs(drafts)
    if len(refs) > 2 or (base and len(refs) > 1):
        usage("compare one draft, or two with each other", "draftfs diff DRAFT [DRAFT | --base]")
    found = difference(store.sides(refs[0], refs[1] if len(refs) == 2 else None, base=base))
    shown = call.terminal or call.color == "always"
    return Answer(found.plain() if call.json else {}, found.shown(call.paint) if shown else found.exact(), paged=True)
