"""What the operations of a Store answer, as records. Their field names are the names in `--json` and never change.

The answer of a write is stored with its receipt, but for `receipt`, `replayed`, `standing` and what is only true now:
the token, `expires_*`, `shown`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeVar

from draftfs import layout
from draftfs.errors import Damaged
from draftfs.frozen import frozen
from draftfs.records import Draft, DraftRef, DraftState, Job, Standing, TreeEntry, sha256_of


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


@frozen
class DraftInfo:
    """One draft. `file` is its root-relative name; `shown` says whether the file is there now."""

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
    state: DraftState
    note: str | None
    because: str | None
    created_at: str


@frozen
class Drafted(Written):
    drafts: tuple[DraftInfo, ...]


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
class Promoted(Written):
    """`accepted` and `cancelled` are jobs whose state followed from it."""

    promoted: tuple[Promotion, ...]
    accepted: tuple[int, ...]
    cancelled: tuple[int, ...]


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
class DraftLine:
    """One waiting draft as `ls` lists it. `added` and `removed` are lines against the target, None for binary content.

    Flags: `outdated` (its base is no longer the target), `tampered`, `missing`, `damaged` (its recorded bytes are lost),
    `mode` (the executable bit differs), `binary`, `abandoned`.
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
    """One thing that `doctor` noticed; `repair` is the command to run."""

    kind: str
    path: str
    message: str
    repair: str | None
    severity: Literal["error", "warning"] = "error"


T = TypeVar("T")


class Listed(tuple[T, ...]):  # noqa: SLOT001 - tuples have no room for slots
    """The lines of a list, and in `damaged` what it had to leave out, or could not say, for damage in the store."""

    damaged: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, lines: Iterable[T], damaged: Iterable[Damaged]) -> Listed[T]:
        listed = cls(lines)
        known = {fault.message: fault for fault in damaged}
        listed.damaged = tuple(
            Finding("damaged", str(fault.details.get("file", "")), said, fault.hint) for said, fault in known.items()
        )
        return listed


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
    "reject": Rejected,
    "config": Configured,
    "admit": Vouched,
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
    )
