"""C25: an agent's name used as a path."""

from __future__ import annotations

import pytest

from draftfs import Store
from draftfs.errors import BadRequest
from tests.protocol import data, error, refused, run
from tests.support import draftfs, git

BAD = ["../x", "..", ".", "/etc/x", "a/b", "a\\b", "C:x", "", " ", "a" * 65, "a" * 300, "\U0001f4a5", "e\u0301"]
BAD += ["a\nb", "-x", "--help", "%2e%2e", "hand-edit"]


@pytest.mark.parametrize("name", [*BAD, "a\0b"])
def test_the_api_refuses_it(field, name):
    with refused(field, "bad_name") as caught:
        field.open(field.worktree("ann"), agent=name)
    assert "\n" not in caught.value.message
    with refused(field, "bad_name") as caught:
        field.ann.send(["bob", name], "")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", ["../x", "", "a\nb", "--help", "hand-edit"])
def test_the_command_line_refuses_it_first(real, name):
    """Before anything else is looked at: there is no job 9, and 0 is no ttl."""
    where = real.worktree("ann")
    before = sorted(str(path) for path in real.base.rglob("*"))
    ran = draftfs("claim", "9", "--seen", "1", f"--as={name}", "--json", cwd=where)
    assert "\n" not in error(ran, 2, "bad_name")["message"]
    ran = draftfs("claim", "1", "--seen", "1", "--json", cwd=where, agent=name)
    error(ran, 2, "bad_name")
    error(draftfs("send", f"--to={name}", "--subject", "", "--json", cwd=where), 2, "bad_name")
    error(draftfs("read", f"--as={name}", "--after", "x", "--json", cwd=where), 2, "bad_name")
    plain = draftfs("claim", "1", "--seen", "1", f"--as={name}", cwd=where)
    assert plain.err.startswith("error: ")
    assert plain.err.count("\n") == plain.err.count("error: ") + plain.err.count("hint: ")
    assert sorted(str(path) for path in real.base.rglob("*")) == before


@pytest.mark.parametrize("name", ["con", "a" * 64])
def test_odd_names_that_are_fine(real, name):
    where = real.worktree("ann")
    claimed = data(draftfs("claim", "1", "--seen", "1", "--json", cwd=where, agent=name))
    assert claimed["claim"]["holder"] == name
    (where / "docs/spec.md").write_text("v1\n")
    drafted = data(draftfs("draft", "docs/spec.md", "--json", cwd=where, agent=name))
    assert drafted["drafts"][0]["file"] == f"docs/spec.md.draft-0001@{name}"
    assert (real.root / drafted["drafts"][0]["file"]).is_file()
    assert {event.actor for event in real.me.log()[-2:]} == {name}


def test_a_persons_name_is_text_and_never_a_path(real):
    git("config", "user.name", "../x\ny", cwd=real.root)
    data(run(real, "me", "claim", "1", "--seen", "1"))
    (real.root / "docs/spec.md").write_text("mine\n")
    drafted = data(run(real, "me", "draft", "docs/spec.md"))["drafts"][0]
    assert drafted["author"].startswith("_")
    assert "/" not in drafted["author"]
    with pytest.raises(BadRequest):
        Store.open(str(real.root), agent=drafted["author"])
    assert (real.root / drafted["file"]).is_file()
    log = draftfs("log", cwd=real.root)
    assert len(log.out.splitlines()) == len(real.me.log())
    read = data(run(real, "me", "read"))
    assert read["page"].startswith("_..-x-y-")
    assert read["events"][-1]["actor"] == real.me.actor.name
    data(run(real, "me", "ack", read["page"]))
    data(run(real, "me", "submit"))
