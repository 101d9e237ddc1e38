"""C27 (and the texts of C28 and C29): the same string out of the API, the command line's JSON, and the store's file by two
YAML readers."""

from __future__ import annotations

import json
import re

import pytest

from draftfs import BadRequest, NotFound, layout, tokens
from draftfs.codec import to_plain
from draftfs.errors import DraftfsError
from tests.cases.odd_text import NAMES, NO_NAMES, TEXTS, by_two_readers, cli_json, text_of
from tests.damage.lived import edit
from tests.support import draftfs


def test_titles_texts_and_reasons_come_back_as_they_went_in(field):
    me = field.me
    titles = [text for text in TEXTS if text.strip()]
    numbers = [me.add_job(text, ["x.md"], text=text).jobs[0].id for text in titles]
    for number, text in zip(numbers, titles, strict=True):
        record = by_two_readers(field.store / f"jobs/{number:04d}.yaml")
        assert (text_of(record["title"]), text_of(record["text"])) == (text, text)
        me.cancel_job(number, because=text)
        record = by_two_readers(field.store / f"done/{number:04d}.yaml")
        assert text_of(record["because"]) == text
    again = {line.job.id: line.job for line in field.open().jobs(everything=True)}
    assert [again[number].title for number in numbers] == titles
    assert [again[number].because for number in numbers] == titles
    listed = {each["id"]: each for each in cli_json("job", "list", "--all", cwd=field.root)["jobs"]}
    assert [listed[number]["title"] for number in numbers] == titles
    events = cli_json("log", "--limit", "1000", cwd=field.root)["events"]
    assert [each["data"]["title"] for each in events if each["kind"] == "job.added"][2:] == titles
    assert [each["data"]["because"] for each in events if each["kind"] == "job.cancelled"] == titles


def test_notes_and_receipt_keys_come_back_as_they_went_in(field):
    ann = field.ann
    ann.claim(1, seen=1, ttl=3600)
    for number, text in enumerate(TEXTS, 1):
        field.write("ann", "docs/spec.md", f"{number}\n")
        key = f"{text} "
        drafted = ann.draft(["docs/spec.md"], note=text, receipt=key)
        assert (drafted.receipt, drafted.drafts[0].note) == (key, text)
        record = by_two_readers(field.store / f"drafts/docs+spec.md/{number:04d}.yaml")
        assert text_of(record["note"]) == text
        assert ann.receipt(key).answer["drafts"][0]["note"] == text
        with pytest.raises(NotFound):
            ann.receipt(f"{key} ")
    listed = cli_json("ls", "--all", cwd=field.root)["targets"][0]["drafts"]
    assert [each["draft"]["note"] for each in listed] == list(TEXTS)
    shown = draftfs("ls", "--all", cwd=field.root).out
    assert len(shown.splitlines()) == len(TEXTS), "one line a draft, whatever the notes hold"
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]", shown)


def test_messages_come_back_as_they_went_in(field):
    me, texts = field.me, [text for text in TEXTS if len(text) < 1000]
    for number, text in enumerate(texts):
        key = f"message {number}"
        assert me.send(["r"], text, text, receipt=key).subject == text
        record = by_two_readers(field.store / layout.receipt(tokens.digest(key)).name)
        assert text_of(record["answer"]["subject"]) == text
    lines = (field.store / "feed/0000001.jsonl").read_text("ascii").splitlines()[2:]
    page = cli_json("read", "--as", "r", "--limit", "1000", cwd=field.root)["events"][2:]
    api = [to_plain(event) for event in field.open(agent="r").read(limit=1000).events][2:]
    assert [json.loads(line) for line in lines] == page == api
    assert [(each["data"]["subject"], each["data"]["body"]) for each in page] == [(text, text) for text in texts]
    for command in ("log", "read"):
        shown = draftfs(command, "--limit", "1000", "--as", "r", cwd=field.root).out
        assert len(shown.splitlines()) == len(texts) + (3 if command == "read" else 2), "one line an event"
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]", shown)
    sent = cli_json("send", "--to", "r", "--subject", "-", "--body", "--all", "--receipt", "no", cwd=field.root)
    assert (sent["subject"], me.log()[-1].data["body"]) == ("-", "--all")


def test_receipt_keys_are_told_apart_on_the_command_line(field):
    for number, key in enumerate(("no", "007", "7", "1e5", "0e0", "💥"), 3):
        added = cli_json("job", "add", key, "x.md", "--receipt", key, cwd=field.root)
        assert added["jobs"][0]["id"] == number
        assert cli_json("receipt", "show", key, cwd=field.root)["receipt"]["answer"]["jobs"][0]["title"] == key


def test_agents_whose_names_look_like_values_are_fourteen_agents(field):
    for number, name in enumerate(NAMES, 3):
        field.me.add_job(name, [f"f-{name}.md"])
        agent = field.agent(name)
        claimed = agent.claim(number, seen=1)
        field.put(name, f"f-{name}.md", name)
        assert claimed.claim.holder == name
        lease = by_two_readers(field.store / f"leases/{number:04d}.yaml")
        assert lease["holder"] == name
        assert (field.root / f"f-{name}.md.draft-0001@{name}").read_text() == name
    holders = [each["holder"] for each in cli_json("job", "list", cwd=field.root)["jobs"] if each["holder"]]
    assert holders == list(NAMES)
    for name in NO_NAMES:
        with pytest.raises(BadRequest) as refused:
            field.open(agent=name)
        assert refused.value.code == "bad_name"


@pytest.mark.parametrize(
    ("line", "field_name", "says"),
    [
        ("title: no", "jobs.0.title", "expected text, got true/false: quote it"),
        ("title: ok\n    paths: [a, on]", "jobs.0.paths.1", "expected text, got true/false: quote it"),
        ("title: ok\n    paths: [007]", "jobs.0.paths.0", "quote it"),
        ("title: ok\n    paths: [2024-01-01]", "jobs.0.paths.0", "a date"),
        ("title: 7", "jobs.0.title", "expected text, got a number: quote it"),
    ],
)
def test_a_jobs_file_with_bare_values_adds_no_job(field, line, field_name, says):
    text = f"jobs:\n  - {line}\n" + ("" if "paths" in line else "    paths: [a.txt]\n")
    (field.root / "jobs.yaml").write_text(text)
    ran = draftfs("job", "add", "--from", "jobs.yaml", "--json", cwd=field.root)
    error = json.loads(ran.out)["error"]
    assert (ran.status, error["code"]) == (2, "bad_file")
    assert error["details"]["field"] == field_name
    assert error["details"]["line"] == (3 if "paths" in line else 2)
    assert says in error["message"]
    assert len(field.me.jobs()) == 2


@pytest.mark.parametrize("recheck", [False, True], ids=["old checksum", "right checksum"])
def test_a_bare_no_as_holder_is_nobody_and_nothing_is_free(real, recheck):
    real.damaged = True
    real.ann.claim(1, seen=1)
    edit(real.store / "leases/0001.yaml", 'holder: "ann"', "holder: no", recheck=recheck)
    for call in (
        real.ann.renew,
        lambda: real.bob.claim(1, seen=2),
        lambda: real.bob.claim_paths(["docs/spec.md"]),
        lambda: real.bob.claim_paths(["docs"]),
    ):
        with pytest.raises(DraftfsError) as refused:
            call()
        assert (refused.value.code, refused.value.details["file"]) == ("damaged", "leases/0001.yaml")
    ran = draftfs("doctor", "--json", cwd=real.root)
    (finding,) = json.loads(ran.out)["data"]["findings"]
    assert ran.status == 6
    assert finding["message"].startswith("leases/0001.yaml:5: holder: expected text in quotes")
    assert ("checksum" in finding["message"]) == (not recheck)
    fixed = json.loads(draftfs("doctor", "--fix", "--json", cwd=real.root).out)["data"]
    assert fixed["findings"] == []
    assert real.ann.renew().claim.holder == "ann"
