"""The settings of a store by the names and spellings that people use: `draftfs config claim.ttl 30m`."""

from __future__ import annotations

import re
from typing import Any, Final

from draftfs.errors import BadRequest

SETTINGS: Final = {
    "claim.ttl": "claim_ttl",
    "job.attempts": "job_attempts",
    "agents.promote": "agents_promote",
    "git.root": "git_root",
    "git.unclaimed": "git_unclaimed",
    "drafts.track": "drafts_track",
}
"""Name on the command line: field of Settings."""

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_TAKES: Final = {
    "claim.ttl": "a duration such as 90s, 30m or 2h",
    "job.attempts": "a whole number from 1 on",
    "agents.promote": "true or false",
    "git.root": "warn, refuse or off",
    "git.unclaimed": "allow or refuse",
    "drafts.track": "true or false",
}
_CHOICES: Final = {"git.root": ("warn", "refuse", "off"), "git.unclaimed": ("allow", "refuse")}
_SWITCHES: Final = ("agents.promote", "drafts.track")
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
    if key == "claim.ttl":
        unit = next(unit for unit in ("d", "h", "m", "s") if value % _UNITS[unit] == 0)
        return f"{value // _UNITS[unit]}{unit}"
    return str(value)


def from_text(key: str, text: str) -> int | bool | str:
    """The value that `text` means for setting `key`. Raises BadRequest `usage` (`bad_ttl` for a bad ttl)."""
    if key not in SETTINGS:
        raise BadRequest("usage", f"there is no setting {key!r}", hint="draftfs config")
    if key in _SWITCHES and text in ("true", "false"):
        return text == "true"
    if text in _CHOICES.get(key, ()):
        return text
    if key == "job.attempts" and text.isascii() and text.isdecimal() and int(text) >= 1:
        return int(text)
    if key == "claim.ttl" and (ttl := seconds(text)) is not None:
        check_ttl(ttl)
        return ttl
    raise BadRequest("usage", f"{key} takes {_TAKES[key]}, not {text!r}", hint=f"draftfs config {key}")
