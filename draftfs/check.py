"""What needs a person's eye, found by one look at the store, the root and git (§7). Changes nothing.

Costs by what is live: standing choices, waiting drafts, open jobs, agents' worktrees; and one scan of the root for files
that are named like drafts. Git is asked about many files at once, never once for each.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from draftfs import layout, unrecorded
from draftfs.answers import Checked, Finding, Listed
from draftfs.clock import age_of
from draftfs.comparing import Comparison
from draftfs.engine.files import FileEngine
from draftfs.engine.transaction import FileView
from draftfs.errors import Damaged, EnvironmentFault, pasteable
from draftfs.frozen import frozen
from draftfs.git import clean, hooks
from draftfs.git.clean import Form
from draftfs.git.hooks import HookState
from draftfs.git.verifying import Verifier
from draftfs.layout import DraftName
from draftfs.listing import drafts_of, every_target
from draftfs.paths import Fold, covers, within
from draftfs.records import Choice, Draft, EndedClaim, Job, Lease, PlaceDraft, Target
from draftfs.rules import jobs, lapses
from draftfs.sighting import Sighting
from draftfs.stamps import Stamps
from draftfs.workspace import Workspace

T = TypeVar("T")

KINDS: Final = (
    "damaged",
    "hook",
    "unadmitted",
    "tampered",
    "missing",
    "stale",
    "outdated",
    "lapsed",
    "unrecorded",
    "unpromoted",
)
"""What a finding can be, the gravest first."""

_OF_FILES: Final = frozenset({"damaged", "tampered", "missing", "stale", "outdated"})
_TRIES: Final = 3
_CHANGED_KIND: Final = "its target has changed its kind"


@frozen
class _Seen:
    """What the store says, read in one look. `lapsed` are jobs that nobody took up again after their claim lapsed."""

    targets: tuple[tuple[Target, tuple[Draft, ...]], ...]
    lapsed: tuple[tuple[Job, EndedClaim | Lease], ...]
    damaged: tuple[Damaged, ...]
    fold: Fold
    position: int
    now: float


class Checker:
    """One look at everything, for one caller."""

    def __init__(self, engine: FileEngine, workspace: Workspace, verifier: Verifier) -> None:
        self._engine, self._workspace, self._verifier = engine, workspace, verifier
        self._tree, self._repo = workspace.tree, workspace.repo
        self._notes: list[str] = []

    def run(self, paths: Sequence[str], kinds: Collection[str] = KINDS) -> Checked:
        """What is found about `paths` (target paths; all without any, or with "" among them), of these kinds. Hooks are no
        matter of a path. Damaged records are findings.

        Raises DraftfsError where the root or git cannot be asked.
        """
        self._tree.require()
        scope = () if "" in paths else tuple(paths)
        for _ in range(_TRIES):
            checked, position = self._once(scope, kinds)
            # What was promoted, drafted or shown while the files were looked at would look like somebody's meddling.
            if not checked.findings or position == self._engine.read(lambda view: view.counters.position):
                break
        return checked

    def _once(self, scope: Sequence[str], kinds: Collection[str]) -> tuple[Checked, int]:
        self._notes = []
        scan = _Meanwhile(lambda: self._repo.draft_files(self._tree.top) if "unrecorded" in kinds else [])
        idle = _Meanwhile(lambda: hooks.idle(self._tree.top) if "hook" in kinds and not scope else ())
        try:
            seen = self._engine.read(lambda view: _look(view, scope))
            found = [*self._unpromoted(seen), *self._lapsed(seen)]
            found += self._of_files(seen, everything=not scope) if _OF_FILES & set(kinds) else []
            found += self._unadmitted(seen, scope) if "unadmitted" in kinds else []
        finally:
            scan.join()
            idle.join()
        found += self._unrecorded(seen, scan.result(), scope)
        found += map(_not_active, idle.result())
        found += Listed.of((), seen.damaged).damaged
        self._notes += self._unknown(seen, scope)
        order = {kind: at for at, kind in enumerate(KINDS)}
        wanted = {(each.kind, each.path, each.subject): each for each in found if each.kind in kinds}
        findings = sorted(wanted.values(), key=lambda each: (order[each.kind], each.path, each.subject or ""))
        return Checked(tuple(findings), tuple(self._notes)), seen.position

    def _unknown(self, seen: _Seen, scope: Sequence[str]) -> Iterator[str]:
        """A path that was mistyped is not to look like one that is well."""
        recorded = [target.path for target, _ in seen.targets] + [path for job, _ in seen.lapsed for path in job.paths]
        for path in scope:
            if not os.path.lexists(self._tree.path(path)) and not any(
                covers(path, each, seen.fold) for each in recorded
            ):
                yield f"{path}: there is no such file, and nothing is recorded of it"

    # ── files of the root ──

    def _of_files(self, seen: _Seen, *, everything: bool) -> Iterator[Finding]:
        """Targets against what was chosen and what drafts were made from; draft files against what was recorded."""
        stamps = Stamps(self._workspace.objects, self._tree.top)
        compared = Comparison(self._workspace, stamps)
        chosen = {target.path: target.choice for target, _ in seen.targets if target.choice is not None}
        standing = self._workspace.standing_now(chosen, stamps)
        waiting = [draft for _, drafts in seen.targets for draft in drafts if draft.state == "waiting"]
        readable = self._readable(compared, [*standing, *(draft.target for draft in waiting)])
        for target in standing & readable:
            compared.ask(target, chosen[target].content)
        for draft in waiting:
            if draft.target in readable:
                compared.ask(draft.target, draft.base, draft.content)
        for target in compared.answer():
            self._notes.append(f"{target}: its filter cannot run, so its bytes were compared as they are")
        for target in sorted(standing & readable):
            if not compared.holds(target, chosen[target].content):
                yield self._stale(chosen[target], target, compared.see(target))
        yield from self._outdated([each for each in waiting if each.target in readable], compared)
        yield from self._draft_files([draft for _, drafts in seen.targets for draft in drafts], compared)
        stamps.save(everything=everything)

    def _readable(self, compared: Comparison, targets: Iterable[str]) -> frozenset[str]:
        """Those of `targets` that can be looked at; of the others a note is made."""
        found: set[str] = set()
        for target in dict.fromkeys(targets):
            try:
                compared.see(target)
            except EnvironmentFault as fault:
                self._notes.append(fault.message)
            else:
                found.add(target)
        return frozenset(found)

    def _stale(self, choice: Choice, target: str, seen: Sighting) -> Finding:
        name = pasteable(self._typed(target))
        repair = f"draftfs regenerate -- {name}"
        if seen.kind == "other":
            repair = f"mv -n -- {name} {pasteable(self._typed(f'{target}.aside'))} && {repair}"
        wanted = f"the chosen draft {choice.number}" if choice.content is not None else "the chosen deletion"
        said = {"absent": "it is gone", "other": seen.detail, "file": "it was changed"}[seen.kind]
        message = f"{target} does not hold {wanted}: {said}"
        return Finding("stale", target, message, repair, subject=str(choice.number), number=choice.number)

    def _outdated(self, waiting: Sequence[Draft], compared: Comparison) -> Iterator[Finding]:
        outdated = compared.outdated(self._engine, waiting)
        moved = [each for each in waiting if (each.target, each.number) in outdated]
        renamed = self._renamed([each for each in moved if compared.see(each.target).kind == "absent"])
        for draft in moved:
            seen, name = compared.see(draft.target), pasteable(self._typed(layout.draft_name(draft)))
            repair = f"draftfs merge -- {name}"
            if seen.kind == "other":
                said = f"it was made from a file, but {seen.detail} now" if draft.base else f"{seen.detail} now"
                repair = f"draftfs reject --because {pasteable(_CHANGED_KIND)} -- {name}"
            elif seen.kind == "absent":
                said = f"{draft.target} is gone"
                said += f", perhaps renamed to {renamed[draft.target]}" if draft.target in renamed else ""
                repair = f"draftfs promote --force -- {name}"
            elif draft.base is None:
                said = f"{draft.target} was not there when it was made, and is now"
            else:
                said = f"{draft.target} has changed since it was made"
            yield self._of_draft("outdated", draft.target, draft, f"{layout.draft_name(draft)}: {said}", repair)

    def _renamed(self, gone: Sequence[Draft]) -> dict[str, str]:
        """Where the content that drafts were made from is now, by the index: the one place of that name, if there is one."""
        objects = self._workspace.objects
        based = [
            (each, each.base) for each in gone if each.base is not None and each.base.size and objects.has(each.base)
        ]
        if not based:
            return {}
        asked = {each.target: Form(each.target, objects.path(base.sha256)) for each, base in based}
        ids = clean.forms(self._tree.top, asked.values()).ids
        held = self._repo.holding(ids.values(), self._tree.top)
        places = {target: held.get(ids.get(form, ""), []) for target, form in asked.items()}
        return {target: names[0] for target, names in places.items() if len(names) == 1 and names[0] != target}

    def _draft_files(self, drafts: Sequence[Draft], compared: Comparison) -> Iterator[Finding]:
        still_to_show: set[str] | None = None
        for draft in drafts:
            name = layout.draft_name(draft)
            if draft.content is not None and not self._workspace.objects.has(draft.content):
                lost = layout.object_file(draft.content.sha256)
                yield Finding("damaged", lost, f"{lost} is missing or cut short; {name} needs it", "draftfs doctor")
                continue
            try:
                state = compared.draft_file(draft)
            except EnvironmentFault as fault:
                self._notes.append(fault.message)
                continue
            typed = pasteable(self._typed(name))
            if state == "tampered":
                aside = pasteable(self._typed(f"{draft.target}.aside-{draft.number:04d}"))
                message = f"{name} no longer holds what {draft.author} handed in"
                repair = f"mv -n -- {typed} {aside} && draftfs restore -- {typed}"
                yield self._of_draft("tampered", name, draft, message, repair)
            elif state == "missing":
                if still_to_show is None:
                    still_to_show = self._still_to_show()
                if name not in still_to_show:
                    message = f"{name} is missing: stashed or cleaned?"
                    yield self._of_draft("missing", name, draft, message, f"draftfs restore -- {typed}")

    def _still_to_show(self) -> set[str]:
        """Drafts that nobody who could write the root has come by to show."""
        if not self._engine.has_pending_effects():
            return set()
        return {layout.draft_name(each) for each in self._engine.pending_effects() if isinstance(each, PlaceDraft)}

    def _unrecorded(self, seen: _Seen, names: Sequence[str], scope: Sequence[str]) -> Iterator[Finding]:
        parsed = [each for each in map(layout.parse_draft_name, names) if each is not None]
        found = self._engine.read(lambda view: _without_record(view, seen, parsed, scope))
        for name in map(str, found):
            if _is_file(self._tree.path(name)):
                repair = f"draftfs promote -- {pasteable(self._typed(name))}"
                yield Finding("unrecorded", name, f"{name}: no record has this draft", repair, "warning")

    # ── what the records say ──

    def _unpromoted(self, seen: _Seen) -> Iterator[Finding]:
        for target, drafts in seen.targets:
            waiting = [draft for draft in drafts if draft.state == "waiting"]
            if not waiting:
                continue
            first, *more = waiting
            many = f"{len(waiting)} drafts wait" if more else f"{layout.draft_name(first)} waits"
            typed = self._typed(target.path if more else layout.draft_name(first))
            repair = f"draftfs {'ls' if more else 'promote'} -- {pasteable(typed)}"
            age = max(age_of(draft.created_at, seen.now) for draft in waiting)
            message = f"{target.path}: {many}" if more else many
            number, job = (None, None) if more else (first.number, first.job)
            yield Finding("unpromoted", target.path, message, repair, "warning", number=number, job=job, age=age)

    def _lapsed(self, seen: _Seen) -> Iterator[Finding]:
        for job, claim in seen.lapsed:
            failed = job.state == "failed"
            rest = "no attempt is left" if failed else "nobody has taken the job up since"
            message = f"{', '.join(job.paths)}: the claim of job {job.id} by {claim.holder} has lapsed, and {rest}"
            repair = f"draftfs job retry {job.id}" if failed else f"draftfs claim {job.id} --seen {job.version}"
            at = claim.at if isinstance(claim, EndedClaim) else claim.expires_at
            yield Finding(
                "lapsed", job.paths[0], message, repair, "warning", str(job.id), job=job.id, age=age_of(at, seen.now)
            )

    def _unadmitted(self, seen: _Seen, scope: Sequence[str]) -> Iterator[Finding]:
        try:
            found = self._verifier.worktrees()
        except Damaged as fault:
            yield from Listed.of((), [fault]).damaged
            return
        for each in found:
            path, commit = each.change.path, each.commit or ""
            if not within(scope, path, seen.fold):
                continue
            held = f" (held by {each.holder}, job {each.job})" if each.holder is not None else ""
            message = f"{path}: commit {commit[:12]} changes it, and nothing admits that{held}"
            yield Finding("unadmitted", path, message, f"draftfs verify {commit}", subject=commit, job=each.job)

    def _of_draft(self, kind: str, path: str, draft: Draft, message: str, repair: str) -> Finding:
        severity: Final = "error" if kind == "tampered" else "warning"
        return Finding(kind, path, message, repair, severity, str(draft.number), draft.number, draft.job)

    def _typed(self, path: str) -> str:
        return self._repo.typed(path)


def _not_active(state: HookState) -> Finding:
    return Finding("hook", state.worktree, f"{state.hook}: {state.message}", state.repair, subject=state.hook)


def _is_file(path: str) -> bool:
    """Whether it is a regular file: a symlink or a pipe that is named like a draft is none."""
    try:
        return stat.S_ISREG(os.stat(path, follow_symlinks=False).st_mode)
    except OSError:
        return False


# ── the look at the store ──


def _look(view: FileView, scope: Sequence[str]) -> _Seen:
    damaged: list[Damaged] = []
    fold = view.store.fold

    def wanted(paths: Iterable[str]) -> bool:
        return any(within(scope, path, fold) for path in paths)

    targets = tuple(
        (target, drafts_of(view, target, damaged)) for target in every_target(view, damaged) if wanted((target.path,))
    )
    lapsed = tuple(each for each in _lapsed_claims(view, damaged) if wanted(each[0].paths))
    return _Seen(targets, lapsed, tuple(damaged), fold, view.counters.position, view.now.wall)


def _without_record(
    view: FileView, seen: _Seen, listed: Sequence[DraftName], scope: Sequence[str]
) -> Sequence[DraftName]:
    """Those of these files that no record has, of targets in `scope`. What was read already is not looked up again: the
    drafts that wait, by their full names, and the chosen ones, by number where no two files claim that."""
    wanted = [each for each in listed if within(scope, each.target, seen.fold)]
    claims = Counter((each.target, each.number) for each in wanted)
    waiting = {(each.target, each.number): layout.draft_name(each) for _, drafts in seen.targets for each in drafts}
    chosen = {(target.path, target.choice.number) for target, _ in seen.targets if target.choice is not None}
    open_, found = list[DraftName](), list[DraftName]()
    for each in wanted:
        place = each.target, each.number
        if place in waiting:
            found += [each] if waiting[place] != str(each) else []
        elif place not in chosen or claims[place] > 1:
            open_.append(each)
    return [*found, *unrecorded.unmatched(view, open_)]


def _lapsed_claims(view: FileView, damaged: list[Damaged]) -> Iterator[tuple[Job, EndedClaim | Lease]]:
    """Also of leases whose lapse could not be committed yet."""
    overdue = {lease.job: lease for lease in lapses.overdue(view)}
    for job in jobs.open_jobs(view, damaged):
        if job.state == "claimed" and job.id in overdue:
            yield job, overdue[job.id]
        elif job.state in ("open", "failed") and job.epoch:
            try:
                ended = view.get(layout.ended_claim(job.id, job.epoch))
            except Damaged as fault:
                damaged.append(fault)
                continue
            if ended is not None and ended.how == "lapsed":
                yield job, ended


class _Meanwhile(Generic[T]):
    """Work that waits for git, done beside other work."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work, self._done, self._fault = work, list[T](), list[Exception]()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def result(self) -> T:
        """What came of it. Raises what the work raised."""
        self.join()
        for fault in self._fault:
            raise fault
        return self._done[0]

    def _run(self) -> None:
        try:
            self._done.append(self._work())
        except Exception as fault:  # noqa: BLE001 - whatever it is, it is raised where the result is wanted
            self._fault.append(fault)
