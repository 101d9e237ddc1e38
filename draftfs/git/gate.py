"""The gate that commits pass (§8): what git's hooks and `verify` ask. It reads the commits, has the rules judge them, and
records what a live claim covers.

Which commits are new is git's knowledge, which changes are admitted the store's. No git runs under the store's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Literal

from draftfs import layout
from draftfs.engine import Transaction, View
from draftfs.engine.files import FileEngine
from draftfs.errors import Damaged
from draftfs.frozen import frozen
from draftfs.git import changes, merges
from draftfs.git.changes import Commit
from draftfs.git.merges import MergeStep
from draftfs.git.people import People, branch_in, rebased
from draftfs.records import Change, EndedClaim, Lease, TreeEntry
from draftfs.rules import admissions, lapses
from draftfs.rules.admissions import Step, Unadmitted, Verdict
from draftfs.rules.reservations import is_overdue, lease_by, until
from draftfs.worktree import Kept, Worktree

_MANY: Final = 8

Policy = Literal["refuse", "warn", "off"]


@frozen
class Caller:
    """Who commits, and where: the worktree's git folder (None for whoever receives a push: there is no token to show),
    whether it is the root, the agent's name (None for a person).

    `token` was given by the caller; else those count that the worktree keeps. `claim` is the claim, (job, epoch), that the
    calling process was started for, where it says so.
    """

    git_dir: str | None
    in_root: bool
    agent: str | None
    token: str | None = None
    claim: tuple[int, int] | None = None


@frozen
class Finding:
    """A change that nothing admits: in which commit (None: not committed yet), and who holds its path, until when."""

    commit: str | None
    change: Change
    holder: str | None
    job: int | None
    epoch: int | None
    expires_at: str | None


@frozen
class Judged:
    """`findings` are what is not admitted, and `policy` what follows from that; `ended` are the claims of this worktree that
    do not count any more."""

    findings: tuple[Finding, ...]
    policy: Policy
    ended: tuple[EndedClaim, ...] = ()


@dataclass
class _Docket:
    """What is to be judged: the changes of commits, each with the commit it was found in and what its path holds at their
    ends, and net differences of tips with the steps that need no record on the way: `free` ones, and those that `merged`
    tells of `merges`, once it is asked. `own` are the commits that are judged one by one."""

    changes: dict[Change, str | None] = field(default_factory=dict)
    ends: dict[Change, set[TreeEntry | None]] = field(default_factory=dict)
    net: dict[Change, str | None] = field(default_factory=dict)
    free: dict[str, list[Step]] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    merges: list[Commit] = field(default_factory=list)
    merged: list[MergeStep] = field(default_factory=list)
    rewritten: list[Change] = field(default_factory=list)
    """From a tip that is left, by an amend or a rebase, to what takes its place. It need not be admitted, but a live claim
    vouches for it, too: the forced push that follows is judged by it, perhaps when the claim has been submitted."""

    def add(self, commits: Sequence[Commit]) -> None:
        """All commits that one tip brings, parents first. So a path holds at the end what the last of them that differs
        from any parent made of it: whichever come after hold what their parents hold."""
        told = (change for commit in commits for change in (*commit.counted, *commit.free, *commit.dropped))
        ends = {change.path: change.after for change in told}
        for commit in commits:
            for change in commit.counted:
                self.ends.setdefault(change, set()).add(ends[change.path])
                self.changes.setdefault(change, commit.oid)

    def pass_freely(self, found: Iterable[Change]) -> None:
        for change in found:
            self.free.setdefault(change.path, []).append((change.before, change.after))


class Gate:
    """One caller at the gate of one store. `cwd` is a folder of the repository whose commits are judged."""

    def __init__(self, engine: FileEngine, cwd: str, people: People, caller: Caller, *, in_hook: bool = False) -> None:
        self._engine, self._cwd, self._people, self._caller, self._in_hook = engine, cwd, people, caller, in_hook
        self._store = engine.read(lambda view: view.store)

    # ── what is asked ──

    def staged(self, index: str | None = None) -> Judged:
        """What a commit made now, of this index file, would change. Records nothing."""
        return self._staged("HEAD", index)

    def staged_or_amended(self) -> Judged:
        """The same, where it may be an amend of HEAD as well: findings only if either way is refused."""
        judged = self._staged("HEAD")
        if judged.findings:
            parents = changes.parents(self._cwd, "HEAD", in_hook=self._in_hook)
            as_amend = self._staged(parents[0] if parents else None)
            if len(parents) > 1 or not as_amend.findings:
                return as_amend if not as_amend.findings else Judged((), judged.policy)
        return judged

    def _staged(self, against: str | None, index: str | None = None) -> Judged:
        found = changes.staged(self._cwd, in_hook=self._in_hook, against=against, index=index)
        return self._judge(_Docket(changes=dict.fromkeys(found)), keep=False)

    def update(self, refs: Sequence[tuple[str | None, str, str]]) -> Judged:
        """Refs of this repository that are about to move, as (old value if known, new commit, full ref name or a HEAD).

        Only new commits count: not those of the ref's old tip, or people's; and, where a branch is made, not those of the branch
        that this worktree has checked out or is rebasing. So a commit that was withdrawn blocks its push, not unrelated
        work; but it does not get onto a branch that is somebody else's, people's above all.
        """
        docket, own = _Docket(), self._own_branch()
        unknown = [ref for old, _, ref in refs if old is None and ref.startswith("refs/")]
        values = changes.exact(self._cwd, list(dict.fromkeys((*unknown, *own))), in_hook=self._in_hook)
        peoples = (self._people.branch, "main-worktree/HEAD")
        if len(refs) > _MANY:  # a mirror's thousand branches that bring nothing are one question
            tips = list(dict.fromkeys(new for _, new, _ in refs))
            fresh = changes.reached(self._cwd, tips, self._people.tips, in_hook=self._in_hook)
            refs = [each for each in refs if each[1] in fresh or each[2] in peoples]
        for given, new, ref in refs:
            old = given or (values.get(ref) if ref.startswith("refs/") else self._head(ref))
            theirs = ref in peoples
            if ref == "HEAD" and self._may_look() and changes.is_on_a_ref(self._cwd, new, in_hook=self._in_hook):
                continue
            others = () if theirs or old is not None else tuple(values[each] for each in own if each in values)
            brought = self._gather(docket, new, old, others, since=self._only(theirs, old), theirs=theirs)
            if brought and old and not theirs and not any(old in commit.parents for commit in brought) and self._kept():
                docket.rewritten += changes.net(self._cwd, old, new, in_hook=self._in_hook)
        return self._judge(docket)

    def push(self, refs: Sequence[tuple[str | None, str, str]]) -> Judged:
        """Refs that a push moves, there or here, as (old value or None, new value, full ref name).

        Where it is received, the branch of this repository that is called like people's is people's, too, and what the
        root last saw of their upstream is not asked: anybody can write that.
        """
        docket, people = _Docket(), self._people.tips
        protected: tuple[str, ...] = ()
        if self._caller.git_dir is None and self._people.branch is not None:
            protected = tuple(changes.exact(self._cwd, [self._people.branch], in_hook=self._in_hook).values())
            people = people[:1] if protected else people
        commits = changes.known(self._cwd, list(dict.fromkeys(new for _, new, _ in refs)), in_hook=self._in_hook)
        fresh = {commits[new] for old, new, _ in refs if old is None and new in commits}
        if len(fresh) > 1:  # a thousand tags of what is known are one question
            fresh &= changes.reached(self._cwd, list(fresh), [*protected, *people], in_hook=self._in_hook)
        for tip in sorted(fresh):  # a ref that was not there has nothing to take back
            self._gather(docket, tip, None, protected, since=(), people=people)
        for old, new, ref in refs:
            if old is not None and new in commits:
                known, theirs = self._only(True, old), ref == self._people.branch
                self._gather(docket, commits[new], old, protected, since=known, theirs=theirs, people=people)
        return self._judge(docket)

    def range(self, old: str | None, new: str) -> Judged:
        """The commits that `new` has and `old` has not (commit ids), by the records alone. Those of people's branches do not
        count, unless `new` is one of them: then just these are asked about."""
        people = [tip for tip in self._people.tips if not changes.is_ancestor(self._cwd, new, tip)]
        docket = _Docket()
        since = () if old is None else changes.merge_bases(self._cwd, old, new)
        self._gather(docket, new, old, (), since=since, people=people)
        return self._judge(docket, keep=False)

    def tips(self, tips: Sequence[str]) -> Judged:
        """The commits (ids) that any of `tips` brings to people's branches, by the records alone. Git is asked once for all."""
        docket = _Docket()
        commits = changes.commits(self._cwd, tips, self._people.tips)
        docket.own.update(commit.oid for commit in commits)
        for tip in tips:
            docket.add(_reached(commits, tip))
        return self._judge(docket, keep=False)

    def _gather(
        self,
        docket: _Docket,
        new: str,
        old: str | None,
        others: Sequence[str],
        *,
        since: Sequence[str],
        theirs: bool = False,
        people: Sequence[str] | None = None,
    ) -> tuple[Commit, ...]:
        """Put on the docket what moving from `old` to `new` brings; also the difference from each of the tips `since`, where
        commits one by one do not tell it: with merges, or where that tip is left. `theirs`: it is people's own branch,
        and to take it back counts, too, unless people did so themselves. The commits that are judged one by one."""
        tips = self._people.tips if people is None else people
        known = [] if old is None else [old]
        own = changes.commits(self._cwd, [new], [*known, *others, *tips], in_hook=self._in_hook)
        docket.add(own)
        docket.own.update(commit.oid for commit in own)
        if not own and not (theirs and new not in self._people.tips[:1]):
            return own
        linear, mine = all(len(commit.parents) < 2 for commit in own), {commit.oid for commit in own}
        for tip in since:
            if linear and (any(tip in commit.parents for commit in own) or self._goes_on(tip, new)):
                continue
            for commit in changes.commits(self._cwd, [new], [tip], in_hook=self._in_hook):
                if commit.oid not in mine:
                    docket.pass_freely((*commit.counted, *commit.free, *commit.dropped))
                elif len(commit.parents) > 1:
                    docket.merges.append(commit)
            for change in changes.net(self._cwd, tip, new, in_hook=self._in_hook):
                docket.net.setdefault(change, new)
        return own

    def _may_look(self) -> bool:
        """Whether a detached HEAD may go to what a branch or a tag holds already: that makes nothing. But what people look at in
        the root is not an agent's to choose."""
        return not self._caller.in_root or self._caller.agent is None

    def _only(self, wanted: bool, old: str | None) -> tuple[str, ...]:
        """`old`, where it is wanted and a commit that is here."""
        commit = changes.peeled(self._cwd, old, in_hook=self._in_hook) if wanted and old is not None else None
        return () if commit is None else (commit,)

    def _head(self, ref: str) -> str | None:
        return changes.peeled(self._cwd, ref, in_hook=self._in_hook)

    def _goes_on(self, old: str, new: str) -> bool:
        return changes.is_ancestor(self._cwd, old, new, in_hook=self._in_hook)

    def _own_branch(self) -> tuple[str, ...]:
        """The branch that this worktree has checked out or is rebasing. A detached HEAD is none: what is committed there
        has yet to be judged."""
        git_dir = self._caller.git_dir
        if git_dir is None:
            return ()
        found = branch_in(f"{git_dir}/HEAD") or rebased(
            git_dir
        )  # a reftable says .invalid: no branch, so none is known
        return () if found is None else (found,)

    # ── judging ──

    @property
    def policy(self) -> Policy:
        """What follows where a change is not admitted: only a person, in the root, may be just warned."""
        return self._store.settings.git_root if self._caller.in_root and self._caller.agent is None else "refuse"

    def _judge(self, docket: _Docket, *, keep: bool = True) -> Judged:
        lapses.notice(self._engine.read, self._engine.write)
        judged, verdict = self._engine.read(lambda view: self._look(view, docket))
        if docket.merges and (verdict.refused or verdict.recordable):  # costs some processes each, so only now
            docket.merged = [
                step
                for each in docket.merges
                for step in merges.steps(self._cwd, each, docket.own, in_hook=self._in_hook)
            ]
            judged, verdict = self._engine.read(lambda view: self._look(view, docket))
        if not keep or not verdict.recordable or (judged.findings and self.policy == "refuse"):
            return judged
        *_, committed = self._engine.write(lapses.sweep, lambda tx: self._record(tx, docket))
        recorded: Judged = committed.value
        return recorded

    def _record(self, tx: Transaction, docket: _Docket) -> Judged:
        """In one transaction: the fence of each claim, and the record of what was made under it (G4)."""
        judged, verdict = self._look(tx, docket)
        if judged.findings and self.policy == "refuse":
            return judged
        admissions.record(tx, verdict.recordable)
        for lease in dict.fromkeys(its for its, _ in verdict.recordable):
            made = sum(its == lease for its, _ in verdict.recordable)
            tx.append("commit.admitted", lease.holder, job=lease.job, epoch=lease.epoch, changes=made)
        return judged

    def _look(self, view: View, docket: _Docket) -> tuple[Judged, Verdict]:
        kept = self._kept()
        held = [lease for each in kept if (lease := _live(view, each)) is not None]
        everything = self._store.settings.git_unclaimed == "refuse" and self.policy == "refuse"
        single = admissions.judge(view, docket.changes, held, ends=docket.ends, everything=everything)
        free = _steps(view, docket, everything=everything)
        net = admissions.judge(view, docket.net, held, free, everything=everything)
        rewritten = admissions.judge(view, docket.rewritten, held)
        refused = {each.change: each for each in (*net.refused, *single.refused)}
        recordable = dict.fromkeys((*single.recordable, *net.recordable, *rewritten.recordable))
        verdict = Verdict(tuple(recordable), tuple(refused.values()))
        commits = docket.net | docket.changes
        findings = tuple(_finding(view, each, commits[each.change]) for each in verdict.refused)
        ended = tuple(_ended(view, kept)) if findings else ()
        return Judged(findings, self.policy, ended), verdict

    def _kept(self) -> list[Kept]:
        """The tokens that this caller may show: their own, of the claim that they were started for where that is known."""
        if self._caller.git_dir is None:
            return []
        mine = [each for each in Worktree(self._caller.git_dir).kept() if each.store == self._store.id]
        if self._caller.token is not None:
            return [each for each in mine if each.token == self._caller.token]
        if self._caller.agent is not None:
            mine = [each for each in mine if each.holder == self._caller.agent]
        job, epoch = self._caller.claim or (None, None)
        return [each for each in mine if each.job != job or each.epoch == epoch]


def _reached(commits: Sequence[Commit], tip: str) -> list[Commit]:
    """Those of `commits`, parents first, that `tip` reaches, in the same order."""
    wanted, found = {tip}, list[Commit]()
    for commit in reversed(commits):
        if commit.oid in wanted:
            wanted.update(commit.parents)
            found.append(commit)
    return found[::-1]


def _steps(view: View, docket: _Docket, *, everything: bool) -> dict[str, list[Step]]:
    """All steps that need no record: the free ones, and of the merges those whose premises are admitted, in any order."""
    free, waiting = {path: list(steps) for path, steps in docket.free.items()}, docket.merged
    while waiting:
        later = [
            each for each in waiting if admissions.judge(view, each.premises, (), free, everything=everything).refused
        ]
        for each in waiting:
            if each not in later:
                free.setdefault(each.change.path, []).append((each.change.before, each.change.after))
        if len(later) == len(waiting):
            break
        waiting = later
    return free


def _live(view: View, kept: Kept) -> Lease | None:
    """The lease of this claim while it is live, though nobody may have noticed yet that it no longer is."""
    lease = lease_by(view, kept.job, kept.token)
    return lease if lease is not None and not is_overdue(view, lease) else None


def _finding(view: View, unadmitted: Unadmitted, commit: str | None) -> Finding:
    change, by = unadmitted.change, unadmitted.by
    if by is None:
        return Finding(commit, change, None, None, None, None)
    lease = by.lease
    known = (lease.epoch, until(view, lease)) if lease is not None else (None, None)
    return Finding(commit, change, by.holder, by.job, *known)


def _ended(view: View, kept: Iterable[Kept]) -> Iterator[EndedClaim]:
    for each in kept:
        with suppress(Damaged):
            ended = view.get(layout.ended_claim(each.job, each.epoch))
            if ended is not None:
                yield ended
