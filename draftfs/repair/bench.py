"""The workbench of one repair: a transaction, all that can be read of the store, and what was said so far."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from draftfs import layout
from draftfs.audit import Records
from draftfs.engine import salvage
from draftfs.engine.journal import Contents
from draftfs.engine.transaction import FileTransaction
from draftfs.layout import Key
from draftfs.records import Draft, EndedClaim, Job
from draftfs.tree import Tree

MENDED: Final = "record.mended"
DOCTOR: Final = "doctor"


def kept_aside(tx: FileTransaction, name: str) -> str:
    """Keep what stands at `name` under a dated name; words that say where, none when nothing stands there."""
    aside = salvage.set_aside(tx.folder, name, tx.now.stamp)
    return f"; what was there is now {aside}" if aside is not None else ""


class Bench:
    """One transaction that mends. `records` follows what is put. `log` is the journal as it was when the lock was taken."""

    def __init__(self, tx: FileTransaction, tree: Tree, log: Contents) -> None:
        self.tx, self.tree, self.log = tx, tree, log
        self.records = Records(tx)
        self.said: list[str] = []

    def say(self, name: str, what: str, kind: str = MENDED, job: int | None = None) -> None:
        """Tell the person, and the feed."""
        self.tx.append(kind, DOCTOR, job=job, file=name)
        self.said.append(f"{name}: {what}")

    def set_aside(self, name: str) -> str:
        """Keep what stands at `name` under a dated name; words that say where, none when nothing stands there."""
        return kept_aside(self.tx, name)

    def discard(self, name: str, why: str) -> None:
        """Take away what is no record at all."""
        aside = self.set_aside(name)
        self.tx.delete(Key(name, object))
        self.said.append(f"{name}: {why}{aside}")

    def put_job(self, job: Job, **changed: Any) -> Job:
        """The job's next version."""
        job = replace(job, version=job.version + 1, changed_at=self.tx.now.stamp, **changed)
        name = layout.home(job, self.records.fold.key) or ""
        self.tx.put(Key(name, Job), job)
        self.records.jobs[name] = job
        return job

    def put_ended(self, ended: EndedClaim) -> None:
        key = layout.ended_claim(ended.job, ended.epoch)
        self.tx.put(key, ended)
        self.records.ended[key.name] = ended

    def put_draft(self, draft: Draft) -> None:
        name = self.records.draft_name(draft.ref)
        self.tx.put(Key(name, Draft), draft)
        self.records.drafts[name] = draft

    def count_live(self) -> None:
        """A lease was taken away: the counter follows what is there."""
        live = {layout.number_of(key) for key in self.tx.under(layout.LEASES)}
        live |= {job.id for job in self.records.jobs.values() if job.state == "claimed"}
        self.tx.put(layout.COUNTERS, replace(self.tx.counters, live=len(live)))

    def ever_added(self, number: int) -> bool:
        counted = self.records.counters.job if self.records.counters is not None else 0
        return 1 <= number <= counted or number in self.records.feed.jobs
