"""Three-way merges of one file, as `git merge-file` makes them, by the attributes of the target's path."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from draftfs.errors import EnvironmentFault
from draftfs.git.attributes import attributes
from draftfs.git.command import fault_of, run
from draftfs.names import shown
from draftfs.repo import Repo

Three = tuple[str, str, str]
"""What people have now, what both started from, what was drafted: absolute files, or their names."""

_FAILED: Final = 255
_MOST: Final = 127


def merge(repo: Repo, top: str, target: str, files: Three, names: Three, into: str) -> int | None:
    """Write the merge of `files`, seen from the checkout `top`, into the file `into`; returns how many conflicts are marked
    in it (127 stands for more), None where git takes one of them for binary and nothing can be merged.

    Where the bytes conflict, git's clean forms are tried as well: line ends or filters alone are no conflict. The merge
    drivers that attributes may name are programs of the user's, and are not run; `union` and `binary` count.
    """
    driver, marker = attributes(top, ("merge", "conflict-marker-size"), [target])[target]
    if driver in ("unset", "binary"):
        return None
    options = ["--union"] if driver == "union" else []
    if marker.isdecimal():
        options.append(f"--marker-size={marker}")
    conflicts = _merged(top, files, names, options, into)
    if conflicts:
        with tempfile.TemporaryDirectory() as folder:
            cleaner = f"{folder}/merged"
            fewer = _by_clean_forms(repo, top, target, files, names, options, cleaner)
            if fewer is not None and fewer < conflicts:
                os.replace(cleaner, into)
                return fewer
    return conflicts


def _merged(top: str, files: Three, names: Three, options: Sequence[str], into: str) -> int | None:
    labels = [part for name in names for part in ("-L", shown(name))]
    descriptor = os.open(into, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        accept = (*range(_MOST + 1), _FAILED)
        answer = run(top, "merge-file", "-p", *options, *labels, "--", *files, accept=accept, into=descriptor)
    finally:
        os.close(descriptor)
    if answer.status == _FAILED:
        if "binary" in answer.err:
            return None
        raise fault_of("merge-file", answer)
    return answer.status


def _by_clean_forms(
    repo: Repo, top: str, target: str, files: Three, names: Three, options: Sequence[str], into: str
) -> int | None:
    """The same merge over what git would store for each, and back to what a checkout would have. None where that is the
    same, or a filter cannot run. Git's objects go into a folder of their own, and away with it."""
    folder = os.path.dirname(into)
    objects = {
        "GIT_OBJECT_DIRECTORY": f"{folder}/objects",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{repo.common_dir}/objects",
    }
    os.mkdir(objects["GIT_OBJECT_DIRECTORY"])
    with suppress(EnvironmentFault):
        ids = run(top, "hash-object", "-w", f"--path={target}", "--", *files, extra=objects).out.split()
        if ids == run(top, "hash-object", "--no-filters", "--", *files).out.split():
            return None
        clean = tuple(f"{folder}/{number}" for number in range(len(ids)))
        for each, file in zip(ids, clean, strict=True):
            _write(top, file, objects, "cat-file", "blob", each)
        ours, base, theirs = clean
        conflicts = _merged(top, (ours, base, theirs), names, options, into)
        merged = run(top, "hash-object", "-w", "--no-filters", "--", into, extra=objects).out.strip()
        _write(top, into, objects, "cat-file", "--filters", f"--path={target}", merged)
        return conflicts
    return None


def _write(top: str, file: str, objects: dict[str, str], *command: str) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        run(top, *command, extra=objects, into=descriptor)
    finally:
        os.close(descriptor)
