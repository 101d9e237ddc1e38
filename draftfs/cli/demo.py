from __future__ import annotations

import importlib

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command, usage


@command("demo", "See a store at work, in a repository that is thrown away", examples=["draftfs demo"])
def run(call: Call) -> Answer:
    """Agents claim, draft and submit; one stalls, is replaced and comes back too late; a person chooses. Takes a few
    seconds and leaves nothing behind."""
    if call.json:
        usage("demo tells a story and has no JSON form", "draftfs demo")
    # By name: the demo uses the command line, so the command line must not depend on the demo.
    try:
        status: int = importlib.import_module("draftfs.demo").run()
    except BrokenPipeError:  # `draftfs demo | head`: nobody listens any more
        return Answer({})
    return Answer({}, status=status)
