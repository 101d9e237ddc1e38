"""Streams that are closed, full, cut off, or of another encoding (C73)."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.conftest import PROGRAM, answer, environment, refusal


def shell(place, script: str, *, agent: str | None = None, cwd=None, **more: str) -> subprocess.CompletedProcess[str]:
    """`$D` is the program."""
    settings = environment(agent, D=" ".join(PROGRAM), **more)
    return subprocess.run(
        ["bash", "-c", script],
        cwd=cwd or place.root,
        env=settings,
        capture_output=True,
        errors="surrogateescape",
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("sink", [">&-", ">/dev/full", "| (exec 1<&-; exec 0<&-; sleep 0.1); exit ${PIPESTATUS[0]}"])
@pytest.mark.parametrize("form", ["", "--json"])
def test_a_change_whose_answer_nobody_could_read_is_8_and_comes_back(place, sink, form):
    waits = "sleep 0.5; " if sink.startswith("|") else ""
    add = f"$D job add t x.md {form}"
    cut = shell(place, f"({waits}exec {add}) {sink}")
    assert cut.returncode == 8, cut.stderr
    assert "Traceback" not in cut.stderr
    assert "the change was made" in cut.stderr
    again = answer(place.me("job", "add", "t", "x.md", "--json"))
    assert (again["replayed"], again["jobs"][0]["id"]) == (True, 3)
    new = answer(place.me("job", "add", "t", "x.md", "--json"))
    assert (new["replayed"], new["jobs"][0]["id"]) == (False, 4)


def test_the_token_of_a_claim_whose_answer_was_lost(place):
    assert shell(place, "$D claim 1 --seen 1 --receipt K >&-", agent="ann", cwd=place.wa).returncode == 8
    data = answer(place.ann("claim", "1", "--seen", "1", "--receipt", "K", "--json"))
    assert (data["replayed"], data["standing"], data["job"]["attempts"]["used"]) == (True, "live", 1)


def test_reading_into_nowhere(place):
    place.submitted()
    full = shell(place, "$D ls >/dev/full")
    assert full.returncode == 8
    assert "could not be written" in full.stderr
    assert shell(place, "$D ls >&-").returncode == 8


def test_a_reader_who_has_seen_enough_is_no_failure(place):
    for number in range(40):
        place.field.me.add_job(f"{'x' * 4000}{number}", ["x.md"])
    seen = shell(place, "set -o pipefail; $D job list | head -1")
    assert (seen.returncode, seen.stderr, seen.stdout.count("\n")) == (0, "", 1)
    closed = shell(place, "(sleep 0.5; exec $D job list) | true; exit ${PIPESTATUS[0]}")
    assert (closed.returncode, closed.stderr) == (0, "")


def test_a_refusal_keeps_its_status_without_an_output(still):
    for sink in (">&-", ">/dev/full"):
        lost = shell(still, f"$D job show 99 --json {sink}")
        assert lost.returncode == 5
        assert "Traceback" not in lost.stderr
    assert shell(still, "$D job show 99 >&- 2>&-").returncode == 5


def test_closed_standard_error_changes_nothing(place):
    done = shell(place, "$D job add t x.md --json 2>&-")
    assert json.loads(done.stdout)["ok"] is True
    assert shell(place, "$D job show 99 2>&-").returncode == 5
    assert shell(place, "$D job show 99 2>/dev/full").returncode == 5


def test_closed_standard_input_is_no_empty_file(place):
    place.claimed()
    closed = shell(place, "$D draft docs/spec.md --from - --json <&-", agent="ann", cwd=place.wa)
    assert json.loads(closed.stdout)["error"]["code"] == "bad_file"
    piped = shell(place, "printf piped | $D draft docs/spec.md --from - --json", agent="ann", cwd=place.wa)
    assert json.loads(piped.stdout)["data"]["drafts"][0]["size"] == 5


def test_no_file_of_ours_takes_the_place_of_a_closed_stream(place):
    assert shell(place, "$D job add t x.md >&- 2>&- <&-").returncode == 8
    assert len(answer(place.me("job", "list", "--json"))["jobs"]) == 3


NAMES = [
    "café.md",
    "sp ace.md",
    'a"b.md',
    "a\\b.md",
    "nl\nx.md",
    "tab\t.md",
    "bad\udcff.md",
    " lead.md",
    "trail .md",
    "a b/ b/c.md",
]


@pytest.mark.parametrize(
    "setting",
    [{"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}],
    ids=["C", "UTF-8", "ascii"],
)
def test_odd_names_in_any_locale(place, setting):
    claimed = answer(place.ann("claim", "--json", "--", *NAMES, **setting))
    assert claimed["claim"]["paths"] == sorted(NAMES)
    for name in NAMES:
        (place.wa / name).parent.mkdir(parents=True, exist_ok=True)
        (place.wa / name).write_bytes(b"new\n")
    drafts = answer(place.ann("draft", "--json", "--", *NAMES, **setting))["drafts"]
    assert {draft["target"] for draft in drafts} == set(NAMES)
    listed = answer(place.me("ls", "--json", **setting))["targets"]
    assert sorted(target["target"] for target in listed) == sorted(NAMES)
    pipe = place.me("ls", **setting)
    assert (pipe.status, pipe.out.count("\n")) == (0, len(NAMES))
    assert "bad\udcff.md.draft-0001@ann" in pipe.out, "the byte itself, for the next command in the pipe"
    assert "nl\\x0ax.md" in pipe.out
    for file in (draft["file"] for draft in drafts):
        assert "+new" in answer(place.me("diff", "--json", "--", file, **setting))["diff"]
    held = place.bob("claim", "--", *NAMES, **setting)
    assert (held.status, held.err.count("\n")) == (3, 2)


def test_control_characters_never_reach_a_reader(place):
    note = "\x1b[31mred\x07\x7f\x85\u2028\u202e\ufeff\r\n\t💥 \udcff"
    place.claimed()
    (place.wa / "docs/spec.md").write_text("v1\n")
    answer(place.ann("draft", "docs/spec.md", "--note", note, "--json"))
    assert answer(place.me("ls", "--json"))["targets"][0]["drafts"][0]["draft"]["note"] == note
    shown = place.me("ls").out
    assert shown.endswith("\\x1b[31mred\\x07\\x7f\\x85\\u2028\\u202e\\ufeff\\x0d\\x0a\\x09💥 \udcff\n")
    title = answer(place.me("job", "add", "a\x1b]0;b\x07\nc", "x.md", "--json"))["jobs"][0]
    assert title["title"] == "a\x1b]0;b\x07\nc"
    for command in (("job", "list"), ("job", "show", str(title["id"])), ("log",)):
        ran = place.me(*command)
        assert "a\\x1b]0;b\\x07\\x0ac" in ran.out
        assert "\x1b" not in ran.out


TEXTS = ["no", "007", "null", "1e3", "- x", "a: b", "#x", " lead", "trail ", "''", '"', "*a", "!x", "|", "{"]


def test_texts_come_back_as_they_were(place):
    for text in TEXTS:
        added = place.me("job", "add", "--json", "--text", text, "--receipt", text, "--", text, "x.md")
        number = answer(added)["jobs"][0]["id"]
        job = answer(place.me("job", "show", str(number), "--json"))["job"]
        assert (job["title"], job["text"]) == (text, text)
        assert answer(place.me("receipt", "show", "--json", "--", text))["receipt"]["operation"] == "job add"


def test_progress_is_only_for_terminals(place):
    place.claimed()
    (place.wa / "docs/spec.md").write_bytes(b"x" * (8 << 20))
    ran = place.ann("draft", "docs/spec.md")
    assert (ran.status, ran.err) == (0, "")


def test_the_status_of_a_process_that_dies_is_not_ours(still):
    """`python -m draftfs` and `draftfs.cli.main` give the same."""
    driver = "import sys; from draftfs.cli import main; sys.exit(main(['job', 'show', '99', '--json']))"
    done = subprocess.run(
        [sys.executable, "-c", driver], cwd=still.root, env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (5, still.me("job", "show", "99", "--json").out)
    refusal(still.me("job", "show", "99", "--json"), 5, "no_job")
