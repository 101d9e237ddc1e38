"""Drafts whose records are lost, and the index of a target, which its drafts make up."""

from __future__ import annotations

from dataclasses import replace

from draftfs import layout
from draftfs.audit import LOST, UNDECIDED
from draftfs.errors import pasteable
from draftfs.layout import Key
from draftfs.records import Content, Draft, Event, Job, Lease, Target
from draftfs.repair.bench import Bench
from draftfs.sighting import look


def mend_draft(bench: Bench, name: str) -> None:
    draft = bench.records.drafts.get(name)
    if draft is not None:
        ended = bench.records.ended.get(layout.ended_claim(draft.job or 0, draft.epoch or 0).name)
        if draft.state == "waiting" and ended is not None and ended.how != "submitted":
            bench.put_draft(replace(draft, state="abandoned"))
            bench.say(name, "abandoned, as its claim was")
        return
    index = bench.records.index_of(name)
    number = layout.number_of(Key(name, object)) or 0
    target, told = bench.records.targets.get(index), _added(bench, name)
    if told is None and (target is None or number > target.last):
        bench.discard(name, "no draft of that number was ever made")
        return
    aside = bench.set_aside(name)
    rebuilt = _from_root(bench, told, target, number) if told is not None else None
    if rebuilt is not None:
        bench.put_draft(rebuilt)
        bench.say(name, f"written anew from {layout.draft_name(rebuilt)}, its note and base are lost{aside}")
    else:
        bench.tx.delete(Key(name, object))
        _forget(bench, name)
        bench.say(name, f"lost; what was drafted is still in objects/. Ask for the draft again{aside}", LOST)
    _rebuild_index(bench, index)


def _added(bench: Bench, name: str) -> Event | None:
    return next(
        (event for draft, event in bench.records.feed.drafts.items() if layout.draft(*draft).name == name), None
    )


def _from_root(bench: Bench, told: Event, target: Target | None, number: int) -> Draft | None:
    """The draft, from its file beside the target, if that is one whose bytes were handed in."""
    path = str(told.data["target"])
    names = bench.tree.draft_files(path, number)
    parsed = layout.parse_draft_name(names[0]) if len(names) == 1 else None
    seen = look(bench.tree.path(names[0]))[0].content if parsed is not None else None
    if parsed is None or seen is None or not (parsed.delete or bench.tree.objects.has(seen)):
        return None
    epoch = told.data.get("epoch")
    ended = bench.records.ended.get(layout.ended_claim(told.job or 0, epoch or 0).name)
    decided = target is not None and number not in target.undecided
    chosen = target is not None and target.choice is not None and target.choice.number == number
    live = ended is None or ended.how == "submitted"
    return Draft(
        target=path,
        number=number,
        author=parsed.author,
        state="promoted" if chosen else "superseded" if decided else "waiting" if live else "abandoned",
        job=told.job,
        epoch=epoch,
        content=None if parsed.delete else seen,
        base=_base(bench, told, path),
        note=None,
        because="its record was lost, and written anew from its file",
        created_at=told.at,
        conflicts=int(told.data.get("conflicts") or 0),
    )


def _base(bench: Bench, told: Event, path: str) -> Content | None:
    """What the claim started from, while it lives; else nothing, so that promoting has to be forced."""
    lease = bench.records.lease(told.job or 0)
    if lease is None or lease.epoch != told.data.get("epoch"):
        return None
    return next((base.content for base in lease.bases if base.path == path), None)


def _forget(bench: Bench, name: str) -> None:
    """Take a lost draft out of the claim and the job that name it."""
    owners: list[tuple[str, Lease | Job]] = [*bench.records.leases.items(), *bench.records.jobs.items()]
    for key, owner in owners:
        left = tuple(ref for ref in owner.drafts if bench.records.draft_name(ref) != name)
        if left != owner.drafts:
            bench.tx.put(Key(key, type(owner)), replace(owner, drafts=left))
    bench.records.drafts.pop(name, None)


def mend_index(bench: Bench, name: str) -> None:
    aside = bench.set_aside(name) if name not in bench.records.targets else ""
    if _rebuild_index(bench, name):
        bench.say(name, f"rebuilt from the drafts{aside}")


def _rebuild_index(bench: Bench, name: str) -> bool:
    """A target's record is an index of its drafts, but for its choice; a lost draft's number stays taken."""
    old, its = bench.records.targets.get(name), bench.records.drafts_of(name)
    told = [event for draft, event in bench.records.feed.drafts.items() if layout.target(draft[0]).name == name]
    if old is None and not its and not told:
        return False
    path = old.path if old is not None else next(iter(its.values())).target if its else str(told[0].data["target"])
    numbers = [*its, *(int(event.data["number"]) for event in told), bench.tree.highest_number(path)]
    choice = old.choice if old is not None else None
    if choice is not None and (choice.number not in its or its[choice.number].state != "promoted"):
        choice = None
    for number, draft in its.items():
        if draft.state == "promoted" and (choice is None or choice.number != number):
            bench.put_draft(replace(draft, state="superseded"))
            again = f"draftfs promote -- {pasteable(path)} {number}"
            bench.said.append(f"{name}: that draft {number} is the choice is lost; if it still is: {again}")
    undecided = tuple(sorted(number for number, draft in its.items() if draft.state in UNDECIDED))
    last = max([old.last if old is not None else 0, *numbers])
    bench.tx.put(Key(name, Target), Target(path, last, undecided, choice))
    return True
