"""A fault of ours: what the user hears, and the file to send us (G10)."""

from __future__ import annotations

import os
import platform
import re
import tempfile
import traceback
from collections.abc import Sequence

from draftfs.errors import InternalError
from draftfs.version import VERSION


def internal_error(fault: BaseException, argv: Sequence[str]) -> InternalError:
    """The error to show in place of a traceback, which goes to a file in the temporary folder."""
    report = _write(fault, argv)
    where = f"; the details are in {report}" if report else ""
    return InternalError(
        "internal",
        f"a fault in draftfs itself ({type(fault).__name__}){where}",
        hint="report it with that file; draftfs doctor tells whether the store is well",
        report=report,
    )


def _write(fault: BaseException, argv: Sequence[str]) -> str | None:
    # Of the arguments only the words that cannot be a secret: values may be tokens or receipt keys.
    words = " ".join(each for each in argv if re.fullmatch(r"[a-z]+|--[a-z-]+", each))
    text = (
        f"draftfs {VERSION}, Python {platform.python_version()}, {platform.platform()}\n"
        f"draftfs {words}\n\n{''.join(traceback.format_exception(fault))}"
    )
    try:
        descriptor, path = tempfile.mkstemp(prefix="draftfs-report-", suffix=".txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        return None
    return path
