"""Taking promotions back, and making targets again what was chosen (§5: `promote --undo`, `regenerate`).

An undo goes one promotion back: the bytes that it replaced, the choice that counted before it, and the acceptances that came
of it. A choice that was taken over that way can be undone in turn, a few times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from draftfs import layout
from draftfs.answers import Regenerated, Regeneration, Undo, Undone
from draftfs.engine import PrepareAgain, Transaction, View
from draftfs.errors import NotFound, Refused, pasteable
from draftfs.frozen import frozen
from draftfs.records import Actor, Choice, Content, Draft, DraftRef, sha256_of
from draftfs.rules import admissions, decisions, drafts
from draftfs.rules.promotion import (
    Observed,
    Ready,
    Replacement,
    entry,
    holds,
    install,
    keep_displaced,
    require_file,
    same,
)


@frozen
class StepBack(Replacement):
    """The undoing of one choice; `before` is the one that counts again, if the target held that: its draft was not turned
    down since."""

    choice: Choice
    before: Choice | None


@frozen
class Undoing:
    """Take back the last promotion of each of these targets."""

    wanted: tuple[str, ...]
    force: bool

    def targets(self, _: View) -> tuple[str, ...]:
        return self.wanted

    def known(self, view: View, target: str) -> tuple[Content | None, ...]:
        choice = choice_of(view, target)
        return choice.content, choice.previous

    def plan(self, view: View, observed: Mapping[str, Observed]) -> tuple[StepBack, ...]:
        """What it will do. Raises NotFound `no_draft` where nothing is chosen, Refused `target_moved`, `not_a_file`."""
        return tuple(_step_back(view, target, observed[target], force=self.force) for target in self.wanted)

    def carry_out(
        self,
        transaction: Transaction,
        steps: Sequence[Replacement],
        observed: Mapping[str, Observed],
        ready: Mapping[str, Ready],
        actor: Actor,
    ) -> Undone:
        """Raises Refused `dependent_claimed`."""
        undone, returned, concerned = [], list[int](), list[int | None]()
        for step in steps:
            assert isinstance(step, StepBack), "a plan of undoing"
            line, back, jobs = _undo(transaction, step, observed[step.target], ready[step.target], actor)
            undone.append(line)
            returned += back
            concerned += jobs
        return decisions.concluded(transaction, Undone(undone=tuple(undone)), concerned, returned, actor)


def choice_of(view: View, target: str) -> Choice:
    """What is chosen for the target. Raises NotFound `no_draft`."""
    choice = drafts.of_target(view, target).choice
    if choice is None:
        raise NotFound(
            "no_draft",
            f"nothing is chosen for {target}: there is no promotion to undo",
            hint=f"draftfs ls --all -- {pasteable(target)}",
            target=target,
        )
    return choice


def _step_back(view: View, target: str, seen: Observed, *, force: bool) -> StepBack:
    choice = choice_of(view, target)
    require_file(seen, target)
    if seen.branch != choice.branch:
        raise Refused(
            "target_moved",
            f"draft {choice.number} of {target} was chosen on {_named(choice.branch)}, and the root is on"
            f" {_named(seen.branch)}",
            hint=(f"git switch {pasteable(choice.branch)}, and undo it there; " if choice.branch else "")
            + f"or choose it here first: draftfs promote -- {pasteable(target)} {choice.number}",
            target=target,
            number=choice.number,
            branch=choice.branch,
        )
    held, changes = seen.content, not holds(seen.content, choice.previous)
    fits = same(seen, choice.content) or same(seen, choice.previous)
    if changes and not fits and not force:
        raise Refused(
            "target_moved",
            f"{target} no longer holds draft {choice.number}: undoing its promotion would undo that change, too",
            hint=f"draftfs diff -- {pasteable(target)} {choice.number}, or undo with --force, which keeps what is there",
            target=target,
            number=choice.number,
            target_sha256=sha256_of(held),
        )
    return StepBack(
        target=target,
        number=choice.number,
        content=choice.previous,
        previous=held,
        keeps=changes and held is not None and not fits,
        changes=changes,
        choice=choice,
        before=_before(view, target, choice),
    )


def _named(branch: str | None) -> str:
    return f"branch {branch}" if branch is not None else "a detached HEAD"


def _before(view: View, target: str, choice: Choice) -> Choice | None:
    """The choice that counts again, if a person can still want it: its draft was not turned down since."""
    earlier = drafts.of_target(view, target).earlier
    if not earlier:
        return None
    draft = drafts.readable(view, DraftRef(target, earlier[0].number))
    own = earlier[0].number == choice.number
    return earlier[0] if draft is not None and (own or draft.state not in ("rejected", "promoted")) else None


def _undo(
    transaction: Transaction, step: StepBack, seen: Observed, made: Ready, actor: Actor
) -> tuple[Undo, tuple[int, ...], list[int | None]]:
    kept = keep_displaced(transaction, step, step.choice.content, seen, made)
    old = drafts.find(transaction, DraftRef(step.target, step.number))
    before = step.before if step.before is not None and step.before.blob == made.blob else None
    number = before.number if before is not None else None
    returned, jobs = tuple[int, ...](), [old.job]
    if number != old.number:
        returned, chosen = _exchange(transaction, old, number, actor)
        jobs += [chosen.job] if chosen is not None else []
    target = drafts.of_target(transaction, step.target)
    head, after = seen.head_entry, entry(step.content, made.blob)
    if before is not None:  # made anew, on top of what HEAD holds by now
        before = replace(before, branch=seen.branch, head=seen.head, head_blob=head.oid if head is not None else None)
    earlier = target.earlier[1:] if before is not None else ()
    key = layout.target(transaction.store.fold.key(step.target))
    transaction.put(key, replace(target, choice=before, earlier=earlier))
    # Where HEAD holds what was promoted, this is a step of its own; else there is nothing to step back from.
    admissions.promote(transaction, step.target, step.number, head, after, actor.name, head=head)
    transaction.append(
        "draft.undone",
        actor.name,
        job=old.job,
        target=step.target,
        number=step.number,
        author=old.author,
        chosen=number,
        kept=kept,
    )
    install(transaction, step, seen, made)
    line = Undo(
        target=step.target,
        number=step.number,
        sha256=sha256_of(step.content),
        previous_sha256=sha256_of(step.previous),
        kept=kept,
        chosen=number,
        changed=step.changes,
        other_names=seen.names - 1 if step.changes else 0,
    )
    return line, returned, jobs


def _exchange(
    transaction: Transaction, old: Draft, number: int | None, actor: Actor
) -> tuple[tuple[int, ...], Draft | None]:
    """Draft `old` is chosen no longer, draft `number` is again. Returns the job that is submitted again for it."""
    if number is None:
        return decisions.step_back(transaction, old, actor), None
    chosen = drafts.find(transaction, DraftRef(old.target, number))
    if decisions.is_spare(transaction, old, chosen):
        drafts.decide(transaction, old, "superseded")
        returned = tuple[int, ...]()
    else:
        returned = decisions.step_back(transaction, old, actor)
    return returned, drafts.decide(transaction, chosen, "promoted")


# ── regenerate ──


@frozen
class Restoring(Replacement):
    """A target that does not hold what was chosen is to hold it again."""

    choice: Choice


@frozen
class Regenerating:
    """Make these targets again what their choices, which stand, say."""

    standing: tuple[tuple[str, Choice], ...]

    def targets(self, _: View) -> tuple[str, ...]:
        return tuple(target for target, _ in self.standing)

    def known(self, _: View, target: str) -> tuple[Content | None, ...]:
        choice = dict(self.standing)[target]
        return choice.content, choice.previous

    def plan(self, view: View, observed: Mapping[str, Observed]) -> tuple[Restoring, ...]:
        """What it will do: nothing for a target that holds its choice. Raises Refused `not_a_file`, and PrepareAgain where
        another choice was made."""
        steps = []
        for target, choice in self.standing:
            if drafts.of_target(view, target).choice != choice:
                raise PrepareAgain
            seen = observed[target]
            require_file(seen, target)
            if not _is_as_chosen(seen, choice.content):
                steps.append(_restoring(target, choice, seen))
        return tuple(steps)

    def carry_out(
        self,
        transaction: Transaction,
        steps: Sequence[Replacement],
        observed: Mapping[str, Observed],
        ready: Mapping[str, Ready],
        actor: Actor,
    ) -> Regenerated:
        lines = []
        for step in steps:
            assert isinstance(step, Restoring), "a plan of regenerating"
            seen, made = observed[step.target], ready[step.target]
            kept = keep_displaced(transaction, step, step.choice.content, seen, made)
            transaction.append("target.regenerated", actor.name, target=step.target, number=step.number, kept=kept)
            install(transaction, step, seen, made)
            facts = (sha256_of(step.content), sha256_of(step.previous), kept, True, seen.names - 1)
            lines.append(Regeneration(step.target, step.number, *facts))
        return Regenerated(regenerated=tuple(lines))


def _is_as_chosen(seen: Observed, content: Content | None) -> bool:
    """Conversion by git alone is no difference; the executable bit is one."""
    if seen.content is None or content is None:
        return seen.content is content
    return same(seen, content) and seen.content.mode == content.mode


def _restoring(target: str, choice: Choice, seen: Observed) -> Restoring:
    known = seen.content is None or same(seen, choice.content) or same(seen, choice.previous)
    return Restoring(
        target=target,
        number=choice.number,
        content=choice.content,
        previous=seen.content,
        keeps=not known,
        changes=True,
        choice=choice,
    )
