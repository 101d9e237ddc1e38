"""What the operations of a Store answer, as records. Their field names are the names in `--json` and never change.

The answer of a write is stored with its receipt, but for `receipt`, `replayed`, `standing` and what is only true now:
the token, `expires_*`, `shown`. (Over 400 lines because it is the one list of all answers.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeVar

from draftfs import layout
from draftfs.errors import Damaged, EnvironmentFault
from draftfs.frozen import frozen
from draftfs.records import Draft, DraftRef, DraftState, Event, Job, JobState, Standing, TreeEntry, sha256_of


@frozen(kw_only=True)
class Written:
    """Of every write: the key of its receipt, whether this is the answer of an earlier call, and how the claim that it
    was made under, or made, stands now (None where no claim was involved)."""

    receipt: str = ""
    replayed: bool = False
    standing: Standing | None = None


@frozen
class Claim:
    """A claim as its holder sees it. Only a claim's own answer has the token; `expires_*` are None once it is dead, and
    `expires_in` is in seconds."""

    job: int
    epoch: int
    token: str | None
    holder: str
    paths: tuple[str, ...]
    ttl: int
    expires_at: str | None
    expires_in: float | None


@frozen
class Claimed(Written):
    """`newer` lists the paths of which people's checkout holds something newer than this worker starts from."""

    claim: Claim
    job: Job
    newer: tuple[str, ...]


@frozen
class Renewed(Written):
    claim: Claim


@frozen
class JobChanged(Written):
    """`drafts` are those whose state changed with the job's."""

    job: Job
    drafts: tuple[DraftRef, ...] = ()


@frozen
class JobsAdded(Written):
    jobs: tuple[Job, ...]


ListedState = Literal[DraftState, "unrecorded"]
"""How a draft stands, or that it is only a file that somebody put there."""


@frozen
class DraftInfo:
    """One draft. `file` is its root-relative name; `shown` says whether the file is there now. Of one that no record has
    (`unrecorded`) everything is read off the file: `created_at` is when it was last written."""

    target: str
    number: int
    file: str
    shown: bool
    author: str
    job: int | None
    epoch: int | None
    delete: bool
    sha256: str | None
    size: int | None
    mode: str | None
    base_sha256: str | None
    state: ListedState
    note: str | None
    because: str | None
    created_at: str
    conflicts: int = 0


@frozen
class Drafted(Written):
    drafts: tuple[DraftInfo, ...]


@frozen
class Merged(Written):
    """`merged` is the draft that was named; `drafts` the new one, none where nothing was left to merge: the target still
    holds what that draft was made from (`unmoved`), or all of it already (`contained`)."""

    merged: DraftRef
    drafts: tuple[DraftInfo, ...]
    conflicts: int
    nothing: Literal["unmoved", "contained"] | None = None


@frozen
class Left:
    """A draft's file that was not touched, and why."""

    file: str
    because: str


@frozen
class Tidied(Written):
    """`drafts` are those whose files were taken away."""

    drafts: tuple[DraftInfo, ...]
    left: tuple[Left, ...]


@frozen
class Restored:
    """`drafts` are those whose files were put back; those of `there` were there already; those of `left` cannot be put
    back; for `damaged` there may be more. No record changes by it."""

    drafts: tuple[DraftInfo, ...]
    there: tuple[DraftInfo, ...]
    left: tuple[Left, ...]
    damaged: tuple[Finding, ...]


@frozen
class Rejected(Written):
    """`accepted` are jobs that had one draft promoted before and none left to decide now."""

    drafts: tuple[DraftInfo, ...]
    accepted: tuple[int, ...]


@frozen
class Promotion:
    """One target. `kept` is the draft that a hand edit was kept as, `replaced` the number of the choice before; `changed`
    is False where the target held the draft's bytes already. `other_names` counts the hard links to the replaced file:
    they keep the old bytes."""

    target: str
    number: int
    sha256: str | None
    previous_sha256: str | None
    kept: str | None
    replaced: int | None
    changed: bool
    other_names: int


@frozen
class JobStanding:
    """The state that a job was left in."""

    job: int
    state: JobState


@frozen(kw_only=True)
class Decided(Written):
    """Of whatever replaces targets. `accepted`, `cancelled` and `returned` (submitted again) are jobs whose state followed
    from it; `jobs` says how those concerned, and their siblings, stand now. `plan` is the digest of what was done, or is to
    be; `commit` the commit that it is in, None without one."""

    accepted: tuple[int, ...] = ()
    cancelled: tuple[int, ...] = ()
    returned: tuple[int, ...] = ()
    jobs: tuple[JobStanding, ...] = ()
    plan: str = ""
    commit: str | None = None


@frozen(kw_only=True)
class Promoted(Decided):
    promoted: tuple[Promotion, ...]


@frozen
class Undo:
    """One target. `number` is the draft that it held, `chosen` that of the choice which counts again, None without one;
    `sha256` is what it holds now. The rest is as in Promotion."""

    target: str
    number: int
    sha256: str | None
    previous_sha256: str | None
    kept: str | None
    chosen: int | None
    changed: bool
    other_names: int


@frozen(kw_only=True)
class Undone(Decided):
    undone: tuple[Undo, ...]


@frozen
class Regeneration:
    """One target that holds again what was chosen. The fields are as in Promotion."""

    target: str
    number: int
    sha256: str | None
    previous_sha256: str | None
    kept: str | None
    changed: bool
    other_names: int


@frozen(kw_only=True)
class Regenerated(Decided):
    regenerated: tuple[Regeneration, ...]


@frozen
class Recorded(Written):
    """`rewritten` are targets that the user's own hooks changed in `commit`: what is committed is what is chosen now."""

    commit: str
    rewritten: tuple[str, ...]


Replaced = tuple[Promotion | Undo | Regeneration, ...]


def replaced_in(answer: Decided) -> tuple[str, Replaced]:
    """The targets that an answer is about, and the name of the field that has them."""
    if isinstance(answer, Promoted):
        return "promoted", answer.promoted
    if isinstance(answer, Undone):
        return "undone", answer.undone
    assert isinstance(answer, Regenerated), "there is no other"
    return "regenerated", answer.regenerated


def chosen_after(line: Promotion | Undo | Regeneration) -> int | None:
    """The number of the draft that was chosen for a target from then on, None where nothing was."""
    return line.chosen if isinstance(line, Undo) else line.number


@frozen
class VouchedChange:
    """A change of one path that a person vouched for, and the commit it is in. `before` and `after` None: no such file."""

    commit: str | None
    path: str
    before: TreeEntry | None
    after: TreeEntry | None


@frozen
class Vouched(Written):
    admitted: tuple[VouchedChange, ...]


@frozen
class Configured(Written):
    key: str
    value: str


@frozen
class Gap:
    """Positions of the feed, `first` to `last`, that were trimmed."""

    first: int
    last: int


@frozen
class Page:
    """One page of the feed, as `read` hands it out. `page` is its handle, by which it is acknowledged. `lost` is what was
    trimmed before this reader had acknowledged it. All else are positions; `last` counts what the filter passed over."""

    page: str
    events: tuple[Event, ...]
    last: int
    acknowledged: int
    handed_out: int
    head: int
    lost: Gap | None


@frozen
class Acknowledged(Written):
    """The reader's positions, once `page` is acknowledged."""

    page: str
    acknowledged: int
    handed_out: int


@frozen
class Sent(Written):
    """A message that is in the feed. `to` is None for one to everybody."""

    position: int
    sender: str
    to: tuple[str, ...] | None
    subject: str
    job: int | None


@frozen
class Trimmed(Written):
    """The feed begins at `first` now. `overtaken` are readers that had not acknowledged all of what went."""

    first: int
    overtaken: tuple[str, ...]


@frozen
class DraftLine:
    """One waiting draft as `ls` lists it. `added` and `removed` are lines against the target, None for binary content.

    Flags: `outdated` (its base is no longer the target), `tampered`, `missing`, `damaged` (its recorded bytes are lost),
    `mode` (the executable bit differs), `binary`, `abandoned`, `conflicts` (a merge left marks in it), `unrecorded`.
    """

    draft: DraftInfo
    age: float
    added: int | None
    removed: int | None
    flags: tuple[str, ...]


@frozen
class TargetLine:
    """One target as `ls` lists it: the number chosen on this branch, whether the target still holds it, its drafts."""

    target: str
    chosen: int | None
    stale: bool
    drafts: tuple[DraftLine, ...]


@frozen
class JobLine:
    """A job as `job list` and `job show` give it, with what only a look at the others tells.

    `blocked_by` says in words why it cannot be claimed yet; `expires_in` is how long its claim lives on, in seconds.
    """

    job: Job
    blocked_by: tuple[str, ...]
    expires_in: float | None
    expires_at: str | None


@frozen
class ReceiptInfo:
    """A receipt, as `receipt show` gives it."""

    operation: str
    actor: str
    at: str
    position: int
    job: int | None
    epoch: int | None
    standing: Standing | None
    answer: dict[str, object]


@frozen
class Finding:
    """One thing that `doctor` or `check` noticed; `repair` is the command to run.

    Of one `check`, (kind, path, subject) tell a finding from all others, and stay the same until it ends. `subject` is the
    number, job, commit or hook it is about, as text; `age` is in seconds.
    """

    kind: str
    path: str
    message: str
    repair: str | None
    severity: Literal["error", "warning"] = "error"
    subject: str | None = None
    number: int | None = None
    job: int | None = None
    age: float | None = None


@frozen
class Checked:
    """What `check` found; `notes` say what it could not look at as it should."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


@frozen
class HeldClaim:
    """A live claim, as `status` shows it. `renew_in` is how long until a third of its ttl has passed since it was taken or
    renewed last, negative once that is over; `drafts` counts what it has handed in; `waiting` is who waits for its paths."""

    job: int
    title: str | None
    holder: str
    epoch: int
    paths: tuple[str, ...]
    ttl: int
    expires_at: str
    expires_in: float
    renew_in: float
    drafts: int
    waiting: tuple[str, ...]


@frozen
class Queued:
    """One who waits for a claim (`claim --wait`): of `job`, of `paths`, or without either of any job."""

    who: str
    job: int | None
    paths: tuple[str, ...]
    since: str
    expires_in: float


@frozen
class ReaderLine:
    """A reader of the feed that lags: how many events it has still to be handed, or to acknowledge (`more`: at least so
    many), and for how many seconds the oldest of them has been there."""

    reader: str
    unread: int
    more: bool
    age: float
    acknowledged: int
    head: int


@frozen
class Status:
    """What a person wants before deciding. `jobs` counts those that are not finished, by state; of them, `ready` can be
    claimed now, and `undecided` need a person: failed, or submitted. `damaged` is what could not be told, and why; `notes` are
    those of `check`."""

    root: str
    targets: tuple[TargetLine, ...]
    claims: tuple[HeldClaim, ...]
    waiting: tuple[Queued, ...]
    findings: tuple[Finding, ...]
    readers: tuple[ReaderLine, ...]
    jobs: dict[str, int]
    ready: tuple[JobLine, ...]
    undecided: tuple[JobLine, ...]
    next: str | None
    damaged: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


@frozen
class Over:
    """A claim of one's own that is over: how it stands now, when and why it ended."""

    job: int
    epoch: int
    standing: Standing
    at: str | None
    note: str | None


@frozen
class MyStatus:
    """What is one actor's own. `kept` are the jobs of the claims whose token this worktree keeps; `over` is its latest claim
    here where that is over; `drafts` wait for a person; `unread` are events that concern it and that it has not
    acknowledged (`more`: there are others)."""

    name: str
    claims: tuple[HeldClaim, ...]
    kept: tuple[int, ...]
    over: Over | None
    drafts: tuple[DraftInfo, ...]
    unread: tuple[Event, ...]
    more: bool
    next: str | None
    damaged: tuple[Finding, ...]


T = TypeVar("T")


class Listed(tuple[T, ...]):  # noqa: SLOT001 - tuples have no room for slots
    """The lines of a list, and in `damaged` what it had to leave out, or could not say: for damage in the store, or (of the
    kind `unreadable`) since a file of the root cannot be read."""

    damaged: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, lines: Iterable[T], damaged: Iterable[EnvironmentFault]) -> Listed[T]:
        listed = cls(lines)
        known = {fault.message: fault for fault in damaged}
        listed.damaged = tuple(map(_left_out, known.values()))
        return listed


def _left_out(fault: EnvironmentFault) -> Finding:
    kind, name = ("damaged", "file") if isinstance(fault, Damaged) else ("unreadable", "path")
    return Finding(kind, str(fault.details.get(name, "")), fault.message, fault.hint)


class Logged(tuple[Event, ...]):  # noqa: SLOT001 - tuples have no room for slots
    """Events, as `log` shows them; where the feed begins and ends, and the earliest position that was looked at."""

    first: int
    head: int
    searched: int

    @classmethod
    def of(cls, events: Iterable[Event], first: int, head: int, searched: int) -> Logged:
        logged = cls(events)
        logged.first, logged.head, logged.searched = first, head, searched
        return logged


@frozen
class Checkup:
    """`checks` maps each guarantee's name to whether it holds; the findings say where one does not."""

    checks: dict[str, bool]
    findings: tuple[Finding, ...]
    fixed: tuple[str, ...] = ()


BY_OPERATION: Final[dict[str, type[Written]]] = {
    "job add": JobsAdded,
    **dict.fromkeys(("job edit", "job retry", "job accept", "job cancel", "job revoke", "job reject"), JobChanged),
    **dict.fromkeys(("release", "submit"), JobChanged),
    "claim": Claimed,
    "renew": Renewed,
    "draft": Drafted,
    "promote": Promoted,
    "promote --undo": Undone,
    "promote --commit": Recorded,
    "regenerate": Regenerated,
    "reject": Rejected,
    "merge": Merged,
    "tidy": Tidied,
    "config": Configured,
    "admit": Vouched,
    "ack": Acknowledged,
    "send": Sent,
    "log --trim": Trimmed,
}
"""What a receipt's answer is, by the receipt's operation."""


def draft_info(draft: Draft, *, shown: bool) -> DraftInfo:
    content = draft.content
    return DraftInfo(
        target=draft.target,
        number=draft.number,
        file=layout.draft_name(draft),
        shown=shown,
        author=draft.author,
        job=draft.job,
        epoch=draft.epoch,
        delete=content is None,
        sha256=sha256_of(content),
        size=None if content is None else content.size,
        mode=None if content is None else content.mode,
        base_sha256=sha256_of(draft.base),
        state=draft.state,
        note=draft.note,
        because=draft.because,
        created_at=draft.created_at,
        conflicts=draft.conflicts,
    )
