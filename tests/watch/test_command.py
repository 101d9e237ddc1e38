"""`draftfs watch` on the command line: its lines, its ends, and the command of --exec."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from draftfs.answers import Finding
from draftfs.cli import watch
from draftfs.cli._show import Paint
from draftfs.watch import Change
from tests.support import draftfs, heed_interrupts, wait_for


def start(field, *options: str, out, err=None) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "draftfs", "watch", *options],
        cwd=field.root,
        stdout=out,
        stderr=err,
        preexec_fn=heed_interrupts,  # noqa: PLW1509
    )


@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM)])
def test_lines_for_people_until_it_is_stopped(real, how, status):
    out = real.base / "out.txt"
    with out.open("wb") as file:
        process = start(real, out=file)
        real.write("me", "docs/\x1b.md.draft-0001@x", "dropped\n")
        wait_for(lambda: b"raised   unrecorded" in out.read_bytes())
        (real.root / "docs/\x1b.md.draft-0001@x").unlink()
        wait_for(lambda: b"over" in out.read_bytes())
        process.send_signal(how)
        assert process.wait(10) == status
    head, raised, over = (line for line in out.read_text().splitlines() if "hook: " not in line)
    assert head == f"watching {real.root}; Ctrl-C ends it"
    assert raised[8:].startswith("  raised   unrecorded: ")
    assert over[8:].startswith("  over     unrecorded: ")
    assert "\x1b" not in raised + over


def test_a_reader_who_is_gone_ends_it(real):
    reader, writer = os.pipe()
    process = start(real, "--json", out=writer)
    os.close(writer)
    os.close(reader)
    real.write("me", "docs/spec.md.draft-0001@x", "dropped\n")
    assert process.wait(20) == 0


def test_commands_get_the_finding_and_their_failures_end_nothing(real):
    """Odd bytes reach them exactly; one after the other; what they print goes to standard error."""
    out, err, log = (real.base / name for name in ("out.txt", "err.txt", "log.txt"))
    script = real.base / "script"
    script.write_text(
        'test "$DRAFTFS_FINDING" != hook || exit 0\n'
        f'printf "%s\\n%s\\n" "$DRAFTFS_FINDING" "$DRAFTFS_FINDING_PATH" >>{log}; cat >>{log}; echo printed; exit 3\n'
    )
    with out.open("wb") as file, err.open("wb") as errors:
        process = start(real, "--quiet", "--exec", f"sh {script}", out=file, err=errors)
        try:
            odd = os.fsencode(real.root) + b"/docs/\xff \"'$x.md.draft-0001@x"
            Path(os.fsdecode(odd)).write_text("dropped\n")
            wait_for(lambda: b"ended with 3" in err.read_bytes())
            real.write("me", "docs/spec.md.draft-0001@x", "dropped\n")
            wait_for(lambda: err.read_bytes().count(b"ended with 3") == 2)
        finally:
            process.terminate()
            process.wait(10)
    assert out.read_bytes() == b""
    kind, path, plain, *more = log.read_bytes().splitlines()
    assert (kind, path) == (b"unrecorded", b"docs/\xff \"'$x.md.draft-0001@x")
    assert os.fsencode(json.loads(plain)["path"]) == path
    assert len(more) == 3
    assert err.read_bytes().count(b"printed\n") == 2
    assert b"error: --exec for unrecorded docs/spec.md.draft-0001@x: ended with 3\n" in err.read_bytes()


def test_a_command_that_hangs_is_stopped_and_the_next_one_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(watch, "_LONGEST_RUN", 0.2)
    said = []
    call = SimpleNamespace(folder=str(tmp_path), environment=dict, streams=SimpleNamespace(say=said.append))
    os.mkfifo(tmp_path / "held")
    reader = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    hook = watch._Hook(call, 'test "$DRAFTFS_FINDING" = stale || { sleep 20 >held; true; }')
    for kind in ("stale", "lapsed", "unrecorded", "stale"):
        hook.waiting.put(("raised", Finding(kind, "a.txt", "…", None)))
    wait_for(lambda: len(said) == 2 and hook.waiting.empty())
    assert said[0] == "error: --exec for lapsed a.txt: stopped after 0 s\n"
    assert said[1].startswith("error: --exec for unrecorded a.txt: ")
    wait_for(lambda: _nobody_writes(reader))
    os.close(reader)


def _nobody_writes(reader: int) -> bool:
    try:
        return os.read(reader, 1) == b""
    except BlockingIOError:
        return False


def test_a_command_is_run_for_what_is_raised_and_what_is_another_then(tmp_path):
    """A second draft that waits is news, too; what is over is none."""
    log = tmp_path / "log"
    call = SimpleNamespace(folder=str(tmp_path), environment=dict, streams=None, paint=Paint(on=False))
    hook = watch._Hook(call, 'echo "$DRAFTFS_FINDING_EVENT $DRAFTFS_FINDING_MESSAGE" >>log')
    news = [(None, "one"), ("one", "two"), ("two", None), (None, "three")]
    sides = [[said and Finding("unpromoted", "a.txt", said, None) for said in each] for each in news]
    watcher = SimpleNamespace(changes=lambda: [Change("note", message="x"), *(Change.between(*each) for each in sides)])
    assert len([*watch._lines(call, watcher, hook, quiet=False)]) == 5
    wait_for(lambda: log.exists() and log.read_text() == "raised one\nchanged two\nraised three\n")


def test_only_watch_brings_watchdog_along(real):
    code = "import sys, draftfs, draftfs.store, draftfs.check, draftfs.cli._run as r; r.run(['ls']); print('watchdog' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=real.root, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "False"


def test_an_empty_command_and_a_missing_store_are_refused(real, tmp_path):
    assert draftfs("watch", "--exec", " ", cwd=real.root).status == 2
    (tmp_path / "elsewhere").mkdir()
    ran = draftfs("watch", cwd=tmp_path / "elsewhere")
    assert (ran.status, ran.out) == (5, "")
