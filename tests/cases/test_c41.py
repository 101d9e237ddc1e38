"""C41: conversion alone is nothing (tests/promotion/test_same_bytes.py has all of it)."""

import pytest

from tests.support import git


@pytest.mark.parametrize("how", ["autocrlf", "eol"])
def test_a_conversion_of_the_whole_checkout(site, how):
    site.hold("ann", "docs/spec.md")
    site.put("ann", "docs/spec.md", "one\ntwo\n")
    site.put("ann", "docs/spec.md", "three\n")
    site.run("ann", "submit")
    site.run("me", "promote --yes", "docs/spec.md", "1")
    git("commit", "-qam", "chosen", cwd=site.root)
    if how == "autocrlf":
        git("config", "core.autocrlf", "true", cwd=site.root)
    else:
        site.write("me", ".gitattributes", "* text eol=crlf\n")
    (site.root / "docs/spec.md").unlink()
    git("checkout", "--", "docs/spec.md", cwd=site.root)
    assert site.read("docs/spec.md") == b"one\r\ntwo\r\n"
    assert site.line("docs/spec.md")["stale"] is False
    promoted = site.run("me", "promote --yes", "docs/spec.md", "2")["promoted"][0]
    assert (promoted["kept"], site.read("docs/spec.md")) == (None, b"three\n")
    site.write("me", "docs/spec.md", "thref\r\n")
    assert site.line("docs/spec.md")["stale"] is True
