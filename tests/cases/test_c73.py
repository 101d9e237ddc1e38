"""C73: the answer and the effect. For every command and every class of answers: exit status, `ok`, code and disk agree.

(Streams that are closed or full, and pending keys: tests/cli.)
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

import pytest

from draftfs import SystemClock
from draftfs.engine import lock
from draftfs.errors import CODES
from draftfs.records import DraftRef
from tests.damage.lived import HAZARDS, Lived, live_in
from tests.protocol import records
from tests.support import GIT_ENVIRONMENT, git

WRITES = {
    "config": ["config", "claim.ttl", "1h"],
    "job add": ["job", "add", "title", "x.md"],
    "job edit": ["job", "edit", "5", "--title", "new"],
    "job retry": ["job", "retry", "5"],
    "job cancel": ["job", "cancel", "5"],
    "job revoke": ["job", "revoke", "1", "--because", "x"],
    "job accept": ["job", "accept", "7"],
    "job reject": ["job", "reject", "7", "--because", "x"],
    "claim": ["claim", "5", "--seen", "1"],
    "claim --next": ["claim", "--next"],
    "claim paths": ["claim", "new.md"],
    "renew": ["renew"],
    "release": ["release"],
    "draft": ["draft", "docs/spec.md"],
    "submit": ["submit"],
    "promote": ["promote", "--yes", "d.txt", "1"],
    "reject": ["reject", "d.txt.draft-0001@cat", "--because", "x"],
}
READS = {
    "job list": ["job", "list", "--all"],
    "job show": ["job", "show", "1"],
    "ls": ["ls", "--all"],
    "diff": ["diff", "d.txt.draft-0001@cat"],
    "log": ["log"],
    "receipt show": ["receipt", "show", "key of ann's claim"],
    "doctor": ["doctor"],
    "config (show)": ["config"],
}
OTHERS = {"init": ["init"], "worktree add": ["worktree", "add", "../new"]}
EVERY = WRITES | READS | OTHERS
WORKERS = {"claim": "eve", "claim --next": "eve", "claim paths": "eve"} | dict.fromkeys(
    ("renew", "release", "draft", "submit"), "ann"
)

REFUSALS = [
    # who, what, status, code
    ("me", ["job", "add", "title", "../x"], 2, "bad_path"),
    ("me", ["job", "add", "title", "x.md", "--after", "99"], 5, "no_job"),
    ("me", ["job", "edit", "5", "--after", "5"], 2, "bad_job"),
    ("me", ["job", "edit", "1", "--title", "x"], 3, "job_not_open"),
    ("me", ["job", "show", "99"], 5, "no_job"),
    ("me", ["job", "retry", "3"], 3, "job_not_open"),
    ("me", ["job", "cancel", "6"], 3, "job_not_open"),
    ("me", ["job", "revoke", "5", "--because", "x"], 3, "job_not_open"),
    ("me", ["job", "accept", "7"], 3, "job_not_open"),
    ("me", ["job", "reject", "5", "--because", "x"], 3, "job_not_open"),
    ("ann", ["job", "cancel", "5"], 3, "agents_cannot_promote"),
    ("ann", ["config", "claim.ttl", "1h"], 3, "agents_cannot_promote"),
    ("me", ["config", "claim.ttl", "0"], 2, "bad_ttl"),
    ("eve", ["claim", "5", "--seen", "9"], 3, "stale_version"),
    ("eve", ["claim", "1", "--seen", "1"], 3, "job_not_open"),
    ("eve", ["claim", "docs"], 3, "path_clash"),
    ("eve", ["claim", "5", "--seen", "1", "--ttl", "25h"], 2, "bad_ttl"),
    ("eve", ["claim", "5", "--seen", "1", "--as", "a/b"], 2, "bad_name"),
    ("eve", ["claim", "5", "--seen", "1", "--receipt", "key of ann's claim"], 3, "receipt_mismatch"),
    ("eve", ["claim", "99", "--seen", "1"], 5, "no_job"),
    ("ann", ["claim", "5", "--seen", "1", "--as", "bob"], 3, "worktree_held"),
    ("eve", ["renew"], 3, "no_token"),
    ("eve", ["renew", "--job", "1", "--token", "1.x"], 4, "fenced"),
    ("eve", ["release", "--job", "1", "--token", "1.x"], 4, "fenced"),
    ("eve", ["submit", "--job", "1", "--token", "1.x"], 4, "fenced"),
    ("eve", ["draft", "docs/spec.md", "--job", "1", "--token", "1.x"], 4, "fenced"),
    ("cat", ["renew"], 4, "fenced"),
    ("ann", ["draft", "a.txt"], 3, "not_covered"),
    ("ann", ["draft", "docs/spec.md", "--from", "missing"], 2, "bad_file"),
    ("me", ["promote", "--yes", "d.txt", "9"], 5, "no_draft"),
    ("ann", ["promote", "--yes", "d.txt", "1"], 3, "agents_cannot_promote"),
    ("me", ["reject", "d.txt.draft-0009@cat", "--because", "x"], 5, "no_draft"),
    ("me", ["reject", "b.txt.draft-0001@cat", "--because", "x"], 3, "job_not_open"),
    ("me", ["diff", "d.txt.draft-0009@cat"], 5, "no_draft"),
    ("me", ["ls", "../x"], 2, "bad_path"),
    ("me", ["receipt", "show", "nobody's"], 5, "no_receipt"),
    ("me", ["promote", "--yes", "a.txt.draft-0001@bob", "docs/spec.md.draft-0009@ann"], 5, "no_draft"),
]


@pytest.fixture(scope="module")
def _once(tmp_path_factory) -> Lived:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in GIT_ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.delenv("DRAFTFS_AGENT", raising=False)
        return live_in(tmp_path_factory.mktemp("c73"), SystemClock())


@pytest.fixture
def place(_once) -> Lived:
    _once.reset()
    return _once


def run(where: str | os.PathLike[str], who: str, arguments: list[str]) -> tuple[int, dict]:
    """The real program in a process of its own: forked, for a new interpreter would take most of the time."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            status = 99
            try:
                os.chdir(where)
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                if who != "me":
                    os.environ["DRAFTFS_AGENT"] = who
                from draftfs.cli import main

                status = main([arguments[0], "--json", *arguments[1:]])
            finally:
                sys.stderr.flush()
                os._exit(status)
        _, waited = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        text = out.read()
        assert b"Traceback" not in text + err.read()
        assert text.count(b"\n") == 1, "one object, on one line"
        answer = json.loads(text)
    status = os.waitstatus_to_exitcode(waited)
    assert set(answer) == {"schema", "ok", "data" if answer["ok"] else "error"}
    assert answer["ok"] == (status in (0, 6)), (status, answer)
    if not answer["ok"]:
        error = answer["error"]
        assert set(error) == {"code", "message", "hint", "retryable", "details"}
        assert CODES[error["code"]].exit_status == status
        assert error["retryable"] == (status == 7)
        assert error["hint"] or status == 2
    return status, answer


def ask(place: Lived, who: str, arguments: list[str]) -> tuple[int, dict]:
    return run(place.field.root if who == "me" else place.field.worktree(who), who, arguments)


def refused(place: Lived, who: str, arguments: list[str], status: int, code: str) -> None:
    before = records(place.field)
    done, answer = ask(place, who, arguments)
    assert (done, answer["ok"] or answer["error"]["code"]) == (status, code), (arguments, answer)
    assert records(place.field) == before, arguments


@pytest.mark.parametrize(("who", "arguments", "status", "code"), REFUSALS, ids=lambda each: str(each)[:60])
def test_a_refusal_changes_nothing(place, who, arguments, status, code):
    refused(place, who, arguments, status, code)


@pytest.mark.parametrize("name", EVERY)
def test_2_an_unknown_option(place, name):
    refused(place, "me", [*EVERY[name], "--no-such-option"], 2, "usage")


@pytest.mark.parametrize("name", EVERY)
def test_2_a_name_that_is_none(place, name):
    refused(place, "me", [*EVERY[name], "--as", "../x"], 2, "bad_name")


@pytest.mark.parametrize("name", [name for name in EVERY if name != "init"])
def test_5_no_store(tmp_path, name):
    git("init", "-q", cwd=tmp_path)
    before = sorted(tmp_path.rglob("*"))
    status, answer = run(tmp_path, "me", EVERY[name])
    assert (status, answer["error"]["code"]) == (5, "no_store")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", WRITES)
def test_7_busy(place, name):
    with lock.exclusive(str(place.store / "lock"), 1):
        refused(place, WORKERS.get(name, "me"), [*WRITES[name], "--lock-wait", "0"], 7, "busy")


@pytest.mark.parametrize("name", READS)
def test_0_a_look_waits_for_nobody(place, name):
    with lock.exclusive(str(place.store / "lock"), 1):
        before = records(place.field)
        assert ask(place, "me", READS[name])[0] == 0
        assert records(place.field) == before


@pytest.mark.parametrize("name", EVERY)
def test_8_damaged(place, name):
    place.me.engine.checkpoint()
    HAZARDS["half"](place.store / "store.yaml")
    before = records(place.field)
    status, answer = ask(place, WORKERS.get(name, "me"), EVERY[name])
    if name == "doctor":
        assert (status, [each["path"] for each in answer["data"]["findings"]]) == (6, ["store.yaml"])
    else:
        assert (status, answer["error"]["code"]) == (8, "damaged")
    assert records(place.field) == before


@pytest.mark.parametrize("name", READS)
def test_0_a_look_says_what_is_there_and_changes_nothing(place, name):
    before = records(place.field)
    status, answer = ask(place, "me", READS[name])
    assert status == 0
    assert records(place.field) == before
    data = answer["data"]
    if name == "job list":
        assert {each["id"]: each["state"] for each in data["jobs"]} == {
            line.job.id: line.job.state for line in place.me.jobs(everything=True)
        }
    elif name == "log":
        assert [each["position"] for each in data["events"]] == list(range(1, place.highest()[2] + 1))
    elif name == "doctor":
        assert all(data["checks"].values())


EFFECTS = {
    "config": lambda place, data: place.me.settings()[data["key"]] == data["value"] == "1h",
    "job add": lambda place, data: place.me.job(data["jobs"][0]["id"]).job.title == "title",
    "job edit": lambda place, data: place.me.job(5).job.title == data["job"]["title"] == "new",
    "job retry": lambda place, data: place.me.job(5).job.attempts.max == data["job"]["attempts"]["max"] == 4,
    "job cancel": lambda place, data: (place.store / "done/0005.yaml").exists() and data["job"]["state"] == "cancelled",
    "job revoke": lambda place, data: (
        not (place.store / "leases/0001.yaml").exists() and data["job"]["state"] == "open"
    ),
    "job reject": lambda place, data: place.me.job(7).job.state == data["job"]["state"] == "open",
    "claim": lambda place, data: place.me.job(5).job.epoch == data["claim"]["epoch"] == 6,
    "claim --next": lambda place, data: place.me.job(data["job"]["id"]).job.holder == "eve",
    "claim paths": lambda place, data: place.me.job(8).job.paths == ("new.md",) == tuple(data["claim"]["paths"]),
    "renew": lambda _, data: 1700 < data["claim"]["expires_in"] <= 1800,
    "release": lambda place, data: place.me.job(1).job.state == data["job"]["state"] == "open",
    "draft": lambda place, data: (place.field.root / data["drafts"][0]["file"]).read_text() == "second\n",
    "submit": lambda place, data: place.me.job(1).job.state == data["job"]["state"] == "submitted",
    "promote": lambda place, data: (place.field.root / "d.txt").read_text() == "d by cat\n" and data["accepted"] == [7],
    "reject": lambda place, data: place.me.ls(["d.txt"]) == () and data["drafts"][0]["state"] == "rejected",
}


@pytest.mark.parametrize("name", EFFECTS)
def test_0_done_is_done_once_and_a_replay_says_so(place, name):
    who, arguments = WORKERS.get(name, "me"), [*WRITES[name], "--receipt", f"key of {name}"]
    status, answer = ask(place, who, arguments)
    assert status == 0, answer
    assert answer["data"]["replayed"] is False
    assert EFFECTS[name](place, answer["data"])
    before = records(place.field)
    status, again = ask(place, who, arguments)
    assert (status, again["data"]["replayed"]) == (0, True), again
    assert records(place.field) == before
    moving = {"replayed", "standing", "claim", "drafts"}
    assert {key: each for key, each in again["data"].items() if key not in moving} == {
        key: each for key, each in answer["data"].items() if key not in moving
    }
    assert not place.me.doctor().findings


def test_all_or_none_of_several(place):
    refused(place, "me", ["reject", "d.txt.draft-0001@cat", "d.txt.draft-0002@cat", "--because", "x"], 5, "no_draft")
    refused(place, "ann", ["draft", "docs/spec.md", "a.txt"], 3, "not_covered")
    assert place.me.ls(["d.txt"])[0].drafts[0].draft.state == "waiting"
    assert place.me.sides(DraftRef("d.txt", 1)).after is not None
