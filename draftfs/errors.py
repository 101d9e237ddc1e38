"""One tree of errors; each knows its code, its exit status and the command to run next (G10).

DraftfsError
├── InternalError     1  a fault of ours
├── BadRequest        2  the request makes no sense, whatever the store holds
├── Refused           3  the store's state forbids it
├── Fenced            4  the token, or page, is no longer the live one: stop
├── NotFound          5  what was named does not exist
├── Busy              7  the lock, or an asked-for wait, ran out; the same call may work later
└── EnvironmentFault  8  disk, permission, git, damaged records
    └── Damaged          a record that cannot be trusted; `details` names the file and the repair

Exit status 6 (findings) is an answer, not an error.
"""

from __future__ import annotations

import errno
from typing import Any, ClassVar, Final


class DraftfsError(Exception):
    """Base of everything this package raises on purpose.

    ``code`` is a stable snake_case name, listed in CODES. ``message`` is one plain sentence, ``hint`` the next command
    or act, ``details`` further facts for programs (plain values only). Errors survive pickling.
    """

    exit_status: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, code: str, message: str, *, hint: str | None = None, **details: Any) -> None:
        super().__init__(message)
        if CODES.get(code) is not None and not isinstance(self, CODES[code]):
            raise AssertionError(f"{code} does not belong to {type(self).__name__}")
        self.code, self.message, self.hint, self.details = code, message, hint, details

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.code, self.message, self.hint, self.details)


def _rebuild(
    kind: type[DraftfsError], code: str, message: str, hint: str | None, details: dict[str, Any]
) -> DraftfsError:
    return kind(code, message, hint=hint, **details)


class InternalError(DraftfsError):
    exit_status = 1


class BadRequest(DraftfsError):
    exit_status = 2


class Refused(DraftfsError):
    exit_status = 3


class Fenced(DraftfsError):
    exit_status = 4


class NotFound(DraftfsError):
    exit_status = 5


class Busy(DraftfsError):
    exit_status = 7
    retryable = True


class EnvironmentFault(DraftfsError):
    exit_status = 8


class Damaged(EnvironmentFault):
    """A record of the store is truncated, edited by hand, unreadable, of an unknown format, or missing.

    It is never read as "free" (§3): whoever needs the record fails, nobody else does.
    """

    def __init__(self, code: str, message: str, *, hint: str | None = None, **details: Any) -> None:
        super().__init__(code, message, hint=hint or "draftfs doctor --fix", **details)


CODES: Final[dict[str, type[DraftfsError]]] = {
    "internal": InternalError,
    **dict.fromkeys(("usage", "bad_path", "bad_name", "bad_ttl", "bad_file", "bad_job"), BadRequest),
    **dict.fromkeys(
        (
            "path_clash",
            "stale_version",
            "not_accepted",
            "attempts_used_up",
            "job_not_open",
            "dependent_claimed",
            "dirty_worktree",
            "worktree_held",
            "claim_in_root",
            "not_covered",
            "not_a_file",
            "filter_fixed",
            "receipt_mismatch",
            "receipt_expired",
            "target_moved",
            "conflicts",
            "cannot_merge",
            "tampered",
            "agents_cannot_promote",
            "not_handed_out",
            "reader_behind",
            "no_token",
            "nothing_ready",
            "all_done",
            "shared_hooks",
        ),
        Refused,
    ),
    **dict.fromkeys(("fenced", "page_fenced"), Fenced),
    **dict.fromkeys(("no_store", "no_job", "no_draft", "no_reader", "no_receipt"), NotFound),
    **dict.fromkeys(("busy", "timeout"), Busy),
    **dict.fromkeys(("disk_full", "permission", "filesystem", "git", "damaged", "unknown"), EnvironmentFault),
}


def pasteable(name: str) -> str:
    """A name as a shell takes it back, for the commands in hints."""
    import shlex  # only errors need it

    return shlex.quote(name)


def from_oserror(fault: OSError, doing: str) -> EnvironmentFault:
    """The error for a failed system call: `disk_full`, `permission` or `filesystem`, naming the file and the act."""
    where = _text(fault.filename) or "the store"
    reason = fault.strerror or str(fault)
    if fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        code, hint = "disk_full", "free some space, then run the same command again"
    elif fault.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        able = "readable" if doing.startswith("reading") else "writable"
        code, hint = "permission", f"make {where} {able} for this user, then run the same command again"
    else:
        code, hint = "filesystem", "draftfs doctor"
    return EnvironmentFault(code, f"{doing} failed at {where}: {reason}", hint=hint, path=where)


def _text(name: object) -> str:
    if isinstance(name, bytes):
        return name.decode("utf-8", "surrogateescape")
    return "" if name is None else str(name)
