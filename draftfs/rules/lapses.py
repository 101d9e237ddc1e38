"""What time does to claims (§4): past its deadline one has lapsed; after a reboot each has its full ttl once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final

from draftfs import layout
from draftfs.clock import NANOSECONDS, rfc3339
from draftfs.engine import Transaction, View
from draftfs.errors import Damaged, EnvironmentFault, NotFound
from draftfs.records import Lease
from draftfs.rules import jobs
from draftfs.rules.reservations import is_overdue, remaining

SYSTEM: Final = "draftfs"


def overdue(view: View) -> Iterator[Lease]:
    """Live leases past their deadline. One of an earlier boot is not: it is given its full ttl once more first (§4)."""
    return (lease for lease in _readable(view) if is_overdue(view, lease))


def next_due(view: View) -> float | None:
    """Seconds until the next live claim lapses; None where none is held."""
    return min((remaining(view, lease) for lease in _readable(view)), default=None)


def due(view: View) -> bool:
    """Whether there is anything for `sweep` to commit."""
    return view.counters.boot != view.now.boot or any(overdue(view))


def notice(
    read: Callable[[Callable[[View], bool]], bool], write: Callable[[Callable[[Transaction], None]], object]
) -> None:
    """Commit what is due, with an engine's `read` and `write`. A look works on a disk that cannot be written, and shows the
    lapse all the same."""
    with suppress(EnvironmentFault):
        if read(due):
            write(sweep)


def sweep(transaction: Transaction, only: int | None = None) -> None:
    """Commit what time has done: after a reboot every live claim has its full ttl once more; a claim past its deadline
    (of job `only`, or of any job) has lapsed."""
    counters = transaction.counters
    if counters.boot != transaction.now.boot:
        transaction.put(layout.COUNTERS, replace(counters, boot=transaction.now.boot))
        for lease in _of_another_boot(transaction):
            _rebase(transaction, lease)
    for lease in list(overdue(transaction)) if only is None else _one_overdue(transaction, only):
        if not _can_end(transaction, lease):
            if only is None:
                continue  # its paths stay held until doctor mends what is damaged; nobody else is to fail over it
            name = layout.lease(lease.job).name
            raise Damaged("damaged", f"{name} and the record of its job do not fit each other", file=name)
        from draftfs.rules import claims  # which brings along what git's hooks, where a lapse is rare, do not need

        claims.end(transaction, lease, "lapsed", SYSTEM, None)
        job = jobs.change(transaction, jobs.find(transaction, lease.job), "lose", holder=None)
        transaction.append(
            "claim.lapsed", SYSTEM, job=lease.job, epoch=lease.epoch, holder=lease.holder, state=job.state
        )


def _one_overdue(view: View, number: int) -> list[Lease]:
    lease = view.get(layout.lease(number))
    return [lease] if lease is not None and is_overdue(view, lease) else []


def _can_end(view: View, lease: Lease) -> bool:
    try:
        return jobs.find(view, lease.job).state == "claimed"
    except (Damaged, NotFound):
        return False


def _of_another_boot(view: View) -> Iterator[Lease]:
    return (lease for lease in _readable(view) if lease.boot != view.now.boot)


def _readable(view: View) -> Iterator[Lease]:
    """The live leases. What cannot be read cannot lapse: its paths stay held until doctor mends it."""
    for key in list(view.under(layout.LEASES)):
        with suppress(Damaged):
            lease = view.get(key)
            if lease is not None:
                yield lease


def _rebase(transaction: Transaction, lease: Lease) -> None:
    now = transaction.now
    deadline, expires = now.awake_ns + lease.ttl * NANOSECONDS, rfc3339(now.wall + lease.ttl)
    transaction.put(layout.lease(lease.job), replace(lease, deadline_ns=deadline, boot=now.boot, expires_at=expires))
    told = {"epoch": lease.epoch, "ttl": lease.ttl, "holder": lease.holder}
    transaction.append("claim.restarted", SYSTEM, job=lease.job, **told)
