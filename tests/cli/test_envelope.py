"""One object for every outcome, and a status that fits it (C73, U5)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import answer, environment, refusal
from tests.support import Ran, draftfs


def test_version_and_help_are_answers_too(still):
    assert answer(still.me("--version", "--json"))["version"]
    assert "Usage: draftfs ls" in answer(still.me("ls", "--help", "--json"))["help"]


def test_done_is_0(place):
    data = place.claimed()
    assert set(data) == {"receipt", "replayed", "standing", "claim", "job", "newer"}
    assert set(data["claim"]) == {"job", "epoch", "token", "holder", "paths", "ttl", "expires_at", "expires_in"}
    assert (data["replayed"], data["standing"], data["claim"]["holder"]) == (False, "live", "ann")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--json",),
        ("job", "--json"),
        ("clam", "--json"),
        ("job", "lst", "--json"),
        ("ls", "--json", "--jsn"),
        ("ls", "--json", "--color", "sometimes"),
        ("claim", "--json"),
        ("claim", "1", "--json"),
        ("claim", "1", "--json", "--seen", "0"),
        ("claim", "1", "--json", "--seen", "1_0"),
        ("claim", "1", "--json", "--seen", "\N{ARABIC-INDIC DIGIT ONE}"),
        ("claim", "a.txt", "--json", "--seen", "1"),
        ("claim", "1", "--json", "--next"),
        ("job", "add", "--json"),
        ("job", "add", "t", "--json"),
        ("job", "add", "t", "a.txt", "--json", "--after", "1,x"),
        ("job", "add", "t", "a.txt", "--json", "--from", "jobs.yaml"),
        ("job", "add", "t", "a.txt", "--json", "--text", "x", "--text-file", "a.txt"),
        ("job", "add", "t", "a.txt", "--json", "--attempts", "0"),
        ("job", "add", "t", "a.txt", "--json", "--attempts", "-1"),
        ("job", "add", "t", "a.txt", "--json", "--attempts", "two"),
        ("job", "add", "t", "a.txt", "--json", "--contest", "1"),
        ("job", "show", "./7", "--json"),
        ("job", "edit", "1", "--json"),
        ("job", "reject", "1", "--json"),
        ("job", "retry", "1", "--json", "--attempts", "0"),
        ("config", "no.such", "--json"),
        ("config", "agents.promote", "maybe", "--json"),
        ("draft", "--json"),
        ("draft", "a.txt", "--json", "--delete", "--from", "a.txt"),
        ("promote", "--json"),
        ("promote", "x", "--job", "1", "--json"),
        ("promote", "a.txt", "--json"),
        ("reject", "--json", "--because", "x"),
        ("diff", "--json"),
        ("log", "--json", "--limit", "0"),
        ("log", "extra", "--json"),
        ("ls", "--json", "--lock-wait", "soon"),
        ("config", "claim.ttl", "1h", "--json", "--receipt", ""),
        ("-C", "nowhere", "ls", "--json"),
        ("demo", "--json"),
    ],
    ids=" ".join,
)
def test_bad_requests_are_2(still, arguments):
    refusal(still.me(*arguments), 2, "usage")


@pytest.mark.parametrize("ttl", ["0", "-5", "1e9", "inf", "0.5", "NaN", "86401s", "25h", "", "9" * 30, "30 m"])
def test_a_bad_ttl_is_told_the_bounds(still, ttl):
    for command in (("claim", "1", "--seen", "1"), ("claim", "--next"), ("renew",)):
        error = refusal(still.ann(*command, f"--ttl={ttl}", "--json"), 2, "bad_ttl")
        assert "1 s to 24 h" in error["message"]


@pytest.mark.parametrize(("ttl", "seconds"), [("1s", 1), ("24h", 86400), ("90", 90), ("30m", 1800), ("1d", 86400)])
def test_a_ttl_within_the_bounds_is_taken(place, ttl, seconds):
    assert answer(place.ann("claim", "--next", "--ttl", ttl, "--json"))["claim"]["ttl"] == seconds


def test_a_bad_path_is_2(still):
    refusal(still.ann("claim", "../r/a.txt", "--json"), 2, "bad_path")
    refusal(still.me("ls", "", "--json"), 2, "bad_path")


def test_a_jobs_file_that_cannot_be_used_is_2(place):
    (place.root / "jobs.yaml").write_text("jobs:\n  - title: no\n    paths: [x]\n")
    error = refusal(place.me("job", "add", "--from", "jobs.yaml", "--json"), 2, "bad_file")
    assert "jobs.yaml" in error["message"]
    refusal(place.me("job", "add", "--from", "missing.yaml", "--json"), 2, "bad_file")
    refusal(place.me("job", "add", "--from", "docs", "--json"), 2, "bad_file")
    refusal(place.ann("draft", "a.txt", "--from", "missing", "--token", "1.x", "--job", "1", "--json"), 2, "bad_file")


def test_refused_is_3(place):
    place.claimed()
    refusal(place.bob("claim", "1", "--seen", "1", "--json"), 3, "job_not_open")
    refusal(place.bob("claim", "docs", "--json"), 3, "path_clash")
    refusal(place.bob("draft", "docs/spec.md", "--json"), 3, "no_token")
    refusal(place.me("claim", "2", "--seen", "1", "--as", "carl", "--json"), 3, "claim_in_root")
    refusal(place.ann("promote", "docs/spec.md", "1", "--json"), 3, "agents_cannot_promote")


def test_fenced_is_4(place):
    token = place.claimed()["claim"]["token"]
    answer(place.me("job", "revoke", "1", "--because", "too slow", "--json"))
    for command in (("renew",), ("submit",), ("release",), ("draft", "docs/spec.md")):
        refusal(place.ann(*command, "--json"), 4, "fenced")
        refusal(place.bob(*command, "--token", token, "--job", "1", "--json"), 4, "fenced")


def test_not_found_is_5(still, tmp_path):
    refusal(still.me("job", "show", "99", "--json"), 5, "no_job")
    refusal(still.me("promote", "a.txt", "1", "--json"), 5, "no_draft")
    refusal(still.me("receipt", "show", "k", "--json"), 5, "no_receipt")
    refusal(draftfs("ls", "--json", cwd=tmp_path), 5, "no_store")


def test_findings_are_6(place):
    place.healthy = False
    (place.field.store / "jobs/0002.yaml").write_text("no")
    data = answer(place.me("doctor", "--json"), status=6)
    assert set(data) == {"checks", "findings", "fixed"}
    assert any("0002" in each["path"] for each in data["findings"])
    assert place.me("doctor").status == 6


def test_damage_is_8_and_only_for_what_needs_it(place):
    place.healthy = False
    (place.field.store / "jobs/0002.yaml").write_text("no")
    refusal(place.me("job", "show", "2", "--json"), 8, "damaged")
    answer(place.me("job", "show", "1", "--json"))
    listed = answer(place.me("job", "list", "--json"))
    assert [job["id"] for job in listed["jobs"]] == [1]
    assert "0002" in listed["damaged"][0]["path"]
    shown = place.me("job", "list")
    assert (shown.status, shown.out.count("\n")) == (0, 1)
    assert "warning: left out: " in shown.err


def test_a_held_lock_is_7_after_the_wait(place):
    holding = (
        "import portalocker, sys\n"
        "file = open(sys.argv[1], 'r+b')\n"
        "portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", holding, str(place.field.store / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        busy = place.me("job", "add", "t", "x", "--lock-wait", "0.2", "--json")
        holder.stdin.close()
    assert refusal(busy, 7, "busy")["retryable"] is True


def run_with_fault(place, raising: str, *arguments: str) -> Ran:
    """The command line, with a library that raises."""
    driver = (
        "import sys\nfrom draftfs.store import Store\n"
        f"def fail(*_, **__): {raising}\nStore.ls = fail\n"
        "from draftfs.cli import main\nsys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", driver, *arguments]
    done = subprocess.run(
        command, cwd=place.root, capture_output=True, env=environment(), text=True, check=False, timeout=60
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_a_fault_of_ours_is_1_with_a_report_and_no_traceback(still, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    error = refusal(run_with_fault(still, "raise KeyError('x')", "ls", "--receipt-like", "--json"), 2, "usage")
    error = refusal(
        run_with_fault(still, "raise KeyError('secret-value')", "ls", "secret-path", "--json"), 1, "internal"
    )
    report = Path(error["details"]["report"]).read_text()
    assert "Traceback" in report
    assert "KeyError" in report
    assert "secret-path" not in report
    told = run_with_fault(still, "raise KeyError('x')", "ls")
    assert (told.status, told.out) == (1, "")
    assert "Traceback" not in told.err
    assert "draftfs-report-" in told.err


def test_an_interrupt_is_130(still):
    error = refusal(run_with_fault(still, "raise KeyboardInterrupt", "ls", "--json"), 130, "interrupted")
    assert error["message"] == "interrupted"
    assert run_with_fault(still, "raise KeyboardInterrupt", "ls").status == 130


def test_what_the_disk_says_is_8(still):
    refusal(
        run_with_fault(still, "raise PermissionError(13, 'Permission denied', '/x')", "ls", "--json"), 8, "permission"
    )


def test_without_json_errors_go_to_standard_error_with_a_hint(still):
    ran = still.me("job", "show", "99")
    assert (ran.status, ran.out) == (5, "")
    assert ran.err == "error: there is no job 99\nhint: draftfs job list --all\n"
