"""A Watcher at work in a thread of its own, and what it has told so far."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import replace

from draftfs import hints
from draftfs.errors import DraftfsError
from draftfs.watch import Pace, Watcher
from tests.support import Field, wait_for

QUICK = Pace(every=3600, poll=0.2, quiet=0.03, most=0.5, share=1.5, tick=0.01, patience=1.0, delay=0.05)
"""Only what happens brings it to look: a test would wait in vain for a scan that is made all the same."""


class _Stop(Exception):
    pass


class Watching:
    def __init__(self, site: Field, *, pace: Pace = QUICK, watch=hints.watch, check=None) -> None:
        self.site, self.changes, self.ended, self.scans = site, [], None, 0
        self._check, self._stopped = check, False
        self.watcher = Watcher(self._opened, pace, watch)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _opened(self):
        if self._stopped:
            raise _Stop
        store, self.scans = self.site.me, self.scans + 1
        if self._check is not None:
            check = store.check
            store.check = lambda: self._check(check)
        return store

    def _run(self) -> None:
        try:
            for change in self.watcher.changes():
                if not _is_of_hooks(change.finding):  # which these repositories have not, and git is quicker without
                    self.changes.append(change)
        except DraftfsError as fault:
            self.ended = fault
        except _Stop:
            pass

    def stop(self) -> None:
        self._stopped = True
        self.watcher._next = 0.0
        self.watcher._bell.set()
        self._thread.join(10)
        assert not self._thread.is_alive()

    # ── what it told ──

    @property
    def told(self):
        """Each change so far: (event, kind, path); of notes what they say."""
        return [
            (each.event, each.finding.kind, each.finding.path) if each.finding else (each.event, each.message)
            for each in list(self.changes)
        ]

    @property
    def standing(self):
        """What was raised and not lowered since. Nothing is raised or lowered twice in a row."""
        now = {}
        for each in list(self.changes):
            if each.finding is None:
                continue
            key = (each.finding.kind, each.finding.path, each.finding.subject)
            assert (each.event == "raised") == (key not in now), self.told
            if each.event == "lowered":
                del now[key]
            else:
                now[key] = each.finding
        return set(now)

    def catch_up(self, seconds: float = 10.0) -> set:
        """Wait until what stands is what `check` says; returns it."""
        found = [each for each in self.site.me.check().findings if not _is_of_hooks(each)]
        expected = {(each.kind, each.path, each.subject) for each in found}
        wait_for(lambda: self.standing == expected, seconds)
        return expected

    def rest(self, seconds: float = 0.3) -> int:
        """How often it looks in a while, after it came to rest."""
        time.sleep(seconds)
        before = self.scans
        time.sleep(seconds)
        return self.scans - before


def _is_of_hooks(finding) -> bool:
    return finding is not None and finding.kind == "hook"


@contextmanager
def watching(site: Field, **options):
    """A Watcher that has made its first scan."""
    made = Watching(site, **options)
    made._thread.start()
    try:
        wait_for(lambda: made.watcher._rested)
        yield made
    finally:
        made.stop()


def slower(**changes) -> Pace:
    return replace(QUICK, **changes)


def hand_in(field, text: str) -> int:
    field.write("ann", "docs/spec.md", (field.root / "docs/spec.md").read_bytes())
    field.ann.claim_paths(["docs/spec.md"])
    number = field.put("ann", "docs/spec.md", text).drafts[0].number
    field.ann.submit()
    return number


def promote(field, number: int) -> None:
    field.me.promote(field.me.draft_refs(["docs/spec.md", str(number)]))
