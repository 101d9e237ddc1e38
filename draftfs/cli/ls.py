from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.cli._show import Paint, Tinted, columns, count, duration, first_words, size, terminal_width, tsv
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import DraftLine, TargetLine
    from draftfs.repo import Repo

_ALARMING: Final = frozenset({"tampered", "missing", "outdated", "conflicts"})


@command(
    "ls",
    "List the drafts that wait, by the file they propose to replace",
    synopsis="[PATH…] [--all]",
    examples=["draftfs ls", "draftfs ls docs", "draftfs ls | fzf | cut -f1 | xargs draftfs diff"],
)
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--all", "everything", is_flag=True, help="List decided drafts, too: promoted, rejected, superseded.")
def run(call: Call, paths: tuple[str, ...], everything: bool) -> Answer:
    """Of each draft: its file, its job, its age, its size, lines added and removed against the target, flags, and how its note
    begins. Flags: outdated (the target has moved on since), tampered, missing, mode (the executable bit changes), binary,
    abandoned (its claim ended before it was submitted), conflicts (a merge left marks in it), unrecorded (somebody put the file
    there; promote records it). Unrecorded files are looked for beside known targets, and in the folders named by PATH.

    In a pipe, one line per draft and tabs between the columns: file, target, number, author, job, age in seconds, bytes,
    lines added, lines removed, flags, state, note."""
    store = call.store()
    targets = store.ls(paths, everything=everything)
    calling = [each for each in targets if each.drafts or each.stale or paths or everything]
    lines = _listing(calling, store.repo, call) if call.terminal else _pipe(targets, store.repo)
    return _words.listed("targets", targets, to_plain, lines)


def _pipe(targets: Sequence[TargetLine], repo: Repo) -> Iterator[str | bytes]:
    for line in (each for target in targets for each in target.drafts):
        draft = line.draft
        facts = (
            _words.typed(repo, draft.file),
            _words.typed(repo, draft.target),
            draft.number,
            draft.author,
            draft.job,
        )
        counts = (int(line.age), draft.size, line.added, line.removed)
        row = (*facts, *counts, ",".join(line.flags), draft.state, draft.note)
        yield from tsv(["" if cell is None else str(cell) for cell in row] for _ in "1")


def _listing(targets: Sequence[TargetLine], repo: Repo, call: Call) -> Iterator[str]:
    if not any(target.drafts for target in targets):
        yield from _chosen_only(targets, repo, call.paint)
        yield "no draft waits"
        yield "next: draftfs job list"
        return
    # One table over all targets, so that the columns line up from target to target.
    table = iter(
        columns(
            [_row(each, repo) for target in targets for each in target.drafts],
            call.paint,
            indent="  ",
            right=frozenset({2, 3}),
        )
    )
    for at, target in enumerate(targets):
        if at:
            yield ""
        yield _heading(target, repo, call.paint)
        for each in target.drafts:
            line = next(table)
            note = first_words(each.draft.note, max(terminal_width() - len(line) - 2, 24))
            yield f"{line}  {note}".rstrip()


def _chosen_only(targets: Sequence[TargetLine], repo: Repo, paint: Paint) -> Iterator[str]:
    return (_heading(target, repo, paint) for target in targets)


def _heading(target: TargetLine, repo: Repo, paint: Paint) -> str:
    name = shown(_words.typed(repo, target.target))
    if target.chosen is None:
        return name
    author = next((each.draft.author for each in target.drafts if each.draft.number == target.chosen), None)
    chosen = f"chosen: {target.chosen}" + (f" by {author}" if author else "")
    return f"{name}  {chosen}" + (paint("red", ", stale: the file no longer holds it") if target.stale else "")


def _row(line: DraftLine, repo: Repo) -> tuple[str, ...]:
    draft = line.draft
    flags = ", ".join(count(draft.conflicts, "conflict") if each == "conflicts" else each for each in line.flags)
    lines = "" if line.added is None else f"+{line.added} -{line.removed}"
    return (
        _words.draft_file(draft, repo),
        "" if draft.job is None else f"job {draft.job}",
        duration(line.age),
        "delete" if draft.delete else size(draft.size),
        lines,
        Tinted.of("yellow", flags) if _ALARMING & set(line.flags) else flags,
    )
