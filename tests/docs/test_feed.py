"""docs/FEED.md is one session: every command prints what the page shows; its loops run, and its tables are the code's."""

from __future__ import annotations

import re
import subprocess

from draftfs.cli.log import _WORDS
from draftfs.errors import CODES
from draftfs.rules.feed import KINDS
from tests.docs.session import ROOT, Session, Step, played

PAGE = (ROOT / "docs/FEED.md").read_text("utf-8")


def test_every_example_prints_what_the_page_shows(tmp_path):
    session, ran = played("docs/FEED.md", tmp_path)
    assert ran > 20
    run_the_loop(session)


def run_the_loop(session: Session) -> None:
    """The shell's loop, ended where nothing comes in a second, hands out what there is and acknowledges it."""
    (loop,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert "7) continue" in loop
    loop = loop.replace("7) continue", "7) exit 0").replace("--wait 60", "--wait 0.2")
    printed = session.run(
        Step("console", f"draftfs send --all --subject 'Last one' --as bob >/dev/null\n{loop}", "", 0)
    )
    said = printed.splitlines()
    assert "bob: to all: Last one" in said
    assert [line for line in said if line.startswith("acknowledged up to")]
    assert not re.search("error|Traceback", printed.replace("error: nothing for ann came in 0.2 s", ""))


def test_the_loop_stops_where_its_page_is_refused(tmp_path):
    """Somebody has restarted the reader: to go on would be to do the same work over and over."""
    (loop,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "fed").write_text("5\twhen\tyou\tto ann: a\\tb\npage\tann:1:5\n")
    fake = "draftfs() { case $1 in read) cat fed ;; ack) return 4 ;; esac; }"
    for shell in ("sh", "bash"):
        ran = subprocess.run(
            [shell, "-c", f"{fake}\n{loop}"], cwd=tmp_path, stdout=subprocess.PIPE, timeout=20, check=False
        )
        assert (ran.returncode, ran.stdout) == (4, b"you: to ann: a\\tb\n"), shell


def test_the_table_of_kinds_is_that_of_the_code():
    """Kinds, their data, and in the log words for each; and each that the code makes is in the table."""
    rows = re.findall(r"^\| `(\w+\.\w+)` \| ([^|]*) \|", PAGE, re.MULTILINE)
    assert {kind: tuple(re.findall(r"`(\w+)`", data)) for kind, data in rows} == KINDS
    assert set(_WORDS) == set(KINDS)
    made = set()
    for file in sorted((ROOT / "draftfs").rglob("*.py")):
        made |= set(re.findall(r'append\(\s*"([a-z]+\.[a-z]+)"', file.read_text("utf-8")))
        made |= set(
            re.findall(r'^[A-Z_]+: Final = "((?:record|message)\.[a-z]+)"$', file.read_text("utf-8"), re.MULTILINE)
        )
    assert len(made) > 20
    assert made <= set(KINDS)


def test_the_table_of_refusals_is_that_of_the_code():
    rows = re.findall(r"^\| `(\w+)` \| (\d) \|", PAGE, re.MULTILINE)
    assert len(rows) > 5
    assert all(CODES[code].exit_status == int(status) for code, status in rows)
