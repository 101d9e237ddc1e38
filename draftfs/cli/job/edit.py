from __future__ import annotations

import click

from draftfs.cli import _words
from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, Numbers, command, usage
from draftfs.cli.job.add import text_of


@command(
    "edit",
    "Change what an open job says",
    synopsis="JOB [--title T] [--path PATH]… [--after N,…] [--text T | --text-file F]",
    examples=["draftfs job edit 7 --after 3,4", "draftfs job edit 7 --path src/parser --path docs/parser.md"],
    writes=True,
)
@click.argument("job", type=Number())
@click.option("--title", metavar="TEXT", help="Give it another title.")
@click.option("--path", "paths", multiple=True, metavar="PATH", help="Give it these paths instead; once for each.")
@click.option(
    "--after", type=Numbers(), multiple=True, metavar="N,…", help="Let it wait for these jobs instead; or none."
)
@click.option("--text", metavar="TEXT", help="Say anew what is to be done.")
@click.option("--text-file", metavar="FILE", help="Take that from a file; - is standard input.")
def run(
    call: Call,
    job: int,
    title: str | None,
    paths: tuple[str, ...],
    after: tuple[tuple[int, ...], ...],
    text: str | None,
    text_file: str | None,
) -> Answer:
    """What is not named stays. The job's version grows, so that nobody claims it by what it said before."""
    if not (title is not None or paths or after or text is not None or text_file is not None):
        usage("say what to change", "draftfs job edit --help")
    edited = call.store().edit_job(
        job,
        title=title,
        text=text_of(call, text, text_file),
        paths=paths or None,
        after=tuple(dict.fromkeys(number for numbers in after for number in numbers)) if after else None,
        receipt=call.receipt,
    )
    return _words.written(edited, [_words.job_line(edited.job)])
