"""G1: the same key and request give the first answer again; the same key and another request are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from draftfs import layout, tokens
from draftfs.engine import Transaction, View
from draftfs.errors import Damaged, Refused
from draftfs.records import Receipt, Standing


def find(view: View, key: str, fingerprint: str) -> Receipt | None:
    """The receipt of an earlier call with this key, or None.

    Raises Refused `receipt_mismatch` when the key belongs to another request; nothing of that request is told.
    """
    kept = view.get(layout.receipt(tokens.digest(key)))
    if kept is not None and kept.fingerprint != fingerprint:
        raise Refused(
            "receipt_mismatch",
            "this receipt key belongs to another request",
            hint="use a new key for a new request, or repeat the first one exactly (same actor, paths, bytes and claim)",
        )
    return kept


def claim_of(view: View, key: str) -> tuple[int, int] | None:
    """The claim, (job, epoch), that an earlier call with this key was made under; None without one."""
    kept = view.get(layout.receipt(tokens.digest(key)))
    return (kept.job, kept.epoch) if kept is not None and kept.job is not None and kept.epoch is not None else None


def record(
    transaction: Transaction,
    key: str,
    *,
    fingerprint: str,
    operation: str,
    actor: str,
    claim: tuple[int, int] | None,
    answer: dict[str, Any],
) -> None:
    """Keep the receipt in the same transaction as the change that it is about."""
    digest = tokens.digest(key)
    job, epoch = claim or (None, None)
    position = transaction.counters.position
    receipt = Receipt(digest, fingerprint, operation, actor, job, epoch, position, transaction.now.stamp, answer)
    transaction.put(layout.receipt(digest), receipt)


def complete(transaction: Transaction, key: str, more: dict[str, Any]) -> None:
    """Add to the answer that is kept under this key what only came about after its change."""
    digest = tokens.digest(key)
    kept = transaction.get(layout.receipt(digest))
    if kept is not None:
        transaction.put(layout.receipt(digest), replace(kept, answer={**kept.answer, **more}))


def standing(view: View, job: int, epoch: int) -> Standing:
    """How the claim of `job` with this epoch stands now.

    `superseded` once the job has been claimed again, whatever ended the claim before that.
    """
    lease = view.get(layout.lease(job))
    if lease is not None:
        if lease.epoch == epoch:
            return "live"
        if lease.epoch > epoch:
            return "superseded"
    record = view.get(layout.job(job)) or view.get(layout.done(job))
    if record is not None and record.epoch > epoch:
        return "superseded"
    ended = view.get(layout.ended_claim(job, epoch))
    if ended is None:
        name = layout.ended_claim(job, epoch).name
        raise Damaged("damaged", f"{name}, which says how that claim ended, is missing from the store", file=name)
    return ended.how
