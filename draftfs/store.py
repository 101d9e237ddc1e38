"""Store: one method per operation. Wires the rules to the engine, the caller's checkout and the root.

What must be read from disk is read before the lock; what is decided is decided in one transaction (see `calls`).
Nothing here prints, prompts or reads the environment. (Over 400 lines because it is the one list of all operations.)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from draftfs import layout, listing, names, opening, tokens
from draftfs.answers import (
    Checkup,
    Claimed,
    Configured,
    Drafted,
    JobChanged,
    JobLine,
    JobsAdded,
    Listed,
    Promoted,
    ReceiptInfo,
    Rejected,
    Renewed,
    TargetLine,
    Vouched,
)
from draftfs.calls import Calls, FreshKeys, Keys, standing_of
from draftfs.claiming import Claiming
from draftfs.clock import Clock, SystemClock
from draftfs.codec import to_plain
from draftfs.engine import PrepareAgain, Transaction
from draftfs.engine.files import FileEngine
from draftfs.engine.objects import Objects, Progress
from draftfs.engine.transaction import FileView
from draftfs.errors import (
    BadRequest,
    Damaged,
    EnvironmentFault,
    NotFound,
    Refused,
    from_oserror,
    pasteable,
)
from draftfs.holdings import Holdings
from draftfs.listing import Listing, Sides
from draftfs.records import Content, DraftRef, Event, Lease, NewJob
from draftfs.repo import Repo
from draftfs.rules import claims, decisions, drafts, jobs, promotion
from draftfs.rules.claims import Start
from draftfs.rules.drafts import Proposal
from draftfs.settings import SETTINGS, check_ttl, from_text, to_text
from draftfs.tree import Tree
from draftfs.workspace import Workspace
from draftfs.worktree import Kept, Worktree

if TYPE_CHECKING:  # what only some operations need is imported by them: it would slow the start of all others
    from draftfs.fresh import Changed, Fresh, Removed
    from draftfs.git.gate import Judged
    from draftfs.git.verifying import Verifier
    from draftfs.promoter import Promoter

Prepare = Callable[[tuple[str, ...]], Start]
_STRICT_LOOKS: Final = 4


class Store:
    """The store of one repository, as one caller sees it. Make one with `Store.open` or `Store.init`.

    Methods raise DraftfsError and nothing else on purpose. Durations are whole seconds. Paths are taken from the folder
    the store was opened from, and answered relative to the root. `receipt` is the key of G1; without one a fresh key is
    made. `job` and `token` name a claim; without them it is the one whose token this worktree keeps. Threads each open
    a Store of their own.
    """

    def __init__(
        self,
        repo: Repo,
        agent: str | None,
        *,
        clock: Clock,
        lock_wait: float,
        keys: Keys,
        progress: Progress | None,
        running: tuple[int, int] | None,
    ) -> None:
        self.repo, self.folder = repo, opening.locate(repo)
        self.engine = FileEngine(self.folder, clock, lock_wait)
        self.info = self.engine.read(lambda view: view.store)
        top = os.path.normpath(os.path.join(repo.common_dir, self.info.root))
        self.objects = Objects(self.folder, progress)
        self.tree = Tree(top, self.objects, lambda: repo.head(top).branch, self._keep_hand_edit)
        self.engine.root = self.tree
        self.worktree = Worktree(repo.git_dir)
        self._workspace = Workspace(repo, self.tree, self.objects)
        self.actor = opening.actor(repo, agent, in_root=self._workspace.in_root)
        self._calls = Calls(self.engine, self.info.id, self.actor, keys)
        self._holdings = Holdings(self.engine, self.info.id, self.worktree, self.actor, running)
        self._claiming = Claiming(self.engine, self.info, self.actor, self._workspace, self._calls, self._holdings)
        self._listing = Listing(self.engine, self._workspace)

    @classmethod
    def open(
        cls,
        cwd: str = ".",
        *,
        agent: str | None = None,
        clock: Clock | None = None,
        lock_wait: float = 10.0,
        keys: Keys | None = None,
        progress: Progress | None = None,
        running: tuple[int, int] | None = None,
    ) -> Store:
        """Open the store of the repository that `cwd` lies in.

        `running` is the claim (job, epoch) that this program was started under, if any: it does not write by the token of
        another claim of that job. The actor is `agent`; else, but in the root, the holder recorded there; else the person. `lock_wait` is in
        seconds; `progress` is told the bytes of each step of a long copy. Raises NotFound `no_store`, BadRequest
        `bad_name`, EnvironmentFault `git`, Damaged.
        """
        if agent is not None:
            names.agent_name(agent)
        repo = Repo.find(cwd)
        return cls(
            repo,
            agent,
            clock=clock or SystemClock(),
            lock_wait=lock_wait,
            keys=keys or FreshKeys(),
            progress=progress,
            running=running,
        )

    @classmethod
    def init(
        cls,
        cwd: str = ".",
        *,
        root: str | None = None,
        clock: Clock | None = None,
        lock_wait: float = 10.0,
        **options: Any,
    ) -> tuple[Store, bool]:
        """Make the store of the repository that `cwd` lies in, or complete or open the one there; True when it is new.

        `root` (relative to `cwd`) names the checkout that people look at: needed where it is not simply the main one, and
        where the root was moved. `options` are those of `open`. Raises what `founding.make` raises.
        """
        clock = clock or SystemClock()
        from draftfs import founding

        repo = founding.place(cwd, root)
        made = founding.make(repo, clock, lock_wait, named=root is not None)
        store = cls.open(repo.cwd, clock=clock, lock_wait=lock_wait, **options)
        if root is not None and not store._workspace.in_root:  # noqa: SLF001
            founding.move_root(store.engine, repo, store.tree.top, store.actor)
            store = cls.open(repo.cwd, clock=clock, lock_wait=lock_wait, **options)
        return store, made

    @classmethod
    def examine(
        cls, cwd: str = ".", *, fix: bool = False, clock: Clock | None = None, lock_wait: float = 10.0, **options: Any
    ) -> Checkup:
        """As `doctor`, also for a store that is too damaged to be opened. `options` are those of `open`.

        Raises Damaged where a newer version wrote the store.
        """
        from draftfs import doctor, founding

        clock, fixed = clock or SystemClock(), list[str]()
        while True:
            try:
                checkup = cls.open(cwd, clock=clock, lock_wait=lock_wait, **options).doctor(fix=fix)
            except Damaged as fault:
                file = str(fault.details.get("file"))
                if fault.details.get("cause") == "format":
                    raise
                if not fix:
                    return doctor.unopened(fault)
                said = founding.mend(Repo.find(cwd), clock, lock_wait, file)
                if not said or said[0] in fixed:
                    raise
                fixed += said
            else:
                return replace(checkup, fixed=(*fixed, *checkup.fixed))

    # ── jobs ──

    def add_job(
        self,
        title: str,
        paths: Sequence[str],
        *,
        after: Sequence[int] = (),
        attempts: int | None = None,
        contest: int | None = None,
        text: str = "",
        receipt: str | None = None,
    ) -> JobsAdded:
        """Add one job, or with `contest` that many siblings on the same paths."""
        targets = tuple(self.repo.target(path) for path in paths)
        return self.add_jobs([NewJob(title, targets, tuple(after), None, attempts, contest, text)], receipt=receipt)

    def add_jobs(self, new: Sequence[NewJob], *, receipt: str | None = None) -> JobsAdded:
        """Add all of `new`, or none; their paths are root-relative."""
        for each in new:
            _title(each.title)
            names.free_text(each.text, "a job's text")
            _at_least(1, attempts=each.attempts)
            _at_least(2, contest=each.contest)

        meant = [replace(each, paths=jobs.outermost(self.info.fold, each.paths)) for each in new]

        def rule(tx: Transaction, _: str) -> JobsAdded:
            return JobsAdded(jobs=jobs.add(tx, meant, self.actor.name))

        return self._calls.write("job add", {"jobs": [to_plain(each) for each in meant]}, JobsAdded, rule, receipt)

    def jobs(self, *, everything: bool = False) -> Listed[JobLine]:
        """Every job that is not finished; with `everything` the finished ones too."""
        self._calls.notice()
        return self.engine.read(lambda view: listing.job_lines(view, everything=everything))

    def job(self, job: int) -> JobLine:
        """One job. Raises NotFound `no_job`."""
        self._calls.notice()
        return self.engine.read(lambda view: listing.job_line(view, jobs.find(view, job)))

    def edit_job(
        self,
        job: int,
        *,
        title: str | None = None,
        text: str | None = None,
        paths: Sequence[str] | None = None,
        after: Sequence[int] | None = None,
        receipt: str | None = None,
    ) -> JobChanged:
        """Change what an open or failed job says; None leaves a field as it is."""
        changed: dict[str, Any] = {
            "title": None if title is None else _title(title),
            "text": None if text is None else names.free_text(text, "a job's text"),
            "paths": None if paths is None else list(self._targets(paths)),
            "after": None if after is None else list(after),
        }
        if all(value is None for value in changed.values()):
            raise BadRequest("usage", "nothing to change is named", hint="draftfs job edit --help")

        def rule(tx: Transaction, _: str) -> JobChanged:
            return JobChanged(job=jobs.edit(tx, job, self.actor.name, **changed))

        return self._calls.write("job edit", {"job": job, **changed}, JobChanged, rule, receipt, only=job)

    def retry_job(self, job: int, *, attempts: int = 1, receipt: str | None = None) -> JobChanged:
        """Grant more attempts (a person's act); a failed job is open again."""
        self._require_person("grant attempts")
        _at_least(1, attempts=attempts)

        def rule(tx: Transaction, _: str) -> JobChanged:
            return JobChanged(job=jobs.retry(tx, job, self.actor.name, attempts))

        return self._calls.write("job retry", {"job": job, "attempts": attempts}, JobChanged, rule, receipt, only=job)

    def accept_job(self, job: int, *, receipt: str | None = None) -> JobChanged:
        """Accept a submitted job that has no draft to promote (a person's act)."""
        self._require_person("accept jobs")

        def rule(tx: Transaction, _: str) -> JobChanged:
            return decisions.accept(tx, job, self.actor)

        return self._calls.write("job accept", {"job": job}, JobChanged, rule, receipt)

    def cancel_job(self, job: int, *, because: str | None = None, receipt: str | None = None) -> JobChanged:
        """End a job for good (a person's act); a worker who holds it is fenced."""
        return self._decide("cancel", job, because, decisions.cancel, receipt)

    def revoke_job(self, job: int, *, because: str, receipt: str | None = None) -> JobChanged:
        """Take a job from whoever holds it (a person's act)."""
        return self._decide("revoke", job, because, decisions.revoke, receipt)

    def reject_job(self, job: int, *, because: str, receipt: str | None = None) -> JobChanged:
        """Turn a submitted job down (a person's act): open again, or failed when no attempt is left."""
        return self._decide("reject", job, because, decisions.reject, receipt)

    def _decide(
        self, what: str, job: int, because: Any, decide: Callable[..., JobChanged], receipt: str | None
    ) -> JobChanged:
        self._require_person(f"{what} jobs")
        request = {"job": job, "because": None if because is None else names.free_text(because, "a reason")}

        def rule(tx: Transaction, _: str) -> JobChanged:
            return decide(tx, job, self.actor, because)

        return self._calls.write(f"job {what}", request, JobChanged, rule, receipt, only=job)

    # ── work ──

    def claim(
        self, job: int, *, seen: int, ttl: int | None = None, adopt: bool = False, receipt: str | None = None
    ) -> Claimed:
        """Claim a job at the version its worker saw (G2, G3). `claims.claim` has the refusals and their order."""
        return self._claiming.here(self._claiming.of_job(job, seen), ttl, receipt, adopt=adopt)

    def claim_next(self, *, ttl: int | None = None, adopt: bool = False, receipt: str | None = None) -> Claimed:
        """Claim the ready job with the fewest attempts, then the lowest number. Raises `nothing_ready` or `all_done`."""
        return self._claiming.here(self._claiming.of_next(), ttl, receipt, adopt=adopt)

    def claim_paths(
        self, paths: Sequence[str], *, ttl: int | None = None, adopt: bool = False, receipt: str | None = None
    ) -> Claimed:
        """Make a job on `paths` and claim it, in one transaction."""
        return self._claiming.here(self._claiming.of_paths(self._targets(paths)), ttl, receipt, adopt=adopt)

    def claim_fresh(
        self,
        job: int | None = None,
        *,
        seen: int | None = None,
        ttl: int | None = None,
        place: str | None = None,
        receipt: str | None = None,
    ) -> Fresh:
        """Claim a job at the version seen, or the next one, and make a worktree for this claim alone (§8, run).

        It lies in `place`, by default the folder `NAME.jobs` beside the root, as `job-JOB-EPOCH`, on a branch of that name
        at the root's HEAD, and holds the root's bytes at the reserved paths, which are the bases of the claim. Where it
        cannot be made, the claim is released plainly. For agents, from any checkout. Raises what `claim` raises.
        """
        if job is not None and seen is None:
            raise BadRequest("usage", "a job is claimed at the version that was seen", hint="seen=VERSION")
        what = self._claiming.of_next() if job is None or seen is None else self._claiming.of_job(job, seen)
        return self._claiming.fresh(what, ttl, receipt, place)

    def changed_since(self, fresh: Fresh) -> Changed:
        """What differs in a claim's worktree from what it was filled with; for a store opened in that worktree."""
        from draftfs.fresh import changed

        with _disk("looking at the worktree"):
            return changed(self._workspace, fresh, self.info.fold, self.actor.name)

    def drafts_of(self, job: int, epoch: int) -> dict[str, Content | None]:
        """The latest draft of each target that a claim, live or over, has handed in."""

        def look(view: FileView) -> dict[str, Content | None]:
            lease = view.get(layout.lease(job))
            held = lease if lease is not None and lease.epoch == epoch else view.get(layout.ended_claim(job, epoch))
            refs = held.drafts if held is not None else ()
            return {ref.target: drafts.find(view, ref).content for ref in refs}

        return self.engine.read(look)

    def remove_fresh(self, fresh: Fresh) -> Removed:
        """Remove the worktree of a claim that is over; for a store opened in it.

        It stays where something in it was not drafted, where git would lose a commit with it, and under a live claim.
        """
        from draftfs.fresh import Removed, remove, unsaved

        identity = self.worktree.id()

        def held(view: FileView) -> bool:
            leases = (view.get(key) for key in view.under(layout.LEASES))
            return any(lease is not None and lease.worktree == identity for lease in leases)

        self._calls.notice()
        with _disk("looking at the worktree"):
            if self.engine.read(held):
                return Removed(folder=False, branch=False, because="a claim of it is live")
            because = unsaved(self.repo, fresh, self.changed_since(fresh), self.drafts_of(fresh.job, fresh.epoch))
        if because is not None:
            return Removed(folder=False, branch=False, because=because)
        return remove(Repo.find(self.tree.top), fresh)

    def _targets(self, paths: Sequence[str]) -> tuple[str, ...]:
        return jobs.outermost(self.info.fold, (self.repo.target(path) for path in paths))

    def renew(
        self, *, job: int | None = None, token: str | None = None, ttl: int | None = None, receipt: str | None = None
    ) -> Renewed:
        """Move the live claim's deadline to now + ttl (its own ttl unless given). The token stays."""
        check_ttl(ttl)
        held = self._holdings.find(job, token, receipt=receipt)

        def rule(tx: Transaction) -> Renewed:
            return claims.renew(tx, *held, self.actor, ttl)

        return self._calls.fenced("renew", {"ttl": ttl}, Renewed, rule, held, receipt)

    def release(
        self,
        *,
        job: int | None = None,
        token: str | None = None,
        failed: bool = False,
        note: str | None = None,
        receipt: str | None = None,
    ) -> JobChanged:
        """Give the job back; plainly the attempt comes back too, with `failed` it stays spent."""
        held = self._holdings.find(job, token, receipt=receipt)

        def rule(tx: Transaction) -> JobChanged:
            return claims.release(tx, *held, self.actor, failed=failed, note=note)

        meant = {"failed": failed, "note": _note(note)}
        return self._calls.fenced("release", meant, JobChanged, rule, held, receipt)

    def submit(
        self, *, job: int | None = None, token: str | None = None, note: str | None = None, receipt: str | None = None
    ) -> JobChanged:
        """End the claim and hand the job, with this claim's latest draft per target, to a person."""
        held = self._holdings.find(job, token, receipt=receipt)

        def rule(tx: Transaction) -> JobChanged:
            submitted = claims.submit(tx, *held, self.actor, note)
            decisions.settle(tx, [submitted.job.id], self.actor)  # a person may have promoted all of it already
            return replace(submitted, job=jobs.find(tx, submitted.job.id))

        return self._calls.fenced("submit", {"note": _note(note)}, JobChanged, rule, held, receipt)

    def draft(
        self,
        paths: Sequence[str],
        *,
        source: str | int | None = None,
        delete: bool = False,
        note: str | None = None,
        job: int | None = None,
        token: str | None = None,
        receipt: str | None = None,
    ) -> Drafted:
        """Hand in the next draft of each path, from the caller's checkout; or of one path from `source`, a file or an
        open descriptor; or propose its deletion. Needs the live token (G4)."""
        targets = tuple(sorted({self.repo.target(path) for path in paths}))
        if not targets or (source is not None and (delete or len(targets) != 1)):
            raise BadRequest(
                "usage", "name the paths to draft; --from goes with exactly one", hint="draftfs draft PATH…"
            )
        held = self._holdings.find(job, token, targets, receipt)
        author = self.actor.name if self.actor.is_agent else names.person_in_file_name(self.actor.name)
        with ExitStack() as stack, _disk("preparing the draft"):
            lease = self.engine.read(lambda view: view.get(layout.lease(held[0])))
            contents = {each: self._workspace.drafted(each, source, delete=delete) for each in targets}
            proposals = [self._proposal(stack, each, author, contents[each], lease) for each in targets]

            def rule(tx: Transaction) -> Drafted:
                return drafts.add(tx, claims.fence(tx, *held, "draft"), self.actor, author, proposals, note)

            meant = {"drafts": [[each, to_plain(contents[each])] for each in targets], "note": _note(note)}
            drafted = self._calls.fenced("draft", meant, Drafted, rule, held, receipt)
        return replace(drafted, drafts=self._listing.with_shown(drafted.drafts))

    def _proposal(
        self, stack: ExitStack, target: str, author: str, content: Content | None, lease: Lease | None
    ) -> Proposal:
        self._workspace.require_short_name(target, author)
        base = self._workspace.base_under_folder(lease, target) if lease is not None else None
        staged = self.tree.stage_draft(stack, target, content) if self.tree.is_writable(target) else None
        return Proposal(target, content, base, self.tree.highest_number(target), staged)

    # ── review ──

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
        receipt: str | None = None,
    ) -> Promoted:
        """Make each target hold the chosen draft, all or none (a person's act; G7). A number means all waiting drafts of
        that submitted job. With `dry_run` only say what would change.

        Raises Refused `target_moved`, `tampered`, `not_a_file`; EnvironmentFault, with the answer in its details, where
        an install failed after the choice had been recorded.
        """
        self._require_person("promote")
        self.settle()
        meant = wanted if isinstance(wanted, int) else [to_plain(ref) for ref in wanted]
        request, looks = {"drafts": meant, "force": force}, count()
        with ExitStack() as stack, _disk("preparing the promotion"):

            def prepared(_: PrepareAgain | None = None) -> Callable[[Transaction, str], Promoted]:
                staging = None if dry_run else stack
                return self._promoter.rule(staging, wanted, force=force, strict=next(looks) < _STRICT_LOOKS)

            while dry_run:
                with suppress(PrepareAgain):
                    return self._tried_out(prepared())
            after = self._promoter.installed
            return self._calls.write("promote", request, Promoted, prepared(), receipt, after=after, again=prepared)

    def _tried_out(self, rule: Callable[[Transaction, str], Promoted]) -> Promoted:
        return self.engine.try_out(lambda tx: rule(tx, ""))

    def reject(self, wanted: Sequence[DraftRef], *, because: str, receipt: str | None = None) -> Rejected:
        """Turn drafts down (a person's act); the reason reaches their workers by the feed."""
        self._require_person("reject drafts")
        request = {"drafts": [to_plain(ref) for ref in wanted], "because": names.free_text(because, "a reason")}

        def rule(tx: Transaction, _: str) -> Rejected:
            return decisions.reject_drafts(tx, wanted, self.actor, because)

        rejected = self._calls.write("reject", request, Rejected, rule, receipt)
        return replace(rejected, drafts=self._listing.with_shown(rejected.drafts))

    def job_drafts(self, job: int) -> tuple[DraftRef, ...]:
        """The drafts that `promote --job` means: those of a submitted job that wait. Raises `no_draft` without any."""
        return self.engine.read(lambda view: promotion.waiting_of(view, job))

    def draft_refs(self, arguments: Sequence[str]) -> tuple[DraftRef, ...]:
        """What a user named: draft files (as the shell completes them), or a target and a number. Raises `no_draft`."""
        if len(arguments) == 2 and arguments[1].isdecimal() and layout.parse_draft_name(arguments[0]) is None:
            return (DraftRef(self.repo.target(arguments[0]), int(arguments[1])),)
        return tuple(self._draft_ref(argument) for argument in arguments)

    def _draft_ref(self, argument: str) -> DraftRef:
        named = layout.parse_draft_name(argument)
        if named is None:
            raise BadRequest(
                "usage",
                f"{argument!r} is no draft: name draft files, or one target and a number",
                hint=f"draftfs ls -- {pasteable(argument)}",
            )
        ref = DraftRef(self.repo.target(named.target), named.number)
        draft = self.engine.read(lambda view: drafts.find(view, ref))
        if (draft.author, draft.content is None) != (named.author, named.delete):
            raise NotFound(
                "no_draft",
                f"there is no {argument}: draft {ref.number} of {ref.target} is {layout.draft_name(draft)}",
                hint=f"draftfs ls -- {pasteable(ref.target)}",
            )
        return ref

    def settle(self) -> None:
        """Do what earlier operations could not do to the root, as far as this caller can."""
        if self.engine.has_pending_effects():
            # A root or store that cannot be written now is tried again by the next.
            with suppress(EnvironmentFault), ExitStack() as stack, _disk("showing drafts"):
                self.tree.make_ready(stack, self.engine.pending_effects())
                self.engine.settle()

    @cached_property
    def _promoter(self) -> Promoter:
        from draftfs.promoter import Promoter

        return Promoter(self.engine, self._workspace, self.actor)

    def _keep_hand_edit(self, tx: Transaction, target: str, content: Content, base: Content | None, taken: int) -> None:
        self._promoter.keep_hand_edit(tx, target, content, base, taken)

    # ── commits ──

    def verify(self, range_: str | None = None) -> Judged:
        """What in a range of commits nothing admits: `A..B`; of a single revision, HEAD if None, what people's branches do not
        have. By the records alone, whoever asks. Raises BadRequest `usage`."""
        self._calls.notice()
        return self._verifier.range(range_)

    def verify_staged(self, index: str | None = None) -> Judged:
        """What of the index a commit made here and now would be refused for. `index` is the file that a hook of git's was
        told to look at (GIT_INDEX_FILE); one of another worktree does not count."""
        self._calls.notice()
        return self._verifier.staged(index)

    def admit(self, range_: str, *, because: str, receipt: str | None = None) -> Vouched:
        """Vouch for what `verify` finds in the range (a person's act, and an event)."""
        self._require_person("vouch for commits")
        request, rule = self._verifier.vouching(range_, names.free_text(because, "a reason"))
        return self._calls.write("admit", request, Vouched, rule, receipt)

    @cached_property
    def _verifier(self) -> Verifier:
        from draftfs.git.verifying import Verifier

        return Verifier(self.engine, self.repo, self.tree.top, self.actor)

    # ── the record ──

    def receipt(self, key: str) -> ReceiptInfo:
        """What was written under a receipt key. Raises NotFound `no_receipt`."""
        self._calls.notice()

        def look(view: FileView) -> ReceiptInfo:
            kept = view.get(layout.receipt(tokens.digest(key)))
            if kept is None:
                raise NotFound("no_receipt", "nothing was ever written under this key", hint="run the command itself")
            standing = standing_of(view, kept)
            facts = (kept.operation, kept.actor, kept.at, kept.position, kept.job, kept.epoch)
            return ReceiptInfo(*facts, standing, kept.answer)

        return self.engine.read(look)

    def log(self, *, after: int | None = None, limit: int = 50) -> tuple[Event, ...]:
        """Events of the feed: the last `limit`, or the first `limit` behind position `after`."""
        self._calls.notice()

        def look(view: FileView) -> tuple[Event, ...]:
            start = max(view.counters.position - limit, 0) if after is None else after
            return view.events(start, limit)

        return self.engine.read(look)

    def settings(self) -> dict[str, str]:
        """All settings, as `draftfs config` shows them."""
        settings = self.engine.read(lambda view: view.store.settings)
        return {name: to_text(name, getattr(settings, field)) for name, field in SETTINGS.items()}

    def configure(self, key: str, value: str, *, receipt: str | None = None) -> Configured:
        """Change one setting (a person's act). Raises BadRequest `usage`."""
        self._require_person("change settings")
        parsed = from_text(key, value)

        def rule(tx: Transaction, _: str) -> Configured:
            store = tx.store
            changed: dict[str, Any] = {SETTINGS[key]: parsed}
            tx.put(layout.STORE, replace(store, settings=replace(store.settings, **changed)))
            tx.append("config.set", self.actor.name, key=key, value=to_text(key, parsed))
            return Configured(key=key, value=to_text(key, parsed))

        return self._calls.write("config", {"key": key, "value": to_text(key, parsed)}, Configured, rule, receipt)

    def add_worktree(self, path: str, *, agent: str | None = None, branch: str | None = None) -> str:
        """Make a linked worktree on a new branch at the root's HEAD, for `agent` if named; returns its path."""
        start = self._workspace.head().commit
        if start is None:
            raise EnvironmentFault("git", "the repository has no commit yet", hint="git commit, then try again")
        top = self.repo.worktree_add(path, branch or os.path.basename(os.path.normpath(path)), start)
        if agent is not None:
            Worktree(Repo.find(top).git_dir).remember_holder(names.agent_name(agent))
        return top

    def doctor(self, *, fix: bool = False) -> Checkup:
        """The full self-check: whether each guarantee holds on disk, and where not. `fix` mends what is certain."""
        from draftfs.doctor import Doctor

        return Doctor(self.engine, self.tree, self._all_kept).run(fix=fix)

    def _all_kept(self) -> tuple[Kept, ...]:
        """The tokens of this store that its worktrees keep; what cannot be read there is no matter of the store's."""
        found: list[Kept] = []
        for git_dir in self.repo.git_dirs():
            with suppress(EnvironmentFault):
                found += Worktree(git_dir).kept()
        return tuple(each for each in found if each.store == self.info.id)

    def _require_person(self, doing: str) -> None:
        """G7. An agent, or anybody in an agent's worktree, is refused unless the store's settings allow it."""
        allowed = self.engine.read(lambda view: view.store.settings.agents_promote)
        outside = not self._workspace.in_root
        if not self.actor.is_agent:
            self.tree.require()
        if (self.actor.is_agent or outside) and not allowed:
            where = "in an agent's worktree" if outside else f"as the agent {self.actor.name}"
            raise Refused(
                "agents_cannot_promote",
                f"only a person can {doing}, and this command runs {where}",
                hint=f"stop, and leave it to a person: they do it in {self.tree.top}",
            )


def _at_least(least: int, **given: int | None) -> None:
    for name, value in given.items():
        if value is not None and value < least:
            raise BadRequest(
                "usage", f"--{name} takes a whole number from {least} on, not {value}", hint=f"--{name} {least}"
            )


def _title(title: str) -> str:
    if not names.free_text(title, "a title").strip():
        raise BadRequest("usage", "a job needs a title", hint="draftfs job add TITLE PATH…")
    return title


def _note(note: str | None) -> str | None:
    return None if note is None else names.free_text(note, "a note")


@contextmanager
def _disk(doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise from_oserror(fault, doing) from fault
