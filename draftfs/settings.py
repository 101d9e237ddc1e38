"""The settings of a store by the names and spellings that people use: `draftfs config claim.ttl 30m`."""

from __future__ import annotations

import re
import typing
from typing import Any, Final

from draftfs.errors import BadRequest
from draftfs.records import Settings

SETTINGS: Final = {
    "claim.ttl": "claim_ttl",
    "job.attempts": "job_attempts",
    "receipts.keep": "receipts_keep",
    "agents.promote": "agents_promote",
    "drafts.track": "drafts_track",
    "git.root": "git_root",
    "git.unclaimed": "git_unclaimed",
}
"""Name on the command line: field of Settings."""

_DURATIONS: Final = frozenset({"claim.ttl", "receipts.keep"})
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_HINTS: Final = typing.get_type_hints(Settings)
LONGEST_TTL: Final = 24 * 3600


def seconds(text: str) -> int | None:
    """`90`, `90s`, `30m`, `2h`, `14d` in seconds; None for anything else."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd]?)", text)
    return int(found[1]) * _UNITS[found[2]] if found else None


def check_ttl(ttl: int | None) -> None:
    """Raise BadRequest `bad_ttl` outside 1 s to 24 h."""
    if ttl is not None and not (type(ttl) is int and 1 <= ttl <= LONGEST_TTL):
        raise BadRequest("bad_ttl", f"a claim lasts 1 s to 24 h, not {ttl} s", hint="--ttl 30m")


def to_text(key: str, value: Any) -> str:
    """A setting's value as `config` shows it and takes it back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if key in _DURATIONS:
        unit = next(unit for unit in ("d", "h", "m", "s") if value % _UNITS[unit] == 0)
        return f"{value // _UNITS[unit]}{unit}"
    return str(value)


def from_text(key: str, text: str) -> Any:
    """The value that `text` means for setting `key`. Raises BadRequest `usage` (`bad_ttl` for a bad ttl)."""
    if key not in SETTINGS:
        raise BadRequest("usage", f"there is no setting {key!r}", hint="draftfs config")
    kind = _HINTS[SETTINGS[key]]
    if kind is bool and text in ("true", "false"):
        return text == "true"
    if key in _DURATIONS and (value := seconds(text)) is not None:
        if key == "claim.ttl":
            check_ttl(value)
        return value
    if key == "job.attempts" and text.isdecimal() and int(text) >= 1:
        return int(text)
    if text in typing.get_args(kind):
        return text
    raise BadRequest("usage", f"{key} takes {_takes(key, kind)}, not {text!r}", hint=f"draftfs config {key}")


def _takes(key: str, kind: Any) -> str:
    if key in _DURATIONS:
        return "a duration such as 90s, 30m, 2h or 14d"
    if kind is bool:
        return "true or false"
    return "a whole number from 1 on" if kind is int else " or ".join(typing.get_args(kind))
