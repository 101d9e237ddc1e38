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


def filtered(site):
    site.write("me", ".gitattributes", "*.md filter=crlf\n")
    git("config", "filter.crlf.clean", "tr -d '\\r'", cwd=site.root)
    git("config", "filter.crlf.smudge", "sed 's/$/\\r/'", cwd=site.root)


def ident(site):
    site.write("me", ".gitattributes", "*.md ident\n")


def auto_input(site):
    git("config", "core.autocrlf", "input", cwd=site.root)


@pytest.mark.parametrize("convert", [filtered, ident, auto_input])
def test_check_takes_no_conversion_for_a_change(site, convert):
    site.hand_in("ann", "docs/spec.md", "one $Id$\ntwo\n")
    site.run("me", "promote --yes", "docs/spec.md", "1")
    git("commit", "-qam", "chosen", cwd=site.root)
    convert(site)
    (site.root / "docs/spec.md").unlink()
    git("checkout", "--", "docs/spec.md", cwd=site.root)
    converted = site.read("docs/spec.md")
    assert (converted == b"one $Id$\ntwo\n") is (convert is auto_input)
    assert site.check("stale") == []
    site.write("me", "docs/spec.md", converted.replace(b"two", b"twp"))
    assert site.check("stale") == [("stale", "docs/spec.md")]


def test_a_filter_that_is_missing_is_said(site):
    site.hand_in("ann", "docs/spec.md", "one\n")
    site.run("me", "promote --yes", "docs/spec.md", "1")
    site.write("me", ".gitattributes", "*.md filter=gone\n")
    git("config", "filter.gone.clean", "/nowhere/clean", cwd=site.root)
    assert site.check("stale") == [], "bytes that are the same need no filter"
    site.write("me", "docs/spec.md", "one\r\n")
    data = site.run("me", "check --kind stale", status=6)
    assert [each["kind"] for each in data["findings"]] == ["stale"]
    assert "its filter cannot run" in data["notes"][0]


def test_a_draft_that_is_really_in_crlf(site):
    git("config", "core.autocrlf", "true", cwd=site.root)
    site.hand_in("ann", "docs/spec.md", b"one\r\ntwo\r\n")
    site.run("me", "promote --yes", "docs/spec.md", "1")
    assert site.read("docs/spec.md") == b"one\r\ntwo\r\n"
    assert site.check("stale") == []
