"""draftfs: many agents write, one person chooses, and a worker that stalled and came back changes nothing.

The public API is `Store`, the records and answers that its methods take and give, and the errors that they raise.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from draftfs.version import VERSION

if TYPE_CHECKING:
    from draftfs.answers import (
        Acknowledged,
        Claim,
        Claimed,
        Drafted,
        DraftInfo,
        JobChanged,
        JobLine,
        JobsAdded,
        Logged,
        Merged,
        MyStatus,
        Page,
        Promoted,
        Promotion,
        Regenerated,
        Regeneration,
        Rejected,
        Renewed,
        Restored,
        Sent,
        Status,
        TargetLine,
        Tidied,
        Trimmed,
        Undo,
        Undone,
    )
    from draftfs.clock import Clock, Instant, SystemClock
    from draftfs.errors import (
        BadRequest,
        Busy,
        Damaged,
        DraftfsError,
        EnvironmentFault,
        Fenced,
        InternalError,
        NotFound,
        Refused,
    )
    from draftfs.records import Actor, Attempts, Content, Draft, DraftRef, Event, Job, NewJob
    from draftfs.store import Store

__version__ = VERSION

__all__ = [
    "Acknowledged",
    "Actor",
    "Attempts",
    "BadRequest",
    "Busy",
    "Claim",
    "Claimed",
    "Clock",
    "Content",
    "Damaged",
    "Draft",
    "DraftInfo",
    "DraftRef",
    "Drafted",
    "DraftfsError",
    "EnvironmentFault",
    "Event",
    "Fenced",
    "Instant",
    "InternalError",
    "Job",
    "JobChanged",
    "JobLine",
    "JobsAdded",
    "Logged",
    "Merged",
    "MyStatus",
    "NewJob",
    "NotFound",
    "Page",
    "Promoted",
    "Promotion",
    "Refused",
    "Regenerated",
    "Regeneration",
    "Rejected",
    "Renewed",
    "Restored",
    "Sent",
    "Status",
    "Store",
    "SystemClock",
    "TargetLine",
    "Tidied",
    "Trimmed",
    "Undo",
    "Undone",
    "__version__",
]

_HOMES = ("store", "answers", "records", "errors", "clock")


def __getattr__(name: str) -> Any:
    """Load the public names at first use: `draftfs --version` would otherwise wait for all of them."""
    if name in __all__:
        for home in _HOMES:
            module = importlib.import_module(f"draftfs.{home}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module 'draftfs' has no attribute {name!r}")
