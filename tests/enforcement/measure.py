"""Runs one row of a table and says what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.enforcement.evasions import VERIFY, Evasion
from tests.enforcement.operations import PUSH, RECV, Operation
from tests.enforcement.scene import FREE, SPEC, Ran, Scene

STATES = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


@dataclass(frozen=True)
class Outcome:
    """What one operation came to. `moved`: its ref has another value; `left`: git's state, index and files after it."""

    ran: Ran
    moved: bool
    left: tuple[str, ...]


def of_operation(operation: Operation, base: Path, role: str) -> tuple[Scene, Outcome]:
    """Do it as the holder of docs/spec.md, as the late worker on it ("late"), or on a path that nobody ever reserved."""
    scene = Scene.of(base, "late" if role == "free" else role, FREE if role == "free" else SPEC)
    if operation.before:
        prepared = scene.run(operation.before, hooked=False, trace=False)
        assert prepared.status == 0, prepared.said
    return scene, again(operation, scene)


def again(operation: Operation, scene: Scene, line: str = "") -> Outcome:
    """Do it (or `line` in its place) in the scene as it is."""
    before = _value(scene, operation.moves)
    ran = scene.run(line or operation.do)
    return Outcome(ran, _value(scene, operation.moves) != before, left(scene))


def left(scene: Scene) -> tuple[str, ...]:
    """What of an operation is there: states of git, staged changes, changes in files that are not staged."""
    git_dir = Path(scene.git("rev-parse", "--absolute-git-dir"))
    found = [state for state in STATES if (git_dir / state).exists()]
    found += ["index"] if scene.git("diff", "--cached", "--name-only", check=False) else []
    return (*found, *(["files"] if scene.git("diff", "--name-only") else []))


def _value(scene: Scene, ref: str) -> str:
    if ref == "origin":
        return scene.git("for-each-ref", where="s.git")
    return scene.git("rev-parse", "--verify", "-q", ref, check=False) if ref else ""


def of_evasion(evasion: Evasion, base: Path) -> tuple[Scene, Ran]:
    """Try it, as ann, who is late on docs/spec.md."""
    scene = Scene.of(base, "late")
    return scene, scene.run(evasion.do)


def finders(evasion: Evasion, scene: Scene) -> tuple[str, ...]:
    """Who finds it afterwards: each is asked, whatever the others said."""
    asked = evasion.asked or f"main..{evasion.revision}"
    pushed = f"{evasion.revision}:{evasion.to}"
    lines = {
        VERIFY: f"person draftfs verify {asked}",
        PUSH: f"git push -q origin {pushed}",
        RECV: f"git push -q --no-verify origin {pushed}",
    }
    found = []
    for name, line in lines.items():
        if name in (PUSH, RECV) and evasion.asked:
            continue
        ran = scene.run(line)
        if (ran.status == 6) if name == VERIFY else ran.by == name:
            found.append(name)
    return tuple(found)
