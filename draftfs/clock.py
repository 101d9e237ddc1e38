"""Time for decisions, and time for people; both injected (§4).

Decisions use the kernel's awake time since boot, so that neither a jump of the wall clock nor a closed lid ends a claim.
A reading means nothing under another boot: it always travels with its boot id.
"""

from __future__ import annotations

import re
import sys
import time
from datetime import UTC, datetime
from typing import Protocol

from draftfs.frozen import frozen

NANOSECONDS = 1_000_000_000


@frozen
class Instant:
    """One reading: awake nanoseconds since boot `boot`, and the wall time in seconds since 1970 (for people only)."""

    awake_ns: int
    boot: str
    wall: float

    @property
    def stamp(self) -> str:
        """The wall time as RFC 3339 text in UTC, to the millisecond."""
        return rfc3339(self.wall)


class Clock(Protocol):
    """Where a Store takes its time from."""

    def now(self) -> Instant:
        """The current reading."""


class SystemClock:
    """The machine's own clocks. A Linux time namespace's offset is taken out, so containers on one kernel agree (C68)."""

    def __init__(self) -> None:
        self._boot = _boot_id()
        self._offset_ns = _namespace_offset_ns()

    def now(self) -> Instant:
        return Instant(time.clock_gettime_ns(_AWAKE) - self._offset_ns, self._boot, time.time())


# macOS counts sleep in CLOCK_MONOTONIC and not in CLOCK_UPTIME_RAW; Linux the other way round (protocol note, P13).
_AWAKE: int = getattr(time, "CLOCK_UPTIME_RAW", time.CLOCK_MONOTONIC)


def rfc3339(wall: float) -> str:
    """`wall` (seconds since 1970) as `2026-05-01T12:00:00.000Z`."""
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def age_of(stamp: str, wall: float) -> float:
    """The seconds from `stamp` (RFC 3339) until the wall time `wall`; 0 where a clock was put back in between."""
    return max(0.0, wall - datetime.fromisoformat(stamp).timestamp())


def span(seconds: float) -> str:
    """`2h 59m`, `29m 59s`, `45s`: how long something lasts, to its second unit."""
    whole = max(int(seconds), 0)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    parts = [f"{amount}{unit}" for amount, unit in ((hours, "h"), (minutes, "m"), (rest, "s")) if amount]
    return " ".join(parts[:2]) or "0s"


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except FileNotFoundError:
        import subprocess  # only here: it would add a third to the start of every command

        command = ["sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _namespace_offset_ns() -> int:
    if not sys.platform.startswith("linux"):
        return 0
    try:
        with open("/proc/self/timens_offsets", encoding="ascii") as file:
            offsets = file.read()
    except OSError:  # kernels without time namespaces have no such file, and nothing to take out
        return 0
    found = re.search(r"^(?:monotonic|1)\s+(-?\d+)\s+(-?\d+)", offsets, re.MULTILINE)
    return int(found[1]) * NANOSECONDS + int(found[2]) if found else 0
