"""C57: saving by rename."""

import os
import subprocess

from tests.cases.watches import watching


def test_a_promoted_target_that_editors_save(site):
    site.hand_in("ann", "docs/spec.md", "chosen\n")
    site.run("me", "promote --yes", "docs/spec.md", "1")
    site.git("me", "commit", "-qam", "chosen")
    file = str(site.root / "docs/spec.md")

    def shell(command: str) -> None:
        subprocess.run(command, shell=True, check=True, cwd=site.root / "docs")

    with watching(site) as watch:
        stale = ("stale", "docs/spec.md")
        events: list[str] = []
        saves = (
            "sed -i s/chosen/edited/ spec.md && sed -i s/edited/twice/ spec.md",
            "cp spec.md spec.md~ && echo saved >.spec.md.new && mv .spec.md.new spec.md && rm spec.md~",
            "printf x >>spec.md",
            ": >spec.md",
            "echo other >../other && cp --remove-destination ../other spec.md && rm ../other",
        )
        for at, save in enumerate(saves):
            shell(save)
            watch.wait(*stale, *events, "raised")
            if at % 2:
                site.git("me", "checkout", "--", "docs/spec.md")
            else:
                with open(file, "w", encoding="ascii") as opened:
                    opened.write("chosen\n")
            events += ["raised", "lowered"]
            watch.wait(*stale, *events)
        site.hand_in("bob", "docs/spec.md", "bob's\n")
        site.run("me", "promote --yes --force", "docs/spec.md", "2")
        watch.catch_up()
        assert os.listdir(site.root / "docs")
        assert watch.told(*stale) == events
