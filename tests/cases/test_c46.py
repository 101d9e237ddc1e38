"""C46: the target moved on since the draft was written."""

from tests.support import draftfs


def contest(site):
    jobs = [each["id"] for each in site.run("me", "job add", "--contest", "3", "s", "docs/spec.md")["jobs"]]
    for who, job in zip(("ann", "bob"), jobs, strict=False):
        site.run(who, "claim", str(job), "--seen", "1")
        site.put(who, "docs/spec.md", f"{who}'s\n")
        site.run(who, "submit")
    site.run("cy", "claim", str(jobs[2]), "--seen", "1")
    return jobs


def test_a_contest(site):
    jobs = contest(site)
    site.refused("ann", "agents_cannot_promote", "promote --yes", "docs/spec.md", "1")
    plain = draftfs("promote", "--yes", "--json", "docs/spec.md", "1", cwd=site.where("ann"))
    assert (plain.status, "agents_cannot_promote" in plain.out) == (3, True)
    answer = site.run("me", "promote --yes", "docs/spec.md", "1")
    assert (answer["accepted"], answer["cancelled"]) == ([jobs[0]], [jobs[2]])
    site.write("cy", "docs/spec.md", "late\n")
    site.refused("cy", "fenced", "draft", "docs/spec.md", status=4)
    moved = site.run("me", "promote --yes", "docs/spec.md", "2")
    assert (moved["accepted"], moved["returned"], moved["promoted"][0]["replaced"]) == ([jobs[1]], [jobs[0]], 1)
    states = dict(zip(jobs, ("submitted", "accepted", "cancelled"), strict=True))
    assert moved["jobs"] == [{"job": job, "state": state} for job, state in states.items()]
    site.run("me", "promote --yes", "docs/spec.md", "1")
    again = site.run("me", "promote --yes", "docs/spec.md", "1")
    assert (again["promoted"][0]["changed"], again["accepted"], again["returned"]) == (False, [], [])
    later = site.run("me", "job add", "later", "later.md", "--after", str(jobs[2]))["jobs"][0]["id"]
    site.run("bob", "claim", str(later), "--seen", "1")
    error = site.refused("me", "dependent_claimed", "promote --yes", "docs/spec.md", "2")
    assert error["details"]["followed_by"] == later
    site.refused("me", "dependent_claimed", "promote --yes --undo", "docs/spec.md")
    assert site.read("docs/spec.md") == b"ann's\n"


def test_undone(site):
    jobs = contest(site)
    for number in ("1", "2"):
        site.run("me", "promote --yes", "docs/spec.md", number)
    undone = site.run("me", "promote --yes --undo", "docs/spec.md")
    assert (undone["undone"][0]["chosen"], undone["accepted"], undone["returned"]) == (1, [jobs[0]], [jobs[1]])
    assert site.read("docs/spec.md") == b"ann's\n"
    said = site.raw("me", "promote", "--undo", "docs/spec.md").out
    assert "docs/spec.md holds again what draft 1 replaced; nothing is chosen for it now" in said
    assert f"job {jobs[0]} is submitted again" in said
    assert site.read("docs/spec.md") == b"v0\n"
    site.refused("me", "no_draft", "promote --yes --undo", "docs/spec.md", status=5)


def test_a_plan_and_a_hand_edit(site):
    contest(site)
    plan = site.run("me", "promote --dry-run", "docs/spec.md", "2")["plan"]
    site.write("me", "docs/spec.md", "by hand\n")
    error = site.refused("me", "target_moved", f"promote --plan {plan}", "docs/spec.md", "2")
    assert all(word in error["hint"] for word in ("draftfs diff", "draftfs merge", "--force"))
    assert site.read("docs/spec.md") == b"by hand\n"
    site.write("me", "docs/spec.md", "v0\n")
    assert site.run("me", f"promote --plan {plan}", "docs/spec.md", "2")["plan"] == plan
    assert site.read("docs/spec.md") == b"bob's\n"


def test_a_hand_edit(site):
    site.hand_in("ann", "docs/spec.md", "ann's\n")
    said = site.run("me", "promote --dry-run", "docs/spec.md", "1")["promoted"][0]
    assert (said["changed"], site.read("docs/spec.md")) == (True, b"v0\n")
    site.write("me", "docs/spec.md", "by hand\n")
    error = site.refused("me", "target_moved", "promote --yes", "docs/spec.md", "1")
    assert ("diff" in error["hint"], "--force" in error["hint"]) == (True, True)
    assert site.read("docs/spec.md") == b"by hand\n"
    promoted = site.run("me", "promote --yes --force", "docs/spec.md", "1")["promoted"][0]
    assert promoted["kept"] == "docs/spec.md.draft-0002@hand-edit"
    assert (site.read("docs/spec.md"), site.read(promoted["kept"])) == (b"ann's\n", b"by hand\n")


def test_two_unrelated_jobs_and_a_third_from_behind(site):
    site.hand_in("ann", "docs/spec.md", "ann's\n")
    site.hand_in("bob", "docs/spec.md", "bob's\n")
    site.run("me", "promote --yes", "docs/spec.md", "1")
    site.refused("me", "target_moved", "promote --yes", "docs/spec.md", "2")
    assert site.read("docs/spec.md") == b"ann's\n"
    site.write("cy", "docs/spec.md", "ann's\n")
    site.hold("cy", "docs/spec.md")
    site.put("cy", "docs/spec.md", "cy's\n")
    site.run("cy", "submit")
    site.run("me", "promote --yes", "docs/spec.md", "3")
    assert site.read("docs/spec.md") == b"cy's\n"
