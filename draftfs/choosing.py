"""What a person decides about targets: promote, undo, regenerate; and the commit that may go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from itertools import count
from typing import Any, Final, TypeVar

from draftfs import layout, listing
from draftfs.answers import Decided, Promoted, Regenerated, Undone
from draftfs.calls import Calls, Rule
from draftfs.codec import to_plain
from draftfs.engine import PrepareAgain
from draftfs.engine.files import FileEngine
from draftfs.engine.transaction import FileView
from draftfs.errors import Damaged, from_oserror
from draftfs.frozen import frozen
from draftfs.listing import Sides
from draftfs.paths import within
from draftfs.promoter import Act, Promoter
from draftfs.recording import Recording
from draftfs.records import Actor, Choice, DraftRef
from draftfs.rules import promotion, undoing
from draftfs.rules.undoing import Regenerating, Undoing
from draftfs.workspace import Workspace

A = TypeVar("A", bound=Decided)

_STRICT_LOOKS: Final = 4


@frozen
class How:
    """`force`: although the target has moved on. `dry_run`: only say what would happen. `plan`: the digest of the only plan
    to carry out. `commit`: commit the targets, under `message` if given."""

    force: bool = False
    dry_run: bool = False
    plan: str | None = None
    commit: bool = False
    message: str | None = None

    def meant(self) -> dict[str, Any]:
        """What of it is part of the request. What was not given is left out: older receipts know nothing of it."""
        given = {"plan": self.plan, "commit": self.commit or None, "message": self.message}
        return {"force": self.force, **{name: value for name, value in given.items() if value is not None}}


class Choosing:
    """The decisions of one actor about the targets of one root."""

    def __init__(
        self, engine: FileEngine, workspace: Workspace, calls: Calls, promoter: Promoter, actor: Actor
    ) -> None:
        self._engine, self._workspace, self._calls, self._promoter = engine, workspace, calls, promoter
        self._recording = Recording(engine, workspace, calls, actor)

    def promote(self, wanted: Sequence[DraftRef] | int, how: How, receipt: str | None) -> Promoted:
        """Make each target hold the chosen draft, all or none; a number means all waiting drafts of that job."""
        meant = wanted if isinstance(wanted, int) else [to_plain(ref) for ref in wanted]
        make = partial(self._promoter.promotions, wanted, force=how.force)
        return self._decide("promote", {"drafts": meant}, Promoted, make, how, receipt)

    def undo(self, targets: Sequence[str], how: How, receipt: str | None) -> Undone:
        """Take back the last promotion of each target, all or none."""
        wanted = tuple(dict.fromkeys(targets))
        request = {"targets": list(wanted)}
        return self._decide("promote --undo", request, Undone, lambda: Undoing(wanted, how.force), how, receipt)

    def undo_sides(self, target: str) -> Sides:
        """What a target holds, and what its last promotion replaced. Raises NotFound `no_draft`."""
        choice = self._engine.read(lambda view: undoing.choice_of(view, target))
        tree, objects = self._workspace.tree, self._workspace.objects
        held, previous = tree.observe(target).content, choice.previous
        return Sides(
            before=tree.path(target) if held is not None else None,
            after=objects.path(previous.sha256) if previous is not None else None,
            before_name=target,
            after_name=f"{target} (before draft {choice.number})",
            target=target,
            top=tree.top,
            before_mode=held.mode if held is not None else None,
            after_mode=previous.mode if previous is not None else None,
        )

    def regenerate(self, scopes: Sequence[str], how: How, receipt: str | None) -> Regenerated:
        """Make the targets at or under `scopes`, all without any, again what their standing choices say."""
        make = partial(self._regenerating, scopes)
        return self._decide("regenerate", {"paths": sorted(scopes)}, Regenerated, make, how, receipt)

    def _decide(
        self,
        operation: str,
        request: dict[str, Any],
        kind: type[A],
        make: Callable[[], Act[A]],
        how: How,
        receipt: str | None,
    ) -> A:
        if how.commit and not how.dry_run:
            self._recording.require_ready(how.message)
        with ExitStack() as stack:
            looks = count()

            def prepared(_: PrepareAgain | None = None) -> Rule[A]:
                strict, staging = next(looks) < _STRICT_LOOKS, None if how.dry_run else stack
                return self._promoter.rule(staging, make, strict=strict, agreed=how.plan)

            try:
                while how.dry_run:
                    with suppress(PrepareAgain):
                        return self._tried_out(prepared())
                meant, after = {**request, **how.meant()}, self._promoter.installed
                answer = self._calls.write(operation, meant, kind, prepared(), receipt, after=after, again=prepared)
            except OSError as fault:
                raise from_oserror(fault, "preparing the promotion") from fault
        return self._recording.commit(answer, how.message) if how.commit else answer

    def _tried_out(self, rule: Rule[A]) -> A:
        return self._engine.try_out(lambda tx: rule(tx, ""))

    def _regenerating(self, scopes: Sequence[str]) -> Regenerating:
        damaged: list[Damaged] = []
        chosen = self._engine.read(lambda view: dict(_chosen(view, scopes, damaged)))
        if damaged:
            raise damaged[0]
        other = {target: choice for target, choice in chosen.items() if self._differs(target, choice)}
        standing = self._workspace.standing_now(other)
        return Regenerating(tuple((target, choice) for target, choice in other.items() if target in standing))

    def _differs(self, target: str, choice: Choice) -> bool:
        """Whether the target needs a closer look: most hold just what was chosen."""
        seen = self._workspace.tree.observe(target)
        return seen.kind == "other" or not promotion.holds(seen.content, choice.content)


def _chosen(view: FileView, scopes: Sequence[str], damaged: list[Damaged]) -> Iterator[tuple[str, Choice]]:
    """The targets at or under `scopes`, all without any, that have a choice. Damage elsewhere is no matter."""
    fold, found = view.store.fold, list[Damaged]()
    for target in listing.every_target(view, found):
        if target.choice is not None and within(scopes, target.path, fold):
            yield target.path, target.choice
    named = {layout.target(fold.key(scope)).name for scope in scopes if scope}
    damaged[:] = [each for each in found if not named or each.details.get("file") in named]
