"""`doctor --fix`: mends what is certain. What it takes out of the way gets a dated name, and is never deleted.

A damaged record is put back from the journal where that still holds it; counters are counted anew; the claim of a lease
that cannot be read is ended, with an event. What cannot be rebuilt is named and left.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from draftfs import layout
from draftfs.engine import fs
from draftfs.engine.files import FileEngine
from draftfs.engine.transaction import FileTransaction
from draftfs.errors import Damaged, DraftfsError
from draftfs.layout import Key
from draftfs.records import Counters, Draft, EndedClaim, Target
from draftfs.rules import jobs

SET_ASIDE = "set-aside"


def mend(engine: FileEngine, names: Sequence[str]) -> tuple[str, ...]:
    """Mend the files `names`, and the counters; says in words what was done to each."""
    done: list[str] = []
    if layout.JOURNAL in names:
        aside = _set_aside(engine, layout.JOURNAL)
        engine.renew_journal()
        done.append(f"journal: set aside as {aside}; what it had not yet brought to the files is lost")
    images = engine.journalled_images()
    for name in names:
        image = images.get(name)
        if image is not None:
            aside = _set_aside(engine, name)
            fs.replace_file(f"{engine.folder}/{name}", image)
            done.append(f"{name}: put back from the journal" + (f"; the damaged one is {aside}" if aside else ""))
    if _is_damaged(engine, layout.COUNTERS):
        aside = _set_aside(engine, layout.COUNTERS.name)
        engine.write(_count_anew)
        done.append(f"{layout.COUNTERS.name}: counted anew" + (f"; the damaged one is {aside}" if aside else ""))
    for name in names:
        if name not in images:
            done += _rebuild(engine, name)
    engine.write(_raise_counters)
    return tuple(done)


def _rebuild(engine: FileEngine, name: str) -> list[str]:
    """Mend one record without an image of it."""
    number = re.fullmatch(r"(?:jobs|leases)/(\d+)\.yaml", name)
    if number is not None:
        return _end_claim(engine, int(number[1]), name)
    if re.fullmatch(r"drafts/[^/]+/(\d+|target)\.yaml", name):
        return _rebuild_target(engine, name)
    return []


def _end_claim(engine: FileEngine, number: int, name: str) -> list[str]:
    """End the claim of a job whose lease, or itself, cannot be read."""
    lease, job = _get(engine, layout.lease(number)), _get(engine, layout.job(number))
    aside = _set_aside(engine, name)

    def step(tx: FileTransaction) -> None:
        tx.delete(layout.lease(number))
        tx.delete(Key(name, object))
        if job is not None and job.state == "claimed":
            because = f"{name} was damaged"
            lost = jobs.change(tx, job, "lose", holder=None, because=because)
            known = lease.token_sha256 if lease is not None else ""
            drafts = lease.drafts if lease is not None else ()
            ended = EndedClaim(
                number, job.epoch, job.holder or "?", "revoked", tx.now.stamp, "doctor", because, known, drafts
            )
            tx.put(layout.ended_claim(number, job.epoch), ended)
            tx.append("claim.revoked", "doctor", job=number, epoch=job.epoch, because=because, state=lost.state)
        else:
            tx.append("record.lost", "doctor", job=number, file=name)

    engine.write(step)
    engine.write(_raise_counters)
    what = "its claim was ended" if job is not None else f"job {number} is lost: add it again"
    return [f"{name}: {what}" + (f"; the damaged one is {aside}" if aside else "")]


def _rebuild_target(engine: FileEngine, name: str) -> list[str]:
    """A target's record is an index of its drafts, but for its choice; a lost draft's number stays taken."""
    folder = name.rpartition("/")[0]
    key = Key(f"{folder}/target.yaml", Target)
    aside = _set_aside(engine, name)

    def step(tx: FileTransaction) -> None:
        tx.delete(Key(name, object))
        numbered = [each for each in tx.under(layout.Folder(folder, Draft)) if layout.number_of(each) is not None]
        drafts = [draft for draft in (_readable(tx, each) for each in numbered) if draft is not None]
        old = _readable(tx, key)
        if drafts or old is not None:
            undecided = tuple(draft.number for draft in drafts if draft.state in ("waiting", "abandoned"))
            last = max([old.last if old is not None else 0, *(draft.number for draft in drafts)])
            path, choice = (old.path, old.choice) if old is not None else (drafts[0].target, None)
            tx.put(key, Target(path, last, undecided, choice))
        tx.append("record.lost", "doctor", file=name)

    engine.write(step)
    return [f"{name}: rebuilt from what remains" + (f"; the damaged one is {aside}" if aside else "")]


def _count_anew(tx: FileTransaction) -> None:
    first, size, position = tx.feed_end()
    tx.put(layout.COUNTERS, Counters(0, 0, position, 0, tx.now.boot, first, size))
    _raise_counters(tx)
    tx.append("record.lost", "doctor", file=layout.COUNTERS.name)


def _raise_counters(tx: FileTransaction) -> None:
    """Set every counter ahead of whatever it counts. Numbers may be passed over, never given twice."""
    counters = tx.counters
    folders: tuple[layout.Folder[Any], ...] = (layout.JOBS, layout.DONE, layout.LEASES)
    numbers = [layout.number_of(key) or 0 for folder in folders for key in tx.under(folder)]
    ended = [layout.Folder(folder, EndedClaim) for folder in tx.subfolders("claims")]
    epochs = [layout.number_of(key) or 0 for folder in ended for key in tx.under(folder)]
    live = [_readable(tx, key) for key in tx.under(layout.LEASES)]
    claimed = [_readable(tx, key) for key in tx.under(layout.JOBS)]
    epochs += [each.epoch for each in (*live, *claimed) if each is not None]
    raised = replace(counters, job=max([counters.job, *numbers]), epoch=max([counters.epoch, *epochs]), live=len(live))
    if raised != counters:
        tx.put(layout.COUNTERS, raised)


def _readable(tx: FileTransaction, key: Key[Any]) -> Any:
    try:
        return tx.get(key)
    except Damaged:
        return None  # doctor has named it; the others still count


def _get(engine: FileEngine, key: Key[Any]) -> Any:
    try:
        return engine.read(lambda view: view.get(key))
    except Damaged:
        return None  # that is what is being mended


def _is_damaged(engine: FileEngine, key: Key[Any]) -> bool:
    try:
        return engine.read(lambda view: view.get(key)) is None
    except DraftfsError:
        return True


def _set_aside(engine: FileEngine, name: str) -> str | None:
    """Keep what stands at `name` under a dated name; None when nothing does."""
    path = f"{engine.folder}/{name}"
    if not os.path.lexists(path):
        return None
    stamp = re.sub(r"[^0-9]", "", engine.now().stamp)
    aside = f"{SET_ASIDE}/{stamp}-{name.replace('/', '-')}"
    fs.make_folder(f"{engine.folder}/{SET_ASIDE}")
    fs.link(path, f"{engine.folder}/{aside}")
    fs.sync_folder(f"{engine.folder}/{SET_ASIDE}")
    return aside
