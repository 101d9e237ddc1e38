from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final

import click

from draftfs.cli._call import FINDINGS, Answer, Call
from draftfs.cli._command import command
from draftfs.cli._show import Paint, count, duration, tsv
from draftfs.codec import to_plain
from draftfs.names import shown, shown_command

if TYPE_CHECKING:
    from draftfs.answers import Checked, Finding

_HEADINGS: Final = {
    "damaged": "damaged records",
    "hook": "hooks that are not active",
    "unadmitted": "commits that nothing admits",
    "tampered": "tampered drafts",
    "missing": "missing drafts",
    "stale": "stale targets",
    "outdated": "outdated drafts",
    "lapsed": "lapsed claims",
    "unrecorded": "unrecorded drafts",
    "unpromoted": "waiting drafts",
}


@command(
    "check",
    "Look once for what needs a person's eye",
    synopsis="[PATH…] [--kind KIND]… [--quiet]",
    examples=["draftfs check", "draftfs check docs --kind stale", "draftfs check --quiet || draftfs ls"],
)
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(list(_HEADINGS)),
    metavar="KIND",
    help=f"Only findings of this kind ({', '.join(_HEADINGS)}); may be given several times.",
)
@click.option("--quiet", is_flag=True, help="Print nothing: the exit status tells.")
def run(call: Call, paths: tuple[str, ...], kinds: tuple[str, ...], quiet: bool) -> Answer:
    """Finds targets that no longer hold the chosen draft (stale), drafts that wait for a decision (unpromoted), whose target
    has moved on (outdated), that were edited (tampered), carried off (missing) or only dropped there (unrecorded), claims
    that lapsed, commits in agents' worktrees that nothing admits, hooks that are not active, and damaged records. Exits with
    6 when there is anything, and says with each what to run. Contents are compared, not times; what git converts (line
    ends, filters) is no change. With PATH only what is at or below it; hooks are left out then.

    In a pipe, one line per finding and tabs between the columns: kind, path, subject (draft, job, commit or hook), age in
    seconds, message, command to run."""
    checked = call.store().check(paths, kinds=kinds or None)
    lines = _table(checked, call.paint) if call.terminal else _pipe(checked)
    return Answer(
        {"findings": to_plain(checked.findings), "notes": list(checked.notes)},
        () if quiet and not call.json else lines,
        warnings=() if quiet else (f"note: {shown(note)}" for note in checked.notes),
        status=FINDINGS if checked.findings else 0,
    )


def _pipe(checked: Checked) -> Iterator[str | bytes]:
    for each in checked.findings:
        age = "" if each.age is None else str(int(each.age))
        repair = shown_command(each.repair or "")
        yield from tsv([[each.kind, each.path, each.subject or "", age, each.message, repair]])


def _table(checked: Checked, paint: Paint) -> Iterator[str]:
    """By kind; findings that differ in nothing but what is said share a command."""
    for at, (kind, group) in enumerate(groupby(checked.findings, key=lambda each: each.kind)):
        found = list(group)
        if at:
            yield ""
        colour = "red" if any(each.severity == "error" for each in found) else "yellow"
        yield f"{paint(colour, _HEADINGS[kind])} ({len(found)})"
        for repair, same in groupby(found, key=lambda each: each.repair):
            yield from map(_line, same)
            if repair is not None:
                yield f"    run: {shown_command(repair)}"
    if not checked.findings:
        yield "nothing to do"
        return
    yield ""
    yield count(len(checked.findings), "finding")


def _line(finding: Finding) -> str:
    age = "" if finding.age is None else f" ({duration(finding.age)})"
    return f"  {shown(finding.message)}{age}"
