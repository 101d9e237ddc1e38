"""C60: the watcher wakes itself."""

import os
import time
from pathlib import Path

from tests.cases.watches import watching
from tests.support import wait_for


def test_its_own_output_and_its_commands_output_in_the_root(guarded):
    site = guarded
    seen = Path(site.root / "seen.txt")
    site.write("me", "docs/spec.md.draft-0001@x", "dropped\n")
    with watching(site, "--exec", "date >>seen.txt", output=f"{site.root}/watch.log") as watch:
        watch.wait("unrecorded", "docs/spec.md.draft-0001@x", "raised")
        wait_for(lambda: seen.exists() and seen.read_text())
        time.sleep(1)
        before = watch.seconds_used()
        time.sleep(3)
        assert watch.seconds_used() - before <= 0.06
        for at in range(10):
            site.git("me", "commit", "-qm", f"{at}", "--allow-empty")
            assert site.git("me", "status", "--short").status == 0
        watch.catch_up()
        assert len(watch.lines) == 1
        assert len(seen.read_text().splitlines()) == 1
        assert not os.path.exists(site.root / ".git/index.lock")
        assert watch.watched() == {os.stat(site.root).st_ino, os.stat(site.root / "docs").st_ino}
