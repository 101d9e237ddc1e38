"""The name of every file in the store and of every draft. No other module joins these names.

store.yaml  lock  journal  reserve  counters.yaml  jobs/  done/  leases/  claims/  receipts/  drafts/  admitted/  objects/
staging/  feed/  readers/  cache/. Paths here are relative to the store folder.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from draftfs.frozen import frozen
from draftfs.records import (
    FINISHED,
    Admissions,
    Counters,
    Draft,
    EndedClaim,
    Job,
    Lease,
    PlaceDraft,
    Reader,
    Receipt,
    RemoveDraft,
    StoreInfo,
    Target,
)

R = TypeVar("R")


@frozen
class Key(Generic[R]):
    """Names one record and its type. Other engines may use `name` as their key as it is."""

    name: str
    kind: type[R]


@frozen
class Folder(Generic[R]):
    """Names a set of records of one type: all `PREFIX/*.yaml`, or with `nested` all `PREFIX/*/LEAF`."""

    prefix: str
    kind: type[R]
    leaf: str | None = None


LOCK: Final = "lock"
JOURNAL: Final = "journal"
RESERVE: Final = "reserve"
STAGING: Final = "staging"
FEED: Final = "feed"
OBJECTS: Final = "objects"
SET_ASIDE: Final = "set-aside"
WAITING: Final = "waiting"
STAMPS: Final = "cache/stamps"
FOLDERS: Final = (
    "jobs",
    "done",
    "leases",
    "claims",
    "receipts",
    "drafts",
    "admitted",
    "readers",
    OBJECTS,
    STAGING,
    FEED,
)

STORE: Final = Key("store.yaml", StoreInfo)
COUNTERS: Final = Key("counters.yaml", Counters)
JOBS: Final = Folder("jobs", Job)
DONE: Final = Folder("done", Job)
LEASES: Final = Folder("leases", Lease)
TARGETS: Final = Folder("drafts", Target, leaf="target.yaml")
READERS: Final = Folder("readers", Reader)


def job(number: int) -> Key[Job]:
    return Key(f"jobs/{number:04d}.yaml", Job)


def done(number: int) -> Key[Job]:
    return Key(f"done/{number:04d}.yaml", Job)


def lease(number: int) -> Key[Lease]:
    return Key(f"leases/{number:04d}.yaml", Lease)


def ended_claim(number: int, epoch: int) -> Key[EndedClaim]:
    return Key(f"claims/{number:04d}/{epoch}.yaml", EndedClaim)


def receipt(key_sha256: str) -> Key[Receipt]:
    return Key(f"receipts/{key_sha256[:2]}/{key_sha256}.yaml", Receipt)


def target(path_key: str) -> Key[Target]:
    """The record of a target; `path_key` is its path as Fold.key gives it."""
    return Key(f"drafts/{escape(path_key)}/target.yaml", Target)


def draft(path_key: str, number: int) -> Key[Draft]:
    return Key(f"drafts/{escape(path_key)}/{number:04d}.yaml", Draft)


def drafts(path_key: str) -> Folder[Draft]:
    """All drafts of one target ever, by record. The target's own record lies beside them and is not one of them."""
    return Folder(f"drafts/{escape(path_key)}", Draft)


def admitted(path_key: str) -> Key[Admissions]:
    """The admissions of one path; `path_key` is the path as Fold.key gives it."""
    return Key(f"admitted/{escape(path_key)}.yaml", Admissions)


def reader(name: str) -> Key[Reader]:
    """The record of a reader. A capital is `+` and the small letter, so that `Ann` and `ann` are two files everywhere."""
    return Key(f"readers/{re.sub('[A-Z]', lambda found: f'+{found[0].lower()}', name)}.yaml", Reader)


def number_of(key: Key[R]) -> int | None:
    """The number a record's file is named by, or None for a file that is not named by one."""
    stem = key.name.rpartition("/")[2].removesuffix(".yaml")
    return int(stem) if stem.isdecimal() else None


_NUMBER: Final = "(?:[0-9]{4}|[1-9][0-9]{4,})"
_RECORD: Final = {
    "jobs": re.compile(rf"jobs/{_NUMBER}\.yaml"),
    "done": re.compile(rf"done/{_NUMBER}\.yaml"),
    "leases": re.compile(rf"leases/{_NUMBER}\.yaml"),
    "claims": re.compile(rf"claims/{_NUMBER}/[1-9][0-9]*\.yaml"),
    "receipts": re.compile(r"receipts/([0-9a-f]{2})/\1[0-9a-f]{62}\.yaml"),
    "drafts": re.compile(rf"drafts/[^/]+/(?:{_NUMBER}|target)\.yaml"),
    "admitted": re.compile(r"admitted/[^/]+\.yaml"),
    "readers": re.compile(r"readers/(?:[a-z0-9_]|\+[a-z])(?:[a-z0-9._-]|\+[a-z]){0,63}\.yaml"),
}


def is_stray(name: str) -> bool:
    """Whether this file lies among records and is not named like one of them: somebody's copy, say."""
    shape = _RECORD.get(name.partition("/")[0])
    return shape is not None and not shape.fullmatch(name)


_KINDS: Final[dict[str, type]] = {
    "store.yaml": StoreInfo,
    "counters.yaml": Counters,
    "jobs": Job,
    "done": Job,
    "leases": Lease,
    "claims": EndedClaim,
    "receipts": Receipt,
    "drafts": Draft,
    "admitted": Admissions,
    "readers": Reader,
}


def key_named(name: str) -> Key[Any] | None:
    """The key of the record that a file of this name holds; None for a file that is no record."""
    kind = (
        Target if name.startswith("drafts/") and name.endswith("/target.yaml") else _KINDS.get(name.partition("/")[0])
    )
    return Key(name, kind) if kind is not None and not is_stray(name) else None


def home(record: Any, path_key: Callable[[str], str]) -> str | None:
    """The one name that this record can have; None for a kind of which there is only one. `path_key` is Fold.key."""
    rule = _HOMES.get(type(record))
    return None if rule is None else rule(record, path_key).name


_HOMES: Final[dict[type, Callable[[Any, Callable[[str], str]], Key[Any]]]] = {
    Job: lambda record, _: (done if record.state in FINISHED else job)(record.id),
    Lease: lambda record, _: lease(record.job),
    EndedClaim: lambda record, _: ended_claim(record.job, record.epoch),
    Receipt: lambda record, _: receipt(record.key_sha256),
    Draft: lambda record, path_key: draft(path_key(record.target), record.number),
    Target: lambda record, path_key: target(path_key(record.path)),
    Admissions: lambda record, path_key: admitted(path_key(record.path)),
    Reader: lambda record, _: reader(record.name),
}


def object_file(sha256: str) -> str:
    return f"{OBJECTS}/{sha256[:2]}/{sha256}"


def segment(first: int) -> str:
    """The feed's segment that starts with position `first`."""
    return f"{FEED}/{first:07d}.jsonl"


def ticket(number: int) -> str:
    """The place of one who waits for a claim; lower numbers began earlier."""
    return f"{WAITING}/{number:04d}"


def first_of(segment_file: str) -> int | None:
    """The first position in the segment with this file name; None for a file that is no segment."""
    found = re.fullmatch(r"([0-9]{7}|[1-9][0-9]{7,})\.jsonl", segment_file)
    return int(found[1]) if found else None


# ── a target's path as one file name ──

_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")
_LONGEST: Final = 180


def escape(path_key: str) -> str:
    """`path_key` as one readable file name: `docs/a b.md` is `docs+a%20b.md`. Injective; never starts with a dot.

    Where that gets longer than 180 bytes, a digest takes over behind its first 100.
    """
    raw = os.fsencode(path_key)
    name = "".join(chr(byte) if byte in _PLAIN else "+" if byte == 0x2F else f"%{byte:02X}" for byte in raw)
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    return name if len(name) <= _LONGEST else f"{name[:100]}~{hashlib.sha256(raw).hexdigest()}"


# ── drafts beside their targets ──

_DRAFT = re.compile(
    r"(?P<target>.+)\.draft-(?P<number>[0-9]{4,})(?P<delete>\.delete)?@(?P<author>[A-Za-z0-9_][A-Za-z0-9._-]{0,63})",
    re.DOTALL,
)


@frozen
class DraftName:
    """What the name of a draft file says. `target` is whatever stood before the suffix: a name or a whole path."""

    target: str
    number: int
    author: str
    delete: bool

    def __str__(self) -> str:
        return f"{self.target}.draft-{self.number:04d}{'.delete' if self.delete else ''}@{self.author}"


def parse_draft_name(text: str) -> DraftName | None:
    """The draft that a file name (or path) names, or None when it is not shaped like one."""
    found = _DRAFT.fullmatch(text)
    if not found:
        return None
    return DraftName(found["target"], int(found["number"]), found["author"], found["delete"] is not None)


def draft_name(draft: Draft | PlaceDraft | RemoveDraft) -> str:
    """The root-relative path of this draft's file."""
    return str(DraftName(draft.target, draft.number, draft.author, draft.content is None))
