"""The text of an installed hook: one file of plain sh that needs nothing beside it but the program that it starts."""

from __future__ import annotations

import functools
import os
import shlex
import subprocess
import sys
from dataclasses import field
from typing import Final

from draftfs.errors import EnvironmentFault
from draftfs.frozen import frozen
from draftfs.version import VERSION

HOOKS: Final = ("prepare-commit-msg", "reference-transaction", "pre-push", "pre-receive")

_FIRST: Final = b"#!/bin/sh\n# Installed by draftfs "
_SHARED: Final = "common"
_PROGRAM: Final = "draftfs.git.hook"
_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

LOST: Final = 9
"""The status of a hook's program whose packages are gone."""

_START: Final = f"""\
try:
 from {_PROGRAM} import main
 status = main(sys.argv[1:])
except ImportError:
 sys.exit({LOST})
except Exception as fault:
 sys.stderr.write(f"draftfs: {{type(fault).__name__}}: {{fault}}\\n")
 status = 8
sys.exit(status)"""
# An exception that nobody caught would end Python with 1, and that means: refused.


@frozen
class Program:
    """What a hook starts: an interpreter, by its absolute path, and the text of the program for its -c."""

    python: str
    boot: str

    @functools.cached_property
    def fault(self) -> str | None:
        """In words why it does not start, None if it does."""
        if not os.access(self.python, os.X_OK):
            return f"its interpreter {self.python} is gone"
        look = self.boot.partition("\ntry:\n")[0] + f"\nimport {_PROGRAM}, portalocker, yaml"
        done = subprocess.run(
            [self.python, "-I", "-S", "-c", look], check=False, capture_output=True, errors="surrogateescape", cwd="/"
        )
        said = done.stderr.strip().rpartition("\n")[2]
        return None if done.returncode == 0 else f"its program does not start: {said}"


@functools.cache
def program() -> Program:
    """The program as it runs here, but with the base interpreter where that will do: it outlives a virtual environment.

    Raises EnvironmentFault `filesystem` where no interpreter starts it.
    """
    import portalocker
    import yaml

    homes = [
        os.path.dirname(_PACKAGE),
        *(os.path.dirname(os.path.dirname(str(each.__file__))) for each in (yaml, portalocker)),
    ]
    # As bytes, so that a name of any bytes comes through in any locale. Behind the standard library, as always.
    names = ", ".join(ascii(os.fsencode(each)) for each in dict.fromkeys(homes))
    boot = f"import os, sys\nsys.path += map(os.fsdecode, [{names}])\n{_START}"
    base: str | None = getattr(sys, "_base_executable", None)
    found = [Program(os.path.abspath(each), boot) for each in dict.fromkeys((base, sys.executable)) if each]
    for each in found:
        if each.fault is None:
            return each
    said = found[0].fault if found else "Python does not know its own path"
    raise EnvironmentFault("filesystem", f"a hook could not start draftfs: {said}", hint="install draftfs anew")


@frozen
class Text:
    """What one installed hook says. `kept` is the name of the foreign hook beside it, `made` whether the folder is ours."""

    hook: str
    program: Program = field(default_factory=program)
    kept: str = ""
    made: bool = False
    version: str = VERSION

    def encoded(self) -> bytes:
        """The whole file."""
        values = {"hook": self.hook, "python": self.program.python, "boot": self.program.boot, "kept": self.kept}
        values["made_folder"] = "yes" if self.made else ""
        baked = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
        head = f"{self.version}; draftfs hooks uninstall puts back what was here before it.\n{baked}\n"
        parts = ("reference-transaction-first", _SHARED, self.hook)
        needed = parts if self.hook == "reference-transaction" else parts[1:]
        return _FIRST + os.fsencode(head) + b"\n".join(_part(name) for name in needed)


def parse(data: bytes) -> Text | None:
    """What an installed hook says, None for a file that is not ours. Of one that was edited, as much as can be read."""
    if not data.startswith(_FIRST):
        return None
    version, _, rest = os.fsdecode(data[len(_FIRST) :]).partition(";")
    try:
        words = shlex.split(rest.partition("\n\n# ── ")[0].partition("\n")[2])
    except ValueError:
        words = []
    values = {name: value for name, _, value in (word.partition("=") for word in words)}
    started = Program(values.get("python", ""), values.get("boot", ""))
    kept = os.path.basename(values.get("kept", ""))
    return Text(values.get("hook", ""), started, kept, values.get("made_folder") == "yes", version)


def _part(name: str) -> bytes:
    """One of the texts in `hooks/`: inside an installed package, beside it in a checkout of the sources."""
    inside = f"{_PACKAGE}/hooks"
    folder = inside if os.path.exists(f"{inside}/{_SHARED}.sh") else f"{os.path.dirname(_PACKAGE)}/hooks"
    with open(f"{folder}/{name}.sh", "rb") as file:
        return file.read()
