from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli import _decided, _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import Regenerated
    from draftfs.repo import Repo


@command(
    "regenerate",
    "Make targets again what was chosen for them",
    synopsis="[PATH…] [--dry-run]",
    examples=["draftfs regenerate", "draftfs regenerate docs/spec.md", "draftfs regenerate --dry-run"],
    writes=True,
)
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--dry-run", is_flag=True, help="Say which targets would change, and change nothing.")
def run(call: Call, paths: tuple[str, ...], dry_run: bool) -> Answer:
    """Takes targets whose choice stands, and that do not hold it: edited by hand, carried off by git, or not written when they
    were promoted. A hand edit is kept as a draft first. A choice that git has moved past (a pull, a revert, another commit)
    does not stand, and is left alone. For people only."""
    store = call.store()
    done = store.regenerate(paths, dry_run=dry_run, receipt=call.receipt)
    if dry_run:
        data = {"regenerated": to_plain(done.regenerated), "dry_run": True}
        return Answer(data, _would(done, store.repo))
    lines = _decided.lines(done, store.repo) if done.regenerated else iter(["every target holds what was chosen"])
    return _words.written(done, lines)


def _would(done: Regenerated, repo: Repo) -> Iterator[str]:
    for each in done.regenerated:
        kept = ", your edit is kept as a draft" if each.kept is not None else ""
        what = "would be deleted" if each.sha256 is None else f"would hold draft {each.number} again"
        yield f"{shown(_words.typed(repo, each.target))} {what}{kept}"
    if not done.regenerated:
        yield "every target holds what was chosen"
