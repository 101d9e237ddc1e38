"""What a merge may do by itself on the way from one tip to another: only what both of its sides came to rightly (§8)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from draftfs.frozen import frozen
from draftfs.git import changes
from draftfs.git.changes import Commit
from draftfs.records import Change


@frozen
class MergeStep:
    """What git's own merge makes of one side's content: `change`. It counts where all of `premises` are admitted: what
    the other side did since the two branched off. Else whoever once dropped a change of somebody's, by a merge that
    kept their own side, would have git's next merge drop it for them."""

    change: Change
    premises: tuple[Change, ...]


def steps(cwd: str, commit: Commit, judged: Collection[str], *, in_hook: bool = False) -> Iterator[MergeStep]:
    """The steps of one merge; a side that is not among the `judged` commits needs no premise.

    None for three or more parents: there a path is taken from the one side that changed it, by that side's own steps.
    """
    if len(commit.parents) != 2 or not commit.free:
        return
    bases = changes.merge_bases(cwd, *commit.parents, in_hook=in_hook) or (None,)
    since = [
        [{each.path: each for each in changes.net(cwd, base, parent, in_hook=in_hook)} for parent in commit.parents]
        for base in bases
    ]
    for change in commit.free:
        for here, there in ((0, 1), (1, 0)):
            if not any(change.before == _held(change.path, sides[here], sides[there]) for sides in since):
                continue
            if commit.parents[there] not in judged:
                yield MergeStep(change, ())
                continue
            # A file that this side moved elsewhere takes what the other side did to it along.
            moved = [path for sides in since for path, each in sides[here].items() if each.after is None]
            of = dict.fromkeys((change.path, *moved))
            yield MergeStep(change, tuple(sides[there][path] for sides in since for path in of if path in sides[there]))


def _held(path: str, side: dict[str, Change], other: dict[str, Change]) -> object:
    """What this side holds at a path that some side changed."""
    if path in side:
        return side[path].after
    return other[path].before if path in other else ...
