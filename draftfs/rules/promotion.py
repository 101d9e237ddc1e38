"""G7: a person chooses. What a promotion will do, worked out as a plan; and the plan carried out, all or nothing.

The plan is made twice from the same function: before the lock, so that every file can be prepared, and in the
transaction, where it must come out the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from draftfs import layout
from draftfs.answers import Promoted, Promotion
from draftfs.engine import Transaction, View
from draftfs.errors import BadRequest, NotFound, Refused, pasteable
from draftfs.frozen import frozen
from draftfs.records import Actor, Choice, Content, Draft, DraftRef, InstallTarget, TreeEntry, sha256_of
from draftfs.rules import admissions, decisions, drafts, jobs

_EARLIER: Final = 8


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
class Replacement:
    """One target of a plan: what it is to hold, by the choice of which draft, and what it holds; whether a hand's bytes are
    kept as a draft first, and whether anything changes at all."""

    target: str
    number: int
    content: Content | None
    previous: Content | None
    keeps: bool
    changes: bool


@frozen
class Step(Replacement):
    """The promotion of one draft; `replaced` is the number of the choice before."""

    draft: Draft
    replaced: int | None


@frozen
class Found:
    """A draft-shaped file that no record has, read: its author by its name, its content kept as an object."""

    author: str
    content: Content | None


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
    # A merge holds others' work, too: a draft that was not made over that must not undo it.
    return tuple(
        each
        for each in found
        if each is not None and each.job in family and (each.epoch is not None or each.base == draft.base)
    )


def acceptable(view: View, draft: Draft) -> tuple[Content | None, ...]:
    """The contents that the target may hold for `draft` to be promoted without force: its base, an alternative, itself; in
    the form, too, that the user's hooks gave to what was chosen."""
    own = (draft, *alternatives(view, draft))
    choice = drafts.of_target(view, draft.target).choice
    chosen = (choice.content,) if choice is not None and choice.number in {each.number for each in own} else ()
    return (draft.base, *(each.content for each in own), *chosen)


def waiting_of(view: View, number: int) -> tuple[DraftRef, ...]:
    """The drafts of a submitted job that wait for a decision, the latest of each target: a merge comes after what was
    merged. Raises NotFound `no_draft` without any."""
    waiting = (ref for ref in jobs.find(view, number).drafts if drafts.find(view, ref).state == "waiting")
    refs = tuple({ref.target: ref for ref in waiting}.values())
    if not refs:
        raise NotFound(
            "no_draft", f"job {number} has no draft that waits", hint=f"draftfs job show {number}", job=number
        )
    return refs


# ── the plan ──


@frozen
class Promotions:
    """Promote these drafts, or all that wait of one submitted job. `found` are those that no record has yet."""

    wanted: tuple[DraftRef, ...] | int
    force: bool
    found: Mapping[DraftRef, Found]

    def targets(self, view: View) -> tuple[str, ...]:
        """Raises NotFound `no_draft`, BadRequest `usage`."""
        refs = meant(view, self.wanted)
        twice = [ref.target for at, ref in enumerate(refs) if ref.target in {each.target for each in refs[:at]}]
        if twice:
            raise BadRequest("usage", f"{twice[0]} is named twice: one draft can be promoted for one target")
        return tuple(ref.target for ref in refs)

    def known(self, view: View, target: str) -> tuple[Content | None, ...]:
        """All contents that it matters whether the target is the same as: what is acceptable, and what is chosen now."""
        ref = next(each for each in meant(view, self.wanted) if each.target == target)
        choice = drafts.of_target(view, target).choice
        own = acceptable(view, self._draft(view, ref, None))
        return (*own, choice.content) if choice is not None else own

    def plan(self, view: View, observed: Mapping[str, Observed]) -> tuple[Step, ...]:
        """What it will do. Raises NotFound `no_draft`, Refused `target_moved`, `not_a_file`."""
        steps = []
        for ref in meant(view, self.wanted):
            seen = observed[ref.target]
            steps.append(_step(view, self._draft(view, ref, seen.content), seen, force=self.force))
        return tuple(steps)

    def _draft(self, view: View, ref: DraftRef, base: Content | None) -> Draft:
        """The draft; one without a record was made from whatever its target holds at this moment."""
        found = self.found.get(ref)
        if found is None or is_recorded(view, ref):
            return drafts.find(view, ref)
        return drafts.dropped(ref, found.author, found.content, base)

    def carry_out(
        self,
        transaction: Transaction,
        steps: Sequence[Replacement],
        observed: Mapping[str, Observed],
        ready: Mapping[str, Ready],
        actor: Actor,
    ) -> Promoted:
        """Record the choices and have the targets installed, with what was made `ready` for each target."""
        promoted, returned, concerned = [], list[int](), list[int | None]()
        for step in steps:
            assert isinstance(step, Step), "a plan of promotions"
            line, back = _promote(transaction, step, observed[step.target], ready[step.target], actor)
            promoted.append(line)
            returned += back
            concerned += [step.draft.job, *back]
        return decisions.concluded(transaction, Promoted(promoted=tuple(promoted)), concerned, returned, actor)


def is_recorded(view: View, ref: DraftRef) -> bool:
    """Whether there is, or must be, a record of this draft; else it may be a file that somebody dropped."""
    return view.get(layout.draft(view.store.fold.key(ref.target), ref.number)) is not None or drafts.is_named(view, ref)


def meant(view: View, wanted: tuple[DraftRef, ...] | int) -> tuple[DraftRef, ...]:
    return waiting_of(view, wanted) if isinstance(wanted, int) else wanted


def require_file(seen: Observed, target: str) -> None:
    """Raises Refused `not_a_file`."""
    if seen.kind == "other":
        raise Refused(
            "not_a_file",
            f"{target} cannot be replaced: {seen.detail}",
            hint="move that out of the way first",
            target=target,
        )


def _step(view: View, draft: Draft, seen: Observed, *, force: bool) -> Step:
    require_file(seen, draft.target)
    choice = drafts.of_target(view, draft.target).choice
    replaced = choice.number if choice is not None and choice.number != draft.number else None
    held = seen.content
    done = choice is not None and choice.number == draft.number and holds(held, choice.content)
    changes = not done and not holds(held, draft.content)
    fits = any(same(seen, each) for each in acceptable(view, draft))
    if changes and not fits and not force:
        name = pasteable(layout.draft_name(draft))
        raise Refused(
            "target_moved",
            f"{draft.target} no longer holds what {layout.draft_name(draft)} was made from: promoting it would quietly"
            " undo that change",
            hint=f"draftfs diff -- {name}, then draftfs merge -- {name}, or promote with --force",
            target=draft.target,
            number=draft.number,
            base_sha256=sha256_of(draft.base),
            target_sha256=sha256_of(held),
        )
    if changes and draft.conflicts and not force:
        name = pasteable(layout.draft_name(draft))
        raise Refused(
            "conflicts",
            f"{layout.draft_name(draft)} is a merge with conflicts still marked in it ({draft.conflicts})",
            hint=f"mend a copy and promote that; or draftfs promote --force -- {name}, and mend the target",
            target=draft.target,
            number=draft.number,
            conflicts=draft.conflicts,
        )
    known = held is None or fits or (choice is not None and same(seen, choice.content))
    return Step(
        target=draft.target,
        number=draft.number,
        content=draft.content,
        previous=held,
        keeps=changes and not known,
        changes=changes,
        draft=draft,
        replaced=replaced,
    )


def holds(held: Content | None, wanted: Content | None) -> bool:
    """Whether the target holds exactly these bytes with this executable bit."""
    if held is None or wanted is None:
        return held is wanted
    return (held.sha256, held.mode) == (wanted.sha256, wanted.mode)


def same(seen: Observed, content: Content | None) -> bool:
    """Whether the target holds the same, in bytes or in git's clean form."""
    if seen.content is None or content is None:
        return seen.content is content
    return content.sha256 in seen.alike


# ── carrying it out ──


def keep_displaced(
    transaction: Transaction, step: Replacement, base: Content | None, seen: Observed, made: Ready
) -> str | None:
    """Keep the hand's bytes that this step displaces; returns the name of the draft that they are now."""
    if not step.keeps or step.previous is None:
        return None
    hand_edit = drafts.Proposal(step.target, step.previous, base, seen.taken, made.kept)
    return layout.draft_name(drafts.keep_hand_edit(transaction, hand_edit))


def install(transaction: Transaction, step: Replacement, seen: Observed, made: Ready) -> None:
    """Have the target hold it."""
    if step.changes:
        effect = InstallTarget(step.target, step.number, step.content, step.previous, seen.branch)
        transaction.effect(effect, made.staged)


def _promote(
    transaction: Transaction, step: Step, seen: Observed, made: Ready, actor: Actor
) -> tuple[Promotion, tuple[int, ...]]:
    draft, returned = step.draft, tuple[int, ...]()
    if not is_recorded(transaction, draft.ref):
        draft = drafts.adopt(transaction, draft, actor)
    kept = keep_displaced(transaction, step, draft.base, seen, made)
    if step.replaced is not None:
        old = drafts.find(transaction, DraftRef(draft.target, step.replaced))
        if decisions.is_sibling(transaction, old, draft):
            returned = decisions.step_back(transaction, old, actor)
        else:
            drafts.decide(transaction, old, "superseded")
    draft = drafts.decide(transaction, draft, "promoted")
    if step.changes or not _counts(drafts.of_target(transaction, draft.target).choice, draft.number, seen):
        _choose(transaction, draft, step, seen, made, actor)
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
    install(transaction, step, seen, made)
    line = Promotion(
        target=draft.target,
        number=draft.number,
        sha256=sha256_of(draft.content),
        previous_sha256=sha256_of(step.previous),
        kept=kept,
        replaced=step.replaced,
        changed=step.changes,
        other_names=seen.names - 1 if step.changes else 0,
    )
    return line, returned


def _counts(choice: Choice | None, number: int, seen: Observed) -> bool:
    """Whether draft `number` is what is chosen, here and by what HEAD holds now."""
    committed = seen.head_entry.oid if seen.head_entry is not None else None
    return (
        choice is not None
        and (choice.number, choice.branch) == (number, seen.branch)
        and holds(seen.content, choice.content)
        and (seen.head == choice.head or committed == choice.blob)
    )


def _choose(transaction: Transaction, draft: Draft, step: Step, seen: Observed, made: Ready, actor: Actor) -> None:
    target = drafts.of_target(transaction, draft.target)
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
    earlier, old = target.earlier, target.choice
    if old is not None and old.number == draft.number and not step.changes:  # the same again, where it did not count
        hooks_own = holds(step.previous, old.content)  # the form that a commit's hooks gave it
        content, blob = (old.content, old.blob) if hooks_own else (choice.content, choice.blob)
        choice = replace(choice, content=content, blob=blob, previous=old.previous)
    elif old is not None:
        earlier = (old, *earlier)[:_EARLIER]
    chosen = replace(target, choice=choice, earlier=earlier)
    transaction.put(layout.target(transaction.store.fold.key(draft.target)), chosen)
    replaced, after = entry(step.previous, made.previous_blob), entry(choice.content, choice.blob)
    admissions.promote(transaction, draft.target, draft.number, replaced, after, actor.name, head=seen.head_entry)


def entry(content: Content | None, blob: str | None) -> TreeEntry | None:
    """What a commit of this content holds."""
    return TreeEntry(content.mode, blob) if content is not None and blob is not None else None
