"""Keeping one claim alive while a program works under it (§8, run)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from draftfs.errors import DraftfsError, Fenced
from draftfs.fresh import Fresh
from draftfs.store import Store
from draftfs.tokens import new_receipt_key

Narrator = Callable[[str], None]
"""Is told, line by line, what happens."""

_LONGEST_PAUSE: Final = 1.0


class Lifeline:
    """Keeps one claim alive: renews at a third of its ttl, counted on a monotonic clock that stands still with us.

    What fails for a moment is tried again until the deadline. `lost` says why it is no longer ours.
    """

    def __init__(self, store: Callable[[], Store], fresh: Fresh, began: float, say: Narrator) -> None:
        self._store, self._fresh, self._say = store, fresh, say
        self._ttl = fresh.claimed.claim.ttl
        self._key = new_receipt_key()
        self.lost: DraftfsError | None = None
        self._since(began)

    def _since(self, began: float) -> None:
        # From before the call, while the store counts from within it: our deadline is never the later one.
        self.deadline, self.due = began + self._ttl, began + self._ttl / 3

    @property
    def ended_by_itself(self) -> bool:
        """Whether the program, which has the token in its worktree, has submitted or released the job on its own."""
        return self.lost is not None and self.lost.details.get("standing") in ("submitted", "released")

    def beat(self, *, quiet: bool = False) -> None:
        """Renew, if it is time. Never raises DraftfsError."""
        began = time.monotonic()
        if self.lost is not None or began < self.due:
            return
        try:
            self._store().renew(job=self._fresh.job, token=self._fresh.token, receipt=self._key)
        except Fenced as fault:
            self.lost = fault
        except DraftfsError as fault:
            self._failed(fault, quiet=quiet)
        else:
            self._since(began)
            self._key = new_receipt_key()
            if not quiet:
                self._say(f"renewed job {self._fresh.job} for {self._ttl} s")

    def _failed(self, fault: DraftfsError, *, quiet: bool) -> None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            self.lost = Fenced(
                "fenced",
                f"no renewal got through before the deadline of job {self._fresh.job}: {fault.message}",
                hint=fault.hint,
                job=self._fresh.job,
                epoch=self._fresh.epoch,
            )
            return
        self.due = time.monotonic() + min(left, self._ttl / 20, _LONGEST_PAUSE)
        if not quiet:
            self._say(f"renewing job {self._fresh.job} failed, {left:.0f} s are left: {fault.message}")
