"""Which drafts' files lie beside their targets: taking decided ones away (tidy), bringing back what is gone (restore)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from draftfs import layout, listing
from draftfs.answers import DraftInfo, Left, Listed, Restored, Tidied, draft_info
from draftfs.calls import Calls
from draftfs.engine import Performed, Transaction
from draftfs.engine.files import FileEngine
from draftfs.engine.transaction import FileView
from draftfs.errors import Damaged, DraftfsError, Refused, pasteable
from draftfs.paths import within
from draftfs.records import Actor, Draft, DraftRef, PlaceDraft, RemoveDraft
from draftfs.rules import drafts
from draftfs.unrecorded import drafts_in
from draftfs.workspace import Workspace

_DECIDED: Final = frozenset({"promoted", "rejected", "superseded"})


class Showing:
    """The draft files of one root, for one actor."""

    def __init__(self, engine: FileEngine, workspace: Workspace, calls: Calls, actor: Actor) -> None:
        self._engine, self._workspace, self._calls, self._actor = engine, workspace, calls, actor
        self._tree, self._objects = workspace.tree, workspace.objects

    # ── tidy ──

    def tidy(self, scopes: Sequence[str], receipt: str | None, *, abandoned: bool, dry_run: bool) -> Tidied:
        """Take the files of decided drafts away, where they are still what was recorded, and can be had back."""
        mine, left = self._removable(scopes, abandoned=abandoned)

        def rule(tx: Transaction, _: str) -> Tidied:
            gone = drafts.tidy(tx, mine, self._actor, abandoned=abandoned)
            return Tidied(drafts=tuple(draft_info(each, shown=False) for each in gone), left=left)

        if dry_run:
            return self._engine.try_out(lambda tx: rule(tx, ""))
        request = {"paths": sorted(scopes), "abandoned": abandoned}
        tidied = self._calls.write("tidy", request, Tidied, rule, receipt, after=_without_failed)
        return replace(tidied, drafts=self._tree.with_shown(tidied.drafts))

    def _removable(self, scopes: Sequence[str], *, abandoned: bool) -> tuple[list[DraftRef], tuple[Left, ...]]:
        decided = _DECIDED | ({"abandoned"} if abandoned else set())
        found, left = list[DraftRef](), list[Left]()
        for draft in self._engine.read(lambda view: list(self._shown(view, scopes))):
            if draft.state not in decided:
                continue
            name = layout.draft_name(draft)
            if not self._tree.holds(name, draft.content):
                left.append(Left(name, "it does not hold what was recorded"))
            elif draft.content is not None and not self._objects.has(draft.content):
                left.append(Left(name, "the store has lost its bytes, and this is the last copy"))
            else:
                self._tree.require_writable(draft.target, f"removing {name}")
                found.append(draft.ref)
        return found, tuple(left)

    def _shown(self, view: FileView, scopes: Sequence[str]) -> Iterator[Draft]:
        """The recorded drafts whose files lie beside the targets at or under `scopes`, all without any."""
        fold = view.store.fold
        targets = [each.path for each in listing.every_target(view, []) if within(scopes, each.path, fold)]
        wanted = set(targets)
        for folder in sorted({os.path.dirname(each) for each in targets}):
            for name in drafts_in(self._tree, folder):
                draft = drafts.readable(view, DraftRef(name.target, name.number)) if name.target in wanted else None
                if draft is not None and layout.draft_name(draft) == str(name):
                    yield draft

    # ── restore ──

    def restore(self, refs: Sequence[DraftRef] | None) -> Restored:
        """Put the files of these drafts back, whatever became of them; of None: of all that wait or are abandoned.

        What cannot be put back is left: of drafts that were named that is refused, before anything is done. Raises Refused
        `tampered` where something else is in a draft's place, Damaged for lost bytes, EnvironmentFault, OSError.
        """
        damaged: list[Damaged] = []

        def look(view: FileView) -> list[Draft]:
            damaged.clear()
            return list(_undecided(view, damaged) if refs is None else _named(view, refs))

        found = self._engine.read(look)
        missing, there, left = list[Draft](), list[Draft](), list[Left]()
        for draft in found:
            state = self._tree.file_state(draft)
            fault = self._obstacle(draft, state)
            if fault is None:
                (missing if state == "missing" else there).append(draft)
            elif refs is not None:
                raise fault
            else:
                left.append(Left(layout.draft_name(draft), fault.message))
        for draft in missing:
            self._tree.require_writable(draft.target, f"showing {layout.draft_name(draft)}")
        for draft in missing:
            performed = self._tree.perform(PlaceDraft(draft.target, draft.number, draft.author, draft.content), None)
            if performed.fault is not None and self._tree.file_state(draft) != "whole":
                raise performed.fault
        return Restored(self._infos(missing), self._infos(there), tuple(left), Listed.of((), damaged).damaged)

    def _obstacle(self, draft: Draft, state: str) -> DraftfsError | None:
        folder = next((each for each in _folders(draft.target) if self._is_blocked(each)), None)
        if folder is not None:
            hint = f"mv -n -- {pasteable(folder)} {pasteable(f'{folder}~')}; draftfs restore"
            return Refused("not_a_file", f"{folder} is a symlink or a file, and no folder", hint=hint)
        if state == "tampered":
            return _taken(draft)
        if state == "whole" or draft.content is None or self._objects.has(draft.content):
            return None
        name = layout.object_file(draft.content.sha256)
        return Damaged("damaged", f"{name}, which holds its bytes, is missing or cut short", file=name)

    def _is_blocked(self, folder: str) -> bool:
        path = self._tree.path(folder)
        return os.path.islink(path) or (os.path.exists(path) and not os.path.isdir(path))

    def _infos(self, found: Iterable[Draft]) -> tuple[DraftInfo, ...]:
        return self._tree.with_shown(draft_info(draft, shown=False) for draft in found)


def _folders(target: str) -> Iterator[str]:
    """Those that the target lies in, the outermost first."""
    return (target[:at] for at, letter in enumerate(target) if letter == "/")


def _undecided(view: FileView, damaged: list[Damaged]) -> Iterator[Draft]:
    for target in listing.every_target(view, damaged):
        yield from listing.drafts_of(view, target, damaged)


def _named(view: FileView, refs: Sequence[DraftRef]) -> Iterator[Draft]:
    return (drafts.find(view, ref) for ref in dict.fromkeys(refs))


def _without_failed(tidied: Tidied, performed: Sequence[Performed]) -> Tidied:
    """The answer, with files that changed, or could not be removed, after they had been looked at."""
    failed = {
        (each.effect.target, each.effect.number): _why(each.fault)
        for each in performed
        if isinstance(each.effect, RemoveDraft) and each.state == "failed"
    }
    kept = tuple(
        Left(each.file, failed[each.target, each.number])
        for each in tidied.drafts
        if (each.target, each.number) in failed
    )
    gone = tuple(each for each in tidied.drafts if (each.target, each.number) not in failed)
    return replace(tidied, drafts=gone, left=(*tidied.left, *kept))


def _why(fault: DraftfsError | None) -> str:
    return "it changed this very moment" if fault is None or fault.code == "tampered" else fault.message


def _taken(draft: Draft) -> Refused:
    name = layout.draft_name(draft)
    return Refused(
        "tampered",
        f"{name} is there, but is not what {draft.author} handed in; it is not written over",
        hint=f"mv -n -- {pasteable(name)} {pasteable(f'{name}~')}; draftfs restore -- {pasteable(name)}",
        target=draft.target,
        number=draft.number,
    )
