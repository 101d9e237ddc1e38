"""C31: conflict markers, in a record, in a jobs file, and as text."""

from __future__ import annotations

import json

import pytest

from tests.support import draftfs, git

MARKERS = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n"


def test_a_marked_job_is_damage_and_the_others_work(real):
    real.damaged = True
    path = real.store / "jobs/0001.yaml"
    path.write_text(path.read_text().replace("\npaths", f"\n{MARKERS}paths"))
    ran = draftfs("job", "show", "1", "--json", cwd=real.root)
    error = json.loads(ran.out)["error"]
    assert (ran.status, error["code"], error["details"]["file"]) == (8, "damaged", "jobs/0001.yaml")
    assert "merge conflict marker" in error["message"]
    assert real.bob.claim(2, seen=1).claim.epoch == 1
    assert not real.me.doctor(fix=True).findings
    assert real.ann.claim(1, seen=1).claim.epoch == 2


def test_a_jobs_file_that_a_merge_left_marked_adds_nothing(field):
    jobs = field.root / "jobs.yaml"
    jobs.write_text("jobs:\n  - title: one\n    paths: [x.md]\n")
    git("add", "jobs.yaml", cwd=field.root)
    git("commit", "-qm", "jobs", cwd=field.root)
    git("switch", "-qc", "side", cwd=field.root)
    jobs.write_text(jobs.read_text().replace("one", "two"))
    git("commit", "-qam", "two", cwd=field.root)
    git("switch", "-q", "main", cwd=field.root)
    jobs.write_text(jobs.read_text().replace("one", "three"))
    git("commit", "-qam", "three", cwd=field.root)
    git("merge", "side", cwd=field.root, check=False)
    assert "<<<<<<<" in jobs.read_text()
    ran = draftfs("job", "add", "--from", "jobs.yaml", "--json", cwd=field.root)
    error = json.loads(ran.out)["error"]
    assert (ran.status, error["code"], error["details"]["line"]) == (2, "bad_file", 2)
    assert "merge conflict marker" in error["message"]
    assert len(field.me.jobs()) == 2


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_markers_in_texts_are_text_all_the_way(field, ending):
    text = MARKERS.replace("\n", ending)
    field.ann.claim(1, seen=1)
    field.put("ann", "docs/spec.md", text)
    field.ann.submit(note=text)
    assert field.me.job(1).job.because == text
    field.me.promote(field.me.job_drafts(1))
    assert (field.root / "docs/spec.md").read_bytes() == text.encode()
    assert [event.data["note"] for event in field.me.log() if event.kind == "claim.submitted"] == [text]


def test_a_merge_that_conflicts_is_a_draft_with_marks_and_a_count(site):
    """The target is untouched; the result is promoted by force only, and then holds the marks as they are."""
    site.hand_in("ann", "docs/spec.md", "hers\n")
    site.write("me", "docs/spec.md", "mine\n")
    merged = site.run("me", "merge", "docs/spec.md", "1")
    (made,) = merged["drafts"]
    assert (merged["conflicts"], made["conflicts"], made["number"]) == (1, 1, 2)
    assert site.read("docs/spec.md") == b"mine\n"
    text = site.read(made["file"])
    assert text == b"<<<<<<< docs/spec.md\nmine\n=======\nhers\n>>>>>>> docs/spec.md.draft-0001@ann\n"
    line = site.line("docs/spec.md")["drafts"][1]
    assert ("conflicts" in line["flags"], line["draft"]["conflicts"]) == (True, 1)
    error = site.refused("me", "conflicts", "promote --yes", "docs/spec.md", "2")
    assert "--force" in error["hint"]
    site.run("me", "promote --yes --force", "docs/spec.md", "2")
    assert site.read("docs/spec.md") == text


def test_check_says_which_record_is_marked_and_goes_on(real):
    real.damaged = True
    path = real.store / "jobs/0001.yaml"
    path.write_text(path.read_text().replace("\npaths", f"\n{MARKERS}paths"))
    (real.root / "a.txt.draft-0001@eve").write_text("x")
    found = [(each.kind, each.path) for each in real.me.check(kinds=["damaged", "unrecorded"]).findings]
    assert found == [("damaged", "jobs/0001.yaml"), ("unrecorded", "a.txt.draft-0001@eve")]
