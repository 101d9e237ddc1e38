"""Looking at drafts, and choosing (G7): listing, comparing, promoting and taking back, merging, clearing up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from draftfs import layout, names
from draftfs.answers import Listed, Merged, Promoted, Regenerated, Rejected, Restored, TargetLine, Tidied, Undone
from draftfs.codec import to_plain
from draftfs.engine import Transaction
from draftfs.errors import BadRequest, NotFound, pasteable
from draftfs.listing import Sides
from draftfs.operations.desk import Desk, disk
from draftfs.records import DraftRef
from draftfs.rules import decisions, drafts, promotion

if TYPE_CHECKING:
    from draftfs.choosing import Choosing, How
    from draftfs.showing import Showing


class ReviewOperations(Desk):
    """What the person who reviews does."""

    def ls(self, paths: Sequence[str] = (), *, everything: bool = False) -> Listed[TargetLine]:
        """Targets with the drafts that wait; with `everything` all drafts ever handed in."""
        self._calls.notice()
        self.settle()
        return self._listing.targets([self.repo.scope(path) for path in paths], everything=everything)

    def sides(self, ref: DraftRef, other: DraftRef | None = None, *, base: bool = False) -> Sides:
        """What `diff` compares: a draft against its target, its base, or another draft."""
        return self._listing.sides(ref, other, base=base)

    def promote(
        self,
        wanted: Sequence[DraftRef] | int,
        *,
        force: bool = False,
        dry_run: bool = False,
        plan: str | None = None,
        commit: bool = False,
        message: str | None = None,
        receipt: str | None = None,
    ) -> Promoted:
        """Make each target hold the chosen draft, all or none (a person's act; G7). A number means all waiting drafts of
        that submitted job. With `dry_run` only say what would change; `plan` is the digest of the only plan to carry out;
        with `commit` commit just these targets, under `message` if given.

        Raises Refused `target_moved`, `tampered`, `not_a_file`, `dependent_claimed`; EnvironmentFault, with the answer in
        its details, where an install or the commit failed after the choice had been recorded.
        """
        self._require_person("promote")
        self.settle()
        return self._choosing.promote(wanted, self._how(force, dry_run, plan, commit, message), receipt)

    def undo(
        self,
        paths: Sequence[str],
        *,
        force: bool = False,
        dry_run: bool = False,
        plan: str | None = None,
        commit: bool = False,
        message: str | None = None,
        receipt: str | None = None,
    ) -> Undone:
        """Take back the last promotion of each target: its bytes, its choice, and the acceptances that came of it (a
        person's act). Raises what `promote` raises, and NotFound `no_draft` where nothing is chosen."""
        self._require_person("undo promotions")
        self.settle()
        targets = [self.repo.target(path) for path in paths]
        return self._choosing.undo(targets, self._how(force, dry_run, plan, commit, message), receipt)

    def regenerate(
        self, paths: Sequence[str] = (), *, dry_run: bool = False, receipt: str | None = None
    ) -> Regenerated:
        """Make the targets at or under `paths`, all without any, again what their standing choices say (a person's act).
        Hand edits are kept as drafts first. Raises Refused `not_a_file`, EnvironmentFault where an install failed."""
        self._require_person("regenerate targets")
        self.settle()
        return self._choosing.regenerate([self.repo.scope(path) for path in paths], self._how(dry_run=dry_run), receipt)

    def undo_sides(self, target: str) -> Sides:
        """What undoing the last promotion of a root-relative target would change. Raises NotFound `no_draft`."""
        return self._choosing.undo_sides(target)

    def _how(self, *given: Any, **named: Any) -> How:
        from draftfs.choosing import How

        return How(*given, **named)

    @cached_property
    def _choosing(self) -> Choosing:
        from draftfs.choosing import Choosing

        return Choosing(self.engine, self._workspace, self._calls, self._promoter, self.actor)

    def reject(self, wanted: Sequence[DraftRef], *, because: str, receipt: str | None = None) -> Rejected:
        """Turn drafts down (a person's act); the reason reaches their workers by the feed."""
        self._require_person("reject drafts")
        request = {"drafts": [to_plain(ref) for ref in wanted], "because": names.free_text(because, "a reason")}

        def rule(tx: Transaction, _: str) -> Rejected:
            return decisions.reject_drafts(tx, wanted, self.actor, because)

        rejected = self._calls.write("reject", request, Rejected, rule, receipt)
        return replace(rejected, drafts=self.tree.with_shown(rejected.drafts))

    def merge(self, ref: DraftRef, *, receipt: str | None = None) -> Merged:
        """Merge a draft with what its target holds today into a new draft over that (a person's act); never into the target.
        What conflicts is marked in it. Raises Refused `cannot_merge`, `not_a_file`."""
        from draftfs.merger import Merger

        self._require_person("merge drafts")
        self.settle()
        with disk("preparing the merge"):
            merged = Merger(self.engine, self._workspace, self._calls, self.actor).merge(ref, receipt)
        return replace(merged, drafts=self.tree.with_shown(merged.drafts))

    def tidy(
        self,
        paths: Sequence[str] = (),
        *,
        abandoned: bool = False,
        dry_run: bool = False,
        receipt: str | None = None,
    ) -> Tidied:
        """Take decided drafts' files out of the root (a person's act), with `abandoned` those of dead claims, too; nothing
        else of them goes. `paths` are targets, or folders of them."""
        self._require_person("take drafts out of the listing")
        self.settle()
        with disk("tidying"):
            scopes = [self.repo.scope(path) for path in paths]
            return self._showing.tidy(scopes, receipt, abandoned=abandoned, dry_run=dry_run)

    def restore(self, wanted: Sequence[DraftRef] | None = None) -> Restored:
        """Put drafts' files back beside their targets, whatever became of them; without `wanted` all undecided ones that are
        missing. It only shows, so that anybody may, and it writes no record. Raises Refused `tampered`."""
        self.settle()
        with disk("restoring"):
            return self._showing.restore(wanted)

    @cached_property
    def _showing(self) -> Showing:
        from draftfs.showing import Showing

        return Showing(self.engine, self._workspace, self._calls, self.actor)

    def job_drafts(self, job: int) -> tuple[DraftRef, ...]:
        """The drafts that `promote --job` means: those of a submitted job that wait. Raises `no_draft` without any."""
        return self.engine.read(lambda view: promotion.waiting_of(view, job))

    def draft_refs(self, arguments: Sequence[str], *, recorded: bool = False) -> tuple[DraftRef, ...]:
        """What a user named: draft files (as the shell completes them), or a target and a number. Raises `no_draft`; with
        `recorded` also for a file that somebody dropped."""
        if len(arguments) == 2 and arguments[1].isdecimal() and layout.parse_draft_name(arguments[0]) is None:
            return (DraftRef(self.repo.target(arguments[0]), int(arguments[1])),)
        return tuple(self._draft_ref(argument, recorded=recorded) for argument in arguments)

    def _draft_ref(self, argument: str, *, recorded: bool) -> DraftRef:
        named = layout.parse_draft_name(argument)
        if named is None:
            raise BadRequest(
                "usage",
                f"{argument!r} is no draft: name draft files, or one target and a number",
                hint="draftfs ls",
            )
        ref = DraftRef(self.repo.target(named.target), named.number)
        if not self.engine.read(lambda view: promotion.is_recorded(view, ref)) and self._is_dropped(ref, named):
            if recorded:
                raise NotFound(
                    "no_draft",
                    f"{argument} is only a file so far: no record has this draft",
                    hint=f"draftfs promote -- {pasteable(str(replace(named, target=ref.target)))}",
                )
            return ref
        draft = self.engine.read(lambda view: drafts.find(view, ref))
        if (draft.author, draft.content is None) != (named.author, named.delete):
            raise NotFound(
                "no_draft",
                f"there is no {argument}: draft {ref.number} of {ref.target} is {layout.draft_name(draft)}",
                hint=f"draftfs ls -- {pasteable(ref.target)}",
            )
        return ref

    def _is_dropped(self, ref: DraftRef, named: layout.DraftName) -> bool:
        """Whether this very file lies beside its target, where somebody dropped it."""
        return str(replace(named, target=ref.target)) in self.tree.draft_files(ref.target, ref.number)
