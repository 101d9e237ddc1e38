"""C56: a new folder fills before it is watched."""

import os

from tests.cases.watches import watching
from tests.support import wait_for


def test_drafts_in_folders_that_just_appeared(site):
    ready = site.field.base / "ready"
    for at in range(20):
        (ready / f"m{at}/x").mkdir(parents=True)
        (ready / f"m{at}/x/t.md.draft-0001@x").write_text("moved in\n")
    with watching(site) as watch:
        for at in range(200):
            os.makedirs(site.root / f"n{at}/a/b/c")
            (site.root / f"n{at}/a/b/c/t.md.draft-0001@x").write_text("dropped\n")
        os.rename(ready, site.root / "moved")
        wait_for(lambda: len(watch.standing) == 220, 10)
        site.run("me", "promote --yes", "n7/a/b/c/t.md.draft-0001@x")
        watch.wait("unrecorded", "n7/a/b/c/t.md.draft-0001@x", "raised", "lowered")
        assert len(watch.catch_up()) == 219
        assert {frozenset(each) for each in watch.lines} == {frozenset({"schema", "event", "at", "finding"})}
        assert site.read("n7/a/b/c/t.md") == b"dropped\n"
        assert len([each for each in watch.lines if each["event"] == "raised"]) == 220
