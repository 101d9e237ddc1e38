from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, command, usage
from draftfs.cli._difference import Difference, difference
from draftfs.cli._show import count
from draftfs.cli._streams import STDIN
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import Promoted, Promotion
    from draftfs.records import DraftRef
    from draftfs.store import Store


@command(
    "promote",
    "Choose drafts: make their targets hold them",
    synopsis="DRAFT… | TARGET NUMBER | --job JOB  [--yes] [--dry-run] [--force]",
    examples=[
        "draftfs promote docs/spec.md.draft-0003@ann",
        "draftfs promote docs/spec.md 3 --dry-run",
        "draftfs promote --job 7",
    ],
    writes=True,
)
@click.argument("drafts", nargs=-1, metavar="DRAFT…")
@click.option("--job", type=Number(1), metavar="JOB", help="Promote all drafts of this submitted job that wait.")
@click.option("--yes", is_flag=True, help="Do not ask. Off a terminal nothing ever asks.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--force", is_flag=True, help="Promote although the target has moved on since the draft was written.")
def run(call: Call, drafts: tuple[str, ...], job: int | None, yes: bool, dry_run: bool, force: bool) -> Answer:
    """All are promoted, or none. A job whose last draft is decided is accepted. What a target held is kept: a hand edit that
    nobody had recorded becomes a draft of its own. For people only."""
    if bool(drafts) == (job is not None):
        usage("name drafts, or a job", "draftfs ls")
    store = call.store()
    wanted: Sequence[DraftRef] | int = job if job is not None else store.draft_refs(drafts)
    if dry_run:
        return _plan(store, wanted, call, force=force)
    if call.interactive and not yes:
        _ask(store, wanted, call, force=force)
    promoted = store.promote(wanted, force=force, receipt=call.receipt)
    return _words.written(promoted, _lines(promoted, store))


# ── before ──


def _plan(store: Store, wanted: Sequence[DraftRef] | int, call: Call, *, force: bool) -> Answer:
    planned = store.promote(wanted, force=force, dry_run=True)
    found = _differences(store, planned)
    data: dict[str, Any] = {
        **{name: value for name, value in to_plain(planned).items() if name in ("promoted", "accepted", "cancelled")},
        "dry_run": True,
        "diffs": [{"target": step.target, "number": step.number, **each.plain()} for step, each in found]
        if call.json
        else [],
    }
    return Answer(data, _plan_lines(found, planned, store, call), paged=True)


def _plan_lines(
    found: Sequence[tuple[Promotion, Difference]], planned: Promoted, store: Store, call: Call
) -> Iterator[str | bytes]:
    yield from _summary(found, planned, store)
    for _, each in found:
        yield from each.shown(call.paint) if call.terminal or call.color == "always" else each.exact()


def _differences(store: Store, planned: Promoted) -> list[tuple[Promotion, Difference]]:
    from draftfs.records import DraftRef

    return [(step, difference(store.sides(DraftRef(step.target, step.number)))) for step in planned.promoted]


def _summary(found: Sequence[tuple[Promotion, Difference]], planned: Promoted, store: Store) -> Iterator[str]:
    chosen = [_words.typed(store.repo, step.target) for step in planned.promoted]
    turned = {
        (line.draft.target, line.draft.number)
        for target in store.ls(chosen, everything=True)
        for line in target.drafts
        if "mode" in line.flags
    }
    for step, each in found:
        name = shown(_words.typed(store.repo, step.target))
        if not step.changed:
            yield f"{name}: holds draft {step.number} already"
            continue
        lines = "binary" if each.hunks is None else f"+{each.added} -{each.removed}"
        what = "would be deleted" if step.sha256 is None else f"draft {step.number}"
        mode = ", executable bit changes" if (step.target, step.number) in turned else ""
        kept = ", your edit is kept as a draft" if step.kept is not None else ""
        yield f"{name}: {what}, {lines}{mode}{kept}"
    for job in planned.accepted:
        yield f"job {job}: accepted"
    for job in planned.cancelled:
        yield f"job {job}: cancelled, since another of its contest is accepted"


def _ask(store: Store, wanted: Sequence[DraftRef] | int, call: Call, *, force: bool) -> None:
    """Show what will change, and go on only with a yes. Raises BadRequest `usage` without one."""
    planned = store.promote(wanted, force=force, dry_run=True)
    found = _differences(store, planned)
    text = "\n".join(_summary(found, planned, store))
    call.streams.answer(call.streams.encoded(f"{text}\nPromote? [y/N] "))
    if os.read(STDIN, 1024).strip().lower() not in (b"y", b"yes"):
        usage("nothing was promoted", "draftfs promote --yes, or draftfs promote --dry-run for the whole diff")


# ── after ──


def _lines(promoted: Promoted, store: Store) -> Iterator[str]:
    for step in promoted.promoted:
        name = shown(_words.typed(store.repo, step.target))
        if step.sha256 is None:
            yield f"{name} is deleted, by draft {step.number}"
        else:
            yield (
                f"{name} holds draft {step.number} now" if step.changed else f"{name} holds draft {step.number} already"
            )
        if step.other_names:
            yield f"  its {count(step.other_names, 'other name')} (hard links) still hold what was there"
        if step.kept is not None:
            yield f"  what stood there is kept as {shown(_words.typed(store.repo, step.kept))}"
    for job in promoted.accepted:
        yield f"job {job} is accepted"
    for job in promoted.cancelled:
        yield f"job {job} is cancelled: another of its contest is accepted"
