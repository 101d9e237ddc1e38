from __future__ import annotations

from collections.abc import Iterator

from draftfs.cli._call import Answer, Call
from draftfs.cli._command import command
from draftfs.cli._show import shown


@command("init", "Make the store of this repository", examples=["draftfs init"])
def run(call: Call) -> Answer:
    """The store lies in the repository's git folder, shared by all its worktrees and never committed. The main checkout
    becomes the root: there the drafts will appear beside their targets. Running it again changes nothing."""
    from draftfs.store import Store

    store, created = Store.init(call.folder, **call.options())
    about = {"id": store.info.id, "path": store.folder, "root": store.tree.top}
    return Answer({"store": about, "created": created}, _lines(store.folder, store.tree.top, created), changed=True)


def _lines(folder: str, root: str, created: bool) -> Iterator[str]:
    if not created:
        yield f"the store is there already: {shown(folder)}"
        return
    yield f"made the store {shown(folder)}"
    yield f"drafts will appear in {shown(root)}"
    yield "next: draftfs job add TITLE PATH…"
