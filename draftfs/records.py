"""Every record of the store, as frozen dataclasses; field order is the order in the file.

Wall times (`*_at`) are RFC 3339 text for people; no rule reads them. Digests are SHA-256 in hex, sizes bytes, durations
whole seconds. Modes are git's: "100644", or "100755" when executable. A content of None means "no file". (Over 400 lines
because it is the one list of all records.)
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Final, Literal

from draftfs.frozen import frozen
from draftfs.paths import Fold

JobState = Literal["open", "claimed", "submitted", "accepted", "failed", "cancelled"]
DraftState = Literal["waiting", "promoted", "rejected", "superseded", "abandoned"]
Ending = Literal["lapsed", "released", "submitted", "revoked", "cancelled"]
Standing = Literal["live", "lapsed", "released", "submitted", "revoked", "cancelled", "superseded"]

FORMAT: Final = 1
FINISHED: Final = frozenset({"accepted", "cancelled"})
HAND_EDIT: Final = "hand-edit"


@frozen
class Actor:
    """Who does it: an agent by its name, or a person (any text)."""

    name: str
    is_agent: bool


@frozen
class Settings:
    """What `draftfs config` changes. Seconds and counts."""

    claim_ttl: int = 30 * 60
    job_attempts: int = 3
    agents_promote: bool = False
    git_root: Literal["warn", "refuse", "off"] = "warn"
    git_unclaimed: Literal["allow", "refuse"] = "allow"
    drafts_track: bool = False


@frozen
class StoreInfo:
    """store.yaml: which store this is. `root` is relative to the git common folder, unless it lies elsewhere."""

    id: str
    root: str
    engine: Literal["files"]
    fold: Fold
    settings: Settings
    created_at: str


@frozen
class Counters:
    """counters.yaml: what only grows. `live` is the number of lease files, so that a missing one is noticed.

    `segment` (first position in it) and `segment_bytes` say where the feed ends, `first` where it begins: what came before
    was trimmed. `boot` is the boot the deadlines of the live leases were last counted in.
    """

    job: int
    epoch: int
    position: int
    live: int
    boot: str
    segment: int
    segment_bytes: int
    first: int = 1


@frozen
class Content:
    """One file's content: digest, size, mode."""

    sha256: str
    size: int
    mode: str


def sha256_of(content: Content | None) -> str | None:
    """The digest of a content, None for "no file"."""
    return None if content is None else content.sha256


@frozen
class TreeEntry:
    """What a commit holds at a path: a file (100644, 100755), a link (120000), a folder (040000), a submodule (160000)."""

    mode: str
    oid: str


@frozen
class Change:
    """What a commit, or an index, does to one path: what was there and what is; None is "nothing"."""

    path: str
    before: TreeEntry | None
    after: TreeEntry | None


@frozen
class DraftRef:
    """One draft, by target and number."""

    target: str
    number: int


@frozen
class Attempts:
    used: int
    max: int


@frozen
class Job:
    """A piece of work. `version` grows with every change; `epoch` is that of its latest claim, 0 before the first.

    `followed_by` is the first job that was claimed because this one is accepted: the acceptance is then not taken back.
    """

    id: int
    title: str
    state: JobState
    version: int
    paths: tuple[str, ...]
    after: tuple[int, ...]
    attempts: Attempts
    contest: tuple[int, ...]
    holder: str | None
    epoch: int
    drafts: tuple[DraftRef, ...]
    text: str
    because: str | None
    added_by: str
    added_at: str
    changed_at: str
    followed_by: int | None = None


@frozen
class Base:
    """What a worker starts from at one reserved path: a file's content, nothing, or (a folder) a commit's tree."""

    path: str
    content: Content | None
    commit: str | None = None


@frozen
class Lease:
    """leases/NNNN.yaml: the live claim of one job.

    `deadline_ns` counts awake nanoseconds of boot `boot`. `worktree` is the holder's worktree id, None outside one.
    """

    job: int
    epoch: int
    holder: str
    paths: tuple[str, ...]
    ttl: int
    deadline_ns: int
    boot: str
    expires_at: str
    claimed_at: str
    renewals: int
    worktree: str | None
    token_sha256: str
    bases: tuple[Base, ...]
    drafts: tuple[DraftRef, ...]


@frozen
class Waiting:
    """waiting/NNNN: somebody who waits for a claim: of job `job`, of `paths`, or without either of any job.

    It lives only while its maker does: no record of the store. `until_ns` counts awake nanoseconds, as a deadline does.
    """

    who: str
    worktree: str | None
    job: int | None
    paths: tuple[str, ...]
    since: str
    until_ns: int

    @property
    def anything(self) -> bool:
        return self.job is None and not self.paths


@frozen
class EndedClaim:
    """claims/NNNN/EPOCH.yaml: how a claim ended."""

    job: int
    epoch: int
    holder: str
    how: Ending
    at: str
    by: str
    note: str | None
    token_sha256: str
    drafts: tuple[DraftRef, ...]


@frozen
class Draft:
    """One draft: immutable bytes (`content` None proposes a deletion) and what became of it. `conflicts` is how many places
    a merge marked in it for somebody to decide."""

    target: str
    number: int
    author: str
    state: DraftState
    job: int | None
    epoch: int | None
    content: Content | None
    base: Content | None
    note: str | None
    because: str | None
    created_at: str
    conflicts: int = 0

    @property
    def ref(self) -> DraftRef:
        return DraftRef(self.target, self.number)


@frozen
class Choice:
    """Which draft a person promoted, and where: `branch` of the root, what HEAD held there (`head_blob`, at commit
    `head`), and git's clean form of the chosen bytes (`blob`). `previous` is what the promotion replaced."""

    number: int
    content: Content | None
    by: str
    at: str
    branch: str | None
    head: str | None
    head_blob: str | None
    blob: str | None
    previous: Content | None


@frozen
class Target:
    """Per target: its last number (never used again), its undecided drafts, its choice, and the choices before it that
    `undo` goes back to, the latest first, a few at most."""

    path: str
    last: int
    undecided: tuple[int, ...] = ()
    choice: Choice | None = None
    earlier: tuple[Choice, ...] = ()


@frozen
class Transition:
    """One step of a path that may be committed, and who answers for it: a claim (`job` and `epoch`), the promotion of
    draft number `draft`, or a person who vouched for it (`because`)."""

    before: TreeEntry | None
    after: TreeEntry | None
    by: str
    at: str
    job: int | None = None
    epoch: int | None = None
    draft: int | None = None
    because: str | None = None


@frozen
class Admissions:
    """admitted/PATH.yaml: there is one for each path that was ever reserved or promoted, with its transitions.

    Those of claims that no longer stand may still be listed; the next record takes them out.
    """

    path: str
    transitions: tuple[Transition, ...] = ()


@frozen
class Receipt:
    """The record of one accepted write (G1). `claim` is the claim it was made under or made: (job, epoch)."""

    key_sha256: str
    fingerprint: str
    operation: str
    actor: str
    job: int | None
    epoch: int | None
    position: int
    at: str
    answer: dict[str, Any]


@frozen
class Event:
    """One line of the feed. `data` holds plain values only."""

    position: int
    at: str
    kind: str
    actor: str
    job: int | None = None
    data: dict[str, Any] = field(default_factory=dict)


@frozen
class Filter:
    """Which events a reader is handed: of these kinds (all, when none is named), with `mine` only what concerns itself."""

    kinds: tuple[str, ...] = ()
    mine: bool = False


@frozen
class HandedOut:
    """A page that was handed out: it counts the positions behind `after`, up to `last`."""

    after: int
    last: int


@frozen
class Reader:
    """readers/NAME.yaml: how far one reader of the feed, the actor `owner`, has come (G5).

    `handed_out` and `acknowledged` are positions. `pages` are those that were handed out, hold events (or tell of trimmed
    ones) and are not acknowledged: they are handed out again as they were. What lies between them the filter passed over.
    `filter` is None where doctor wrote the record anew and nobody has read since.
    """

    name: str
    owner: str
    filter: Filter | None
    generation: int
    handed_out: int
    acknowledged: int
    pages: tuple[HandedOut, ...]
    since: str
    changed_at: str

    @property
    def settled(self) -> int:
        """Up to here nothing is left for this reader: it acknowledged what there was, or its filter passed it over."""
        return self.pages[0].after if self.pages else self.handed_out


@frozen
class PlaceDraft:
    """An effect on the root: show this draft beside its target."""

    target: str
    number: int
    author: str
    content: Content | None


@frozen
class RemoveDraft:
    """An effect on the root: take this draft's file away, if it holds what was recorded."""

    target: str
    number: int
    author: str
    content: Content | None


@frozen
class InstallTarget:
    """An effect on the root: make `target` hold `content` where it holds `replaces`, on branch `branch`."""

    target: str
    number: int
    content: Content | None
    replaces: Content | None
    branch: str | None


Effect = PlaceDraft | RemoveDraft | InstallTarget


@frozen
class NewJob:
    """A job to be added. `after` names jobs by number, or others added with it by their `key`."""

    title: str
    paths: tuple[str, ...]
    after: tuple[int | str, ...] = ()
    key: str | None = None
    attempts: int | None = None
    contest: int | None = None
    text: str = ""
