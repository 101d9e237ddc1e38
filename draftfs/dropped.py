"""Draft-shaped files that a person dropped beside a target: no record has them, until one is promoted."""

from __future__ import annotations

from draftfs import layout
from draftfs.errors import BadRequest, Refused, pasteable
from draftfs.records import Content, DraftRef
from draftfs.rules.promotion import Found
from draftfs.sighting import Sighting
from draftfs.tree import FAR_NUMBER, Tree
from draftfs.workspace import Workspace


def only_file(tree: Tree, ref: DraftRef) -> str | None:
    """The file beside the target that is named like its draft of this number; None where there is none.

    Raises BadRequest `bad_file` where there are two, or a number that no store counts to.
    """
    names = tree.draft_files(ref.target, ref.number)
    if len(names) > 1 or (names and ref.number >= FAR_NUMBER):
        said = f"{', '.join(names)} have one number" if len(names) > 1 else f"{names[0]}: nothing counts that far"
        raise BadRequest(
            "bad_file", f"{said}: a draft's number is its own", hint=f"mv -n -- {pasteable(names[0])} OTHER-NUMBER"
        )
    return names[0] if names else None


def require_file(name: str, seen: Sighting) -> Content:
    """What it holds. Raises Refused `not_a_file` for a symlink, say."""
    if seen.content is None:
        hint = f"mv -n -- {pasteable(name)} {pasteable(f'{name}~')}"
        raise Refused("not_a_file", f"{name} is no draft: {seen.detail or 'it has gone'}", hint=hint, path=name)
    return seen.content


def dropped(workspace: Workspace, ref: DraftRef) -> Found | None:
    """That file, its bytes kept; None where there is none.

    Raises what `only_file` and `require_file` raise, and `bad_file` for a deletion that is not empty.
    """
    name = only_file(workspace.tree, ref)
    parsed = layout.parse_draft_name(name) if name is not None else None
    if name is None or parsed is None:
        return None
    content = require_file(name, workspace.kept_sighting(name))
    if parsed.delete and content.size:
        said = f"{name} is to propose a deletion, and is not empty"
        raise BadRequest(
            "bad_file", said, hint=f"mv -n -- {pasteable(name)} {pasteable(name.replace('.delete@', '@'))}"
        )
    return Found(parsed.author, None if parsed.delete else content)
