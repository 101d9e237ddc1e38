from __future__ import annotations

import click

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import Number, command, usage
from draftfs.cli._words import written
from draftfs.names import shown


@command(
    "send",
    "Send a message to agents or people",
    synopsis="--to NAME… | --all  --subject TEXT [--body TEXT | --body-file FILE] [--job N]",
    examples=[
        'draftfs send --to ann,bob --subject "the units are grams" --job 7',
        "git diff | draftfs send --all --subject 'what I have so far' --body-file -",
    ],
    writes=True,
)
@click.option("--to", multiple=True, metavar="NAME,…", help="Send it to these readers of the feed.")
@click.option("--all", "everybody", is_flag=True, help="Send it to everybody.")
@click.option("--subject", metavar="TEXT", help="Say in a line what it is about.")
@click.option("--body", metavar="TEXT", help="Say it at length; at most 1 MiB.")
@click.option("--body-file", metavar="FILE", help="Take that from a file; - is standard input.")
@click.option("--job", type=Number(1), metavar="N", help="Say which job it is about.")
def run(
    call: Call,
    to: tuple[str, ...],
    everybody: bool,
    subject: str | None,
    body: str | None,
    body_file: str | None,
    job: int | None,
) -> Answer:
    """A message is an event of the feed: it is there for good, in one order with everything else, and its readers get it
    with draftfs read. An agent is addressed by its name; a person by the name that their own messages carry as `sender`."""
    from draftfs.names import reader_name

    whom = [reader_name(name) for names in to for name in names.split(",")]
    if bool(whom) == everybody:
        usage("a message goes to some, or to all", "--to NAME, or --all")
    if subject is None:
        usage("a message needs a subject", "--subject TEXT")
    if body is not None and body_file is not None:
        usage("--body and --body-file exclude each other", "draftfs send --help")
    text = call.read_text(body_file) if body_file is not None else body or ""
    sent = call.store().send(None if everybody else whom, subject, text, job=job, receipt=call.receipt)
    readers = ", ".join(sent.to) if sent.to is not None else "all"
    return written(sent, [f"sent to {readers}, position {sent.position}: {shown(sent.subject)}"])
