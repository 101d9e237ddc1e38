from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from draftfs.cli import _decided, _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, command, usage
from draftfs.cli._difference import Difference, difference
from draftfs.cli._show import columns, duration
from draftfs.cli._streams import STDIN
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import Decided, Promoted, Undone
    from draftfs.records import DraftRef
    from draftfs.store import Store

_HINT = "draftfs ls, then draftfs promote DRAFT…"


@command(
    "promote",
    "Choose drafts: make their targets hold them",
    synopsis="[DRAFT… | TARGET N | --job N | --undo TARGET…] [--dry-run | --plan DIGEST] …",
    examples=[
        "draftfs promote docs/spec.md.draft-0003@ann",
        "draftfs promote docs/spec.md 3 --dry-run",
        "draftfs promote --job 7 --commit",
        "draftfs promote --undo docs/spec.md",
    ],
    writes=True,
)
@click.argument("drafts", nargs=-1, metavar="DRAFT…")
@click.option("--job", type=Number(1), metavar="N", help="Promote all drafts of this submitted job that wait.")
@click.option("--undo", is_flag=True, help="Bring back what the last promotion of each of these targets replaced.")
@click.option("--yes", is_flag=True, help="Do not ask. Off a terminal nothing ever asks.")
@click.option("--dry-run", is_flag=True, help="Show what would change and the plan's digest, and change nothing.")
@click.option("--plan", metavar="DIGEST", help="Do exactly what a dry run showed under this digest, or nothing.")
@click.option("--force", is_flag=True, help="Promote although the target has moved on since the draft was written.")
@click.option("--commit", is_flag=True, help="Commit these targets, and nothing else, whatever is staged.")
@click.option("--message", metavar="TEXT", help="The message of that commit, instead of ours.")
def run(
    call: Call,
    drafts: tuple[str, ...],
    job: int | None,
    undo: bool,
    yes: bool,
    dry_run: bool,
    plan: str | None,
    force: bool,
    commit: bool,
    message: str | None,
) -> Answer:
    """All are promoted, or none. A job whose last draft is decided is accepted. What a target held is kept: a hand edit that
    nobody had recorded becomes a draft of its own. Without a draft, on a terminal, it lists those that wait to choose from.
    For people only.

    An undo goes one promotion back: the target's bytes, what was chosen before, and the acceptance that came of it, unless a
    job that comes after has been claimed. --commit runs your own hooks; where they rewrite a file, that is what is chosen."""
    _require_sense(drafts, job, undo=undo, dry_run=dry_run, plan=plan, commit=commit, message=message)
    store = call.store()
    if not drafts and job is None:
        drafts = _chosen(store, call)
    meant = _Meant(store, drafts, job, undo=undo, force=force)
    if dry_run:
        return _plan(meant, call)
    if call.interactive and not yes:
        plan = _ask(meant, call, plan)
    decided = meant.decide(plan=plan, commit=commit, message=message, receipt=call.receipt)
    return _words.written(decided, _decided.lines(decided, store.repo, commit=commit))


def _require_sense(
    drafts: Sequence[str],
    job: int | None,
    *,
    undo: bool,
    dry_run: bool,
    plan: str | None,
    commit: bool,
    message: str | None,
) -> None:
    if bool(drafts) and job is not None:
        usage("name drafts, or a job", "draftfs ls")
    if undo and not drafts:
        usage("name the targets whose promotion is to be undone", "draftfs promote --undo TARGET")
    if dry_run and (plan is not None or commit):
        usage("a dry run carries nothing out", "leave --dry-run out, or --plan and --commit")
    if message is not None and not commit:
        usage("--message is that of a commit", "--commit --message TEXT")


class _Meant:
    """What is to be decided: promotions, or undoing some."""

    def __init__(self, store: Store, named: Sequence[str], job: int | None, *, undo: bool, force: bool) -> None:
        self.store, self.undo, self._force, self._named = store, undo, force, named
        self.wanted: Sequence[DraftRef] | int = () if undo else job if job is not None else store.draft_refs(named)

    def decide(self, **how: Any) -> Promoted | Undone:
        if self.undo:
            return self.store.undo(self._named, force=self._force, **how)
        return self.store.promote(self.wanted, force=self._force, **how)

    def differences(self, planned: Decided) -> list[Difference]:
        """What each target holds against what it would hold."""
        from draftfs.answers import replaced_in
        from draftfs.records import DraftRef

        lines = replaced_in(planned)[1]
        if self.undo:
            return [difference(self.store.undo_sides(each.target)) for each in lines]
        return [difference(self.store.sides(DraftRef(each.target, each.number))) for each in lines]


# ── choosing ──


def _chosen(store: Store, call: Call) -> tuple[str, ...]:
    """The drafts that somebody at the terminal picks. Raises BadRequest `usage` without one, or without a terminal."""
    if not call.interactive:
        usage("name drafts, or a job; they are listed to choose from only on a terminal", _HINT)
    files = [line for target in store.ls() for line in target.drafts if line.draft.state != "abandoned"]
    if not files:
        usage("no draft waits", "draftfs job list")
    rows = [
        (
            f"{number})",
            _words.draft_file(line.draft, store.repo),
            "" if line.draft.job is None else f"job {line.draft.job}",
            duration(line.age),
            "" if line.added is None else f"+{line.added} -{line.removed}",
            ", ".join(line.flags),
        )
        for number, line in enumerate(files, 1)
    ]
    listed = "\n".join(columns(rows, call.paint, right=frozenset({0})))
    call.streams.answer(call.streams.encoded(f"{listed}\nPromote which? (numbers, or nothing) "))
    words = os.read(STDIN, 4096).decode("utf-8", "replace").replace(",", " ").split()
    if not words:
        usage("nothing was promoted", _HINT)
    for word in words:
        if not (word.isascii() and word.isdecimal() and 1 <= int(word) <= len(files)):
            usage(f"{word!r} is none of the numbers 1 to {len(files)}: nothing was promoted", _HINT)
    picked = dict.fromkeys(files[int(word) - 1].draft.file for word in words)
    return tuple(_words.typed(store.repo, file) for file in picked)


# ── before ──


def _plan(meant: _Meant, call: Call) -> Answer:
    planned = meant.decide(dry_run=True)
    found = meant.differences(planned)
    left_out = ("receipt", "replayed", "standing", "commit")
    plain = {name: value for name, value in to_plain(planned).items() if name not in left_out}
    diffs = [{"target": each["target"], "number": each["number"]} for each in plain[_decided.name(planned)]]
    data: dict[str, Any] = {
        **plain,
        "dry_run": True,
        "diffs": [{**about, **each.plain()} for about, each in zip(diffs, found, strict=True)] if call.json else [],
    }
    return Answer(data, _plan_lines(found, planned, meant, call), paged=True)


def _plan_lines(
    found: Sequence[Difference], planned: Promoted | Undone, meant: _Meant, call: Call
) -> Iterator[str | bytes]:
    yield from _summary(found, planned, meant.store)
    yield f"plan {planned.plan}"
    for each in found:
        yield from each.shown(call.paint) if call.terminal or call.color == "always" else each.exact()


def _summary(found: Sequence[Difference], planned: Promoted | Undone, store: Store) -> Iterator[str]:
    from draftfs.answers import Promoted, replaced_in

    promoted, steps = isinstance(planned, Promoted), replaced_in(planned)[1]
    for step, each in zip(steps, found, strict=True):
        name = shown(_words.typed(store.repo, step.target))
        if not step.changed:
            yield f"{name}: holds {f'draft {step.number}' if promoted else 'that'} already"
            continue
        lines = "binary" if each.hunks is None else f"+{each.added} -{each.removed}"
        what = f"draft {step.number}" if promoted else f"what draft {step.number} replaced"
        what = "would be deleted" if step.sha256 is None else what
        modes = {each.sides.before_mode, each.sides.after_mode} - {None}
        mode = ", executable bit changes" if len(modes) > 1 else ""
        kept = ", your edit is kept as a draft" if step.kept is not None else ""
        yield f"{name}: {what}, {lines}{mode}{kept}"
    yield from _decided.jobs(planned, would=True)


def _ask(meant: _Meant, call: Call, plan: str | None) -> str:
    """Show what will change, and go on only with a yes: with the plan that was shown. Raises BadRequest `usage` without."""
    planned = meant.decide(dry_run=True, plan=plan)
    text = "\n".join(_summary(meant.differences(planned), planned, meant.store))
    call.streams.answer(call.streams.encoded(f"{text}\n{'Undo' if meant.undo else 'Promote'}? [y/N] "))
    if os.read(STDIN, 1024).strip().lower() not in (b"y", b"yes"):
        said = "nothing was undone" if meant.undo else "nothing was promoted"
        usage(said, "draftfs promote --yes, or draftfs promote --dry-run for the whole diff")
    return planned.plan
