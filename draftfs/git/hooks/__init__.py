"""git's hooks of one repository: put there, taken away again, and looked at (§8).

The hooks themselves are shell, in the folder `hooks/` of the sources; what they start is `draftfs.git.hook`.
"""

from __future__ import annotations

from draftfs.git.hooks.folders import Folders
from draftfs.git.hooks.installing import Installed, Uninstalled, install, uninstall
from draftfs.git.hooks.looking import HookState, Status, idle, status

__all__ = ["Folders", "HookState", "Installed", "Status", "Uninstalled", "idle", "install", "status", "uninstall"]
