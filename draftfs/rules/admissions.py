"""G4 for commits (§8, Admission): which change of a path may be committed, and the record that says so.

A change is admitted when a chain of standing transitions leads from what was there to what is there now. What nobody
recorded needs the live claim's token now, and is then recorded. So a rebase, an amend or a merge of honest work passes,
while a late worker's commits, and an old content slipped back in, do not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from draftfs import layout, paths
from draftfs.engine import Transaction, View
from draftfs.errors import Damaged
from draftfs.frozen import frozen
from draftfs.records import Admissions, Change, Lease, Transition, TreeEntry
from draftfs.rules import jobs
from draftfs.rules.reservations import Held, Reservation, is_overdue

Step = tuple[TreeEntry | None, TreeEntry | None]
Free = Mapping[str, Sequence[Step]]
"""Steps of a path that need no record, by path: those of people's commits, and what git's own merges make."""
Ways = Mapping[TreeEntry | None, Sequence[TreeEntry | None]]
"""What follows on each content."""
Ends = Mapping[Change, Collection[TreeEntry | None]]
"""What the path of a change holds at the end of the commits that the change was found among: one content for each tip."""


@frozen
class Unadmitted:
    """A change that nothing admits. `by` is who holds its path now, if anybody does."""

    change: Change
    by: Reservation | None


@frozen
class Verdict:
    """`recordable` changes are covered by a live claim whose token was shown, and are not recorded yet."""

    recordable: tuple[tuple[Lease, Change], ...]
    refused: tuple[Unadmitted, ...]


def reserve(transaction: Transaction, wanted: Iterable[str]) -> None:
    """Note that these paths were reserved: from now on their changes are judged, whoever holds them."""
    for path in wanted:
        key = layout.admitted(transaction.store.fold.key(path))
        try:
            known = transaction.get(key) is not None
        except Damaged:
            known = True  # its commits are blocked until doctor mends it; a claim does not need what it says
        if not known:
            transaction.put(key, Admissions(path))


def judge(
    view: View,
    changes: Iterable[Change],
    held: Sequence[Lease],
    free: Free | None = None,
    *,
    ends: Ends | None = None,
    everything: bool = False,
) -> Verdict:
    """Judge each change by itself. `held` are live claims whose token was shown; `everything`: also paths that were never
    reserved (`git.unclaimed`).

    A spent step passes in one case: when the commits that it is among go on to an end that is admitted from where it
    began. So work that was made and then taken back can be pushed, and nobody can put it in again.
    """
    book, recordable, refused = _Book(view, free or {}), list[tuple[Lease, Change]](), list[Unadmitted]()
    for change in dict.fromkeys(changes):
        if not (everything or book.is_reserved(change.path)):
            continue
        ways = book.ways(change.path)
        if reaches(ways, change.before, change.after):
            continue
        ended = (ends or {}).get(change, ())
        taken_back = bool(ended) and all(reaches(ways, change.before, end) for end in ended)
        if taken_back and reaches(book.ways_ever(change.path), change.before, change.after):
            continue
        lease = next((each for each in held if covers(view, each, change.path)), None)
        if lease is not None:
            recordable.append((lease, change))
        else:
            refused.append(Unadmitted(change, book.holder(change.path)))
    return Verdict(tuple(recordable), tuple(refused))


def record(transaction: Transaction, admitted: Iterable[tuple[Lease, Change]]) -> None:
    """Record changes made under live claims; in the transaction in which those were found to be live."""
    stamp = transaction.now.stamp
    _add(
        transaction,
        (
            (each.path, Transition(each.before, each.after, lease.holder, stamp, lease.job, lease.epoch))
            for lease, each in admitted
        ),
    )


def promote(
    transaction: Transaction,
    path: str,
    number: int,
    before: TreeEntry | None,
    after: TreeEntry | None,
    by: str,
    *,
    head: TreeEntry | None,
) -> None:
    """Record the promotion of draft `number`: from `before`, and from what HEAD holds, to `after`. It takes the place
    of earlier ones that were not committed: those that do not lead to what HEAD holds."""
    known = _standing(transaction, path)
    steps = [_step(each) for each in known]
    _put(transaction, path, tuple(each for each in known if each.draft is None or leads(steps, each.after, head)))
    stamp = transaction.now.stamp
    entries = [entry for entry in dict.fromkeys((head, before)) if entry != after]
    _add(transaction, ((path, Transition(entry, after, by, stamp, draft=number)) for entry in entries))


def vouch(transaction: Transaction, changes: Iterable[Change], by: str, because: str) -> None:
    """Record a person's word for changes that nothing else admits."""
    stamp = transaction.now.stamp
    _add(
        transaction,
        ((each.path, Transition(each.before, each.after, by, stamp, because=because)) for each in changes),
    )


def leads(steps: Iterable[Step], start: TreeEntry | None, end: TreeEntry | None) -> bool:
    """Whether a chain of `steps` leads from `start` to `end`."""
    return reaches(_ways(steps), start, end)


def reaches(ways: Ways, start: TreeEntry | None, end: TreeEntry | None) -> bool:
    """The same, where it is known already what follows on what."""
    seen, reached = {start}, [start]
    while reached:
        entry = reached.pop()
        if entry == end:
            return True
        for after in ways.get(entry, ()):
            if after not in seen:
                seen.add(after)
                reached.append(after)
    return False


def _ways(steps: Iterable[Step]) -> Ways:
    ways: dict[TreeEntry | None, list[TreeEntry | None]] = defaultdict(list)
    for before, after in steps:
        ways[before].append(after)
    return ways


def onward(transitions: Iterable[Transition]) -> list[Transition]:
    """Those of `transitions`, the oldest first, that are not spent: where one leads back to an earlier content, those away
    from that content are. With both, anybody could put the old content in again and again."""
    left: list[Transition] = []
    begun: set[TreeEntry | None] = set()
    for new in transitions:
        if new.after in begun and leads(map(_step, left), new.after, new.before):
            left = [each for each in left if each.before != new.after]
            begun.discard(new.after)
        left.append(new)
        begun.add(new.before)
    return left


def stands(view: View, transition: Transition) -> bool:
    """Whether a transition still counts: its claim is live, or its job was submitted under it and not turned down since.

    Whatever ends a claim or turns its job down withdraws its transitions by that alone: there is nothing to write, so
    nothing to forget. A later claim of the same job does not bring them back.
    """
    if transition.job is None:
        return True
    lease = view.get(layout.lease(transition.job))
    if lease is not None and lease.epoch == transition.epoch:
        return not is_overdue(view, lease)
    job = jobs.find(view, transition.job)
    return job.epoch == transition.epoch and job.state in ("submitted", "accepted")


def covers(view: View, lease: Lease, path: str) -> bool:
    """Whether the claim has reserved `path`, as such or with a folder that it lies in."""
    return any(paths.covers(each, path, view.store.fold) for each in lease.paths)


def _standing(view: View, path: str) -> tuple[Transition, ...]:
    known = view.get(layout.admitted(view.store.fold.key(path)))
    if known is None:
        return ()
    by_claim = {(each.job, each.epoch): each for each in known.transitions}
    standing = {claim for claim, each in by_claim.items() if stands(view, each)}
    return tuple(each for each in known.transitions if (each.job, each.epoch) in standing)


def _add(transaction: Transaction, told: Iterable[tuple[str, Transition]]) -> None:
    """The order is what says which steps are spent, so a step that is made again goes to the end."""
    by_path: dict[str, dict[Step, Transition]] = {}
    for path, new in told:
        if path not in by_path:
            by_path[path] = {_step(each): each for each in _standing(transaction, path)}
        by_path[path].pop(_step(new), None)
        by_path[path][_step(new)] = new
    for path, known in by_path.items():
        _put(transaction, path, tuple(known.values()))


def _put(transaction: Transaction, path: str, transitions: tuple[Transition, ...]) -> None:
    transaction.put(layout.admitted(transaction.store.fold.key(path)), Admissions(path, transitions))


def _step(transition: Transition) -> Step:
    return transition.before, transition.after


class _Book:
    """What is known of paths, each looked up once however many changes there are."""

    def __init__(self, view: View, free: Free) -> None:
        self._view, self._free = view, free
        self._reserved: dict[str, bool] = {"": False}
        self._known: dict[str, tuple[Transition, ...]] = {}
        self._ways: dict[str, Ways] = {}
        self._ever: dict[str, Ways] = {}

    @cached_property
    def _held(self) -> Held:
        return Held(self._view)

    def holder(self, path: str) -> Reservation | None:
        return self._held.over(path)

    def ways(self, path: str) -> Ways:
        """What may follow on what now."""
        if path not in self._ways:
            self._ways[path] = _ways((*map(_step, onward(self._standing(path))), *self._free.get(path, ())))
        return self._ways[path]

    def ways_ever(self, path: str) -> Ways:
        """The same with the steps that are spent, and only what was recorded."""
        if path not in self._ever:
            self._ever[path] = _ways(map(_step, self._standing(path)))
        return self._ever[path]

    def _standing(self, path: str) -> tuple[Transition, ...]:
        if path not in self._known:
            self._known[path] = _standing(self._view, path)
        return self._known[path]

    def is_reserved(self, path: str) -> bool:
        """Whether this path, or a folder it lies in, was ever reserved, or is held now."""
        return self._was_reserved(self._view.store.fold.key(path)) or self.holder(path) is not None

    def _was_reserved(self, key: str) -> bool:
        """By its own record; or that of its drafts, should the first have got lost: that must not set it free."""
        known = self._reserved.get(key)
        if known is None:
            known = (
                self._was_reserved(key.rpartition("/")[0])
                or self._view.get(layout.admitted(key)) is not None
                or self._view.get(layout.target(key)) is not None
            )
            self._reserved[key] = known
        return known
