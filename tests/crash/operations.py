"""The operations that are killed, each with what makes it ready, and what must be true afterwards however it went."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

from draftfs import Store
from draftfs.records import DraftRef
from tests.faults import Snapshot, litter, records, shown
from tests.support import Field

SPEC, TEXT, NEW = "docs/spec.md", "a.txt", "new/deep/page.md"


@dataclass
class Operation:
    """One operation under one receipt key: ready to run, killed or not, and to run again."""

    field: Field
    run: Callable[[], object]
    before: Snapshot
    old: tuple[dict, dict]
    new: tuple[dict, dict]

    def check_whole_or_not(self, store: Store | None = None) -> bool:
        """With a fresh store: every record is as before, or every record is as after; True for after."""
        found = records(store or self.field.me)
        assert found in (self.old[0], self.new[0]), difference(found, self.new[0])
        for name, seen in shown(self.field.root).items():
            if ".draft-" not in name:
                assert seen in (self.old[1].get(name), self.new[1].get(name)), name
        return found == self.new[0]

    def check_once(self, *, tried: bool = False) -> None:
        """The same request again: whatever happened before, it has happened once, and nothing is left lying about.

        A mere look does what a crash interrupted; what was `tried` and could not be done waits for somebody who writes.
        """
        me = self.field.me
        happened = self.check_whole_or_not(me)
        if happened and not tried:
            assert shown(self.field.root) == self.new[1]
        assert self.run().replayed is happened
        assert self.check_whole_or_not(me)
        assert shown(self.field.root) == self.new[1]
        assert litter(self.field.store) == []
        assert me.engine.pending_effects() == []
        assert me.doctor().findings == ()


def difference(found: dict, wanted: dict) -> dict:
    return {
        name: (found.get(name), wanted.get(name)) for name in {*found, *wanted} if found.get(name) != wanted.get(name)
    }


def make_ready(field: Field, name: str) -> Operation:
    shutil.rmtree(field.root / ".git" / "hooks", ignore_errors=True)
    run = PREPARED[name](field)
    store, before = field.me, Snapshot(field.base)
    old = records(store), shown(field.root)
    run()
    new = records(store), shown(field.root)
    assert new != old
    before.restore()
    return Operation(field, run, before, old, new)


def _claimed(field: Field) -> Store:
    field.me.add_job("all of it", [SPEC, TEXT, NEW, "other"])
    ann = field.ann
    ann.claim(3, seen=1)
    return ann


def _claim(field: Field) -> Callable[[], object]:
    field.worktree("ann")
    field.ann.worktree.ensure_id()
    return lambda: field.ann.claim(1, seen=1, receipt="claim-key")


def _drafted(field: Field) -> None:
    _claimed(field)
    field.write("ann", SPEC, "v1\n")
    field.write("ann", NEW, "new\n")
    top = field.worktree("ann")
    field.ann.draft([str(top / SPEC), str(top / NEW)])
    field.ann.draft([str(top / TEXT)], delete=True)


def _draft(field: Field) -> Callable[[], object]:
    _drafted(field)
    field.write("ann", SPEC, "v2\n")
    field.write("ann", "other/fresh/x.md", "fresh\n")
    top = field.worktree("ann")
    paths = [str(top / SPEC), str(top / "other/fresh/x.md")]
    return lambda: field.ann.draft(paths, receipt="draft-key")


def _submit(field: Field) -> Callable[[], object]:
    _drafted(field)
    token = field.ann._holdings.find(3, None)[1]
    return lambda: field.ann.submit(job=3, token=token, receipt="submit-key")


def _release(field: Field) -> Callable[[], object]:
    _drafted(field)
    token = field.ann._holdings.find(3, None)[1]
    return lambda: field.ann.release(job=3, token=token, receipt="release-key")


def _promote(field: Field) -> Callable[[], object]:
    _drafted(field)
    field.ann.submit()
    wanted = [DraftRef(SPEC, 1), DraftRef(TEXT, 1), DraftRef(NEW, 1)]
    return lambda: field.me.promote(wanted, receipt="promote-key")


def _undo(field: Field) -> Callable[[], object]:
    """Of a target that was edited by hand since."""
    _drafted(field)
    field.ann.submit()
    field.me.promote([DraftRef(SPEC, 1)])
    field.write("me", SPEC, "by hand\n")
    return lambda: field.me.undo([SPEC], force=True, receipt="undo-key")


def _merge(field: Field) -> Callable[[], object]:
    _drafted(field)
    field.ann.submit()
    field.write("me", SPEC, "moved on\n")
    return lambda: field.me.merge(DraftRef(SPEC, 1), receipt="merge-key")


def _tidy(field: Field) -> Callable[[], object]:
    _drafted(field)
    field.ann.submit()
    field.me.reject([DraftRef(each, 1) for each in (SPEC, TEXT, NEW)], because="no")
    return lambda: field.me.tidy(receipt="tidy-key")


PREPARED: dict[str, Callable[[Field], Callable[[], object]]] = {
    "claim": _claim,
    "draft": _draft,
    "submit": _submit,
    "release": _release,
    "promote": _promote,
    "undo": _undo,
    "merge": _merge,
    "tidy": _tidy,
}
