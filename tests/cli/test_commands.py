"""Each command on its own: what it answers, and what its flags do."""

from __future__ import annotations

import os
import subprocess

from tests.cli.conftest import answer, environment, refusal
from tests.support import draftfs, git


def test_init_says_whether_it_made_the_store(place, tmp_path):
    git("init", "-q", "new", cwd=tmp_path)
    made = answer(draftfs("init", "--json", cwd=tmp_path / "new"))
    assert made["created"] is True
    assert made["store"]["root"] == str(tmp_path / "new")
    assert set(made["store"]) == {"id", "path", "root"}
    again = answer(draftfs("init", "--json", cwd=tmp_path / "new"))
    assert again == {**made, "created": False}
    assert "there already" in draftfs("init", cwd=tmp_path / "new").out
    refusal(draftfs("init", "--json", cwd=tmp_path), 5, "no_store")


def test_config_shows_and_changes_settings(place):
    assert answer(place.me("config", "--json"))["settings"]["claim.ttl"] == "30m"
    changed = answer(place.me("config", "claim.ttl", "90s", "--json"))
    assert (changed["key"], changed["value"], changed["replayed"]) == ("claim.ttl", "90s", False)
    assert place.me("config", "claim.ttl").out == "90s\n"
    assert answer(place.me("config", "claim.ttl", "--json")) == {"settings": {"claim.ttl": "90s"}}
    assert answer(place.ann("claim", "--next", "--json"))["claim"]["ttl"] == 90
    refusal(place.ann("config", "agents.promote", "true", "--json"), 3, "agents_cannot_promote")


def test_jobs_are_added_with_all_that_they_say(place):
    (place.root / "why").write_bytes(b"at length\xff\n")
    added = answer(
        place.me(
            "job",
            "add",
            "best of two",
            "x.md",
            "y",
            "--after",
            "1",
            "--attempts",
            "5",
            "--contest",
            "2",
            "--text-file",
            "why",
            "--json",
        )
    )["jobs"]
    assert [job["contest"] for job in added] == [[3, 4], [3, 4]]
    assert [(job["paths"], job["after"], job["text"]) for job in added] == [
        (["x.md", "y"], [1], "at length\udcff\n")
    ] * 2
    assert added[0]["attempts"] == {"used": 0, "max": 5}
    refusal(place.me("job", "add", "t", "x.md", "--after", "99", "--json"), 5, "no_job")


def test_jobs_are_edited(place):
    edited = answer(
        place.me("job", "edit", "2", "--title", "new", "--path", "b.txt", "--path", "c.txt", "--after", "1", "--json")
    )["job"]
    assert (edited["title"], edited["paths"], edited["after"], edited["version"]) == ("new", ["b.txt", "c.txt"], [1], 2)
    assert answer(place.me("job", "edit", "2", "--after", "none", "--json"))["job"]["after"] == []


def test_what_a_person_decides_about_jobs(place):
    place.claimed()
    revoked = answer(place.me("job", "revoke", "1", "--because", "slow", "--json"))
    assert (revoked["job"]["state"], revoked["job"]["because"]) == ("open", "slow")
    assert answer(place.me("job", "retry", "1", "--attempts", "2", "--json"))["job"]["attempts"]["max"] == 5
    place.ann("claim", "2", "--seen", "1")
    assert answer(place.ann("submit", "--note", "nothing to change", "--json"))["job"]["state"] == "submitted"
    assert answer(place.me("job", "accept", "2", "--json"))["job"]["state"] == "accepted"
    assert answer(place.me("job", "cancel", "1", "--json"))["job"]["state"] == "cancelled"
    assert answer(place.me("job", "list", "--json"))["jobs"] == []
    assert len(answer(place.me("job", "list", "--all", "--json"))["jobs"]) == 2


def test_a_claim_in_words(place):
    place.me("job", "edit", "1", "--text", "line one\nline two")
    ran = place.ann("claim", "1", "--seen", "2", "--ttl", "2h")
    assert ran.status == 0
    for part in ("claimed job 1: write the spec", "docs/spec.md", "epoch  1", "| line two", "kept in this worktree"):
        assert part in ran.out
    assert "1." not in ran.out.replace("1.out", "")  # no token


def test_newer_content_in_the_root_is_said_with_the_way_to_it(place):
    assert place.wa.exists()
    (place.root / "docs/spec.md").write_text("moved on\n")
    git("commit", "-qam", "newer", cwd=place.root)
    assert "git merge main" in place.ann("claim", "1", "--seen", "1").out


def test_leftovers_are_refused_or_adopted(place):
    (place.wa / "docs/spec.md").write_text("leftover\n")
    refusal(place.ann("claim", "1", "--seen", "1", "--json"), 3, "dirty_worktree")
    answer(place.ann("claim", "1", "--seen", "1", "--adopt", "--json"))


def test_release_gives_the_attempt_back_unless_it_failed(place):
    place.claimed()
    assert answer(place.ann("release", "--json"))["job"]["attempts"]["used"] == 0
    place.claimed(version=3)
    released = answer(place.ann("release", "--failed", "--note", "no", "--json"))["job"]
    assert (released["attempts"]["used"], released["because"]) == (1, "no")


def test_several_claims_need_a_job(place):
    place.claimed()
    answer(place.ann("claim", "2", "--seen", "1", "--json"))
    refusal(place.ann("renew", "--json"), 2, "usage")
    assert answer(place.ann("renew", "--job", "2", "--json"))["claim"]["job"] == 2


def test_drafts_from_files_and_of_deletions(place):
    place.claimed()
    (place.wa / "docs/other").write_bytes(b"from a file")
    draft = answer(draftfs("draft", "spec.md", "--from", "other", "--json", cwd=place.wa / "docs", agent="ann"))[
        "drafts"
    ][0]
    assert (draft["target"], draft["size"], draft["shown"]) == ("docs/spec.md", 11, True)
    gone = answer(place.ann("draft", "docs/spec.md", "--delete", "--json"))["drafts"][0]
    assert (gone["delete"], gone["file"]) == (True, "docs/spec.md.draft-0002.delete@ann")
    assert "delete" in place.me("ls").out
    assert place.ann("draft", "docs/spec.md").out == "docs/spec.md.draft-0003@ann\n"


def test_worktrees_for_agents(place, tmp_path):
    made = answer(place.me("worktree", "add", "../carl", "--as", "carl", "--json"))["worktree"]
    assert made == {"path": str(tmp_path / "carl"), "agent": "carl", "branch": "carl"}
    assert answer(draftfs("claim", "--next", "--json", cwd=tmp_path / "carl"))["claim"]["holder"] == "carl"
    other = answer(place.me("worktree", "add", "../w w", "--branch", "b2", "--json"))["worktree"]
    assert (other["agent"], other["branch"]) == (None, "b2")
    assert git("branch", "--show-current", cwd=tmp_path / "w w").strip() == "b2"
    assert "next: cd" in place.me("worktree", "add", "../dan", "--as", "dan").out
    refusal(place.me("worktree", "add", "../carl", "--json"), 8, "git")


def test_receipts_are_shown(place):
    key = place.claimed()["receipt"]
    found = answer(place.me("receipt", "show", key, "--json"))["receipt"]
    assert (found["operation"], found["actor"], found["job"], found["standing"]) == ("claim", "ann", 1, "live")
    assert "claim by ann" in place.me("receipt", "show", key).out
    assert key not in place.me("receipt", "show", key).out


def test_rejected_drafts_stay_with_their_reason(place):
    draft = place.submitted()
    rejected = answer(place.me("reject", draft["file"], "--because", "made up", "--json"))
    assert (rejected["drafts"][0]["state"], rejected["drafts"][0]["because"]) == ("rejected", "made up")
    assert place.me("ls").out == ""
    assert "rejected" in place.me("ls", "--all").out


def test_doctor_in_words(still):
    ran = still.me("doctor")
    assert ran.status == 0
    assert "checked and kept" in ran.out


def test_an_editor_of_a_disk_that_is_full_is_told(place):
    """A limit on file sizes stands in for a full disk: nothing is drafted, and the same command works with space."""
    place.claimed()
    (place.wa / "docs/spec.md").write_bytes(os.urandom(1 << 20))
    limited = subprocess.run(
        [
            "bash",
            "-c",
            "ulimit -f 256; trap '' XFSZ; exec \"$0\" -m draftfs draft docs/spec.md --json",
            os.sys.executable,
        ],
        cwd=place.wa,
        env=environment("ann"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (limited.returncode, '"code":"disk_full"' in limited.stdout) == (8, True), limited.stdout
    assert answer(place.ann("draft", "docs/spec.md", "--json"))["replayed"] is False
