"""C38: the mode of a promoted file, by the command line (tests/promotion/test_modes.py has all of it)."""

import os
import stat

import pytest

from tests.support import git


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize(
    ("before", "bit", "after"), [(0o755, False, 0o644), (0o640, True, 0o750), (0o664, False, 0o664)]
)
def test_the_bit_is_the_drafts_and_the_rest_the_targets(site, before, bit, after):
    (site.root / "docs/spec.md").chmod(before)
    site.hold("ann", "docs/spec.md")
    site.write("ann", "docs/spec.md", "new\n")
    os.chmod(site.path("ann", "docs/spec.md"), 0o755 if bit else 0o644)
    site.run("ann", "draft", "docs/spec.md")
    site.run("ann", "submit")
    (site.root / "docs/spec.md.draft-0001@ann").chmod(0o600)
    flags = site.line("docs/spec.md")["drafts"][0]["flags"]
    assert flags == (["mode"] if bit or before == 0o755 else [])
    said = site.raw("me", "promote", "--dry-run", "docs/spec.md", "1").out
    assert ("executable bit" in said) == bool(flags)
    assert mode(site.root / "docs/spec.md") == before
    site.run("me", "promote --yes", "docs/spec.md", "1")
    assert mode(site.root / "docs/spec.md") == after
    assert ("mode change" in git("diff", "--summary", cwd=site.root)) == bit
    site.run("me", "promote --yes --undo", "docs/spec.md")
    assert mode(site.root / "docs/spec.md") == {0o755: 0o755, 0o640: 0o640, 0o664: 0o664}[before]


def test_a_hard_link_is_broken_off_and_the_answer_says_so(site):
    os.link(site.root / "docs/spec.md", site.root / "other")
    site.hand_in("ann", "docs/spec.md", "new\n")
    said = site.raw("me", "promote", "--yes", "docs/spec.md", "1").out
    assert "hard link" in said
    assert (site.read("other"), site.read("docs/spec.md")) == (b"v0\n", b"new\n")
