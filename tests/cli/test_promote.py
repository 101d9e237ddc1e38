"""`diff`, `promote` and what a person is shown before choosing."""

from __future__ import annotations

import hashlib
import os
import re

from tests.cli.conftest import answer, asking, in_terminal, read_until, refusal


def test_diff_goes_against_the_target_the_base_or_another_draft(place):
    draft = place.drafted()
    (place.wa / "docs/spec.md").write_text("v2\n")
    place.ann("draft", "docs/spec.md")
    (place.root / "docs/spec.md").write_text("moved\n")
    against = place.me("diff", draft["file"])
    assert against.out == f"--- docs/spec.md\n+++ {draft['file']}\n@@ -1 +1 @@\n-moved\n+v1\n"
    assert "-v0\n+v1\n" in place.me("diff", "docs/spec.md", "1", "--base").out
    both = place.me("diff", draft["file"], "docs/spec.md.draft-0002@ann")
    assert "-v1\n+v2\n" in both.out
    (place.root / "docs/spec.md").write_text("v1\n")
    same = place.me("diff", draft["file"])
    assert (same.status, same.out) == (0, "")
    data = answer(place.me("diff", draft["file"], "--json"))
    assert data["diff"] == ""
    assert data["before"]["sha256"] == data["after"]["sha256"] == hashlib.sha256(b"v1\n").hexdigest()


def test_diff_of_binary_content_is_told_by_size(place):
    place.claimed()
    (place.wa / "docs/spec.md").write_bytes(bytes(range(256)) * 8)
    place.ann("draft", "docs/spec.md")
    old, new = (hashlib.sha256(data).hexdigest()[:12] for data in (b"v0\n", bytes(range(256)) * 8))
    assert place.me("diff", "docs/spec.md", "1").out == (
        f"binary: docs/spec.md (3 B, {old}) and docs/spec.md.draft-0001@ann (2.0 kB, {new}) differ\n"
    )
    data = answer(place.me("diff", "docs/spec.md", "1", "--json"))
    assert (data["diff"], data["after"]["size"]) == (None, 2048)


def test_diff_of_new_and_deleted_files(place):
    place.ann("claim", "new.md", "a.txt")
    (place.wa / "new.md").write_text("new\n")
    place.ann("draft", "new.md")
    place.ann("draft", "a.txt", "--delete")
    assert "\n--- /dev/null\n+++ new.md.draft-0001@ann\n" in place.me("diff", "new.md", "1").out
    assert "+++ /dev/null\n" in place.me("diff", "a.txt", "1").out


def test_what_a_draft_holds_cannot_steer_the_terminal(place):
    place.claimed()
    (place.wa / "docs/spec.md").write_bytes(b"\x1b]0;owned\x07\tok\xff\n")
    place.ann("draft", "docs/spec.md")
    _, shown = in_terminal("diff", "docs/spec.md", "1", "--color", "never", cwd=place.root)
    assert "\x1b" not in shown
    assert "+\\x1b]0;owned\\x07\tok\\xff" in shown
    _, coloured = in_terminal("diff", "docs/spec.md", "1", cwd=place.root)
    assert "\x1b[32m+\\x1b]0;owned" in coloured
    assert "+\x1b]0;owned\x07\tok\udcff\n" in place.me("diff", "docs/spec.md", "1").out


def test_the_pager_is_gits_and_only_on_a_terminal(place):
    place.submitted()
    status, shown = in_terminal("diff", "docs/spec.md", "1", cwd=place.root, GIT_PAGER="sed 's/^/paged /'")
    assert status == 0
    assert "paged +v1" in shown.replace("\x1b[32m", "")
    assert "paged" not in place.me("diff", "docs/spec.md", "1", GIT_PAGER="sed 's/^/paged /'").out
    assert "+v1" in in_terminal("diff", "docs/spec.md", "1", cwd=place.root, GIT_PAGER="no-such-pager")[1]
    (place.root / "docs/spec.md").write_text("v1\n")
    assert "is no different from docs/spec.md\n" in in_terminal("diff", "docs/spec.md", "1", cwd=place.root)[1]


def test_promote_takes_files_numbers_or_a_job(place):
    draft = place.submitted()
    done = answer(place.me("promote", "--job", "1", "--json"))
    assert done["promoted"][0] | {"kept": None} == {
        "target": "docs/spec.md",
        "number": 1,
        "sha256": draft["sha256"],
        "previous_sha256": draft["base_sha256"],
        "kept": None,
        "replaced": None,
        "changed": True,
        "other_names": 0,
    }
    assert done["accepted"] == [1]
    assert (place.root / "docs/spec.md").read_text() == "v1\n"
    assert "holds draft 1 already" in place.me("promote", draft["file"]).out


def test_one_bad_name_promotes_nothing(place):
    place.submitted()
    bad = place.me("promote", "docs/spec.md.draft-0001@ann", "a.txt.draft-0009@bob", "--json")
    refusal(bad, 5, "no_draft")
    assert (place.root / "docs/spec.md").read_text() == "v0\n"


def test_a_target_that_moved_on_is_not_undone_unless_told_to(place):
    place.submitted()
    (place.root / "docs/spec.md").write_text("by hand\n")
    refusal(place.me("promote", "docs/spec.md", "1", "--json"), 3, "target_moved")
    kept = answer(place.me("promote", "docs/spec.md", "1", "--force", "--json"))["promoted"][0]["kept"]
    assert (place.root / kept).read_text() == "by hand\n"


def test_a_dry_run_shows_everything_and_changes_nothing(place):
    place.submitted()
    shown = place.me("promote", "--job", "1", "--dry-run")
    assert shown.status == 0
    assert re.match("docs/spec.md: draft 1, \\+1 -1\njob 1: accepted\nplan [0-9a-f]{16}\n--- docs/spec.md\n", shown.out)
    data = answer(place.me("promote", "--job", "1", "--dry-run", "--json"))
    assert (data["dry_run"], data["accepted"], data["promoted"][0]["number"]) == (True, [1], 1)
    assert "+v1" in data["diffs"][0]["diff"]
    assert (place.root / "docs/spec.md").read_text() == "v0\n"
    assert answer(place.me("job", "show", "1", "--json"))["job"]["state"] == "submitted"


def test_on_a_terminal_it_shows_what_will_change_and_asks(place):
    place.submitted()
    (place.wa / "docs/spec.md").chmod(0o755)
    status, shown = in_terminal("promote", "docs/spec.md", "1", cwd=place.root, typed=b"n\n")
    assert "docs/spec.md: draft 1, +1 -1" in shown
    assert "Promote? [y/N]" in shown
    assert (status, "nothing was promoted" in shown) == (2, True)
    assert (place.root / "docs/spec.md").read_text() == "v0\n"
    assert in_terminal("promote", "docs/spec.md", "1", cwd=place.root, typed=b"\x04")[0] == 2
    status, shown = in_terminal("promote", "docs/spec.md", "1", cwd=place.root, typed=b"y\n")
    assert (status, "docs/spec.md holds draft 1 now" in shown) == (0, True)
    assert (place.root / "docs/spec.md").read_text() == "v1\n"


def test_yes_and_json_do_not_ask(place):
    place.submitted()
    status, shown = in_terminal("promote", "docs/spec.md", "1", "--yes", cwd=place.root)
    assert (status, "Promote?" in shown) == (0, False)
    status, shown = in_terminal("promote", "docs/spec.md", "1", "--json", cwd=place.root)
    assert (status, "Promote?" in shown) == (0, False)


def test_a_change_of_mode_is_shown_before(place):
    place.claimed()
    (place.wa / "docs/spec.md").chmod(0o755)
    place.ann("draft", "docs/spec.md")
    assert "executable bit changes" in place.me("promote", "docs/spec.md", "1", "--dry-run").out


def test_without_a_draft_a_terminal_lists_those_that_wait(place):
    place.submitted()
    (place.root / "a.txt.draft-0004@zed").write_text("dropped\n")
    off = place.me("promote")
    assert (off.status, "only on a terminal" in off.err, "hint: draftfs ls" in off.err) == (2, True, True)
    refusal(place.me("promote", "--json"), 2, "usage")
    for typed, said in ((b"\n", "nothing was promoted"), (b"7\n", "'7' is none of the numbers"), (b"\x04", "nothing")):
        status, shown = in_terminal("promote", cwd=place.root, typed=typed)
        assert (status, said in shown) == (2, True)
    assert re.search(r"\d\)  docs/spec.md.draft-0001@ann +job 1 +\d+s  \+1 -1\n", shown)
    listed = re.search(r"(\d)\)  docs/spec.md.draft-0001@ann", shown)
    assert listed
    status, shown = in_terminal("promote", cwd=place.root, typed=listed[1].encode() + b"\ny\n")
    assert (status, "docs/spec.md holds draft 1 now" in shown) == (0, True)
    assert (place.root / "docs/spec.md").read_text() == "v1\n"
    status, shown = in_terminal("promote", "--undo", "docs/spec.md", cwd=place.root, typed=b"y\n")
    assert (status, "Undo? [y/N]" in shown, "what draft 1 replaced, +1 -1" in shown) == (0, True, True)
    assert (place.root / "docs/spec.md").read_text() == "v0\n"


def test_the_yes_counts_for_what_was_shown(place):
    """Somebody saves while the question stands there."""
    place.submitted()
    leader, process = asking("promote", "docs/spec.md", "1", "--force", cwd=place.root)
    shown = read_until(leader, b"[y/N] ")
    (place.root / "docs/spec.md").write_text("by hand\n")
    os.write(leader, b"y\n")
    shown += read_until(leader, None)
    os.close(leader)
    assert (process.wait(), b"this is not what was planned" in shown) == (3, True)
    assert (place.root / "docs/spec.md").read_text() == "by hand\n"


def test_options_that_make_no_sense_together(still):
    for options in (("--undo",), ("--dry-run", "--commit", "a.txt", "1"), ("--message", "x", "a.txt", "1")):
        refusal(still.me("promote", *options, "--json"), 2, "usage")


def test_regenerate(place):
    place.submitted()
    place.me("promote", "docs/spec.md", "1")
    (place.root / "docs/spec.md").write_text("by hand\n")
    dry = place.me("regenerate", "--dry-run").out
    assert dry == "docs/spec.md would hold draft 1 again, your edit is kept as a draft\n"
    done = answer(place.me("regenerate", "--json"))["regenerated"]
    assert [(each["target"], each["kept"]) for each in done] == [("docs/spec.md", "docs/spec.md.draft-0002@hand-edit")]
    assert place.me("regenerate", "docs").out == "every target holds what was chosen\n"
