"""docs/REVIEWING.md is one session: every command prints what the page shows, and does what its words say."""

from __future__ import annotations

import re

from draftfs.cli._app import GROUPS
from tests.docs.session import ROOT, played
from tests.support import draftfs

PAGE = (ROOT / "docs/REVIEWING.md").read_text("utf-8")


def test_every_example_prints_what_the_page_shows(tmp_path):
    session, ran = played("docs/REVIEWING.md", tmp_path)
    assert ran > 30
    bakery = session.base / "tour/bakery"
    assert "in red ink" in (bakery / "docs/faq.md").read_text("utf-8")
    assert draftfs("doctor", cwd=bakery).status == 0


def test_every_command_on_the_page_exists():
    known = {name for group in GROUPS.values() for name in group}
    named = re.findall(r"`draftfs ([a-z]+)(?: ([a-z]+))?", PAGE)
    assert named
    for first, second in named:
        assert first in known or f"{first} {second}" in known, first
