"""Drafts: numbered, append-only proposals beside each target, and what becomes of them (§5, G6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from draftfs import layout, paths
from draftfs.answers import Drafted, draft_info
from draftfs.engine import Transaction, View
from draftfs.errors import Damaged, NotFound, Refused, pasteable
from draftfs.frozen import frozen
from draftfs.records import (
    HAND_EDIT,
    Actor,
    Content,
    Draft,
    DraftRef,
    DraftState,
    Job,
    Lease,
    PlaceDraft,
    RemoveDraft,
    Target,
)
from draftfs.rules import jobs


@frozen
class Proposal:
    """What is to become a draft. `content` None proposes a deletion; `base` counts where the claim reserved a folder.

    `taken` is the highest number that a file beside the target has; `staged` a copy made ready for the root.
    """

    target: str
    content: Content | None
    base: Content | None
    taken: int
    staged: str | None


def of_target(view: View, target: str) -> Target:
    """The target's record, or a new one for a target that never had a draft."""
    path_key = view.store.fold.key(target)
    found = view.get(layout.target(path_key))
    if found is None and any(view.under(layout.drafts(path_key))):
        name = layout.target(path_key).name
        raise Damaged("damaged", f"{name} is missing from the store", file=name)
    return found or Target(target, 0)


def find(view: View, ref: DraftRef) -> Draft:
    """The draft. Raises NotFound `no_draft`; Damaged where its target's record says that there is one."""
    path_key = view.store.fold.key(ref.target)
    draft = view.get(layout.draft(path_key, ref.number))
    if draft is None:
        index = view.get(layout.target(path_key))
        if index is not None and ref.number in index.undecided:
            name = layout.draft(path_key, ref.number).name
            raise Damaged("damaged", f"{name} is missing from the store", file=name)
        raise NotFound(
            "no_draft",
            f"{ref.target} has no draft {ref.number}",
            hint=f"draftfs ls --all -- {pasteable(ref.target)}",
            target=ref.target,
            number=ref.number,
        )
    return draft


def is_named(view: View, ref: DraftRef) -> bool:
    """Whether the target's record names this draft, as undecided or chosen: then there was a record of it."""
    index = view.get(layout.target(view.store.fold.key(ref.target)))
    if index is None:
        return False
    return ref.number in index.undecided or (index.choice is not None and index.choice.number == ref.number)


def readable(view: View, ref: DraftRef) -> Draft | None:
    """The draft, or None where its record is lost: that spoils this draft, and nobody else's work."""
    try:
        return find(view, ref)
    except (Damaged, NotFound):
        return None


# ── a worker's ──


def add(
    transaction: Transaction, lease: Lease, actor: Actor, author: str, proposals: Sequence[Proposal], note: str | None
) -> Drafted:
    """Record `proposals` as the next drafts of their targets, under `lease`, which has passed the fence.

    A newer draft of the same claim supersedes the older. Raises Refused `not_covered`.
    """
    fold = transaction.store.fold
    outside = [each.target for each in proposals if not covered(lease, each.target, fold)]
    if outside:
        raise Refused(
            "not_covered",
            f"{', '.join(outside)}: not among the paths of job {lease.job} ({', '.join(lease.paths)})",
            hint="draftfs claim -- " + " ".join(map(pasteable, outside)),
            paths=outside,
            job=lease.job,
        )
    latest = {fold.key(ref.target): ref for ref in lease.drafts}
    added = []
    for each in proposals:
        older = latest.get(fold.key(each.target))
        before = readable(transaction, older) if older is not None else None
        if before is not None and before.state == "waiting":
            decide(transaction, before, "superseded")
        base = _base(lease, each, fold)
        draft = _record(transaction, each, author, base, note, job=lease.job, epoch=lease.epoch)
        latest[fold.key(each.target)] = draft.ref
        added.append(draft)
        transaction.append(
            "draft.added", actor.name, job=lease.job, target=draft.target, number=draft.number, epoch=lease.epoch
        )
    transaction.put(layout.lease(lease.job), replace(lease, drafts=tuple(latest.values())))
    return Drafted(drafts=tuple(draft_info(draft, shown=False) for draft in added))


def covered(lease: Lease, target: str, fold: paths.Fold) -> bool:
    """Whether the claim has reserved `target`, or a folder above it."""
    return any(paths.covers(path, target, fold) for path in lease.paths)


def _base(lease: Lease, proposal: Proposal, fold: paths.Fold) -> Content | None:
    """What the claim found at exactly this path; under a reserved folder what the caller found out."""
    for base in lease.bases:
        if base.commit is None and fold.key(base.path) == fold.key(proposal.target):
            return base.content
    return proposal.base


def _record(
    transaction: Transaction,
    proposal: Proposal,
    author: str,
    base: Content | None,
    note: str | None,
    *,
    job: int | None = None,
    epoch: int | None = None,
    conflicts: int = 0,
) -> Draft:
    target = of_target(transaction, proposal.target)
    number = max(target.last, proposal.taken) + 1
    draft = Draft(
        target=target.path,
        number=number,
        author=author,
        state="waiting",
        job=job,
        epoch=epoch,
        content=proposal.content,
        base=base,
        note=note,
        because=None,
        created_at=transaction.now.stamp,
        conflicts=conflicts,
    )
    key = transaction.store.fold.key(target.path)
    transaction.put(layout.draft(key, number), draft)
    transaction.put(layout.target(key), replace(target, last=number, undecided=(*target.undecided, number)))
    transaction.effect(PlaceDraft(target.path, number, author, proposal.content), proposal.staged)
    return draft


def abandon(transaction: Transaction, lease: Lease) -> tuple[DraftRef, ...]:
    """The drafts of a claim that ended without submitting: still listed, still promotable by name."""
    for ref in lease.drafts:
        draft = readable(transaction, ref)
        if draft is not None and draft.state == "waiting":
            _put(transaction, replace(draft, state="abandoned"))
    return lease.drafts


# ── what is decided ──


def decide(transaction: Transaction, draft: Draft, state: DraftState, because: str | None = None) -> Draft:
    """Give the draft its final state and take it off its target's list of undecided ones."""
    key = transaction.store.fold.key(draft.target)
    target = of_target(transaction, draft.target)
    left = tuple(number for number in target.undecided if number != draft.number)
    if left != target.undecided:
        transaction.put(layout.target(key), replace(target, undecided=left))
    return _put(transaction, replace(draft, state=state, because=because))


def undecide(transaction: Transaction, draft: Draft, state: DraftState) -> Draft:
    """Take a decision back. What waits, or was abandoned, is listed again, and its file is back if it was tidied away."""
    key = transaction.store.fold.key(draft.target)
    target = of_target(transaction, draft.target)
    if state in ("waiting", "abandoned"):
        undecided = tuple(sorted({*target.undecided, draft.number}))
        transaction.put(layout.target(key), replace(target, undecided=undecided))
        transaction.effect(PlaceDraft(draft.target, draft.number, draft.author, draft.content))
    return _put(transaction, replace(draft, state=state, because=None))


def supersede_rivals(transaction: Transaction, job: Job) -> None:
    """Of a job's drafts for one target one was promoted: the others (what it was merged from, or into) wait no longer."""
    its = [draft for draft in (readable(transaction, ref) for ref in job.drafts) if draft is not None]
    promoted = {draft.target: draft for draft in its if draft.state == "promoted"}
    for draft in its:
        if draft.state == "waiting" and draft.target in promoted:
            decide(transaction, draft, "superseded", _gave_way(promoted[draft.target]))


def return_rivals(transaction: Transaction, job: Job, draft: Draft) -> None:
    """The draft is chosen no longer: those that gave way to it wait again."""
    for ref in job.drafts if draft.job == job.id else ():
        each = readable(transaction, ref)
        if each is not None and (each.state, each.target, each.because) == (
            "superseded",
            draft.target,
            _gave_way(draft),
        ):
            undecide(transaction, each, "waiting")


def _gave_way(draft: Draft) -> str:
    return f"draft {draft.number}, of the same job, was promoted"


# ── a person's ──


def merge(transaction: Transaction, of: DraftRef, result: Proposal, actor: Actor, author: str, conflicts: int) -> Draft:
    """Record what came of merging draft `of` with its target of now as a draft of its own, and of the same job.

    It is of no claim. Where the job is submitted it waits for the same decision: see `supersede_rivals`.
    """
    old = find(transaction, of)
    note = f"merge of draft {old.number} by {old.author}"
    draft = _record(transaction, result, author, result.base, note, job=old.job, conflicts=conflicts)
    _supersede_merges(transaction, draft)
    job = jobs.find(transaction, old.job) if old.job is not None else None
    if job is not None and job.state == "submitted" and old.ref in job.drafts:
        jobs.save(transaction, replace(job, drafts=(*job.drafts, draft.ref)))
    transaction.append(
        "draft.added",
        actor.name,
        job=old.job,
        target=draft.target,
        number=draft.number,
        merged=old.number,
        conflicts=conflicts,
    )
    return draft


def _supersede_merges(transaction: Transaction, draft: Draft) -> None:
    """Earlier merges of the same job's work for the same target wait no longer: they are of no claim, as this one."""
    for number in of_target(transaction, draft.target).undecided if draft.job is not None else ():
        older = readable(transaction, DraftRef(draft.target, number))
        if older is not None and older.number != draft.number and (older.job, older.epoch) == (draft.job, None):
            decide(transaction, older, "superseded")


def tidy(transaction: Transaction, shown: Iterable[DraftRef], actor: Actor, *, abandoned: bool) -> tuple[Draft, ...]:
    """Have the files of those of `shown` taken away that are decided; their records and objects stay."""
    done = {"promoted", "rejected", "superseded", *(("abandoned",) if abandoned else ())}
    found = (readable(transaction, ref) for ref in shown)
    its = tuple(draft for draft in found if draft is not None and draft.state in done)
    for draft in its:
        transaction.effect(RemoveDraft(draft.target, draft.number, draft.author, draft.content))
    if its:
        transaction.append("draft.tidied", actor.name, drafts=[draft.ref for draft in its])
    return its


def dropped(ref: DraftRef, author: str, content: Content | None, base: Content | None) -> Draft:
    """The draft that a file without a record would be, had it been recorded."""
    return Draft(
        target=ref.target,
        number=ref.number,
        author=author,
        state="waiting",
        job=None,
        epoch=None,
        content=content,
        base=base,
        note=None,
        because=None,
        created_at="",
    )


def adopt(transaction: Transaction, found: Draft, actor: Actor) -> Draft:
    """Record a draft-shaped file that somebody dropped beside its target, under the number that it took."""
    target = of_target(transaction, found.target)
    key = transaction.store.fold.key(target.path)
    undecided = tuple(sorted({*target.undecided, found.number}))
    transaction.put(layout.target(key), replace(target, last=max(target.last, found.number), undecided=undecided))
    draft = _put(transaction, replace(found, created_at=transaction.now.stamp))
    transaction.append("draft.added", actor.name, target=draft.target, number=draft.number, author=draft.author)
    return draft


def keep_hand_edit(transaction: Transaction, found: Proposal) -> Draft:
    """Keep bytes that were displaced, and nobody had recorded, as a draft that signs for itself."""
    note = "what stood in the target when it was replaced"
    draft = _record(transaction, found, HAND_EDIT, found.base, note)
    transaction.append("draft.added", HAND_EDIT, target=draft.target, number=draft.number)
    return draft


def _put(transaction: Transaction, draft: Draft) -> Draft:
    transaction.put(layout.draft(transaction.store.fold.key(draft.target), draft.number), draft)
    return draft
