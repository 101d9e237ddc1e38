"""The command line: thin over `draftfs.store.Store`, one file per command, each imported only when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. `argv` is what stands behind the program's name."""
    from draftfs.cli._run import run

    return run(sys.argv[1:] if argv is None else list(argv))
