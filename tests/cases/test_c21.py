"""C21: names that git quotes are names like others, in every locale."""

import os
import re

import pytest

from tests.support import git

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


@pytest.mark.parametrize("quoted", ["true", "false"])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_the_same_in_all_four_settings(site, quoted, locale):
    site.environment = {"LC_ALL": locale}
    git("config", "core.quotePath", quoted, cwd=site.root)
    for name in NAMES:
        site.write("me", name, "old\n")
    git("add", "-A", cwd=site.root)
    git("commit", "-qm", "odd", cwd=site.root)
    claim = site.hold("bob", *NAMES)["claim"]
    assert sorted(claim["paths"]) == sorted(NAMES)
    for name in NAMES:
        site.write("bob", name, "new\n")
    drafted = site.run("bob", "draft", "--", *NAMES)["drafts"]
    assert [each["file"] for each in drafted] == [f"{name}.draft-0001@bob" for name in sorted(NAMES)]
    site.run("bob", "submit")
    targets = site.run("me", "ls")["targets"]
    assert {each["target"] for each in targets} == set(NAMES)
    for each in targets:
        (line,) = each["drafts"]
        assert (line["added"], line["removed"], line["flags"]) == (1, 1, [])
    text = site.raw("me", "ls").out
    assert len(text.splitlines()) == len(NAMES)
    assert not set(text) & {"\x1b", "\x07"}
    events = {event["kind"]: event["data"] for event in site.run("me", "read --as r")["events"]}
    assert sorted(events["claim.taken"]["paths"]) == sorted(NAMES)
    assert {each["target"] for each in events["claim.submitted"]["drafts"]} == set(NAMES)
    read = site.raw("me", "read", "--as", "r").out
    assert [line for line in read.splitlines() if "bad" in line]
    assert not set(read) & {"\x1b", "\x07"}
    compared = site.raw("me", "diff", "--", "nl\nx.md.draft-0001@bob")
    assert (compared.status, compared.out.splitlines()[:2]) == (
        0,
        ["--- nl\\x0ax.md", "+++ nl\\x0ax.md.draft-0001@bob"],
    )
    assert {each[1] for each in site.check()} == set(NAMES)
    promoted = site.run("me", "promote", "--yes", "--", *(each["file"] for each in drafted))["promoted"]
    assert len(promoted) == len(NAMES)
    for name in NAMES:
        assert site.read(name) == b"new\n"
    assert os.listdir(os.fsencode(site.root))


def test_an_edit_of_one_is_no_edit_of_another(site):
    for name in NAMES:
        site.write("me", name, "old\n")
    git("add", "-A", cwd=site.root)
    git("commit", "-qm", "odd", cwd=site.root)
    site.hold("bob", "bad\udcff.md")
    error = site.refused("ann", "path_clash", "claim", "--", "bad\udcff.md")
    assert error["details"]["clashes"][0]["path"] == "bad\udcff.md"
    site.hold("ann", "bad\udcfe.md")


def told_in(said: str) -> list[str]:
    """The lines about bob's paths, without the id of the commit that came to nothing."""
    lines = [line for line in said.splitlines() if "held by bob" in line]
    return [re.sub(r" in [0-9a-f]{12}", "", line) for line in lines]


@pytest.mark.parametrize("quoted", ["true", "false"])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_commits_are_blocked_by_name(guarded, quoted, locale):
    site, settings = guarded, {"LC_ALL": locale}
    git("config", "core.quotePath", quoted, cwd=site.root)
    for name in NAMES:
        site.write("me", name, "old\n")
    git("add", "-A", cwd=site.root)
    git("commit", "-qm", "odd", cwd=site.root)
    site.git("ann", "merge", "-q", "main")
    until = site.hold("bob", *NAMES)["claim"]["expires_at"]
    for name in NAMES:
        site.write("ann", name, "ann's\n")
    site.git("ann", "add", "-A")
    said = site.blocked("ann", "commit", "-qm", "all ten", **settings)
    told = told_in(said)
    assert len(told) == len(NAMES), "one line a path, control characters escaped"
    assert all(until in line for line in told)
    for name in NAMES[4:8] if quoted == "true" else NAMES[:2]:
        site.git("ann", "reset", "-q", "--hard")
        site.write("ann", name, "ann's\n")
        (line,) = told_in(site.blocked("ann", **settings))
        assert line in told
    blob = site.git("ann", "hash-object", "-w", "--stdin", feed="ann's\n").out.strip()
    site.git("ann", "read-tree", "HEAD")
    for name in NAMES:
        site.git("ann", "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    site.git("ann", "-c", "core.hooksPath=/dev/null", "commit", "-qm", "slipped")
    found = site.run("me", "verify", "main..wa", status=6)["findings"]
    assert {each["path"] for each in found} == set(NAMES), "JSON gives the exact bytes back"
    site.git("bob", "checkout", "-q", ".")
    for name in NAMES:
        site.write("bob", name, "bob's\n")
    site.commit("bob", "-a", **settings)
