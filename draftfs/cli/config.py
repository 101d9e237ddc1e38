from __future__ import annotations

import click

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command, usage
from draftfs.cli._show import columns, tsv
from draftfs.cli._words import written
from draftfs.names import shown


@command(
    "config",
    "Show the store's settings, or change one",
    synopsis="[KEY [VALUE]]",
    examples=["draftfs config", "draftfs config claim.ttl 1h"],
    writes=True,
)
@click.argument("key", required=False)
@click.argument("value", required=False)
def run(call: Call, key: str | None, value: str | None) -> Answer:
    """Settings: claim.ttl (how long a claim lasts unless it says otherwise), job.attempts (how many a job has unless it
    says otherwise), agents.promote (true lets agents decide, too), git.root (what follows when a person commits a change
    in the root that nothing admits: warn, refuse, off), git.unclaimed (whether agents may commit paths that nobody ever
    reserved: allow, refuse), drafts.track (true lets git see draft files, so that they can be committed; else it leaves them
    alone)."""
    store = call.store()
    if key is not None and value is not None:
        changed = store.configure(key, value, receipt=call.receipt)
        return written(changed, [f"{changed.key} is {shown(changed.value)}"])
    settings = store.settings()
    if key is None:
        rows = list(settings.items())
        return Answer({"settings": settings}, columns(rows, call.paint) if call.terminal else tsv(rows))
    if key not in settings:
        usage(f"there is no setting {key!r}", "draftfs config")
    return Answer({"settings": {key: settings[key]}}, [shown(settings[key])])
