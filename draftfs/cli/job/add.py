from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, Numbers, command, usage
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.answers import JobsAdded


@command(
    "add",
    "Add a job, or many from a file",
    synopsis="TITLE PATH… | --from FILE",
    examples=[
        'draftfs job add "Write the parser" src/parser.py tests/test_parser.py --after 3,4',
        "draftfs job add --from jobs.yaml",
    ],
    writes=True,
)
@click.argument("title", required=False)
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--from", "source", metavar="FILE", help="Add all jobs of this YAML file, or none; - is standard input.")
@click.option(
    "--after", type=Numbers(), multiple=True, metavar="N,…", help="Let it wait until these jobs are accepted."
)
@click.option("--attempts", type=Number(1), metavar="N", help="Let it be claimed this often; job.attempts by default.")
@click.option("--contest", type=Number(2), metavar="N", help="Add N of them on the same paths, to choose the best.")
@click.option("--text", metavar="TEXT", help="Say at length what is to be done.")
@click.option("--text-file", metavar="FILE", help="Take that from a file; - is standard input.")
def run(
    call: Call,
    title: str | None,
    paths: tuple[str, ...],
    source: str | None,
    after: tuple[tuple[int, ...], ...],
    attempts: int | None,
    contest: int | None,
    text: str | None,
    text_file: str | None,
) -> Answer:
    """A job says which files, or whole folders, are to be worked on. Paths are those of the working directory; in a file they
    are relative to the root."""
    if source is not None:
        if any((title, paths, after, attempts, contest, text, text_file)):
            usage("a jobs file says everything itself", "draftfs job add --from FILE")
        added = _from_file(call, source)
        return _words.written(added, _lines(added))
    if title is None or not paths:
        usage("a job needs a title and at least one path", "draftfs job add TITLE PATH…")
    added = call.store().add_job(
        title,
        paths,
        after=tuple(dict.fromkeys(number for numbers in after for number in numbers)),
        attempts=attempts,
        contest=contest,
        text=text_of(call, text, text_file) or "",
        receipt=call.receipt,
    )
    return _words.written(added, _lines(added))


def _from_file(call: Call, source: str) -> JobsAdded:
    from draftfs import jobsfile

    new = jobsfile.read(call.read(source), "standard input" if source == "-" else source)
    return call.store().add_jobs(new, receipt=call.receipt)


def text_of(call: Call, text: str | None, text_file: str | None) -> str | None:
    """What --text or --text-file says, None without either."""
    if text is not None and text_file is not None:
        usage("--text and --text-file exclude each other", "draftfs job add --help")
    return call.read_text(text_file) if text_file is not None else text


def _lines(added: JobsAdded) -> Iterator[str]:
    for job in added.jobs:
        yield f"job {job.id} (version {job.version}): {shown(job.title)}  [{_words.paths(job.paths)}]"
