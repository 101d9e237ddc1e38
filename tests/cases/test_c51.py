"""C51: the same key from another agent."""

from __future__ import annotations

from draftfs.records import DraftRef
from tests.protocol import refused
from tests.support import git


def test_the_story(field):
    field.ann.claim(1, seen=1)
    field.bob.claim(2, seen=1)
    field.write("ann", "docs/spec.md", "v1\n")
    field.write("bob", "a.txt", "two\n")
    field.write("bob", "docs/spec.md", "v1\n")
    token = field.ann.worktree.kept()[0].token
    first = field.ann.draft(["docs/spec.md"], receipt="K")
    for call in (
        lambda: field.bob.draft(["a.txt"], receipt="K"),
        lambda: field.bob.draft(["docs/spec.md"], receipt="K"),
        lambda: field.me.promote([DraftRef("docs/spec.md", 1)], receipt="K"),
    ):
        with refused(field, "receipt_mismatch") as caught:
            call()
        told = f"{caught.value.message} {caught.value.hint} {caught.value.details}"
        assert token not in told
        assert "0001" not in told
    again = field.ann.draft(["docs/spec.md"], receipt="K")
    assert (again.replayed, again.drafts) == (True, first.drafts)
    field.ann.release()
    git("worktree", "remove", "--force", str(field.worktree("ann")), cwd=field.root)
    git("branch", "-D", "wa", cwd=field.root)
    field.ann.claim(1, seen=field.version(1))
    field.write("ann", "docs/spec.md", "v1\n")
    with refused(field, "receipt_mismatch"):
        field.ann.draft(["docs/spec.md"], receipt="K")
