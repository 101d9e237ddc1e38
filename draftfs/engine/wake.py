"""Waking up when the store changes, for whoever waits for an event or a claim.

Every transaction that appends an event replaces `counters.yaml` by rename, so that one stat of it, answered from the
kernel's memory, tells that something happened. Watches would wake no sooner than people notice, run out (inotify
instances), and are blind on some file systems; a stat works everywhere.
"""

from __future__ import annotations

import os
import time
from typing import Final

from draftfs import layout

PAUSE: Final = 0.05
RECHECK: Final = 1.0

Seen = tuple[int, ...]


class Waker:
    """Tells when the feed of the store in `folder`, or another file or folder in it (`also`), may have changed."""

    def __init__(self, folder: str, *also: str) -> None:
        self._paths = [os.path.join(folder, name) for name in (layout.COUNTERS.name, *also)]

    def seen(self) -> Seen:
        """What the store looks like now. Take it before reading what you then wait for more of: nothing is missed."""
        return tuple(fact for path in self._paths for fact in _facts(path))

    def wait(self, since: Seen, seconds: float) -> bool:
        """Sleep until the store no longer looks like `since` (True), or for `seconds`, at most RECHECK, have passed.

        The caller looks again either way: time alone ends claims, and a file replaced twice in one tick of the clock may
        look the same.
        """
        end = time.monotonic() + min(seconds, RECHECK)
        while self.seen() == since:
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(PAUSE, left))
        return True


def _facts(path: str) -> Seen:
    try:
        facts = os.stat(path)
    except OSError:
        return ()
    return facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size
