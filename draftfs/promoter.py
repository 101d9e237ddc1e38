"""Getting a replacement of targets ready, be it a promotion, an undo or a regeneration: everything is looked at and prepared
before the lock, and looked at once more within.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from draftfs import layout
from draftfs.answers import Decided, Undone, chosen_after, replaced_in
from draftfs.codec import digest_of, to_plain
from draftfs.dropped import dropped
from draftfs.engine import Performed, PrepareAgain, Transaction, View, refusing
from draftfs.engine.files import FileEngine
from draftfs.errors import DraftfsError, EnvironmentFault, Refused, pasteable
from draftfs.records import Actor, Content, Draft, DraftRef, sha256_of
from draftfs.rules import drafts, promotion
from draftfs.rules.promotion import Observed, Promotions, Ready, Replacement, Step
from draftfs.sighting import stamp
from draftfs.workspace import Workspace

C = TypeVar("C", bound=Decided)
Out_co = TypeVar("Out_co", bound=Decided, covariant=True)

_DIGITS: Final = 16


class Act(Protocol[Out_co]):
    """What is to be done to which targets, as the rules know it. Its plan is made twice, from the same function: before the
    lock, so that every file can be prepared, and in the transaction, where it must come out the same."""

    def targets(self, view: View, /) -> tuple[str, ...]: ...

    def known(self, view: View, target: str, /) -> tuple[Content | None, ...]: ...

    def plan(self, view: View, observed: Mapping[str, Observed], /) -> Sequence[Replacement]: ...

    def carry_out(
        self,
        transaction: Transaction,
        steps: Sequence[Replacement],
        observed: Mapping[str, Observed],
        ready: Mapping[str, Ready],
        actor: Actor,
    ) -> Out_co: ...


class Moved(PrepareAgain):
    """Between preparing and the lock, something changed that the plan rests on."""


class Promoter:
    """What one actor does to the targets of one root."""

    def __init__(self, engine: FileEngine, workspace: Workspace, actor: Actor) -> None:
        self._engine, self._workspace, self._actor = engine, workspace, actor
        self._kept: dict[str, str] = {}

    def rule(
        self, stack: ExitStack | None, make: Callable[[], Act[C]], *, strict: bool, agreed: str | None = None
    ) -> Callable[[Transaction, str], C]:
        """The rule of one act, its files made ready on `stack` if there is one. A refusal is kept for the transaction, where
        the receipt comes first. The rule raises Moved; with `strict` for every change of a target since the look, which an
        editor that never rests could go on for ever. `agreed` is the digest of the only plan to carry out. Raises OSError.
        """
        self._kept = {}
        tree = self._workspace.tree
        try:
            act = make()
            targets = self._engine.read(act.targets)
            before = {target: stamp(tree.path(target)) for target in targets}
            observed = self._observed(act, targets, keep=stack is not None)
            steps = self._engine.read(lambda view: act.plan(view, observed))
            self._require_whole(steps)
            ready = {step.target: self._ready(stack, step) for step in steps}
        except DraftfsError as fault:
            return refusing(fault)

        def rule(tx: Transaction, _: str) -> C:
            # Another promotion may have been recorded, but not installed, when this one looked: now it is.
            if strict and any(stamp(tree.path(target)) != its for target, its in before.items()):
                raise Moved
            if act.targets(tx) != targets or act.plan(tx, observed) != steps:
                raise Moved
            answer = act.carry_out(tx, steps, observed, ready, self._actor)
            plan = _digest(answer, steps, observed)
            if agreed is not None and agreed != plan:
                raise _other_plan(targets)
            return replace(answer, plan=plan)

        return rule

    def promotions(self, wanted: Sequence[DraftRef] | int, *, force: bool) -> Promotions:
        """The promotion of drafts, those among them that are only files, so far, read. Raises DraftfsError, OSError."""
        meant = wanted if isinstance(wanted, int) else tuple(wanted)
        refs = self._engine.read(lambda view: promotion.meant(view, meant))
        new = self._engine.read(lambda view: [ref for ref in refs if not promotion.is_recorded(view, ref)])
        found = {ref: file for ref in new if (file := dropped(self._workspace, ref)) is not None}
        return Promotions(meant, force, found)

    def installed(self, answer: C, performed: Sequence[Performed]) -> C:
        """The answer, with hand edits that only came to light at the swap. Raises EnvironmentFault, the answer in its
        details, where an install failed: the choice stands all the same."""
        if answer.replayed:
            self._require_installed(answer)
        kept, self._kept = self._kept, {}
        name, lines = replaced_in(answer)
        with_kept = tuple(replace(each, kept=each.kept or kept.get(each.target)) for each in lines)
        changed: dict[str, Any] = {name: with_kept}
        answer = replace(answer, **changed)
        for each in performed:
            if each.state == "failed" and each.fault is not None:
                code = each.fault.code if isinstance(each.fault, EnvironmentFault) else "filesystem"
                raise _not_installed(answer, code, each.fault.message, each.effect.target)
        return answer

    def _require_installed(self, answer: Decided) -> None:
        """A replay is not to say that a target holds what it could not be made to hold then."""
        for each in replaced_in(answer)[1]:
            choice = self._engine.read(partial(drafts.of_target, target=each.target)).choice
            held = self._workspace.tree.observe(each.target).content
            still = chosen_after(each) == (choice.number if choice is not None else None)
            if each.changed and still and sha256_of(held) == each.previous_sha256 != each.sha256:
                if choice is not None and not self._workspace.standing_now({each.target: choice}):
                    continue  # a revert, say, came since
                message = f"{each.target} does not hold it: it still holds what was there before"
                raise _not_installed(answer, "filesystem", message, each.target)

    def keep_hand_edit(self, tx: Transaction, target: str, content: Content, base: Content | None, taken: int) -> None:
        """Record bytes that an editor wrote between the look and the swap."""
        found = drafts.Proposal(target, content, base, taken, None)
        self._kept[target] = layout.draft_name(drafts.keep_hand_edit(tx, found))

    def _observed(self, act: Act[C], targets: Sequence[str], *, keep: bool) -> Mapping[str, Observed]:
        known = self._engine.read(lambda view: {target: act.known(view, target) for target in targets})
        head = self._workspace.head()
        return {target: self._workspace.observe(target, each, head, keep=keep) for target, each in known.items()}

    def _require_whole(self, steps: Sequence[Replacement]) -> None:
        """The bytes must be what was recorded, beside the target (if they are there) and in the store."""
        for step in steps:
            if isinstance(step, Step) and self._workspace.tree.file_state(step.draft) == "tampered":
                raise _tampered(step.draft)
            if step.content is not None:
                os.close(self._workspace.objects.open(step.content))

    def _ready(self, stack: ExitStack | None, step: Replacement) -> Ready:
        """What one step needs; its files only with a `stack` to put them on."""
        target, tree = step.target, self._workspace.tree
        blob = self._workspace.blob(target, step.content)
        if step.changes:
            tree.require_writable(target, f"replacing {target}")
        if stack is None:
            return Ready(blob, None)
        previous = self._workspace.blob(target, step.previous)  # an object: with a stack, what is observed is kept
        if not step.changes:
            return Ready(blob, previous)
        kept = tree.stage_draft(stack, target, step.previous) if step.keeps else None
        return Ready(blob, previous, tree.stage_target(stack, target, step.content), kept)


def _digest(answer: Decided, steps: Sequence[Replacement], observed: Mapping[str, Observed]) -> str:
    """What tells this plan from any other: the steps, where history stands, and what becomes of jobs."""
    facts = ("kind", "content", "branch", "head", "head_entry")
    seen = {target: {name: to_plain(getattr(each, name)) for name in facts} for target, each in observed.items()}
    jobs = [answer.accepted, answer.cancelled, answer.returned]
    what = [replaced_in(answer)[0], [to_plain(step) for step in steps], seen, to_plain(jobs)]
    return digest_of(what)[:_DIGITS]


def _other_plan(targets: Sequence[str]) -> Refused:
    return Refused(
        "target_moved",
        f"this is not what was planned: since then {', '.join(targets)}, a draft, a choice, a job or HEAD changed",
        hint="look again: the same command with --dry-run instead of --plan",
        targets=list(targets),
    )


def _not_installed(answer: Decided, code: str, said: str, target: str) -> EnvironmentFault:
    name = pasteable(target)
    again = f"draftfs regenerate -- {name}"
    if isinstance(answer, Undone) and all(each.chosen is None for each in answer.undone if each.target == target):
        number = next(each.number for each in answer.undone if each.target == target)
        again = f"draftfs promote --force -- {name} {number}, and undo that"
    plain = to_plain(answer)
    return EnvironmentFault(
        code, f"the choice is recorded, but {said}", hint=f"mend that, then {again}", **{replaced_in(answer)[0]: plain}
    )


def _tampered(draft: Draft) -> Refused:
    name = layout.draft_name(draft)
    return Refused(
        "tampered",
        f"{name} no longer holds what {draft.author} handed in",
        hint=f"rm -- {pasteable(name)}; draftfs promote -- {pasteable(draft.target)} {draft.number} uses the recorded bytes",
        target=draft.target,
        number=draft.number,
    )
