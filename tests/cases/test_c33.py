"""C33: empty, cut or NUL-filled files, by real commands. (Every file and every hazard, by the API: tests/damage.)"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.damage.lived import HAZARDS
from tests.support import Field, draftfs

FILES = (
    "jobs/0001.yaml",
    "leases/0001.yaml",
    "drafts/docs+spec.md/0001.yaml",
    "counters.yaml",
    "journal",
    "store.yaml",
)


def run(field: Field, who: str, *arguments: str) -> tuple[int, dict]:
    where = field.root if who == "me" else field.worktree(who)
    ran = draftfs(arguments[0], "--json", *arguments[1:], cwd=where, agent=None if who == "me" else who)
    answer = json.loads(ran.out)
    assert answer["ok"] == (ran.status in (0, 6)), ran
    return ran.status, answer


def damaged(status: int, answer: dict) -> str:
    assert (status, answer["error"]["code"], answer["error"]["hint"]) == (8, "damaged", "draftfs doctor --fix")
    return str(answer["error"]["details"]["file"])


@pytest.mark.parametrize(
    ("name", "hazard"),
    [*((name, "half") for name in FILES), ("leases/0001.yaml", "empty"), ("leases/0001.yaml", "NULs")],
)
def test_the_steps_of_the_case(real, name, hazard):
    real.damaged = True
    ann, bob = real.ann, real.bob
    ann.claim(1, seen=1)
    real.put("ann", "docs/spec.md", "v1\n")
    bob.claim(2, seen=1)
    real.me.engine.checkpoint()
    HAZARDS[hazard](real.store / name)

    taken = run(real, "bob", "claim", "--", "docs/spec.md")
    assert taken[1]["ok"] is False
    assert taken[1]["error"]["code"] in ("path_clash", "damaged")
    free = run(real, "bob", "claim", "--", "free.md")
    needed_by_all = name in ("counters.yaml", "journal", "store.yaml")
    if needed_by_all:
        assert damaged(*free) == name
    else:
        assert (free[0], free[1]["data"]["claim"]["epoch"]) == (0, 3)
    (real.worktree("ann") / "docs/spec.md").write_text("v2\n")
    drafted = run(real, "ann", "draft", "docs/spec.md")
    if name in ("jobs/0001.yaml", "drafts/docs+spec.md/0001.yaml"):
        assert (drafted[0], drafted[1]["data"]["drafts"][0]["number"]) == (0, 2)
    elif name != "counters.yaml":
        assert damaged(*drafted) == name

    status, checkup = run(real, "me", "doctor")
    assert status == 6
    assert [each["path"] for each in checkup["data"]["findings"]] == [name]
    shown = draftfs("doctor", "--fix", cwd=real.root)
    assert shown.status == 0, shown
    fixed = [line for line in shown.out.splitlines() if line.startswith("fixed: ")]
    assert any(name in line for line in fixed)
    assert len(list((real.store / "set-aside").iterdir())) >= 1
    assert run(real, "me", "doctor")[0] == 0
    assert (real.root / "docs/spec.md.draft-0001@ann").read_text() == "v1\n"

    status, claimed = run(real, "bob", "claim", "--", "newest.md")
    assert (status, claimed["data"]["claim"]["epoch"]) == (0, 3 if needed_by_all else 4)
    assert claimed["data"]["job"]["id"] == (3 if needed_by_all else 4)


def test_an_empty_cache_or_leftover_is_no_damage(real):
    for name in ("cache/x", "staging/leftover", "counters.yaml.new", "journal.new"):
        path = Path(real.store / name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    assert run(real, "me", "doctor")[0] == 0
    assert run(real, "ann", "claim", "1", "--seen", "1")[0] == 0


# What a commit by bob of ann's path, docs/spec.md, needs: he holds another, so he is refused; the person is warned.
NEEDED = ("leases/0001.yaml", "counters.yaml", "journal", "store.yaml", "admitted/docs+spec.md.yaml")


@pytest.mark.parametrize(
    ("name", "hazard"), [*((name, "half") for name in (*FILES, NEEDED[-1])), ("leases/0001.yaml", "empty")]
)
def test_commits(guarded, name, hazard):
    site = guarded
    site.field.damaged = True
    site.run("ann", "claim", "1", "--seen", "1")
    site.put("ann", "docs/spec.md", "v1\n")
    site.commit("ann", "-a")
    site.run("bob", "claim", "2", "--seen", "1")
    site.field.me.engine.checkpoint()
    HAZARDS[hazard](site.field.store / name)

    site.write("bob", "docs/spec.md", "bob's\n")
    before = site.tip("bob")
    ran = site.git("bob", "commit", "-qam", "x", status=None)
    assert ran.status != 0, ran
    assert site.tip("bob") == before
    assert "draftfs: refused" in ran.err
    if name in NEEDED and name != "leases/0001.yaml":
        assert name in ran.err
        assert "draftfs doctor --fix" in ran.err
    site.git("bob", "checkout", "-q", ".")
    site.write("bob", "free.md", "x\n")
    site.git("bob", "add", "free.md")
    ran = site.git("bob", "commit", "-qm", "free", status=None)
    assert (ran.status == 0) is (name not in ("counters.yaml", "journal", "store.yaml")), ran

    site.write("me", "docs/spec.md", "by hand\n")
    ran = site.git("me", "commit", "-qam", "x")
    assert ran.err.count("draftfs: warning") == 1, ran
    assert draftfs("doctor", "--fix", cwd=site.root).status == 0
    site.write("bob", "a.txt", "bob's\n")
    site.git("bob", "add", "-A")
    site.commit("bob")
