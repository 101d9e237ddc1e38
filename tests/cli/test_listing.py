"""`ls`, `job list` and `log`: a page for people on a terminal, stable columns in a pipe."""

from __future__ import annotations

import re

from tests.cli.conftest import answer, in_terminal
from tests.support import draftfs


def test_ls_on_a_terminal_is_a_listing(place):
    place.submitted()
    status, shown = in_terminal("ls", cwd=place.root)
    assert status == 0
    assert re.fullmatch(
        r"docs/spec\.md\n  docs/spec\.md\.draft-0001@ann  job 1  \ds  3 B  \+1 -1  first try\n", shown
    ), shown


def test_ls_in_a_pipe_has_one_line_per_draft(place):
    place.submitted()
    (row,) = place.me("ls").out.splitlines()
    cells = row.split("\t")
    assert cells[:5] == ["docs/spec.md.draft-0001@ann", "docs/spec.md", "1", "ann", "1"]
    assert cells[6:] == ["3", "1", "1", "", "waiting", "first try"]
    assert cells[5].isdigit()
    data = answer(place.me("ls", "--json"))["targets"][0]
    assert (data["target"], data["chosen"], data["stale"]) == ("docs/spec.md", None, False)
    assert set(data["drafts"][0]) == {"draft", "age", "added", "removed", "flags"}


def test_names_in_ls_can_be_typed_where_the_caller_stands(place):
    place.submitted()
    (row,) = draftfs("ls", cwd=place.root / "docs").out.splitlines()
    file = row.split("\t")[0]
    assert file == "spec.md.draft-0001@ann"
    assert "+v1" in draftfs("diff", file, cwd=place.root / "docs").out
    assert draftfs("promote", file, cwd=place.root / "docs").status == 0


def test_what_is_chosen_and_stale(place):
    place.submitted()
    place.me("promote", "docs/spec.md", "1")
    (place.root / "docs/spec.md").write_text("by hand\n")
    _, shown = in_terminal("ls", "--all", "--color", "never", cwd=place.root)
    assert shown.startswith("docs/spec.md  chosen: 1 by ann, stale: the file no longer holds it\n")
    assert "promoted" in shown


def test_nothing_waits(still):
    assert still.me("ls").out == ""
    status, shown = in_terminal("ls", cwd=still.root)
    assert (status, shown) == (0, "no draft waits\nnext: draftfs job list\n")


def test_ls_takes_paths(place):
    place.submitted()
    assert place.me("ls", "a.txt").out == ""
    assert place.me("ls", "docs").out.count("\n") == 1


def test_jobs_on_a_terminal_and_in_a_pipe(place):
    place.claimed()
    place.me("job", "add", "last", "x.md", "--after", "1,2", "--after", "2")
    _, shown = in_terminal("job", "list", cwd=place.root)
    header, first, second, third = shown.splitlines()
    assert header.split() == ["job", "state", "version", "tried", "held", "by", "waits", "for", "title", "paths"]
    assert "ann, 29m" in first
    assert "write the text" in second
    assert "job 1" in third
    rows = [line.split("\t") for line in place.me("job", "list").out.splitlines()]
    assert [row[:5] for row in rows] == [
        ["1", "claimed", "2", "1/3", "ann"],
        ["2", "open", "1", "0/3", ""],
        ["3", "open", "1", "0/3", ""],
    ]
    assert rows[2][6] == "1,2"
    assert rows[0][8:] == ["write the spec", "docs/spec.md"]


def test_job_list_and_show_have_what_blocks_a_job(place):
    place.me("job", "add", "last", "x.md", "--after", "1")
    job = answer(place.me("job", "show", "3", "--json"))["job"]
    assert job["blocked_by"]
    assert {"blocked_by", "expires_in", "expires_at", "id", "title", "version"} <= set(job)
    assert answer(place.me("job", "list", "--json"))["jobs"][2] == job
    assert "blocked" in place.me("job", "show", "3").out


def test_the_log_tells_every_kind_of_event_in_words(place):
    place.submitted()
    place.me("job", "reject", "1", "--because", "not yet")
    place.me("job", "edit", "1", "--title", "new title")
    place.me("job", "retry", "1")
    version = answer(place.me("job", "show", "1", "--json"))["job"]["version"]
    place.ann("claim", "1", "--seen", str(version), "--adopt")
    place.ann("renew", "--ttl", "90m")
    place.ann("release", "--failed", "--note", "cannot")
    place.me("job", "cancel", "2")
    place.me("config", "claim.ttl", "1h")
    rows = [line.split("\t") for line in place.me("log").out.splitlines()]
    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
    told = [row[3] for row in rows]
    assert not [sentence for sentence in told if re.match(r"[a-z]+\.[a-z]+", sentence)]
    assert "turned job 1 down: not yet" in told
    assert "renewed the claim of job 1 for 1h 30m" in told
    assert "gave up on job 1: cannot" in told
    assert "set claim.ttl to 1h" in told
    assert [row[0] for row in (line.split("\t") for line in place.me("log", "--limit", "2").out.splitlines())] == [
        row[0] for row in rows[-2:]
    ]
    events = answer(place.me("log", "--after", "2", "--limit", "1", "--json"))["events"]
    assert [event["position"] for event in events] == [3]
    shown = in_terminal("log", "--color", "never", cwd=place.root)[1]
    assert re.match(r"\d{4}-\d\d-\d\d\n", shown), "under the days on which it happened"
    assert len(re.findall(r"^ *\d+  \d\d:\d\d:\d\d  ", shown, re.MULTILINE)) == len(rows)
