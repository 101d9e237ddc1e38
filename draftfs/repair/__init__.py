"""`doctor --fix`: mends what is certain. What it takes out of the way gets a dated name in `set-aside/`, and is never
deleted.

What the journal still holds of a record is its newest state, for a new journal begins only when every record is in its own
file: it is put back. What nothing holds any more is ended rather than guessed: a claim whose lease is lost, a job whose
record is lost. No number is ever given twice for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from draftfs import layout
from draftfs.answers import Finding
from draftfs.audit import Records
from draftfs.engine import salvage, yamlfile
from draftfs.engine.files import FileEngine
from draftfs.engine.journal import Contents
from draftfs.engine.session import read_journal
from draftfs.engine.transaction import FileTransaction
from draftfs.repair import claims, drafts, files
from draftfs.repair.bench import Bench
from draftfs.tree import Tree

__all__ = ["images", "mend"]


def images(log: Contents) -> dict[str, bytes | None]:
    """The newest bytes of every record that the journal holds; None for one that was removed."""
    found: dict[str, bytes | None] = {}
    for _, payload in log.records:
        for name, text in payload.get("images", {}).items():
            found[name] = None if text is None else text.encode()
    return found


def mend(engine: FileEngine, tree: Tree, findings: Sequence[Finding], kept_epochs: Sequence[int]) -> list[str]:
    """Mend what `findings` name, as far as it is certain; says in words what was done. Nothing, when nothing can be."""
    names = dict.fromkeys(each.path for each in findings if each.repair is not None and each.kind != "format")
    if layout.JOURNAL in names:
        return salvage.renew_journal(engine.folder, engine.now(), engine.lock_wait)
    if not names:
        return []

    def step(tx: FileTransaction) -> list[str]:
        bench = Bench(tx, tree, read_journal(tx.folder))
        _mend_all(bench, list(names), kept_epochs)
        return bench.said

    (committed,) = engine.write(step)
    if any(name.startswith(layout.FEED) for name in names):
        engine.checkpoint()  # a replay must not write what it holds into a segment that was rebuilt
    said: list[str] = committed.value
    return said


def _mend_all(bench: Bench, names: list[str], kept_epochs: Sequence[int]) -> None:
    """Everything is looked at anew: what was found may have changed before the lock was taken."""
    newest = images(bench.log)
    restored = [name for name in names if _restore(bench, name, newest)]
    if restored:  # the others are judged by what is there again
        bench.records = Records(bench.tx)
    _raise_counters(bench, kept_epochs)
    for name in names:
        if name not in restored and name != layout.COUNTERS.name:
            _mend(bench, name)


_MENDERS: Final[dict[str, Callable[[Bench, str], None]]] = {
    "feed/": files.rebuild_segment,
    "readers/": files.mend_reader,
    "objects/": files.recover_object,
    "jobs/": claims.mend_job,
    "done/": claims.mend_job,
    "leases/": claims.mend_lease,
    "claims/": claims.mend_ended,
    "admitted/": claims.mend_admissions,
    "drafts/": drafts.mend_draft,
}


def _mend(bench: Bench, name: str) -> None:
    if name in bench.records.strays:
        bench.discard(name, "no record of the store")
    elif name.endswith("/target.yaml"):
        drafts.mend_index(bench, name)
    else:
        for prefix, mend_one in _MENDERS.items():
            if name.startswith(prefix):
                mend_one(bench, name)


def _restore(bench: Bench, name: str, newest: dict[str, bytes | None]) -> bool:
    """Put back what the journal holds of this record, or take away again what it says was removed."""
    key = layout.key_named(name)
    if key is None or name not in newest or bench.tx.raw(name) == newest[name]:
        return False
    image = newest[name]
    aside = bench.set_aside(name)
    if image is None:
        bench.tx.delete(key)
        bench.said.append(f"{name}: removed again, as it was{aside}")
    else:
        bench.tx.put(key, yamlfile.decode(key.kind, image, name))
        bench.said.append(f"{name}: put back from the journal, nothing is lost{aside}")
    return True


def _raise_counters(bench: Bench, kept_epochs: Sequence[int]) -> None:
    name, counters = layout.COUNTERS.name, bench.records.counters
    raised = bench.records.raised(kept_epochs)
    if raised == counters:
        return
    aside = bench.set_aside(name) if counters is None else ""
    bench.tx.put(layout.COUNTERS, raised)
    how = "counted anew" if counters is None else "set ahead of what is there"
    bench.say(name, f"{how}: job {raised.job}, epoch {raised.epoch}, position {raised.position}{aside}")
