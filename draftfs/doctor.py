"""The full self-check: every record, number, reservation, digest and position agrees, guarantee by guarantee (§2).

Checks only the store. What people or git did to the files beside it (drafts carried off, targets edited) is no damage.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, TypeVar

from draftfs import layout, paths
from draftfs.answers import Checkup, Finding
from draftfs.engine.files import FileEngine
from draftfs.engine.objects import digest_of
from draftfs.engine.transaction import FileView
from draftfs.errors import Damaged, DraftfsError
from draftfs.layout import Folder, Key
from draftfs.records import FINISHED, Content, Counters, Draft, EndedClaim, Job, Lease, Receipt, Target
from draftfs.repair import mend
from draftfs.tree import Tree

R = TypeVar("R")

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
_TOKEN: Final = re.compile(rb"[1-9][0-9]{0,17}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")


@dataclass
class _Chart:
    """What was found on one round through the store."""

    findings: list[tuple[str, Finding]] = field(default_factory=list)

    def note(self, guarantee: str, kind: str, path: str, message: str, repair: str | None = None) -> None:
        self.findings.append((guarantee, Finding(kind, path, message, repair)))


class Doctor:
    """The self-check of one store."""

    def __init__(self, engine: FileEngine, tree: Tree) -> None:
        self._engine, self._tree = engine, tree

    def run(self, *, fix: bool) -> Checkup:
        """Look at everything; with `fix` mend what is certain, and look again."""
        fixed: tuple[str, ...] = ()
        if fix:
            fixed = mend(self._engine, self._damaged_names())
        chart = self._look()
        broken = {guarantee for guarantee, _ in chart.findings}
        checks = {f"{name} {words}": name not in broken for name, words in GUARANTEES.items()}
        return Checkup(checks, tuple(finding for _, finding in chart.findings), fixed)

    def _damaged_names(self) -> list[str]:
        chart = self._look()
        return [finding.path for _, finding in chart.findings if finding.kind in ("damaged", "missing")]

    def _look(self) -> _Chart:
        chart = _Chart()
        try:
            self._engine.read(lambda view: self._round(view, chart))
        except DraftfsError as fault:
            chart.findings.clear()
            path = str(fault.details.get("file", "the store"))
            chart.note("G10", "damaged", path, fault.message, "draftfs doctor --fix")
        return chart

    def _round(self, view: FileView, chart: _Chart) -> None:
        chart.findings.clear()  # a round is begun again when somebody writes meanwhile
        counters = _read(view, layout.COUNTERS, chart)
        store = _read(view, layout.STORE, chart)
        if counters is None or store is None:
            return
        records = _Records(view, chart)
        _check_jobs(records, counters, chart)
        _check_claims(records, counters, chart)
        _check_reservations(records, store.fold, chart)
        _check_feed(view, counters, chart)
        _check_receipts(records, counters, chart)
        self._check_drafts(records, store.fold, chart)
        self._check_secrets(chart)

    def _check_drafts(self, records: _Records, fold: paths.Fold, chart: _Chart) -> None:
        contents: dict[str, tuple[Content, str]] = {}
        for name, target in records.targets.items():
            key = fold.key(target.path)
            _check_target(
                name, target, {number: each for (path, number), each in records.drafts.items() if path == key}, chart
            )
            if target.choice is not None and target.choice.previous is not None:
                contents[target.choice.previous.sha256] = target.choice.previous, name
        for draft in records.drafts.values():
            for content in (draft.content, draft.base):
                if content is not None:
                    contents[content.sha256] = content, layout.draft_name(draft)
        for digest, (content, needed) in contents.items():
            self._check_object(digest, content, needed, chart)

    def _check_object(self, digest: str, content: Content, needed: str, chart: _Chart) -> None:
        name = layout.object_file(digest)
        try:
            descriptor = self._tree.objects.open(content)
        except Damaged as fault:
            chart.note("G6", "object", name, f"{fault.message}; {needed} needs it")
            return
        try:
            if digest_of(descriptor) != (digest, content.size):
                chart.note("G6", "object", name, f"{name} does not hold what its name says; {needed} needs it")
        finally:
            os.close(descriptor)

    def _check_secrets(self, chart: _Chart) -> None:
        for folder, _, names in os.walk(self._engine.folder):
            relative = os.path.relpath(folder, self._engine.folder)
            if relative.partition("/")[0] in (layout.OBJECTS, layout.STAGING):
                continue  # contents are people's own
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    if _TOKEN.search(file.read()):
                        where = os.path.normpath(os.path.join(relative, name))
                        chart.note("G9", "secret", where, "holds something shaped like a token")


def _check_target(name: str, target: Target, its: dict[int, Draft], chart: _Chart) -> None:
    if target.last < max(its, default=0):
        chart.note("G8", "counter", name, f"last is {target.last}, but there is draft {max(its)}", _FIX)
    undecided = {number for number, draft in its.items() if draft.state in ("waiting", "abandoned")}
    if set(target.undecided) != undecided:
        chart.note("G6", "index", name, f"lists {list(target.undecided)} as undecided, not {sorted(undecided)}", _FIX)
    if target.choice is not None:
        chosen = its.get(target.choice.number)
        if chosen is None or chosen.state != "promoted":
            chart.note("G7", "choice", name, f"draft {target.choice.number} is chosen, but not promoted")


_FIX: Final = "draftfs doctor --fix"


class _Records:
    """Every record that can be read; each one that cannot is noted."""

    def __init__(self, view: FileView, chart: _Chart) -> None:
        self._view, self._chart = view, chart
        self.jobs = self._all(layout.JOBS)
        self.done = self._all(layout.DONE)
        self.leases = self._all(layout.LEASES)
        self.targets: dict[str, Target] = self._all(layout.TARGETS)
        self.ended: dict[str, EndedClaim] = {}
        for folder in view.subfolders("claims"):
            self.ended |= self._all(Folder(folder, EndedClaim))
        self.receipts: dict[str, Receipt] = {}
        for folder in view.subfolders("receipts"):
            self.receipts |= self._all(Folder(folder, Receipt))
        self.drafts: dict[tuple[str, int], Draft] = {}
        for folder in view.subfolders("drafts"):
            for name, draft in self._all(Folder(folder, Draft)).items():
                self.drafts[view.store.fold.key(draft.target), draft.number] = draft
                if Key(name, Draft) != layout.draft(view.store.fold.key(draft.target), draft.number):
                    chart.note("G10", "misplaced", name, f"{name} is about {layout.draft_name(draft)}")

    def _all(self, folder: Folder[R]) -> dict[str, R]:
        keys = (
            key for key in self._view.under(folder) if folder.leaf or layout.number_of(key) is not None or _named(key)
        )
        found = ((key.name, _read(self._view, key, self._chart)) for key in keys)
        return {name: record for name, record in found if record is not None}


def _named(key: Key[Any]) -> bool:
    return key.name.startswith("receipts/")


def _read(view: FileView, key: Key[R], chart: _Chart) -> R | None:
    try:
        record = view.get(key)
    except Damaged as fault:
        chart.note("G10", "damaged", key.name, fault.message, _FIX)
        return None
    if record is None:
        chart.note("G10", "missing", key.name, f"{key.name} is missing from the store", _FIX)
    return record


def _check_jobs(records: _Records, counters: Counters, chart: _Chart) -> None:
    everywhere = {job.id: job for job in (*records.jobs.values(), *records.done.values())}
    for name, job in (*records.jobs.items(), *records.done.items()):
        finished = job.state in FINISHED
        if Key(name, Job) != (layout.done if finished else layout.job)(job.id):
            chart.note("G2", "misplaced", name, f"job {job.id} is {job.state}, and does not belong there")
        if job.id > counters.job:
            chart.note("G8", "counter", name, f"job {job.id} is beyond the counter, {counters.job}", _FIX)
        if job.attempts.used > job.attempts.max:
            chart.note("G2", "attempts", name, f"job {job.id} used {job.attempts.used} of {job.attempts.max} attempts")
        if job.state in ("open", "failed") and (job.state == "failed") != _spent(job):
            chart.note("G2", "state", name, f"job {job.id} is {job.state} with {job.attempts.used} attempts used")
        for before in (*job.after, *job.contest):
            if before not in everywhere:
                chart.note("G2", "predecessor", name, f"job {job.id} names job {before}, which is not there")


def _spent(job: Job) -> bool:
    return job.attempts.used >= job.attempts.max


def _check_claims(records: _Records, counters: Counters, chart: _Chart) -> None:
    if len(records.leases) != counters.live:
        chart.note(
            "G8",
            "counter",
            "leases",
            f"{counters.live} claims are live, but {len(records.leases)} leases are there",
            _FIX,
        )
    epochs: dict[int, str] = {}
    everything: list[tuple[str, Lease | EndedClaim]] = [*records.leases.items(), *records.ended.items()]
    for name, claim in everything:
        if claim.epoch in epochs:
            chart.note("G4", "epoch", name, f"epoch {claim.epoch} was given twice: {epochs[claim.epoch]} has it, too")
        epochs[claim.epoch] = name
        if claim.epoch > counters.epoch:
            chart.note("G8", "counter", name, f"epoch {claim.epoch} is beyond the counter, {counters.epoch}", _FIX)
    for name, lease in records.leases.items():
        job = records.jobs.get(layout.job(lease.job).name)
        if job is None or (job.state, job.holder, job.epoch) != ("claimed", lease.holder, lease.epoch):
            chart.note("G4", "lease", name, f"the lease of job {lease.job} does not fit its job", _FIX)
    for name, job in records.jobs.items():
        lease_name = layout.lease(job.id).name
        if job.state == "claimed" and lease_name not in records.leases and not _noted(chart, lease_name):
            chart.note(
                "G4", "missing", lease_name, f"job {job.id} is claimed, but {lease_name} is missing ({name})", _FIX
            )


def _noted(chart: _Chart, path: str) -> bool:
    return any(finding.path == path for _, finding in chart.findings)


def _check_reservations(records: _Records, fold: paths.Fold, chart: _Chart) -> None:
    held: list[tuple[str, Lease]] = [(path, lease) for lease in records.leases.values() for path in lease.paths]
    held.sort(key=lambda each: fold.key(each[0]).split("/"))
    for (path, lease), (following, other) in pairwise(held):
        contest = getattr(records.jobs.get(layout.job(lease.job).name), "contest", ())
        if lease.job != other.job and other.job not in contest and paths.clash(path, following, fold):
            chart.note(
                "G3", "clash", layout.lease(other.job).name, f"jobs {lease.job} and {other.job} both hold {following}"
            )


def _check_feed(view: FileView, counters: Counters, chart: _Chart) -> None:
    expected = 1
    while expected <= counters.position:
        try:
            events = view.events(expected - 1, 5000)
        except Damaged as fault:
            chart.note("G5", "feed", str(fault.details.get("file")), fault.message)
            return
        found = [event.position for event in events]
        if found != list(range(expected, expected + len(found))) or not found:
            chart.note("G5", "feed", "feed", f"the feed does not go on at position {expected} as it should")
            return
        expected += len(found)


def _check_receipts(records: _Records, counters: Counters, chart: _Chart) -> None:
    jobs = {job.id for job in (*records.jobs.values(), *records.done.values())}
    for name, receipt in records.receipts.items():
        if Key(name, Receipt) != layout.receipt(receipt.key_sha256):
            chart.note("G1", "misplaced", name, f"{name} is the receipt of another key")
        if receipt.position > counters.position:
            chart.note("G8", "counter", name, f"position {receipt.position} is beyond {counters.position}", _FIX)
        if receipt.job is not None and receipt.job not in jobs:
            chart.note("G1", "receipt", name, f"it is about job {receipt.job}, which is not there")
