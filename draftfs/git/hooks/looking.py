"""Whether the hooks run: what git itself says about it, in every worktree."""

from __future__ import annotations

import os
from typing import Literal, NamedTuple

from draftfs.errors import pasteable
from draftfs.frozen import frozen
from draftfs.git.command import run
from draftfs.git.hooks import files
from draftfs.git.hooks.files import Found
from draftfs.git.hooks.folders import ConfigHook, Folders, Place
from draftfs.git.hooks.text import Program, Text, program

State = Literal["active", "outdated", "not_installed", "replaced", "disabled", "broken"]


@frozen
class HookState:
    """One hook in one worktree. `file` is what git runs, or would if it could; `repair` the command to mend it.

    active; outdated: it runs, but is not what would be installed now; replaced: git runs somebody else's; disabled: git runs
    none, though ours is there or could be; broken: it runs, and cannot start its program.
    """

    worktree: str
    hook: str
    state: State
    file: str | None
    message: str
    repair: str | None

    @property
    def works(self) -> bool:
        return self.state in ("active", "outdated")


@frozen
class Status:
    """`store` is None in a repository without one: there the hooks do nothing, and none is missed."""

    store: str | None
    hooks: tuple[HookState, ...]
    config_hooks: tuple[ConfigHook, ...]

    @property
    def missing(self) -> tuple[HookState, ...]:
        """The hooks that should run and do not."""
        return () if self.store is None else tuple(each for each in self.hooks if not each.works)


def status(cwd: str) -> Status:
    """Look at the hooks of every worktree, the caller's first. Runs no hook but ours. Raises what `Folders.find` raises."""
    found = Folders.find(cwd)
    faults: dict[Program, str | None] = {}
    states = [_state(place, hook, faults) for place in found.places for hook in found.hooks]
    return Status(found.store, tuple(states), found.places[0].config_hooks)


def idle(top: str) -> tuple[HookState, ...]:
    """The hooks that should run in the worktrees of the repository of the root `top` and do not, as far as config and files
    tell: nothing is started. Worktrees that look for hooks in the same way are looked at once, by the first, and `top` is that
    where it can be. Raises what `Folders.find` raises."""
    found = Folders.find(top, root=top)
    ways = {(place.folder, place.setting, place.scope, place.config_hooks): place for place in reversed(found.places)}
    states = (_told(place, hook, _idle(place, hook)) for place in reversed(ways.values()) for hook in found.hooks)
    return () if found.store is None else tuple(each for each in states if not each.works)


def _idle(place: Place, hook: str) -> _Seen:
    seen = _without_folder(place)
    if seen is None and place.folder is not None:
        found = files.look(place.folder, hook)
        seen = _without_ours(found) or _not_executable(found) or _without_interpreter(found)
    return seen or _Seen("active", None, "is there", None)


def _without_interpreter(found: Found) -> _Seen | None:
    python = found.text.program.python if found.text is not None else ""
    return None if os.access(python, os.X_OK) else _Seen("broken", found.path, f"its interpreter {python} is gone")


class _Seen(NamedTuple):
    state: State
    file: str | None
    message: str
    repair: str | None = "install"


def _state(place: Place, hook: str, faults: dict[Program, str | None]) -> HookState:
    seen = _without_folder(place)
    if seen is None and place.folder is not None:
        found = files.look(place.folder, hook)
        seen = _without_ours(found) or _passed_over(place, hook, found) or _running(found, faults)
    assert seen is not None
    return _told(place, hook, seen)


def _told(place: Place, hook: str, seen: _Seen) -> HookState:
    state, file, message, repair = seen
    if repair == "install":
        flag = "" if place.shared is None else " --shared-folder"
        repair = f"draftfs -C {pasteable(place.top)} hooks install{flag}"
    return HookState(place.top, hook, state, file, message, repair)


def _without_folder(place: Place) -> _Seen | None:
    folder = place.folder
    if folder is None or (os.path.lexists(folder) and not os.path.isdir(folder)):
        what = "is empty" if folder is None else f"is {place.setting}, and that is no folder"
        return _Seen("disabled", None, f"core.hooksPath {what}", f"git config --{place.scope} --unset core.hooksPath")
    if os.path.isdir(folder):
        return None
    if place.setting is None:
        return _Seen("not_installed", None, f"there is no {folder}")
    return _Seen("disabled", None, f"core.hooksPath is {place.setting}, and there is no {folder}")


def _without_ours(found: Found) -> _Seen | None:
    if found.ours is not None:
        return None
    if found.theirs:
        return _Seen("replaced", found.path, f"git runs a hook that is not ours{_odd(found.path)}")
    return _Seen("not_installed", None, f"there is no {found.path}")


def _passed_over(place: Place, hook: str, found: Found) -> _Seen | None:
    if (seen := _not_executable(found)) is not None:
        return seen
    # A hook manager that runs ours would start its own checks as well: of that the text must say enough.
    said = _ask_git(place, hook) if found.ours == found.path else None
    return None if said is None else _Seen("disabled", found.path, said)


def _not_executable(found: Found) -> _Seen | None:
    assert found.ours is not None
    if files.runs(found.ours):
        return None
    plain = not os.stat(found.ours).st_mode & 0o111
    why = "it is not executable" if plain else "no program may be run there"
    repair = "install" if plain else f"allow programs to be run in {os.path.dirname(found.ours)}"
    return _Seen("disabled", found.path, f"git passes over {found.ours}: {why}", repair)


def _running(found: Found, faults: dict[Program, str | None]) -> _Seen:
    assert found.text is not None
    started, now = found.text.program, program()
    if started not in faults:
        faults[started] = started.fault
    fault = faults[started]
    if fault is not None:
        return _Seen("broken", found.path, fault)
    if found.data != Text(os.path.basename(found.path), now, found.text.kept, found.text.made).encoded():
        said = f"by draftfs {found.text.version}" if started == now else f"it starts {started.python}"
        return _Seen("outdated", found.path, f"runs, but is not what would be installed now ({said})")
    if found.ours != found.path:
        return _Seen("active", found.path, f"the hook manager there runs it as {found.ours}", None)
    return _Seen("active", found.path, "runs", None)


def _odd(path: str) -> str:
    """What is wrong with a foreign hook, in words."""
    if os.path.islink(path) and not os.path.exists(path):
        return ", and passes over it: it is a link to nothing"
    if not files.runs(path):
        return ", and passes over it: it is not executable"
    try:
        with open(path, "rb") as file:
            first = file.readline(1024)
    except OSError as fault:
        return f", and it cannot be read: {fault.strerror}"
    return ", and cannot: its first line ends with a carriage return" if first.endswith(b"\r\n") else ""


def _ask_git(place: Place, hook: str) -> str | None:
    """None when git really runs our hook; else what it said. It answers at once, and nothing after it runs."""
    if any(hook in (each.event, each.name) for each in place.config_hooks):
        return None  # git would run those too, and what they do is unknown
    answer = run(place.top, "hook", "run", hook, accept=range(256), extra={"DRAFTFS_SELFTEST": "yes"})
    if f"draftfs: selftest {hook}\n" in answer.err + answer.out:
        return None
    lines = [line for line in (answer.err + answer.out).splitlines() if line.strip()]
    return f"git does not run it: {lines[0] if lines else f'exit status {answer.status}'}"
