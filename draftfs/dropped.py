"""Draft-shaped files that a person dropped beside a target: no record has them, until one is promoted."""

from __future__ import annotations

from draftfs import layout
from draftfs.errors import BadRequest, Refused, pasteable
from draftfs.records import DraftRef
from draftfs.rules.promotion import Found
from draftfs.tree import FAR_NUMBER
from draftfs.workspace import Workspace


def dropped(workspace: Workspace, ref: DraftRef) -> Found | None:
    """The file beside the target that is named like its draft of this number, its bytes kept; None where there is none.

    Raises BadRequest `bad_file` where there are two, or a number that no store counts to, or a deletion that is not empty;
    Refused `not_a_file` for a symlink, say.
    """
    names = workspace.tree.draft_files(ref.target, ref.number)
    if not names:
        return None
    name, parsed = names[0], layout.parse_draft_name(names[0])
    if len(names) > 1 or ref.number >= FAR_NUMBER:
        said = f"{', '.join(names)} have one number" if len(names) > 1 else f"{name}: nothing counts that far"
        raise BadRequest(
            "bad_file", f"{said}: a draft's number is its own", hint=f"mv -- {pasteable(name)} OTHER-NUMBER"
        )
    seen = workspace.kept_sighting(name)
    if parsed is None or seen.content is None:
        raise Refused("not_a_file", f"{name} is no draft: {seen.detail}", hint=f"rm -- {pasteable(name)}", path=name)
    if parsed.delete and seen.content.size:
        said = f"{name} is to propose a deletion, and is not empty"
        raise BadRequest("bad_file", said, hint=f"mv -- {pasteable(name)} {pasteable(name.replace('.delete@', '@'))}")
    return Found(parsed.author, None if parsed.delete else seen.content)
