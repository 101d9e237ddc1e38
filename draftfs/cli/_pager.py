"""The user's pager, as git knows it."""

from __future__ import annotations

import os
import signal
import subprocess


def page(text: bytes, folder: str) -> bool:
    """Show `text` through the pager that git would use in `folder`; False where there is none."""
    try:
        asked = subprocess.run(["git", "var", "GIT_PAGER"], cwd=folder, capture_output=True, check=False)
        command = os.fsdecode(asked.stdout).strip()
        if asked.returncode or command in ("", "cat"):
            return False
        signal.signal(
            signal.SIGINT, lambda *_: None
        )  # Ctrl-C is the pager's; ignoring it would make the pager ignore it
        environment = {"LESS": "FRX", "LV": "-c", **os.environ}
        shell = subprocess.run(command, shell=True, input=text, env=environment, check=False)  # noqa: S602 - as git runs it
    except OSError:
        return False
    return shell.returncode != 127
