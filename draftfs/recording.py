"""`promote --commit`: what was just chosen becomes a commit, with where it came from; and where the user's own hooks rewrote
a file, what was committed becomes the choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TypeVar

from draftfs import layout, opening, tokens
from draftfs.answers import Decided, Promoted, Recorded, Undone, chosen_after, replaced_in
from draftfs.calls import Calls
from draftfs.codec import to_plain
from draftfs.engine import Transaction
from draftfs.engine.files import FileEngine
from draftfs.engine.transaction import FileView
from draftfs.errors import BadRequest, DraftfsError, EnvironmentFault, Refused, from_oserror, pasteable
from draftfs.frozen import frozen
from draftfs.git import committing
from draftfs.names import shown
from draftfs.records import Actor, Choice, Content, Draft, DraftRef, TreeEntry
from draftfs.repo import Head
from draftfs.rules import admissions, drafts, receipts
from draftfs.workspace import Workspace

C = TypeVar("C", bound=Decided)


@frozen
class Rewritten:
    """A target that was committed as something else than was chosen: what HEAD held before, and what it holds now."""

    target: str
    before: TreeEntry | None
    after: TreeEntry | None
    content: Content | None


class Recording:
    """Commits in one root, for one actor."""

    def __init__(self, engine: FileEngine, workspace: Workspace, calls: Calls, actor: Actor) -> None:
        self._engine, self._workspace, self._calls, self._actor = engine, workspace, calls, actor

    @property
    def _git_dir(self) -> str:
        self._workspace.tree.require()
        found = opening.git_dir_of(self._workspace.tree.top)
        assert found is not None, "the root is a checkout"
        return found

    def require_ready(self, message: str | None) -> None:
        """Raises EnvironmentFault `git` where a commit could not be made now, BadRequest `usage` for an empty message."""
        if message is not None and not message.strip():
            raise BadRequest("usage", "a commit needs a message", hint="--message TEXT, or leave it out")
        committing.require_ready(self._workspace.tree.top, self._git_dir, self._engine.lock_wait)

    def commit(self, answer: C, text: str | None) -> C:
        """Commit the targets of an answer, and nothing else; the answer with the commit, or without one where HEAD holds
        all of it already. A replay commits only what never was (G1): HEAD may have moved on since.

        Raises EnvironmentFault `git`: what was chosen stands all the same."""
        if answer.commit is not None:
            return answer
        behind: committing.Behind | None = None
        try:
            wanted = {line.target: self._entry(line.target, answer) for line in replaced_in(answer)[1]}
            with committing.index_locked(self._git_dir, self._engine.lock_wait) as locked:
                at = self._workspace.head()
                head, before = at.commit, self._workspace.repo.entries(at.commit, list(wanted)) if at.commit else {}
                due = self._due(answer, wanted, at, before)
                if not due:
                    held = {target: entry for target, entry in wanted.items() if entry == before.get(target)}
                    committing.catch_up(self._workspace.tree.top, self._git_dir, head, held)
                    return answer
                made, names = self._commit(head, due, self._message(answer, list(due), text), locked)
        except committing.Behind as fault:
            behind, made, names = fault, str(fault.details["commit"]), []
        except (EnvironmentFault, Refused) as fault:
            raise _not_committed(answer, fault) from fault
        except OSError as fault:
            raise _not_committed(answer, from_oserror(fault, "the commit")) from fault
        committing.refresh(self._workspace.tree.top, names)
        after = self._workspace.repo.entries(made, list(due))
        other = [target for target, entry in due.items() if entry != after.get(target)]
        try:
            self._note(answer, made, {target: (before.get(target), after.get(target)) for target in other})
        except OSError as fault:
            raise from_oserror(fault, f"recording what {made[:12]} made of it") from fault
        if behind is not None:
            raise behind
        return replace(answer, commit=made)

    def _due(
        self, answer: Decided, wanted: committing.Entries, head: Head, before: Mapping[str, TreeEntry]
    ) -> committing.Entries:
        """What HEAD does not hold yet; for a replay, where history has not moved on since the targets were chosen."""
        due = {target: entry for target, entry in wanted.items() if entry != before.get(target)}
        if not answer.replayed:
            return due
        found = self._engine.read(lambda view: {target: _choice(view, target) for target in due})
        choices = {target: choice for target, choice in found.items() if choice is not None}
        standing = self._workspace.standing(choices, head, before)
        return {target: entry for target, entry in due.items() if target in standing or target not in choices}

    def _commit(self, head: str | None, due: committing.Entries, message: str, locked: int) -> tuple[str, list[str]]:
        repo, top = self._workspace.repo, self._workspace.tree.top
        return committing.commit(repo, top, self._git_dir, head, due, message, locked=locked)

    def _entry(self, target: str, answer: Decided) -> TreeEntry | None:
        """What a commit of the target is to hold: what is chosen, not what an editor may have made of it meanwhile."""
        line = next(each for each in replaced_in(answer)[1] if each.target == target)
        choice = self._engine.read(lambda view: drafts.of_target(view, target)).choice
        if chosen_after(line) != (choice.number if choice is not None else None):
            raise Refused(
                "target_moved", f"{target} has another choice by now", hint=f"draftfs ls -- {pasteable(target)}"
            )
        content = choice.content if choice is not None else None
        if isinstance(answer, Undone):  # what came back was perhaps nobody's choice
            content = self._workspace.kept_sighting(target).content
            if (content.sha256 if content is not None else None) != line.sha256:
                hint = f"git commit -- {pasteable(target)}"
                raise Refused("target_moved", f"{target} was edited in this very moment", hint=hint)
        if content is None:
            return None
        file, tree = self._workspace.objects.path(content.sha256), self._workspace.tree
        return TreeEntry(content.mode, self._workspace.repo.kept_blob(target, file, tree.top))

    # ── the message ──

    def _message(self, answer: Decided, targets: Sequence[str], text: str | None) -> str:
        refs = [DraftRef(each.target, each.number) for each in replaced_in(answer)[1] if each.target in targets]
        found = self._engine.read(lambda view: [drafts.find(view, ref) for ref in refs])
        said = [f"draft {each.number} of {shown(each.target)}, by {shown(each.author)}" for each in found]
        what = "Promote" if isinstance(answer, Promoted) else "Undo the promotion of"
        subject = f"{what} {said[0]}" if len(said) == 1 else f"{what} {len(said)} drafts"
        body = [f"- {each}" for each in said] if len(said) > 1 else []
        given = text is not None
        return committing.message(
            text if text is not None else subject, [] if given else body, _trailers(answer, found)
        )

    # ── afterwards ──

    def _note(
        self, answer: Decided, made: str, rewritten: dict[str, tuple[TreeEntry | None, TreeEntry | None]]
    ) -> None:
        """The commit belongs to the answer, for whoever asks again. And the user's hooks have the last word on what is
        committed: that is the choice then."""
        found = [
            Rewritten(target, before, after, self._workspace.committed(target, after))
            for target, (before, after) in rewritten.items()
        ]
        choices = self._engine.read(lambda view: {each.target: _choice(view, each.target) for each in found})

        def rule(tx: Transaction, _: str) -> Recorded:
            taken = [each for each in found if _rewrite(tx, each, choices[each.target], made, self._actor)]
            receipts.complete(tx, answer.receipt, {"commit": made})
            return Recorded(commit=made, rewritten=tuple(each.target for each in taken))

        request = {"commit": made, "rewritten": [to_plain(each) for each in found]}
        with ExitStack() as stack:
            if not found:  # the commit is made, whatever becomes of this note: a replay then goes by what HEAD holds
                stack.enter_context(suppress(DraftfsError, OSError))
            self._calls.write("promote --commit", request, Recorded, rule, tokens.new_receipt_key())


def _choice(view: FileView, target: str) -> Choice | None:
    return drafts.of_target(view, target).choice


def _rewrite(tx: Transaction, each: Rewritten, chosen: Choice | None, made: str, actor: Actor) -> bool:
    target = drafts.of_target(tx, each.target)
    if target.choice is None or target.choice != chosen:
        return False
    blob = each.after.oid if each.after is not None else None
    choice = replace(target.choice, content=each.content, blob=blob)
    tx.put(layout.target(tx.store.fold.key(each.target)), replace(target, choice=choice))
    admissions.promote(tx, each.target, choice.number, each.before, each.after, actor.name, head=each.before)
    tx.append("choice.rewritten", actor.name, target=each.target, number=choice.number, commit=made)
    return True


def _trailers(answer: Decided, found: Sequence[Draft]) -> list[tuple[str, str]]:
    """Where it came from, as information: no rule reads it."""
    claims = dict.fromkeys((each.job, each.epoch) for each in found if each.job is not None)
    lines: list[tuple[str, str]] = []
    for job, epoch in claims:
        lines.append(("Draftfs-Job", str(job)))
        if epoch is not None:
            lines.append(("Draftfs-Epoch", str(epoch)))
    kind = "Draftfs-Draft" if isinstance(answer, Promoted) else "Draftfs-Undone"
    return [*lines, *((kind, shown(layout.draft_name(each))) for each in found)]


def _not_committed(answer: Decided, fault: EnvironmentFault | Refused) -> EnvironmentFault:
    name, lines = replaced_in(answer)
    paths = " ".join(pasteable(each.target) for each in lines)
    return EnvironmentFault(
        fault.code if isinstance(fault, EnvironmentFault) else "git",
        f"the targets hold what was chosen, but nothing was committed: {fault.message}",
        hint=f"mend that, then the same command again, or git commit -- {paths}",
        **{name: to_plain(answer)},
    )
