from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command, usage
from draftfs.cli._show import Paint, Tinted, columns, count, duration, first_words, local, screen, size, tsv
from draftfs.cli.job.list import plain as plain_job
from draftfs.cli.log import in_words
from draftfs.clock import span
from draftfs.codec import to_plain
from draftfs.frozen import frozen
from draftfs.names import shown, shown_command

if TYPE_CHECKING:
    from draftfs.answers import DraftLine, Finding, HeldClaim, MyStatus, Queued, ReaderLine, Status
    from draftfs.records import Event
    from draftfs.repo import Repo

Row = tuple[str, ...]

_ALARMING: Final = frozenset({"tampered", "missing", "outdated", "damaged"})
_STATES: Final = ("open", "claimed", "submitted", "failed")
_REST: Final = 2
"""Lines of the screen for the last one of ours and for the prompt."""
_LEAST: Final = 16


@command(
    "status",
    "Show what waits for you, on one screen",
    synopsis="[--mine | --all]",
    examples=["draftfs status", "draftfs status --mine --json"],
)
@click.option("--mine", "own", is_flag=True, help="Show what is yours: claims, drafts, what you have not read.")
@click.option("--all", "everything", is_flag=True, help="Show all of it, which only agents have to ask for.")
def run(call: Call, own: bool, everything: bool) -> Answer:
    """For a person: the drafts that wait, with job, age, size, lines added and removed, flags; the claims with their time
    left, and who waits for their paths; findings, as from draftfs check, with the command that mends each; readers of the
    feed that lag; jobs that can be claimed or need a decision. Agents, and --mine, see what is their own: claims, with the
    time left and until the next renewal is due, a third of the ttl after the last; drafts; what they have not acknowledged of
    what concerns them, refusals with their reason among it. The last line is the command to run next.

    It fits the terminal; what is left out is counted. In a pipe nothing is left out: one line per thing, tabs between the
    columns, and the first says what it is. draft: file, target, number, author, job, age in seconds, bytes, lines added,
    lines removed, flags. claim: job, holder, epoch, seconds left, seconds to the renewal, drafts, who waits, paths. waiting:
    who, job, seconds left, paths. finding: kind, severity, path, subject, command, message. reader: name, unread, age of the
    oldest in seconds, acknowledged, head. job: number, state (or ready), version, title, paths. over: job, epoch, standing,
    when, why. event: position, when, who, what. next: command."""
    if own and everything:
        usage("--mine and --all exclude each other", "draftfs status --help")
    store = call.store()
    if own or (store.actor.is_agent and not everything):
        mine = store.my_status()
        lines = _screen_of_mine(mine, store.repo, call.paint) if call.terminal else _pipe_of_mine(mine, store.repo)
        return Answer({"mine": to_plain(mine)}, lines, warnings=_words.left_out(mine.damaged))
    found = store.status()
    lines = _screen(found, store.repo, call.paint) if call.terminal else _pipe(found, store.repo)
    said = (f"note: {shown(note)}" for note in found.notes)
    return Answer({"status": _plain(found)}, lines, warnings=chain(_words.left_out(found.damaged), said))


def _plain(found: Status) -> dict[str, Any]:
    jobs = {"ready": [*map(plain_job, found.ready)], "undecided": [*map(plain_job, found.undecided)]}
    return {**to_plain(found), **jobs}


# ── on a terminal ──


@frozen
class _Section:
    """A line that sums it up, rows of which only some may be shown, and the command that lists them all."""

    name: str
    summary: str
    rows: Sequence[Row]
    full: str


def _screen(found: Status, repo: Repo, paint: Paint) -> Iterator[str]:
    width, height = screen()
    sections = [_drafts(found, repo), _claims(found), _findings(found, repo), _readers(found), _jobs(found)]
    yield from _filled(sections, height - _REST, width, paint)
    if found.next is not None:
        yield f"next: {shown_command(found.next)}"


def _filled(sections: Sequence[_Section], height: int, width: int, paint: Paint) -> Iterator[str]:
    """The sections on so many lines, as far as that is possible."""
    shares = _shares([len(each.rows) for each in sections], height - len(sections))
    for section, share in zip(sections, shares, strict=True):
        yield f"{section.name:<9} {section.summary}"
        kept = section.rows if share == len(section.rows) else section.rows[: share - 1]
        yield from (columns(_cut(kept, width - 2), paint, indent="  ") if kept else ())
        if len(kept) < len(section.rows):
            yield f"  and {len(section.rows) - len(kept)} more: {section.full}"


def _cut(rows: Sequence[Row], width: int) -> list[Row]:
    """The rows with their last cells as short as the width wants it."""
    before = sum(max(map(len, cells)) + 2 for cells in list(zip(*rows, strict=True))[:-1] if any(cells))
    room = max(width - before, _LEAST)
    return [(*row[:-1], first_words(row[-1], room) if len(row[-1]) > room else row[-1]) for row in rows]


def _shares(needs: Sequence[int], room: int) -> list[int]:
    """How many rows each section gets: all that it needs, or its share of the room, one at least."""
    shares = [min(need, 1) for need in needs]
    while sum(shares) < min(room, sum(needs)):
        for at, need in enumerate(needs):
            if shares[at] < need and sum(shares) < room:
                shares[at] += 1
    return shares


def _drafts(found: Status, repo: Repo) -> _Section:
    targets = [line for line in found.targets if line.drafts]
    rows = [_draft_row(each, repo) for line in targets for each in line.drafts]
    many = f"{count(len(rows), 'draft')} for {count(len(targets), 'target')}"
    return _Section("drafts", many if rows else "none", rows, "draftfs ls")


def _draft_row(line: DraftLine, repo: Repo) -> Row:
    draft, flags = line.draft, ", ".join(line.flags)
    return (
        _words.draft_file(draft, repo),
        "" if draft.job is None else f"job {draft.job}",
        duration(line.age),
        "delete" if draft.delete else size(draft.size),
        "" if line.added is None else f"+{line.added} -{line.removed}",
        Tinted.of("yellow", flags) if _ALARMING & set(line.flags) else flags,
    )


def _claims(found: Status) -> _Section:
    alone = [each for each in found.waiting if not any(each.who in claim.waiting for claim in found.claims)]
    rows = [_claim_row(each) for each in found.claims] + [_waiting_row(each) for each in alone]
    waits = f", {len(found.waiting)} waiting" if found.waiting else ""
    return _Section("claims", f"{len(found.claims)} held{waits}" if rows else "none", rows, "draftfs status | cat")


def _claim_row(claim: HeldClaim) -> Row:
    waiting = f"{', '.join(map(shown, claim.waiting))} waiting" if claim.waiting else ""
    drafts = count(claim.drafts, "draft") if claim.drafts else ""
    left = f"{span(claim.expires_in)} left" if claim.expires_in else "lapsed"
    late = claim.renew_in <= -claim.ttl / 3
    return (
        f"job {claim.job}",
        shown(claim.holder),
        Tinted.of("yellow", left) if late else left,
        drafts,
        waiting,
        _words.paths(claim.paths),
    )


def _waiting_row(each: Queued) -> Row:
    what = f"job {each.job}" if each.job is not None else _words.paths(each.paths) or "any job"
    return ("", shown(each.who), f"{span(each.expires_in)} left", "", "waiting", what)


def _findings(found: Status, repo: Repo) -> _Section:
    kinds = dict.fromkeys(each.kind for each in found.findings)
    counts = ", ".join(f"{sum(each.kind == kind for each in found.findings)} {kind}" for kind in kinds)
    rows = list(dict.fromkeys(_finding_row(each, repo) for each in found.findings))  # four hooks, and one command
    return _Section("findings", counts or "none", rows, "draftfs check")


def _finding_row(each: Finding, repo: Repo) -> Row:
    kind = Tinted.of("red", each.kind) if each.severity == "error" else each.kind
    told = shown_command(each.repair) if each.repair else shown(each.message)
    return (kind, shown(_words.typed(repo, each.path)) if each.path else "", told)


def _readers(found: Status) -> _Section:
    rows = [(shown(each.reader), _unread(each), f"the oldest for {duration(each.age)}") for each in found.readers]
    return _Section("readers", f"{len(rows)} behind" if rows else "none behind", rows, "draftfs status | cat")


def _unread(line: ReaderLine) -> str:
    return f"{line.unread}{' or more' if line.more else ''} unread"


def _jobs(found: Status) -> _Section:
    counts = {state: found.jobs[state] for state in _STATES if state in found.jobs}
    ready = f" ({len(found.ready)} ready)" if "open" in counts else ""
    summary = ", ".join(f"{number} {state}{ready if state == 'open' else ''}" for state, number in counts.items())
    rows: list[Row] = [
        (
            f"job {line.job.id}",
            Tinted.of("red", "failed") if line.job.state == "failed" else line.job.state,
            shown(line.job.title),
        )
        for line in found.undecided
    ]
    rows += [(f"job {line.job.id}", "ready", shown(line.job.title)) for line in found.ready]
    return _Section("jobs", summary or "none", rows, "draftfs job list")


def _screen_of_mine(mine: MyStatus, repo: Repo, paint: Paint) -> Iterator[str]:
    width, height = screen()
    top = list(_my_claims(mine))
    for name, line in top:
        yield f"{name:<9} {first_words(line, width - 10)}"
    drafts = [(_words.draft_file(each, repo), f"job {each.job}", local(each.created_at)) for each in mine.drafts]
    events = [_event_row(each) for each in mine.unread]
    many = f"{len(events)}{' or more' if mine.more else ''}"
    sections = [
        _Section("drafts", f"{len(drafts)} waiting for a person" if drafts else "none waiting", drafts, "draftfs ls"),
        _Section("unread", many if events else "none", events, "draftfs read"),
    ]
    yield from _filled(sections, height - len(top) - _REST, width, paint)
    yield f"next: {shown_command(mine.next)}" if mine.next is not None else "no job is left"


def _my_claims(mine: MyStatus) -> Iterator[tuple[str, str]]:
    if not mine.claims:
        yield "claim", "none"
    for claim in mine.claims:
        yield "claim", f"job {claim.job}, {shown(claim.title or '?')}: {_words.paths(claim.paths)}"
        due = "renewal is due" if claim.renew_in <= 0 else f"renew in {span(claim.renew_in)}"
        kept = "" if claim.job in mine.kept else "; its token is not kept in this worktree"
        yield "", f"epoch {claim.epoch}, live, {span(claim.expires_in)} left, {due}{kept}"
    if mine.over is not None:
        why = f", {mine.over.note}" if mine.over.note else ""
        yield "over", f"job {mine.over.job}, epoch {mine.over.epoch}: {mine.over.standing} {local(mine.over.at)}{why}"


def _event_row(event: Event) -> Row:
    return local(event.at), shown(event.actor), shown(in_words(event))


# ── in a pipe ──


def _pipe(found: Status, repo: Repo) -> Iterator[str | bytes]:
    return tsv([*_rows(found, repo), *_next(found.next)])


def _rows(found: Status, repo: Repo) -> Iterator[Row]:
    for line in (each for target in found.targets for each in target.drafts):
        draft = line.draft
        name = _words.typed(repo, draft.file), _words.typed(repo, draft.target)
        counts = int(line.age), draft.size, line.added, line.removed
        yield _row("draft", *name, draft.number, draft.author, draft.job, *counts, ",".join(line.flags))
    for claim in found.claims:
        yield _claim_cells(claim)
    for each in found.waiting:
        yield _row("waiting", each.who, each.job, int(each.expires_in), *each.paths)
    for finding in found.findings:
        path = _words.typed(repo, finding.path) if finding.path else ""
        yield _row("finding", finding.kind, finding.severity, path, finding.subject, finding.repair, finding.message)
    for reader in found.readers:
        yield _row("reader", reader.reader, reader.unread, int(reader.age), reader.acknowledged, reader.head)
    for state, jobs in (("", found.undecided), ("ready", found.ready)):
        for one in jobs:
            yield _row("job", one.job.id, state or one.job.state, one.job.version, one.job.title, *one.job.paths)


def _pipe_of_mine(mine: MyStatus, repo: Repo) -> Iterator[str | bytes]:
    return tsv([*_rows_of_mine(mine, repo), *_next(mine.next)])


def _rows_of_mine(mine: MyStatus, repo: Repo) -> Iterator[Row]:
    for claim in mine.claims:
        yield _claim_cells(claim)
    if mine.over is not None:
        yield _row("over", mine.over.job, mine.over.epoch, mine.over.standing, mine.over.at, mine.over.note)
    for draft in mine.drafts:
        name = _words.typed(repo, draft.file), _words.typed(repo, draft.target)
        yield _row("draft", *name, draft.number, draft.author, draft.job)
    for event in mine.unread:
        yield _row("event", event.position, event.at, event.actor, in_words(event))


def _claim_cells(claim: HeldClaim) -> Row:
    times = int(claim.expires_in), int(claim.renew_in)
    return _row(
        "claim", claim.job, claim.holder, claim.epoch, *times, claim.drafts, ",".join(claim.waiting), *claim.paths
    )


def _next(command: str | None) -> Iterable[Row]:
    return [("next", command)] if command is not None else []


def _row(*cells: object) -> Row:
    return tuple("" if cell is None else str(cell) for cell in cells)
