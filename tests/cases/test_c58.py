"""C58: the event queue overflows, or watches run out."""

import os
import signal
from pathlib import Path

import pytest

from tests.cases.watches import watching
from tests.support import wait_for


def test_events_that_were_lost(site):
    """60,000 changes while it is stopped: more than the kernel keeps for it."""
    if int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) > 30_000:
        pytest.skip("the kernel keeps more events here")
    site.hand_in("ann", "docs/spec.md", "chosen\n")
    site.run("me", "promote --yes", "docs/spec.md", "1")
    files = [site.root / "one", site.root / "two"]
    for file in files:
        file.write_text("x")
    with watching(site) as watch:
        watch.process.send_signal(signal.SIGSTOP)
        for at in range(60_000):
            os.utime(files[at % 2], (at, at))  # two by turns: equal events in a row are one
        os.makedirs(site.root / "late/a")
        site.write("me", "late/a/t.md.draft-0001@x", "dropped\n")
        site.write("me", "docs/spec.md", "by hand\n")
        watch.process.send_signal(signal.SIGCONT)
        watch.wait("stale", "docs/spec.md", "raised")
        watch.wait("unrecorded", "late/a/t.md.draft-0001@x", "raised")
        watch.catch_up()
        site.write("me", "late/a/u.md.draft-0001@x", "and it goes on listening, there too\n")
        watch.wait("unrecorded", "late/a/u.md.draft-0001@x", "raised", seconds=10)


@pytest.mark.parametrize("limit", ["max_inotify_watches", "max_inotify_instances"])
def test_watches_run_out(site, limit):
    """In a user namespace, which has limits of its own."""
    for at in range(10):
        os.mkdir(site.root / f"folder-{at}")
    amount = 10 if limit.endswith("watches") else 0
    script = f'echo {amount} >/proc/sys/user/{limit} && exec "$@"'
    before = ("unshare", "-Ur", "sh", "-c", script, "sh")
    if os.system(f"unshare -Ur test -w /proc/sys/user/{limit} 2>/dev/null") != 0:
        pytest.skip("user namespaces are not to be had here")
    with watching(site, listening=False, before=before) as watch:
        wait_for(watch.notes)
        site.write("me", "docs/spec.md.draft-0001@x", "dropped\n")
        watch.wait("unrecorded", "docs/spec.md.draft-0001@x", "raised", seconds=30)
        watch.catch_up()
        said = watch.notes()
        assert len(said) == 1
        assert said[0].endswith(": looking every 10 s instead")
