"""Getting a promotion ready: everything is looked at and prepared before the lock, and looked at once more within."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from draftfs import layout
from draftfs.answers import Promoted
from draftfs.codec import to_plain
from draftfs.engine import Performed, PrepareAgain, Transaction, View
from draftfs.engine.files import FileEngine
from draftfs.engine.transaction import FileView
from draftfs.errors import DraftfsError, EnvironmentFault, Refused, pasteable
from draftfs.records import Actor, Content, DraftRef, sha256_of
from draftfs.rules import drafts, promotion
from draftfs.rules.promotion import Observed, Ready, Step
from draftfs.sighting import stamp
from draftfs.workspace import Workspace

Rule = Callable[[Transaction, str], Promoted]


class Moved(PrepareAgain):
    """Between preparing and the lock, something changed that the plan rests on."""


class Promoter:
    """Promotions in one root, by one actor."""

    def __init__(self, engine: FileEngine, workspace: Workspace, actor: Actor) -> None:
        self._engine, self._workspace, self._actor = engine, workspace, actor
        self._kept: dict[str, str] = {}

    def rule(self, stack: ExitStack | None, wanted: Sequence[DraftRef] | int, *, force: bool, strict: bool) -> Rule:
        """The rule of one promotion, its files made ready on `stack` if there is one. A refusal is kept for the
        transaction, where the receipt comes first. The rule raises Moved; with `strict` for every change of a target
        since the look, which an editor that never rests could go on for ever. Raises OSError."""
        self._kept = {}
        tree = self._workspace.tree
        try:
            refs = self._engine.read(lambda view: _meant(view, wanted))
            before = {ref.target: stamp(tree.path(ref.target)) for ref in refs}
            observed = self._observed(refs, keep=stack is not None)
            steps = self._engine.read(lambda view: promotion.plan(view, refs, observed, force=force))
            self._require_whole(steps)
            ready = {step.draft.target: self._ready(stack, step) for step in steps}
        except DraftfsError as fault:
            return _refusing(fault)

        def rule(tx: Transaction, _: str) -> Promoted:
            # Another promotion may have been recorded, but not installed, when this one looked: now it is.
            if strict and any(stamp(tree.path(target)) != its for target, its in before.items()):
                raise Moved
            if _meant(tx, wanted) != refs or promotion.plan(tx, refs, observed, force=force) != steps:
                raise Moved
            return promotion.carry_out(tx, steps, observed, ready, self._actor)

        return rule

    def installed(self, promoted: Promoted, performed: Sequence[Performed]) -> Promoted:
        """The answer, with hand edits that only came to light at the swap. Raises EnvironmentFault, the answer in its
        details, where an install failed: the choice stands all the same."""
        if promoted.replayed:
            self._require_installed(promoted)
        kept, self._kept = self._kept, {}
        lines = tuple(replace(each, kept=each.kept or kept.get(each.target)) for each in promoted.promoted)
        promoted = replace(promoted, promoted=lines)
        for fault in (each.fault for each in performed if each.state == "failed" and each.fault is not None):
            raise EnvironmentFault(
                fault.code if isinstance(fault, EnvironmentFault) else "filesystem",
                f"the choice is recorded, but {fault.message}",
                hint="mend that, then promote the same draft again",
                promoted=to_plain(promoted),
            )
        return promoted

    def _require_installed(self, promoted: Promoted) -> None:
        """A replay is not to say that a target holds what it could not be made to hold then."""
        for each in promoted.promoted:
            target = self._engine.read(partial(drafts.of_target, target=each.target))
            held = self._workspace.tree.observe(each.target).content
            chosen = target.choice is not None and target.choice.number == each.number
            if each.changed and chosen and sha256_of(held) == each.previous_sha256 != each.sha256:
                raise EnvironmentFault(
                    "filesystem",
                    f"the choice is recorded, but {each.target} does not hold it: it still holds what was there before",
                    hint="mend what is in the way, then promote the same draft again, under a new receipt key",
                    promoted=to_plain(promoted),
                )

    def keep_hand_edit(self, tx: Transaction, target: str, content: Content, base: Content | None, taken: int) -> None:
        """Record bytes that an editor wrote between the look and the swap."""
        found = drafts.Proposal(target, content, base, taken, None)
        self._kept[target] = layout.draft_name(drafts.keep_hand_edit(tx, found))

    def _observed(self, wanted: Sequence[DraftRef], *, keep: bool) -> Mapping[str, Observed]:
        def known(view: FileView) -> dict[str, tuple[Content | None, ...]]:
            return {ref.target: promotion.known_contents(view, drafts.find(view, ref)) for ref in wanted}

        contents, head = self._engine.read(known), self._workspace.head()
        return {target: self._workspace.observe(target, each, head, keep=keep) for target, each in contents.items()}

    def _require_whole(self, steps: Sequence[Step]) -> None:
        """The bytes must be what was recorded, beside the target (if they are there) and in the store."""
        for draft in (step.draft for step in steps):
            if self._workspace.tree.file_state(draft) == "tampered":
                name = layout.draft_name(draft)
                raise Refused(
                    "tampered",
                    f"{name} no longer holds what {draft.author} handed in",
                    hint=f"rm -- {pasteable(name)}; draftfs promote -- {pasteable(draft.target)} {draft.number} uses the recorded bytes",
                    target=draft.target,
                    number=draft.number,
                )
            if draft.content is not None:
                os.close(self._workspace.objects.open(draft.content))

    def _ready(self, stack: ExitStack | None, step: Step) -> Ready:
        """What one step needs; its files only with a `stack` to put them on."""
        target, tree = step.draft.target, self._workspace.tree
        blob = self._workspace.blob(target, step.draft.content)
        if step.changes:
            tree.require_writable(target)
        if stack is None:
            return Ready(blob, None)
        previous = self._workspace.blob(target, step.previous)  # an object: with a stack, what is observed is kept
        if not step.changes:
            return Ready(blob, previous)
        kept = tree.stage_draft(stack, target, step.previous) if step.keeps else None
        return Ready(blob, previous, tree.stage_target(stack, target, step.draft.content), kept)


def _meant(view: View, wanted: Sequence[DraftRef] | int) -> tuple[DraftRef, ...]:
    return promotion.waiting_of(view, wanted) if isinstance(wanted, int) else tuple(wanted)


def _refusing(refusal: DraftfsError) -> Rule:
    def refuse(_: Transaction, __: str) -> Promoted:
        raise refusal

    return refuse
