"""What a user means by a range of commits."""

from __future__ import annotations

from draftfs.errors import BadRequest
from draftfs.git import changes
from draftfs.git.people import People


def resolve(cwd: str, text: str | None, people: People) -> tuple[str | None, str]:
    """`A..B` as two commit ids; a single revision as (None, its id), which stands for what people's branches do not have.

    None is HEAD, in the root what its upstream does not have. Raises BadRequest `usage`.
    """
    if text is not None and ".." in text:
        before, _, after = text.partition("..")
        if after.startswith("."):
            raise BadRequest("usage", f"{text!r} has three dots", hint=f"{before or 'HEAD'}..{after[1:] or 'HEAD'}")
        return _commit(cwd, before or "HEAD"), _commit(cwd, after or "HEAD")
    commit = _commit(cwd, text or "HEAD")
    containing = [tip for tip in people.tips if changes.is_ancestor(cwd, commit, tip)]
    rest = [tip for tip in people.tips if tip not in containing]
    if not containing:
        return None, commit
    if text is None and rest:
        return rest[0], commit
    raise BadRequest(
        "usage",
        f"{text or 'HEAD'} is on people's branch: say from where on",
        hint=f"name a range: {text or 'HEAD'}^..{text or 'HEAD'}, say",
    )


def _commit(cwd: str, revision: str) -> str:
    found = None if revision.startswith("-") else changes.peeled(cwd, revision)
    if found is None:
        raise BadRequest("usage", f"{revision!r} names no commit here", hint="git log --oneline --all")
    return found
