from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command, usage

if TYPE_CHECKING:
    from draftfs.answers import Drafted
    from draftfs.store import Store


@command(
    "draft",
    "Hand in the next draft of files that you have claimed",
    synopsis="PATH… [--from FILE | --delete] [--note TEXT]",
    examples=[
        "draftfs draft docs/spec.md",
        "make-spec | draftfs draft docs/spec.md --from -",
        "draftfs draft --delete old.md",
    ],
    fenced=True,
)
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--from", "source", metavar="FILE", help="Take the bytes of this file, not of PATH; - is standard input.")
@click.option("--delete", is_flag=True, help="Propose to delete PATH.")
@click.option("--note", metavar="TEXT", help="Say what this draft is about; ls shows it.")
def run(
    call: Call, paths: tuple[str, ...], source: str | None, delete: bool, note: str | None, job: int | None
) -> Answer:
    """The bytes become a numbered file beside the target, in the checkout that people look at. A newer draft of yours takes
    the place of the older. Several paths are drafted together or not at all."""
    if source is not None and delete:
        usage("--from and --delete exclude each other", "draftfs draft --help")
    store = call.store()
    drafted = store.draft(
        paths,
        source=call.stdin() if source == "-" else source,
        delete=delete,
        note=note,
        job=job,
        token=call.token(),
        receipt=call.receipt,
    )
    return _words.written(drafted, _lines(drafted, store))


def _lines(drafted: Drafted, store: Store) -> Iterator[str]:
    for info in drafted.drafts:
        later = "" if info.shown else "  (recorded; the file appears with the next ls of somebody who can write there)"
        yield f"{_words.draft_file(info, store.repo)}{later}"
