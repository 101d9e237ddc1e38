"""A store with a long past, or with many live claims, made fast: by writing its files instead of doing the work.

What is written is what the operations would have left: records by `yamlfile.encode` under the names of `layout`, events in
feed segments of the usual size, one receipt per write of an existing claim or decision; at last counters.yaml, moved on
by what was written. Before that a checkpoint empties the journal, or a recovery would bring older counters back. Nobody
else may use the store meanwhile, and nothing is synced but at the end. `verify` lets the store's own self-check judge.

- `finished_jobs`: each was added and cancelled: a record in done/, two events, the receipt of the decision. (The
  receipts of the additions are left out, as after `gc`.)
- `messages`: each is an event, and nothing else.
- `live_claims`: each job is claimed by an agent of its own, for a day: a job, a lease, two events, the receipt.
"""

import dataclasses
import json
import os
from pathlib import Path

from field import Field

from draftfs import Store, layout, tokens
from draftfs.answers import Claimed, JobChanged, Written
from draftfs.clock import NANOSECONDS, rfc3339
from draftfs.codec import to_plain
from draftfs.engine import fs, yamlfile
from draftfs.engine.transaction import SEGMENT_BYTES
from draftfs.records import Attempts, Base, Event, Job, Lease, Receipt
from draftfs.rules.claims import dead_or_alive

DAY = 24 * 3600


class _Maker:
    """Writes records and events behind what the store holds already."""

    def __init__(self, store: Store) -> None:
        store.engine.checkpoint()
        self.store, self.now = store, store.engine.now()
        self.counters = store.engine.read(lambda view: view.counters)
        self._feed: list[bytes] = []

    def next_job(self, title: str, path: str) -> Job:
        """The next job, added and still open. It is the caller's to put."""
        number, stamp = self.counters.job + 1, self.now.stamp
        self.counters = dataclasses.replace(self.counters, job=number)
        self.event("job.added", self.store.actor.name, number, title=title, paths=[path], after=[])
        return Job(
            number, title, "open", 1, (path,), (), Attempts(0, 3), (), None, 0, (), "", None, "A Person", stamp, stamp
        )

    def put(self, key: layout.Key, record: object) -> None:
        with open(f"{self.store.engine.folder}/{key.name}", "wb") as file:
            file.write(yamlfile.encode(record))

    def event(self, kind: str, actor: str, job: int | None, **data: object) -> None:
        counters = self.counters
        position, size = counters.position + 1, counters.segment_bytes
        if size >= SEGMENT_BYTES:
            self._write_feed()
            counters, size = dataclasses.replace(counters, segment=position), 0
        event = Event(position, self.now.stamp, kind, actor, job, data)
        line = json.dumps(to_plain(event), separators=(",", ":")).encode("ascii") + b"\n"
        self._feed.append(line)
        self.counters = dataclasses.replace(counters, position=position, segment_bytes=size + len(line))

    def receipt(self, key: str, operation: str, actor: str, claim: tuple[int, int] | None, answer: Written) -> None:
        live = {each.name for each in dataclasses.fields(Written)}
        plain = {name: value for name, value in to_plain(answer).items() if name not in live}
        digest, fingerprint, position = tokens.digest(key), os.urandom(32).hex(), self.counters.position
        job, epoch = claim or (None, None)
        stamp = self.now.stamp
        record = Receipt(digest, fingerprint, operation, actor, job, epoch, position, stamp, plain)
        self.put(layout.receipt(digest), record)

    def finish(self) -> None:
        self._write_feed()
        fs.replace_file(f"{self.store.engine.folder}/{layout.COUNTERS.name}", yamlfile.encode(self.counters))
        os.sync()

    def _write_feed(self) -> None:
        with open(f"{self.store.engine.folder}/{layout.segment(self.counters.segment)}", "ab") as file:
            file.write(b"".join(self._feed))
        self._feed.clear()

    def make_receipt_folders(self) -> None:
        for first in range(256):
            os.makedirs(f"{self.store.engine.folder}/receipts/{first:02x}", exist_ok=True)


def finished_jobs(store: Store, count: int) -> None:
    """Add `count` finished jobs, as many receipts, and twice as many events."""
    maker, person, because = _Maker(store), store.actor.name, "not needed any more"
    maker.make_receipt_folders()
    for number in range(count):
        added = maker.next_job(f"past work {number}", f"past/{number % 1000}.md")
        job = dataclasses.replace(added, state="cancelled", version=2, because=because)
        maker.put(layout.done(job.id), job)
        maker.event("job.cancelled", person, job.id, because=because)
        maker.receipt(tokens.new_receipt_key(), "job cancel", person, None, JobChanged(job=job))
    maker.finish()


def messages(store: Store, count: int) -> None:
    """Add `count` messages to nobody."""
    maker = _Maker(store)
    for number in range(count):
        maker.event("message.sent", "somebody", None, sender="somebody", to=["nobody"], subject=f"{number}", body="")
    maker.finish()


def live_claims(store: Store, count: int) -> None:
    """Add `count` jobs that are claimed now, each by another agent, on paths that clash with nobody's."""
    maker = _Maker(store)
    maker.make_receipt_folders()
    for number in range(count):
        _live_claim(maker, f"held/{number // 20}/{number}.md", f"agent-{number}")
    maker.finish()


def _live_claim(maker: _Maker, path: str, holder: str) -> None:
    added, now, key = maker.next_job(f"work on {path}", path), maker.now, tokens.new_receipt_key()
    epoch = maker.counters.epoch + 1
    maker.counters = dataclasses.replace(maker.counters, epoch=epoch, live=maker.counters.live + 1)
    job = dataclasses.replace(
        added, state="claimed", version=2, attempts=Attempts(1, 3), holder=holder, epoch=epoch, because=None
    )
    lease = Lease(
        job=job.id,
        epoch=epoch,
        holder=holder,
        paths=job.paths,
        ttl=DAY,
        deadline_ns=now.awake_ns + DAY * NANOSECONDS,
        boot=now.boot,
        expires_at=rfc3339(now.wall + DAY),
        claimed_at=now.stamp,
        renewals=0,
        worktree=os.urandom(16).hex(),
        token_sha256=tokens.digest(tokens.derive(key, maker.store.info.id, job.id, epoch)),
        bases=(Base(path, None),),
        drafts=(),
    )
    maker.put(layout.job(job.id), job)
    maker.put(layout.lease(job.id), lease)
    maker.event("claim.taken", holder, job.id, epoch=epoch, paths=[path], ttl=DAY)
    maker.receipt(key, "claim", holder, (job.id, epoch), Claimed(claim=dead_or_alive(lease), job=job, newer=()))


def verify(base: Path) -> None:
    """Make a small history between real work, over a feed of two segments, and have the store check itself."""
    field = Field.make(base, "verify")
    worker = field.worker()
    finished_jobs(field.store, 4000)
    live_claims(field.store, 20)
    for _ in range(3):
        worker.cycle()
    checkup = field.store.doctor()
    if checkup.findings:
        raise SystemExit(f"the made history is no valid store: {checkup.findings[:3]}")
