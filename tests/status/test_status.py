"""`status` for a person: what waits, who holds what, what is wrong, who lags, what can be claimed; each on its own."""

from __future__ import annotations

import os
import re

import pytest

from draftfs import Store, layout
from draftfs.answers import Checked, Listed
from draftfs.cli.status import _shares
from draftfs.engine.tickets import Queue
from draftfs.records import DraftRef, Waiting
from draftfs.status import survey
from tests.cli.conftest import answer, in_terminal, refusal
from tests.protocol import records
from tests.support import draftfs, git, wait_for


def busy(field):
    """Drafts of two targets, two live claims, one job that has failed, one submitted, two that wait for their turn."""
    field.me.add_job("three", ["three.md"], attempts=1)
    field.me.add_job("after three", ["four.md"], after=[3])
    field.me.add_job("five", ["five.md"])
    field.ann.claim(3, seen=1)
    field.ann.release(failed=True)
    field.ann.claim(1, seen=1, ttl=600)
    field.put("ann", "docs/spec.md", "v1\nmore\n")
    field.bob.claim(2, seen=1)
    field.put("bob", "a.txt", "two\n")
    field.bob.submit()
    field.bob.claim_paths(["kept.md"], ttl=60)


def queued(field, who, job, *paths):
    until = field.clock.now().awake_ns + 30 * 10**9
    return Queue(field.me.engine).join(Waiting(who, None, job, paths, "2027-01-15T08:00:00.000Z", until))


def test_everything_that_waits(field):
    busy(field)
    field.clock.advance(20)
    places = [queued(field, "cy", None, "docs"), queued(field, "dee", None)]
    found = field.me.status()
    for place in places:
        place.close()
    lines = {line.target: line.drafts[0] for line in found.targets}
    assert {name: (each.draft.author, each.added, each.age) for name, each in lines.items()} == {
        "docs/spec.md": ("ann", 2, 20),
        "a.txt": ("bob", 1, 20),
    }
    claims = [(each.job, each.holder, each.expires_in, each.renew_in, each.drafts) for each in found.claims]
    assert claims == [(6, "bob", 40, 0, 0), (1, "ann", 580, 180, 1)], "who is to go first comes first"
    assert [each.waiting for each in found.claims] == [(), ("cy",)]
    assert [(each.who, each.paths, each.expires_in) for each in found.waiting] == [
        ("cy", ("docs",), 30),
        ("dee", (), 30),
    ]
    assert found.jobs == {"open": 2, "claimed": 2, "submitted": 1, "failed": 1}
    assert [line.job.id for line in found.undecided] == [2, 3]
    assert found.ready == (), "job 5 is as good as taken: dee waits for any"
    assert [line.job.id for line in field.me.status().ready] == [5]
    assert (found.next, found.damaged, found.root) == ("draftfs promote", (), str(field.root))


def test_nothing_at_all(field):
    for job in (1, 2):
        field.me.cancel_job(job)
    found = field.me.status()
    assert (found.targets, found.claims, found.jobs) == ((), (), {})
    assert "hooks install" in found.next, "what else was found comes last"
    assert survey(field.me.engine, "", Listed, lambda: Checked(())).next == "draftfs job add TITLE PATH…"


def test_what_is_to_be_done_next(field):
    """A failed job and one that was submitted without a draft need a person."""
    field.ann.claim(1, seen=1)
    field.ann.submit()
    assert field.me.status().next == "draftfs job accept 1"
    field.me.accept_job(1)
    field.me.edit_job(2, title="once")
    for _ in range(3):
        field.ann.claim(2, seen=field.version(2))
        field.ann.release(failed=True)
    assert field.me.status().next == "draftfs job retry 2"


def test_a_job_whose_drafts_were_all_turned_down_needs_a_person(field):
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", "v1\n")
    field.ann.submit()
    field.me.reject([DraftRef("docs/spec.md", 1)], because="no")
    assert field.me.status().next == "draftfs job reject 1 --because TEXT"
    field.me.reject_job(1, because="again, please")
    assert field.me.status().next is not None


def test_readers_that_lag(field):
    field.ann.read()
    field.bob.acknowledge(field.bob.read(mine=True).page)
    before = field.me.status().readers
    field.clock.advance(60)
    field.me.send(["bob"], subject="hello")
    field.clock.advance(5)
    after = {each.reader: each for each in field.me.status().readers}
    assert [(each.reader, each.unread) for each in before] == [("ann", 2)], "handed out is not acknowledged"
    assert {name: (each.unread, each.age, each.more) for name, each in after.items()} == {
        "ann": (3, 65, False),
        "bob": (1, 5, False),
    }
    field.ann.acknowledge(field.ann.read(restart=True).page)
    field.bob.acknowledge(field.bob.read().page)
    assert field.me.status().readers == ()


def test_it_changes_nothing_but_a_lapse(field):
    busy(field)
    before = records(field)
    field.me.status()
    field.ann.my_status()
    assert records(field) == before
    field.clock.advance(61)
    found = field.me.status()
    assert [each.job for each in found.claims] == [1]
    assert field.me.log(limit=1)[0].kind == "claim.lapsed"
    assert [each.kind for each in found.findings if each.kind != "hook"] == ["lapsed"]


def test_a_store_that_changes_meanwhile_is_looked_at_once_more(field):
    """What the store says and what the disk shows are of one moment."""
    store, seen = field.me, []

    def targets():
        seen.append(len(seen))
        if len(seen) == 1:
            field.me.add_job("another", ["x.md"])
        return Listed()

    found = survey(store.engine, "", targets, lambda: Checked(()))
    assert (len(seen), found.jobs) == (2, {"open": 3})

    def restless():
        field.me.add_job("another", ["x.md"])
        return targets()

    survey(store.engine, "", restless, lambda: Checked(()))
    assert len(seen) == 5, "and where it never rests, not for ever"


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("leases/0001.yaml", "claims"),
        ("jobs/0005.yaml", "ready"),
        ("drafts/a.txt/0001.yaml", "targets"),
        ("readers/ann.yaml", "readers"),
        ("counters.yaml", "readers"),
    ],
)
def test_what_is_damaged_is_left_out_and_the_rest_is_told(real, name, missing):
    field = real
    busy(field)
    field.ann.read()
    field.damaged = True
    path = field.store / name
    path.write_bytes(path.read_bytes()[:-20])
    found = field.me.status()
    assert name in {each.path for each in found.damaged}
    assert found.next == "draftfs doctor --fix"
    counts = {"claims": 2, "targets": 2, "ready": 1, "readers": 1}
    told = {what: len(getattr(found, what)) for what in counts}
    assert told[missing] == counts[missing] - 1
    if name != "counters.yaml":
        assert told == {**counts, missing: counts[missing] - 1}
    assert told["targets"] + told["claims"] >= 3


@pytest.mark.parametrize("what", ["a file", "unreadable"])
def test_without_the_queue_the_store_is_told_all_the_same(field, monkeypatch, what):
    field.ann.claim(1, seen=1)
    if what == "a file":
        (field.store / layout.WAITING).write_bytes(b"")
        field.bob.claim(2, seen=1)
    else:
        monkeypatch.setattr(Queue, "ahead", lambda _: os.listdir("/proc/self/status"))
    found, mine = field.me.status(), field.ann.my_status()
    assert (found.claims[0].job, mine.claims[0].job) == (1, 1)
    assert bool(found.damaged) is bool(mine.damaged) is (what == "unreadable")


def test_without_the_root_the_store_is_told_all_the_same(tmp_path, field):
    git("init", "-q", "--bare", "-b", "main", "bare.git", cwd=tmp_path)
    git("push", "-q", str(tmp_path / "bare.git"), "main", cwd=field.root)
    git("worktree", "add", "-q", str(tmp_path / "top"), "main", cwd=tmp_path / "bare.git")
    git("worktree", "add", "-q", str(tmp_path / "wx"), "-b", "wx", cwd=tmp_path / "bare.git")
    Store.init(str(tmp_path / "top"), root=".", clock=field.clock)
    store = field.open(tmp_path / "wx", agent="ann")
    store.add_job("one", ["a.txt"])
    store.claim(1, seen=1)
    (tmp_path / "top").rename(tmp_path / "gone")
    found = store.status()
    assert ([each.job for each in found.claims], found.targets) == ([1], ())
    assert found.damaged
    assert found.damaged[0].repair
    assert [each.job for each in store.my_status().claims] == [1]


def test_the_screen_is_shared_out():
    assert _shares([1, 0, 2], 10) == [1, 0, 2]
    assert _shares([9, 1, 9], 9) == [4, 1, 4]
    assert _shares([5, 5, 5], 1) == [1, 1, 1], "never less than the line that counts them"


SCREEN = """\
drafts    2 drafts for 2 targets
  a.txt.draft-0001@bob         job 2  T  4 B  +1 -1
  docs/spec.md.draft-0001@ann  job 1  T  8 B  +2 -1
claims    2 held
  job 6  bob  T left           kept.md
  job 1  ann  T left  1 draft  docs/spec.md
findings  1 lapsed
  lapsed  long.md  draftfs claim 7 --seen 3
readers   1 behind
  ann  31 unread  the oldest for T
jobs      17 open (16 ready), 2 claimed, 1 submitted, 1 failed
  job 2   submitted  write the text
  job 3   failed     three
  job 5   ready      five
  job 8   ready      piece 0
  job 9   ready      piece 1
  job 10  ready      piece 2
  job 11  ready      piece 3
  job 12  ready      piece 4
  job 13  ready      piece 5
  job 14  ready      piece 6
  and 8 more: draftfs job list
next: draftfs promote
"""


def test_by_the_command_line(real):
    """One screen of 80 by 24 with the prompt; one line per thing in a pipe, and an object."""
    busy(real)
    answer(draftfs("hooks", "install", "--json", cwd=real.root))
    agent = real.agent("cy")
    agent.claim_paths(["long.md"], ttl=1)
    for number in range(14):
        real.me.add_job(f"piece {number}", [f"piece{number}.md"])
    real.ann.read(limit=1)
    wait_for(lambda: real.me.job(7).job.state == "open")
    status, shown = in_terminal("status", cwd=real.root, COLUMNS="80", LINES="24", NO_COLOR="1")
    assert status == 0
    plain = re.sub(r"\b(?:\d+m )?\d+s\b|\b\d+m\b", "T", shown)
    assert re.sub(" +", " ", plain) == re.sub(" +", " ", SCREEN), plain
    assert len(shown.splitlines()) == 23
    assert max(map(len, shown.splitlines())) <= 80
    piped = draftfs("status", cwd=real.root).out.splitlines()
    kinds = [line.split("\t")[0] for line in piped]
    assert (kinds.count("draft"), kinds.count("claim"), kinds.count("job"), kinds[-1]) == (2, 2, 18, "next")
    data = answer(draftfs("status", "--json", cwd=real.root))["status"]
    assert [each["id"] for each in data["undecided"]] == [2, 3]
    own = answer(draftfs("status", "--json", cwd=real.worktree("ann"), agent="ann"))
    assert own["mine"]["claims"][0]["job"] == 1
    assert "status" in answer(draftfs("status", "--all", "--json", cwd=real.worktree("ann"), agent="ann"))
    refusal(draftfs("status", "--all", "--mine", "--json", cwd=real.root), 2, "usage")
