from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.codec import to_plain
from draftfs.names import shown

if TYPE_CHECKING:
    from draftfs.git.hooks import Uninstalled

_WORDS: Final = {
    "restored": "{} is again the hook that was there before",
    "removed": "removed {}",
    "foreign": "left {} alone: it is not ours",
}


@command(
    "uninstall",
    "Take the hooks away, and put back what was there before",
    examples=["draftfs hooks uninstall"],
)
def run(call: Call) -> Answer:
    """A person's act, in the checkout that people look at. Only files that draftfs wrote are touched."""
    from draftfs.git import hooks

    done = hooks.uninstall(call.folder, agent=call.agent(), lock_wait=call.lock_wait)
    return Answer(to_plain(done), _lines(done), changed=True)


def _lines(done: Uninstalled) -> Iterator[str]:
    told = [each for each in done.hooks if each.action in _WORDS]
    for each in told:
        yield _WORDS[each.action].format(shown(each.file))
    if not told:
        yield "no hook of draftfs is here"
