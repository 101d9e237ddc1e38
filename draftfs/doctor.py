"""The full self-check: every record, number, reservation, digest and position agrees, guarantee by guarantee (§2).

Checks only the store. What people or git did to the files beside it (drafts carried off, targets edited) is no damage.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from draftfs import layout, paths, repair, tokens
from draftfs.answers import BY_OPERATION, Checkup, Finding
from draftfs.audit import UNDECIDED, Records
from draftfs.codec import Malformed, from_plain
from draftfs.engine.files import FileEngine
from draftfs.engine.objects import digest_of
from draftfs.engine.session import read_journal
from draftfs.engine.transaction import FileView
from draftfs.errors import Damaged, DraftfsError
from draftfs.records import FINISHED, Content, Counters, Draft, EndedClaim, Job, Lease, Reader, Receipt, Target
from draftfs.rules import feed
from draftfs.tree import Tree
from draftfs.worktree import Kept

GUARANTEES: Final = {
    "G1": "receipts: each is whole and about a write that happened",
    "G2": "jobs: state, version, attempts and predecessors agree",
    "G3": "reservations: no two claims hold clashing paths",
    "G4": "tokens: every claim has its own epoch, and one lease while it is live",
    "G5": "feed: positions rise by one, without a gap",
    "G6": "drafts: every byte drafted, based on or replaced is there",
    "G7": "choices: each is a draft that was promoted",
    "G8": "counters: they are ahead of everything they count",
    "G9": "secrets: no token is at rest",
    "G10": "files: each record and the journal can be read and trusted",
}
_CONCERNS: Final = {
    "counters.yaml": "G8",
    "jobs": "G2",
    "done": "G2",
    "leases": "G3 G4",
    "claims": "G4",
    "receipts": "G1",
    "drafts": "G6",
    "admitted": "G4",
    "readers": "G5",
    "feed": "G5",
}
"""The guarantee that a file of each folder bears, besides G10."""

_FIX: Final = "draftfs doctor --fix"
_ROUNDS: Final = 6
_SEARCHED: Final = 8 << 20  # no file of ours gets larger, and a 200 MB one that somebody put there must not hold us up
_TOKEN: Final = re.compile(rb"(?<![0-9A-Za-z_-])[1-9][0-9]{0,17}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")
_KEY: Final = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass
class Chart:
    """What was found on one round through the store."""

    findings: list[Finding] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    contents: dict[str, tuple[Content, str]] = field(default_factory=dict)

    @property
    def is_headless(self) -> bool:
        """Whether the store's own record cannot be read: `Store.examine` mends that, before anything else."""
        return any((each.kind, each.path) == ("damaged", layout.STORE.name) for each in self.findings)

    def note(self, guarantees: str, kind: str, path: str, message: str, repair: str | None = _FIX) -> None:
        self.broken.update(guarantees.split())
        self.findings.append(Finding(kind, path, message, repair))

    def need(self, content: Content | None, by: str) -> None:
        """`by` needs this content, for the look at objects that follows."""
        if content is not None:
            self.contents.setdefault(content.sha256, (content, by))


def unopened(fault: Damaged) -> Checkup:
    """The checkup of a store that cannot even be opened: nothing can be said of any guarantee."""
    return _checkup(Chart([_finding(fault)], set(GUARANTEES)), [])


def _finding(fault: Damaged) -> Finding:
    return Finding("damaged", str(fault.details.get("file")), fault.message, fault.hint)


def _checkup(chart: Chart, fixed: list[str]) -> Checkup:
    checks = {f"{name} {words}": name not in chart.broken for name, words in GUARANTEES.items()}
    return Checkup(checks, tuple(chart.findings), tuple(dict.fromkeys(fixed)))


class Doctor:
    """The self-check of one store. `kept` gives the tokens that its worktrees keep."""

    def __init__(self, engine: FileEngine, tree: Tree, kept: Callable[[], tuple[Kept, ...]]) -> None:
        self._engine, self._tree, self._kept = engine, tree, kept

    def run(self, *, fix: bool) -> Checkup:
        """Look at everything; with `fix` mend what is certain, and look again."""
        fixed: list[str] = []
        chart = self._look()
        for _ in range(_ROUNDS if fix and not chart.is_headless else 0):
            said = repair.mend(self._engine, self._tree, chart.findings, [each.epoch for each in self._kept()])
            if not said:
                break
            fixed += said
            chart = self._look()
        return _checkup(chart, fixed)

    def _look(self) -> Chart:
        kept = self._kept()
        try:
            chart = self._engine.read(lambda view: self._round(view, kept))
        except DraftfsError as fault:
            if not isinstance(fault, Damaged):
                raise
            return Chart([_finding(fault)], set(GUARANTEES))  # nothing can be said of the others
        for digest, (content, needed) in chart.contents.items():
            self._check_object(digest, content, needed, chart)
        return chart

    def _round(self, view: FileView, kept: tuple[Kept, ...]) -> Chart:
        chart, records = Chart(), Records(view)
        self._check_files(view, records, chart)
        if records.counters is not None:
            _check_counters(records.counters, records, kept, chart)
        for name, job in records.jobs.items():
            _check_job(name, job, records, chart)
        for name, lease in records.leases.items():
            _check_lease(name, lease, records, chart)
        _check_epochs(records, chart)
        _check_reservations(records, chart)
        for name, receipt in records.receipts.items():
            _check_receipt(name, receipt, records, chart)
        for name, target in records.targets.items():
            _check_target(name, target, records.drafts_of(name), chart)
        for name, draft in records.drafts.items():
            _check_draft(name, draft, records, chart)
        for name, reader in records.readers.items():
            _check_reader(name, reader, records, chart)
        self._check_secrets(records, chart)
        return chart

    # ── files ──

    def _check_files(self, view: FileView, records: Records, chart: Chart) -> None:
        log = read_journal(self._engine.folder)
        if log.has_tail:
            chart.note("G10", "damaged", layout.JOURNAL, "journal is damaged at its end: its last records are lost")
        for name, fault in records.faults.items():
            concerns = _CONCERNS.get(name.partition("/")[0], "")
            kind = str(fault.details.get("cause") or "")
            kind = kind if kind in ("missing", "misplaced", "format") else "damaged"
            chart.note(f"G10 {concerns}", kind, name, fault.message, _repair(name, fault))
        for name, problem in records.feed.faults.items():
            chart.note("G10 G5", "damaged", name, f"{name} {problem}")
        for name in records.strays:
            chart.note("G10", "stray", name, f"{name} is no record of the store: somebody's copy?")
        for name, image in repair.images(log).items():
            if name not in records.faults and view.raw(name) != image:
                problem = (
                    "is there again, after it was removed" if image is None else "is not what was last written there"
                )
                chart.note(f"G10 {_CONCERNS.get(name.partition('/')[0], '')}", "differs", name, f"{name} {problem}")

    def _check_object(self, digest: str, content: Content, needed: str, chart: Chart) -> None:
        name = layout.object_file(digest)
        try:
            descriptor = self._tree.objects.open(content)
        except (Damaged, OSError):
            chart.note("G6", "object", name, f"{name} is missing or cut short; {needed} needs it")
            return
        try:
            if digest_of(descriptor) != (digest, content.size):
                chart.note("G6", "object", name, f"{name} does not hold what its name says; {needed} needs it")
        finally:
            os.close(descriptor)

    def _check_secrets(self, records: Records, chart: Chart) -> None:
        """No text at rest is a token of a claim, or the key of a receipt. Contents are people's own."""
        known = {each.token_sha256 for each in records.claims().values()}
        known |= {each.key_sha256 for each in records.receipts.values()}
        for folder, below, names in os.walk(self._engine.folder):
            if folder == self._engine.folder:
                below[:] = [name for name in below if name not in (layout.OBJECTS, layout.STAGING)]
            for name in names:
                path = os.path.join(folder, name)
                if any(tokens.digest(text) in known for text in _secrets_in(path)):
                    where = os.path.relpath(path, self._engine.folder)
                    chart.note("G9", "secret", where, f"{where} holds a token or a receipt key", None)


def _repair(name: str, fault: DraftfsError) -> str | None:
    if name.startswith("receipts/") and fault.details.get("cause") != "format":
        return None  # it stays: its key answers `damaged`, so that its request never runs again
    return fault.hint


def _secrets_in(path: str) -> Iterator[str]:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return
        with open(path, "rb") as file:
            data = file.read(_SEARCHED)
    except OSError:
        return
    for pattern in (_TOKEN, _KEY):
        yield from (found.decode("ascii") for found in pattern.findall(data))


# ── counters, jobs, claims ──


def _check_counters(counters: Counters, records: Records, kept: tuple[Kept, ...], chart: Chart) -> None:
    least, name = records.tally(), layout.COUNTERS.name
    for what in ("job", "epoch", "position"):
        there, due = getattr(counters, what), getattr(least, what)
        if there < due:
            chart.note("G8", "counter", name, f"{name} counts {what} {there}, but {what} {due} is there")
    if counters.live != least.live:
        chart.note("G8", "counter", name, f"{name} counts {counters.live} live claims, but {least.live} are there")
    for each in kept:
        if each.epoch > counters.epoch:
            chart.note(
                "G8",
                "counter",
                name,
                f"{name} counts epoch {counters.epoch}, but a worktree keeps a token of epoch {each.epoch} (job {each.job}):"
                " an older copy of the store was put back",
            )


def _check_job(name: str, job: Job, records: Records, chart: Chart) -> None:
    used, most = job.attempts.used, job.attempts.max
    if job.state not in FINISHED and layout.done(job.id).name in records.jobs:
        chart.note("G2", "twice", name, f"job {job.id} is there twice: {name} is {job.state}, but it is finished")
    if not 0 <= used <= most or (job.state in ("open", "failed") and (job.state == "failed") != (used >= most)):
        chart.note("G2", "attempts", name, f"job {job.id} is {job.state} with {used} of {most} attempts used", None)
    if (job.state == "claimed") != (job.holder is not None):
        chart.note("G2", "holder", name, f"job {job.id} is {job.state}, and its holder is {job.holder}", None)
    for other in (*job.after, *job.contest):
        if not 1 <= other <= (records.counters.job if records.counters is not None else other):
            chart.note("G2", "predecessor", name, f"job {job.id} names job {other}, which was never added", None)
    latest = max((epoch for number, epoch in records.feed.claims if number == job.id), default=0)
    if job.epoch < latest:
        chart.note("G2 G4", "older", name, f"job {job.id} is at epoch {job.epoch}, but it was claimed with {latest}")


def _check_lease(name: str, lease: Lease, records: Records, chart: Chart) -> None:
    job = records.job(lease.job)
    facts = (lease.holder, lease.epoch, lease.paths)
    if job is not None and (job.state != "claimed" or (job.holder, job.epoch, job.paths) != facts):
        chart.note("G4", "lease", name, f"{name} does not fit job {job.id}, which is {job.state} at epoch {job.epoch}")
    for base in lease.bases:
        chart.need(base.content, name)


def _check_epochs(records: Records, chart: Chart) -> None:
    given: dict[int, str] = {}
    claims: list[tuple[str, Lease | EndedClaim]] = [*records.ended.items(), *records.leases.items()]
    for name, claim in claims:
        other = given.setdefault(claim.epoch, name)
        if other != name:
            chart.note("G4", "epoch", name, f"{name} and {other} have the same epoch, {claim.epoch}", None)


def _check_reservations(records: Records, chart: Chart) -> None:
    """Paths in order of their segments: what clashes with a path stands on the way to it."""
    fold = records.fold
    held = [(fold.key(path), path, lease) for lease in records.leases.values() for path in lease.paths]
    above: list[tuple[str, str, Lease]] = []
    for key, path, lease in sorted(held, key=lambda each: each[0].split("/")):
        above = [each for each in above if paths.clash(each[1], path, fold)]
        for _, other_path, other in above:
            if lease.job != other.job and not _are_siblings(lease.job, other.job, records):
                message = f"jobs {other.job} ({other_path}) and {lease.job} ({path}) hold clashing paths"
                chart.note("G3", "clash", layout.lease(lease.job).name, message, f"draftfs job revoke {lease.job}")
        above.append((key, path, lease))


def _are_siblings(one: int, two: int, records: Records) -> bool:
    first, second = records.job(one), records.job(two)
    return (first is not None and two in first.contest) or (second is not None and one in second.contest)


# ── receipts, readers, drafts ──


def _check_reader(name: str, reader: Reader, records: Records, chart: Chart) -> None:
    head = records.counters.position if records.counters is not None else reader.handed_out
    if not feed.is_sound(reader, head):
        places = f"{reader.acknowledged} acknowledged, pages to {[page.last for page in reader.pages]}, {reader.handed_out} handed out"
        chart.note("G5", "reader", name, f"{name} does not fit a feed that ends at {head}: {places}")


def _check_receipt(name: str, receipt: Receipt, records: Records, chart: Chart) -> None:
    kind = BY_OPERATION.get(receipt.operation)
    if kind is not None:
        try:
            from_plain(kind, {"receipt": "", "replayed": True, "standing": None, **receipt.answer})
        except Malformed as fault:
            chart.note("G1", "receipt", name, f"{name} holds no answer of {receipt.operation}: {fault}", None)
    if receipt.job is not None and records.counters is not None and not 1 <= receipt.job <= records.counters.job:
        chart.note("G1", "receipt", name, f"{name} is about job {receipt.job}, which was never added", None)


def _check_target(name: str, target: Target, its: dict[int, Draft], chart: Chart) -> None:
    if target.last < max(its, default=0):
        chart.note("G8", "index", name, f"{name} counts {target.last} drafts, but draft {max(its)} is there")
    undecided = {number for number, draft in its.items() if draft.state in UNDECIDED}
    listed = {number for number in target.undecided if number in its}
    if listed != undecided:
        chart.note("G6", "index", name, f"{name} lists {sorted(listed)} as undecided, not {sorted(undecided)}")
    promoted = {number for number, draft in its.items() if draft.state == "promoted"}
    chosen = {target.choice.number} & its.keys() if target.choice is not None else set[int]()
    if promoted != chosen:
        chart.note(
            "G7", "index", name, f"{name} says that {sorted(chosen)} is chosen, but {sorted(promoted)} is promoted"
        )
    for choice in (*([target.choice] if target.choice is not None else ()), *target.earlier):
        chart.need(choice.content, name)
        chart.need(choice.previous, name)


def _check_draft(name: str, draft: Draft, records: Records, chart: Chart) -> None:
    for content in (draft.content, draft.base):
        chart.need(content, layout.draft_name(draft))
    ended = records.ended.get(layout.ended_claim(draft.job, draft.epoch).name) if draft.job and draft.epoch else None
    if draft.state == "waiting" and ended is not None and ended.how != "submitted":
        message = f"{layout.draft_name(draft)} waits, though its claim was never submitted"
        chart.note("G6", "draft", name, message)
