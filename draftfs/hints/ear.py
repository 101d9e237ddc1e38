"""Hints that are seen to: had anew when they died, and tried for again, ever less often, where there are none to be had."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from draftfs.hints import CannotWatch, Hints, Ring

Watch = Callable[[str, Ring], Hints]

_LONGEST_DELAY: Final = 300.0
_SWEEP: Final = 300.0
"""So often all folders are gone through, in seconds. That they come and go is told, too."""


class Ear:
    """Listens at the folder `root`. `delay` is the first pause between two tries, in seconds. For one thread."""

    def __init__(self, root: str, ring: Ring, watch: Watch, *, delay: float) -> None:
        self._root, self._ring, self._watch = root, ring, watch
        self._first = self._delay = delay
        self._hints: Hints | None = None
        self._try_at = self._swept_at = 0.0
        self._why: str | None = None

    @property
    def hears(self) -> bool:
        return self._hints is not None and self._hints.alive()

    @property
    def is_deaf(self) -> bool:
        """Whether there are no hints to be had for now."""
        return self._why is not None

    @property
    def needs_tending(self) -> bool:
        """Whether it died, and may be tried for again."""
        return not (self.hears or self.is_deaf) and time.monotonic() >= self._try_at

    def tend(self) -> str | None:
        """Watch what is there now, with new hints where the old ones died; what people should know, when that changes."""
        now = time.monotonic()
        try:
            if self.hears:
                self._refresh(now)
            elif now >= self._try_at:
                self.close()
                self._try_at, self._delay = now + self._delay, min(self._delay * 2, _LONGEST_DELAY)
                self._hints, self._swept_at = self._watch(self._root, self._ring), now
        except CannotWatch as fault:
            self.close()
            known, self._why = self._why, str(fault)
            return None if known == self._why else self._why
        if self.hears and self._why is not None:
            self._why = None
            return "told of changes again"
        return None

    def _refresh(self, now: float) -> None:
        assert self._hints is not None
        everything = now - self._swept_at >= _SWEEP
        self._hints.refresh(everything=everything)
        if everything:
            self._swept_at, self._delay = now, self._first  # they have lived for a while

    def close(self) -> None:
        if self._hints is not None:
            self._hints.close()
            self._hints = None
