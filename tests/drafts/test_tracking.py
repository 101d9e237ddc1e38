"""`drafts.track`: whether git sees drafts; one line of its exclude file, and no byte more."""

from __future__ import annotations

import pytest

from draftfs import EnvironmentFault, Store
from draftfs.engine import fs
from draftfs.git import hooks
from tests.protocol import refused
from tests.support import draftfs, git

LINE = b"*.draft-[0-9][0-9][0-9][0-9]*@*\n"


def exclude(field):
    return field.root / ".git/info/exclude"


def handed_in(field):
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "v1\n")
    field.ann.submit()


def test_on_and_off_again_and_only_our_line(field):
    handed_in(field)
    odd = b"# mine\r\n*.o" + b"\n\xff\n" + LINE + b"last, without an end"
    exclude(field).write_bytes(odd)
    assert git("status", "--short", cwd=field.root) == ""
    field.me.configure("drafts.track", "true")
    assert exclude(field).read_bytes() == odd.replace(LINE, b"")
    assert git("status", "--short", cwd=field.root) == "?? docs/spec.md.draft-0001@ann\n"
    field.me.configure("drafts.track", "true")
    Store.init(str(field.root), clock=field.clock)
    assert LINE not in exclude(field).read_bytes(), "init heeds the setting"
    field.me.configure("drafts.track", "false")
    assert exclude(field).read_bytes() == odd.replace(LINE, b"") + b"\n.draftfs-*\n" + LINE
    assert git("status", "--short", cwd=field.root) == ""
    with refused(field, "agents_cannot_promote"):
        field.ann.configure("drafts.track", "true")
    with refused(field, "usage"):
        field.me.configure("drafts.track", "yes")


def test_a_kill_between_the_setting_and_the_file_is_made_good_by_the_same_command(field, monkeypatch):
    replace = fs.replace_file

    def killed(path, *rest, **more):
        if path.endswith("exclude"):
            raise KeyboardInterrupt
        replace(path, *rest, **more)

    monkeypatch.setattr(fs, "replace_file", killed)
    with pytest.raises(KeyboardInterrupt):
        field.me.configure("drafts.track", "true", receipt="K")
    monkeypatch.setattr(fs, "replace_file", replace)
    assert (field.me.settings()["drafts.track"], LINE in exclude(field).read_bytes()) == ("true", True)
    assert field.me.configure("drafts.track", "true", receipt="K").replayed
    assert LINE not in exclude(field).read_bytes()


def test_drafts_are_committed_like_any_file(real):
    """By a person in the root, and merged by an agent; their paths are not their targets', whoever holds those."""
    hooks.install(str(real.root))
    handed_in(real)
    real.me.configure("drafts.track", "true")
    git("add", "-A", cwd=real.root)
    git("commit", "-qm", "with its draft", cwd=real.root)
    assert "docs/spec.md.draft-0001@ann" in git("ls-files", cwd=real.root)
    real.bob.claim_paths(["docs/spec.md", "docs/other.md"])
    assert draftfs("verify", "HEAD^..HEAD", cwd=real.root).status == 0
    git("merge", "-q", "main", cwd=real.worktree("bob"))
    real.write("bob", "docs/other.md", "bob's\n")
    git("add", "-A", cwd=real.worktree("bob"))
    git("commit", "-qm", "work", cwd=real.worktree("bob"))
    assert (real.worktree("bob") / "docs/spec.md.draft-0001@ann").exists()
    assert real.bob.draft(["docs/other.md"]).drafts[0].number == 1
    real.me.promote(1)
    real.me.tidy()
    assert " D docs/spec.md.draft-0001@ann" in git("status", "--short", cwd=real.root)


def test_where_git_cannot_be_told_the_hint_is_what_mends_it(field):
    exclude(field).unlink()
    exclude(field).mkdir()
    with pytest.raises(EnvironmentFault) as caught:
        field.me.configure("drafts.track", "false")
    assert caught.value.hint == "mend that, then run the same command again"
    exclude(field).rmdir()
    field.me.configure("drafts.track", "false")
    assert exclude(field).read_bytes() == LINE
