"""G7: a person chooses. What a promotion will do, worked out as a plan; and the plan carried out, all or nothing.

The plan is made twice from the same function: before the lock, so that every file can be prepared, and in the
transaction, where it must come out the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from draftfs import layout
from draftfs.answers import Promoted, Promotion
from draftfs.engine import Transaction, View
from draftfs.errors import BadRequest, NotFound, Refused, pasteable
from draftfs.frozen import frozen
from draftfs.records import Actor, Choice, Content, Draft, DraftRef, InstallTarget, TreeEntry, sha256_of
from draftfs.rules import admissions, decisions, drafts, jobs


@frozen
class Observed:
    """What stands in a target's place in the root. `content` is None unless it is a regular file.

    `alike` holds the digests of known contents that this one is the same as: the same bytes, or the same clean form for
    git. `head`, `head_entry` and `branch` are where the root's history stands; `taken` is the highest number that a draft
    file beside the target has; `detail` says in words what is in the way; `names` is how many names (hard links) the file
    has.
    """

    kind: Literal["file", "absent", "other"]
    content: Content | None
    alike: frozenset[str]
    taken: int
    branch: str | None
    head: str | None
    head_entry: TreeEntry | None
    detail: str = ""
    names: int = 1


@frozen
class Step:
    """One target of a plan: which draft, over what, and whether a hand's bytes are kept as a draft first."""

    draft: Draft
    previous: Content | None
    keeps: bool
    changes: bool
    replaced: int | None


@frozen
class Ready:
    """What was made ready for one target: git's clean form of the draft and of what it replaces, the file to install, and a
    copy of the hand edit that it displaces, to be shown as a draft."""

    blob: str | None
    previous_blob: str | None
    staged: str | None = None
    kept: str | None = None


def alternatives(view: View, draft: Draft) -> tuple[Draft, ...]:
    """The drafts for the same target that came from the same job or contest: promoting one over another is free."""
    if draft.job is None:
        return ()
    job = jobs.find(view, draft.job)
    family = {job.id, *job.contest}
    target = drafts.of_target(view, draft.target)
    numbers = set(target.undecided)
    if target.choice is not None:
        numbers.add(target.choice.number)
    for number in family:
        numbers |= {ref.number for ref in jobs.find(view, number).drafts if ref.target == draft.target}
    found = (drafts.readable(view, DraftRef(draft.target, number)) for number in sorted(numbers - {draft.number}))
    return tuple(each for each in found if each is not None and each.job in family)


def acceptable(view: View, draft: Draft) -> tuple[Content | None, ...]:
    """The contents that the target may hold for `draft` to be promoted without force: its base, an alternative, itself."""
    return (draft.base, *(each.content for each in alternatives(view, draft)), draft.content)


def waiting_of(view: View, number: int) -> tuple[DraftRef, ...]:
    """The drafts of a submitted job that wait for a decision. Raises NotFound `no_draft` without any."""
    refs = tuple(ref for ref in jobs.find(view, number).drafts if drafts.find(view, ref).state == "waiting")
    if not refs:
        raise NotFound(
            "no_draft", f"job {number} has no draft that waits", hint=f"draftfs job show {number}", job=number
        )
    return refs


def known_contents(view: View, draft: Draft) -> tuple[Content | None, ...]:
    """All contents that it matters whether the target is the same as: what is acceptable, and what is chosen now."""
    choice = drafts.of_target(view, draft.target).choice
    return (*acceptable(view, draft), choice.content if choice is not None else None)


def plan(view: View, refs: Sequence[DraftRef], observed: Mapping[str, Observed], *, force: bool) -> tuple[Step, ...]:
    """What promoting `refs` will do. Raises NotFound `no_draft`, Refused `target_moved`, `not_a_file`, `job_not_open`."""
    twice = [ref.target for at, ref in enumerate(refs) if ref.target in {each.target for each in refs[:at]}]
    if twice:
        raise BadRequest("usage", f"{twice[0]} is named twice: one draft can be promoted for one target")
    return tuple(_step(view, drafts.find(view, ref), observed[ref.target], force=force) for ref in refs)


def _step(view: View, draft: Draft, seen: Observed, *, force: bool) -> Step:
    if seen.kind == "other":
        raise Refused(
            "not_a_file",
            f"{draft.target} cannot be replaced: {seen.detail}",
            hint="move that out of the way first",
            target=draft.target,
        )
    _refuse_moved_acceptance(view, draft)
    choice = drafts.of_target(view, draft.target).choice
    replaced = choice.number if choice is not None and choice.number != draft.number else None
    held = seen.content
    changes = not _holds(held, draft.content)
    fits = any(_same(seen, each) for each in acceptable(view, draft))
    if changes and not fits and not force:
        raise Refused(
            "target_moved",
            f"{draft.target} no longer holds what {layout.draft_name(draft)} was made from: promoting it would quietly"
            " undo that change",
            hint=f"draftfs diff -- {pasteable(layout.draft_name(draft))}, then reject it, or promote with --force",
            target=draft.target,
            number=draft.number,
            base_sha256=sha256_of(draft.base),
            target_sha256=sha256_of(held),
        )
    known = held is None or fits or (choice is not None and _same(seen, choice.content))
    return Step(draft, held, keeps=changes and not known, changes=changes, replaced=replaced)


def _holds(held: Content | None, wanted: Content | None) -> bool:
    """Whether the target holds exactly these bytes with this executable bit."""
    if held is None or wanted is None:
        return held is wanted
    return (held.sha256, held.mode) == (wanted.sha256, wanted.mode)


def _same(seen: Observed, content: Content | None) -> bool:
    if seen.content is None or content is None:
        return seen.content is content
    return content.sha256 in seen.alike


def _refuse_moved_acceptance(view: View, draft: Draft) -> None:
    job = jobs.find(view, draft.job) if draft.job is not None else None
    for number in job.contest if job is not None else ():
        if number != draft.job and jobs.find(view, number).state == "accepted":
            raise Refused(
                "job_not_open",
                f"job {number} of the same contest is accepted already: an acceptance cannot be moved to job {draft.job}",
                hint=f"draftfs job add TITLE -- {pasteable(draft.target)}",
                job=number,
            )


def carry_out(
    transaction: Transaction,
    steps: Sequence[Step],
    observed: Mapping[str, Observed],
    ready: Mapping[str, Ready],
    actor: Actor,
) -> Promoted:
    """Record the choices and have the targets installed, with what was made `ready` for each target."""
    promoted = [_promote(transaction, step, observed[step.draft.target], ready, actor) for step in steps]
    accepted, cancelled = decisions.settle(transaction, [step.draft.job for step in steps], actor)
    return Promoted(promoted=tuple(promoted), accepted=accepted, cancelled=cancelled)


def _promote(
    transaction: Transaction,
    step: Step,
    seen: Observed,
    ready: Mapping[str, Ready],
    actor: Actor,
) -> Promotion:
    draft, made = step.draft, ready[step.draft.target]
    kept = None
    if step.keeps and step.previous is not None:
        hand_edit = drafts.Proposal(draft.target, step.previous, draft.base, seen.taken, made.kept)
        kept = layout.draft_name(drafts.keep_hand_edit(transaction, hand_edit))
    if step.replaced is not None:
        drafts.decide(transaction, drafts.find(transaction, DraftRef(draft.target, step.replaced)), "superseded")
    draft = drafts.decide(transaction, draft, "promoted")
    target = drafts.of_target(transaction, draft.target)
    unchanged = target.choice is not None and target.choice.number == draft.number and not step.changes
    if not unchanged:
        choice = Choice(
            number=draft.number,
            content=draft.content,
            by=actor.name,
            at=transaction.now.stamp,
            branch=seen.branch,
            head=seen.head,
            head_blob=seen.head_entry.oid if seen.head_entry is not None else None,
            blob=made.blob,
            previous=step.previous,
        )
        transaction.put(layout.target(transaction.store.fold.key(draft.target)), replace(target, choice=choice))
        replaced = _entry(step.previous, made.previous_blob)
        after = _entry(draft.content, made.blob)
        admissions.promote(transaction, draft.target, draft.number, replaced, after, actor.name, head=seen.head_entry)
        transaction.append(
            "draft.promoted",
            actor.name,
            job=draft.job,
            target=draft.target,
            number=draft.number,
            author=draft.author,
            replaced=step.replaced,
            kept=kept,
        )
    if step.changes:
        install = InstallTarget(draft.target, draft.number, draft.content, step.previous, seen.branch)
        transaction.effect(install, made.staged)
    return Promotion(
        target=draft.target,
        number=draft.number,
        sha256=sha256_of(draft.content),
        previous_sha256=sha256_of(step.previous),
        kept=kept,
        replaced=step.replaced,
        changed=step.changes,
        other_names=seen.names - 1 if step.changes else 0,
    )


def _entry(content: Content | None, blob: str | None) -> TreeEntry | None:
    """What a commit of this content holds."""
    return TreeEntry(content.mode, blob) if content is not None and blob is not None else None
