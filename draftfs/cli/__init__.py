"""The command line: thin over `draftfs.store.Store`, one file per command, each imported only when it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. `argv` is what stands behind the program's name."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments == ["--version"]:  # what scripts ask first should not wait for a parser of arguments
        from draftfs.version import VERSION

        sys.stdout.write(f"draftfs {VERSION}\n")
        return 0
    try:
        from draftfs.cli._run import run

        return run(arguments)
    except KeyboardInterrupt:  # before there is anything to tidy up
        return 130
