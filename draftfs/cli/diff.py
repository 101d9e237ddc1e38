from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, command, usage
from draftfs.cli._difference import Difference, difference
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.listing import Sides
    from draftfs.store import Store


@command(
    "diff",
    "Show what a draft would change",
    synopsis="DRAFT [DRAFT | --base] | --job N  [--stat] [--word-diff] [--difftool]",
    examples=[
        "draftfs diff docs/spec.md.draft-0003@ann",
        "draftfs diff docs/spec.md.draft-0003@ann docs/spec.md.draft-0004@bob",
        "draftfs diff docs/spec.md 3 --base | delta",
        "draftfs diff --job 7 --stat",
    ],
)
@click.argument("drafts", nargs=-1, metavar="DRAFT…")
@click.option("--base", is_flag=True, help="Compare with what its author started from, not with the target of now.")
@click.option("--job", type=Number(1), metavar="N", help="Show all drafts of this submitted job that wait.")
@click.option("--stat", is_flag=True, help="Only count lines.")
@click.option("--word-diff", is_flag=True, help="Mark words, [-gone-]{+new+}, not lines.")
@click.option("--difftool", is_flag=True, help="Open git's configured difftool on copies, and on the target itself.")
@click.option("--tool", metavar="NAME", help="As --difftool, with this tool of git's.")
def run(
    call: Call,
    drafts: tuple[str, ...],
    base: bool,
    job: int | None,
    stat: bool,
    word_diff: bool,
    difftool: bool,
    tool: str | None,
) -> Answer:
    """Compares a draft with its target, with what its author started from, or with another draft. Git's settings for differences
    and the target's attributes count; programs that they name (textconv, external diffs) are not run. On a terminal it goes
    through git's pager, and control characters are escaped; in a pipe it is exact. Exits with 0 whether or not they differ."""
    if bool(drafts) == (job is not None):
        usage("name either the draft to compare or a job", "draftfs ls")
    store = call.store()
    sides = _sides(store, drafts, job, base=base)
    if difftool or tool is not None:
        if call.json:
            usage("a difftool is opened at a terminal, and --json prints", "leave one of the two out")
        from draftfs.cli._difftool import open_tool

        open_tool(sides, tool, terminal=call.interactive)
        return Answer({})
    found = [difference(each, words=word_diff and not stat) for each in sides]
    return Answer(_plain(found) if call.json else {}, _lines(found, call, stat=stat), paged=True)


def _sides(store: Store, drafts: Sequence[str], job: int | None, *, base: bool) -> list[Sides]:
    if job is not None:
        return [store.sides(ref, base=base) for ref in store.job_drafts(job)]
    refs = store.draft_refs(drafts)
    if len(refs) > 2 or (base and len(refs) > 1):
        usage("compare one draft, or two with each other", "draftfs diff DRAFT [DRAFT | --base]")
    return [store.sides(refs[0], refs[1] if len(refs) == 2 else None, base=base)]


def _plain(found: Sequence[Difference]) -> dict[str, Any]:
    diffs = [each.plain() for each in found]
    return {**(diffs[0] if len(diffs) == 1 else {}), "diffs": diffs}


def _lines(found: Sequence[Difference], call: Call, *, stat: bool) -> Iterator[str | bytes]:
    for each in found:
        if stat:
            yield from each.summary(call.paint)
        elif call.terminal or call.color == "always":
            yield from each.shown(call.paint)
            if each.text() == b"":
                yield f"{shown(each.sides.after_name)} is no different from {shown(each.sides.before_name)}"
        else:
            yield from each.exact()
