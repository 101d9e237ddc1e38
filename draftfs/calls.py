"""How every write goes (§5): receipt, rule, change, receipt kept; all in one transaction, with lapses noticed first."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from itertools import count
from typing import Any, Final, Protocol, TypeVar

from draftfs import layout, names, tokens
from draftfs.answers import (
    Acknowledged,
    Claim,
    Claimed,
    Configured,
    Drafted,
    JobChanged,
    Merged,
    Promoted,
    Regenerated,
    Tidied,
    Undone,
    Written,
)
from draftfs.clock import rfc3339
from draftfs.codec import Malformed, digest_of, from_plain, to_plain
from draftfs.engine import Performed, PrepareAgain, Transaction, View
from draftfs.engine.files import FileEngine
from draftfs.engine.transaction import FileTransaction
from draftfs.errors import BadRequest, Busy, Damaged, Refused
from draftfs.records import Actor, Draft, Job, Receipt, Standing
from draftfs.rules import lapses, receipts
from draftfs.rules.reservations import remaining
from draftfs.settings import SETTINGS, to_text

A = TypeVar("A", bound=Written)
Rule = Callable[[Transaction, str], A]

_FEWEST_TRIES: Final = 8
_ENDING: Final = frozenset({"release", "submit"})
"""What a worker must be able to say on a full disk, too: the engine keeps some space for it."""
_LIVE_FIELDS: Final = frozenset(each.name for each in fields(Written))


class Keys(Protocol):
    """Where receipt keys come from that the caller did not give."""

    def take(self, fingerprint: str) -> tuple[str, bool]:
        """A key for a request, and whether it is that of an earlier try whose answer was never seen."""

    def renew(self) -> str:
        """Another key for the same request: the claim made under the first one has ended."""


class FreshKeys:
    """A new key for every request."""

    def take(self, fingerprint: str) -> tuple[str, bool]:  # noqa: ARG002 - a fresh key fits every request
        return tokens.new_receipt_key(), False

    def renew(self) -> str:
        return tokens.new_receipt_key()


class Calls:
    """The writes of one actor in one store."""

    def __init__(self, engine: FileEngine, store_id: str, actor: Actor, keys: Keys) -> None:
        self._engine, self._store_id, self._actor, self._keys = engine, store_id, actor, keys

    def write(
        self,
        operation: str,
        request: Mapping[str, Any],
        kind: type[A],
        rule: Rule[A],
        receipt: str | None,
        *,
        only: int | None = None,
        after: Callable[[A, Sequence[Performed]], A] | None = None,
        again: Callable[[PrepareAgain], Rule[A]] | None = None,
        later: Callable[[Refused], Rule[A]] | None = None,
    ) -> A:
        """Do what `rule` says for this request, once in all for its receipt key; returns its answer.

        `request` is what the caller meant, in plain values. The rule is given the receipt key. What time has done is
        noticed first, as a transaction of its own: to all claims, or to that of job `only`. `after` sees what became of
        the effects; `again` gives a new rule when what this one was prepared for has changed; `later` one when it is time to
        try again what was refused, or raises.
        """
        fingerprint = _fingerprint(operation, self._actor, request)
        key, taken_over = (_checked(receipt), False) if receipt is not None else self._keys.take(fingerprint)
        end = time.monotonic() + self._engine.lock_wait
        for attempt in count():
            if attempt >= _FEWEST_TRIES and time.monotonic() > end:
                break
            try:
                answer, performed = self._transact(operation, fingerprint, kind, rule, key, only)
            except PrepareAgain as moved:
                assert again is not None, "only a rule that can be prepared anew asks for it"
                rule = again(moved)
                continue
            except Refused as refusal:
                if later is None:
                    raise
                rule, end = later(refusal), time.monotonic() + self._engine.lock_wait
                continue
            if taken_over and answer.replayed and self._engine.read(partial(_is_overtaken, answer=answer)):
                key, taken_over = self._keys.renew(), False
                continue
            return after(answer, performed) if after is not None else answer
        raise Busy("busy", "the store changes faster than this can be prepared", hint="run the same command again")

    def fenced(
        self,
        operation: str,
        request: Mapping[str, Any],
        kind: type[A],
        rule: Callable[[Transaction], A],
        held: tuple[int, str],
        receipt: str | None,
    ) -> A:
        """A write under a claim: (job, token). The token's digest is part of what the caller meant."""
        job, token = held
        meant = {**request, "job": job, "token_sha256": tokens.digest(token)}
        return self.write(operation, meant, kind, lambda tx, _: rule(tx), receipt, only=job)

    def notice(self) -> None:
        """Commit lapses that this look is the first to notice, where the store can be written."""
        lapses.notice(self._engine.read, self._engine.write)

    def _transact(
        self,
        operation: str,
        fingerprint: str,
        kind: type[A],
        rule: Rule[A],
        key: str,
        only: int | None,
    ) -> tuple[A, Sequence[Performed]]:
        """G1, in this order and in one transaction: the receipt; then the rule; then the change with its receipt."""

        def step(tx: FileTransaction) -> A:
            kept = receipts.find(tx, key, fingerprint)
            if kept is not None:
                return self._replay(tx, kept, key, kind)
            answer = rule(tx, key)
            claim = _claim_of(operation, answer)
            plain = {name: value for name, value in to_plain(answer).items() if name not in _LIVE_FIELDS}
            receipts.record(
                tx, key, fingerprint=fingerprint, operation=operation, actor=self._actor.name, claim=claim, answer=plain
            )
            standing = receipts.standing(tx, *claim) if claim is not None else None
            return replace(self._alive(tx, answer, key), receipt=key, standing=standing)

        committed = self._engine.write(lambda tx: lapses.sweep(tx, only), step, urgent=operation in _ENDING)[-1]
        answer: A = committed.value
        return answer, committed.performed

    def _replay(self, view: View, kept: Receipt, key: str, kind: type[A]) -> A:
        plain = {**kept.answer, "receipt": key, "replayed": True, "standing": standing_of(view, kept)}
        try:
            answer = from_plain(kind, plain)
        except Malformed as fault:
            name = layout.receipt(kept.key_sha256).name
            raise Damaged("damaged", f"{name} holds no answer of {kept.operation}: {fault}", file=name) from fault
        return self._alive(view, answer, key)

    def _alive(self, view: View, answer: A, key: str) -> A:
        """The answer with what is only true now: a claim's token, derived again, and its time left."""
        claim = getattr(answer, "claim", None)
        if not isinstance(claim, Claim):
            return answer
        token = tokens.derive(key, self._store_id, claim.job, claim.epoch) if isinstance(answer, Claimed) else None
        lease = view.get(layout.lease(claim.job))
        live = lease is not None and lease.epoch == claim.epoch
        left = remaining(view, lease) if lease is not None and live else None
        expires = rfc3339(view.now.wall + left) if left is not None else None
        now: dict[str, Any] = {"claim": replace(claim, token=token, expires_at=expires, expires_in=left)}
        return replace(answer, **now)


def _is_overtaken(view: View, answer: Written) -> bool:
    """Whether the answer of an earlier call, whose key was kept because nobody saw it, is no longer how things are: the
    same command is then meant anew. A claim that ended, a draft that a newer one superseded, another choice or setting."""
    moved = _OVERTAKEN.get(type(answer))
    return moved is not None and moved(view, answer)


def _draft_of(view: View, each: Any) -> Draft | None:
    return view.get(layout.draft(view.store.fold.key(each.target), each.number))


def _is_superseded(view: View, answer: Drafted) -> bool:
    return any(
        draft is not None and draft.state == "superseded" for draft in (_draft_of(view, x) for x in answer.drafts)
    )


def _is_merge_over(view: View, answer: Merged) -> bool:
    """Also where there was nothing to merge: the target may have moved since."""
    made = [_draft_of(view, each) for each in answer.drafts]
    return not made or any(draft is not None and draft.state != "waiting" for draft in made)


def _has_more_happened(view: View, answer: Tidied) -> bool:
    """Then there may be more to tidy."""
    kept = view.get(layout.receipt(tokens.digest(answer.receipt)))
    return kept is None or view.counters.position > kept.position


def _chosen_for(view: View, target: str) -> int | None:
    kept = view.get(layout.target(view.store.fold.key(target)))
    return kept.choice.number if kept is not None and kept.choice is not None else None


def _is_another_chosen(view: View, answer: Promoted) -> bool:
    return any(_chosen_for(view, each.target) != each.number for each in answer.promoted)


def _is_chosen_again(view: View, answer: Undone) -> bool:
    return any(_chosen_for(view, each.target) == each.number for each in answer.undone)


def _is_reader_restarted(view: View, answer: Acknowledged) -> bool:
    from draftfs.rules.feed import handle

    page = handle(answer.page)
    reader = view.get(layout.reader(page.name))
    return reader is None or reader.generation != page.generation


def _is_set_otherwise(view: View, answer: Configured) -> bool:
    return to_text(answer.key, getattr(view.store.settings, SETTINGS[answer.key])) != answer.value


def _is_edited(view: View, answer: JobChanged) -> bool:
    job = view.get(layout.job(answer.job.id)) if answer.job.state in {"open", "failed"} else None
    return job is not None and _says(job) != _says(answer.job)


_OVERTAKEN: Final[dict[type[Written], Callable[[View, Any], bool]]] = {
    Claimed: lambda _, answer: answer.standing != "live",
    Drafted: _is_superseded,
    Merged: _is_merge_over,
    Promoted: _is_another_chosen,
    Undone: _is_chosen_again,
    Regenerated: lambda _, __: True,  # another edit may have come since; a target that holds its choice is left alone
    Tidied: _has_more_happened,
    Acknowledged: _is_reader_restarted,
    Configured: _is_set_otherwise,
    JobChanged: _is_edited,
}


def _says(job: Job) -> tuple[object, ...]:
    return job.title, job.text, job.paths, job.after


def standing_of(view: View, kept: Receipt) -> Standing | None:
    """How the claim that a receipt is about stands now; None for a receipt that is about none."""
    return receipts.standing(view, kept.job, kept.epoch) if kept.job is not None and kept.epoch is not None else None


def _fingerprint(operation: str, actor: Actor, request: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of what was meant. Changing what goes in here breaks every receipt there is."""
    return digest_of({"operation": operation, "actor": to_plain(actor), "request": request})


def _checked(receipt: str) -> str:
    """A caller's own receipt key. A claim's token is derived from it: with an empty one anybody could."""
    if not receipt:
        raise BadRequest("usage", "a receipt key is not empty", hint="--receipt KEY")
    return names.free_text(receipt, "a receipt key")


def _claim_of(operation: str, answer: Written) -> tuple[int, int] | None:
    """The claim that an answer was made under, or made: (job, epoch)."""
    claim = getattr(answer, "claim", None)
    if isinstance(claim, Claim):
        return claim.job, claim.epoch
    if isinstance(answer, Drafted) and answer.drafts[0].job is not None and answer.drafts[0].epoch is not None:
        return answer.drafts[0].job, answer.drafts[0].epoch
    if isinstance(answer, JobChanged) and operation in {"release", "submit"}:
        return answer.job.id, answer.job.epoch
    return None
