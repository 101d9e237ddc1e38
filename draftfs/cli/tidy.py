from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import Tidied
    from draftfs.store import Store


@command(
    "tidy",
    "Take decided drafts out of the listing",
    synopsis="[PATH…] [--abandoned] [--dry-run]",
    examples=["draftfs tidy", "draftfs tidy docs --dry-run"],
    writes=True,
)
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--abandoned", is_flag=True, help="Also those whose claim ended before it was submitted.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and take nothing away.")
def run(call: Call, paths: tuple[str, ...], abandoned: bool, dry_run: bool) -> Answer:
    """Removes the files of drafts that were promoted, rejected or superseded, everywhere or beside the targets at and under PATH.
    Their bytes and records stay in the store, and `draftfs restore` brings a file back. A file that no longer holds what was
    recorded is left alone. For people only."""
    store = call.store()
    tidied = store.tidy(paths, abandoned=abandoned, dry_run=dry_run, receipt=call.receipt)
    if dry_run:
        return Answer({**to_plain(tidied), "dry_run": True}, _lines(tidied, store, "would go"))
    return _words.written(tidied, _lines(tidied, store, "is out of the listing"))


def _lines(tidied: Tidied, store: Store, told: str) -> Iterator[str]:
    for info in tidied.drafts:
        yield f"{_words.draft_file(info, store.repo)} ({info.state}) {told}"
    for each in tidied.left:
        yield f"{shown(_words.typed(store.repo, each.file))} stays: {shown(each.because)}"
    if not tidied.drafts and not tidied.left:
        yield "nothing to tidy"
