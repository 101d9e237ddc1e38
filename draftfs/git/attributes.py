"""What git's attributes say of paths."""

from __future__ import annotations

from collections.abc import Sequence

from draftfs.git.command import run


def attributes(top: str, names: Sequence[str], paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """By the attributes of the checkout `top`, for each of `paths` what each of `names` is, in their order: "set", "unset",
    "unspecified", or a value. One process. Raises EnvironmentFault `git`."""
    feed = "".join(f"{path}\0" for path in paths)
    words = run(top, "check-attr", "-z", "--stdin", *names, feed=feed).out.split("\0")
    found: dict[str, list[str]] = {}
    for path, value in zip(words[::3], words[2::3], strict=False):
        found.setdefault(path, []).append(value)
    return {path: tuple(found[path]) for path in paths}
