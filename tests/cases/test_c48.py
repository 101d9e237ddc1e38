"""C48: claiming what is blocked. (State by state, and the chain of a thousand: tests/jobs/test_predecessors.py.)"""

from __future__ import annotations

from tests.protocol import data, error, run


def test_the_story_by_the_command_line(real):
    data(run(real, "me", "job", "add", "B", "y.md", "--after", "1"))
    refusal = error(run(real, "bob", "claim", "3", "--seen", "1"), 3, "not_accepted")
    assert refusal["details"]["blocked_by"] == [{"job": 1, "state": "open"}]
    assert data(run(real, "bob", "claim", "--next"))["job"]["id"] == 1
    data(run(real, "bob", "submit"))
    error(run(real, "bob", "claim", "3", "--seen", "1"), 3, "not_accepted")
    data(run(real, "me", "job", "accept", "1"))
    assert data(run(real, "bob", "claim", "3", "--seen", "1"))["standing"] == "live"


def test_what_is_refused_when_added(real):
    error(run(real, "me", "job", "add", "x", "x.md", "--after", "99"), 5, "no_job")
    error(run(real, "me", "job", "add", "x", "x.md", "--after", "3"), 2, "bad_job")
    jobs = real.base / "jobs.yaml"
    jobs.write_text(
        "jobs:\n- {title: fine, paths: [f.md]}\n"
        "- {title: a, paths: [a.md], key: a, after: [b]}\n- {title: b, paths: [b.md], key: b, after: [a]}\n"
    )
    error(run(real, "me", "job", "add", "--from", str(jobs)), 2, "bad_job")
    assert [
        line["job"]["id"] if "job" in line else line["id"] for line in data(run(real, "me", "job", "list"))["jobs"]
    ] == [
        1,
        2,
    ]


def test_blocked_by_a_failed_job_says_so(real):
    real.me.add_job("one try", ["x.md"], attempts=1)
    real.me.add_job("later", ["y.md"], after=[3])
    real.ann.claim(3, seen=1)
    real.ann.release(failed=True)
    shown = run(real, "me", "job", "show", "4")
    assert "job 3: failed" in shown.out
    error(run(real, "bob", "claim", "4", "--seen", "1"), 3, "not_accepted")


def test_all_done_at_the_end(real):
    for number in (1, 2):
        real.ann.claim(number, seen=1)
        real.ann.submit(job=number)
        real.me.accept_job(number)
    error(run(real, "ann", "claim", "--next"), 3, "all_done")
