"""`diff`: git's own machinery, under the attributes and settings of the target; nothing in a draft steers a terminal."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess

import pytest

from draftfs import DraftRef
from draftfs.cli._difference import difference
from draftfs.cli._show import Paint
from tests.support import draftfs, git

SPEC = "docs/spec.md"


def drafted(field, data: str | bytes, target: str = SPEC, *, base: str | bytes | None = None, mode: int = 0o644):
    """A submitted draft of `target`, which holds `base` in the root."""
    if base is not None:
        field.write("me", target, base)
        field.write("ann", target, base)
    field.ann.claim_paths([target], adopt=True)
    os.chmod(field.write("ann", target, data), mode)
    made = field.ann.draft([target]).drafts[0]
    field.ann.submit()
    return DraftRef(target, made.number)


def between(field, *refs: DraftRef, words: bool = False, **more: bool):
    return difference(field.me.sides(*refs, **more), words=words)


def test_against_target_base_and_each_other(field):
    """Names are those of the files, and the text is what `patch` takes."""
    one, two = drafted(field, "v1\n"), drafted(field, "v2\n")
    field.write("me", SPEC, "today\n")
    against = between(field, two).text()
    assert against == b"--- docs/spec.md\n+++ docs/spec.md.draft-0002@ann\n@@ -1 +1 @@\n-today\n+v2\n"
    assert between(field, two, base=True).text().endswith(b"-v0\n+v2\n")
    assert between(field, one, two).text().endswith(b"-v1\n+v2\n")
    patched = subprocess.run(
        ["patch", "-s", "-o", "-", "docs/spec.md"], cwd=field.root, input=against, capture_output=True, check=True
    )
    assert patched.stdout == b"v2\n"
    field.write("me", SPEC, "v2\n")
    assert between(field, two).text() == b""


def test_the_mode_is_said_even_where_it_is_all_that_changes(field):
    ref = drafted(field, "v0\n", mode=0o755)
    found = between(field, ref)
    assert found.text().startswith(b"old mode 100644\nnew mode 100755\n--- docs/spec.md\n")
    assert list(found.summary(Paint(on=False))) == ["docs/spec.md.draft-0001@ann  +0 -0  mode"]


def test_attributes_of_the_target_count_and_bytes_are_compared_as_they_are(field):
    """A driver names the function, `-diff` is binary, `diff` is text; end-of-line attributes and filters change nothing."""
    (field.root / ".gitattributes").write_text(
        "*.py diff=python\n*.lock -diff\n*.dat diff\n*.md text eol=crlf\n*.txt diff=driven\n"
    )
    body = "class A:\n" + "    x = 1\n" * 9
    code = drafted(field, f"{body}    y = 2\n", "a.py", base=f"{body}    y = 1\n")
    field.write("me", "a.py", f"{body}    y = 1\n")
    assert b"@@ class A:\n" in between(field, code).text()
    lock = drafted(field, "two\n", "x.lock", base="one\n")
    assert between(field, lock).hunks is None
    data = drafted(field, b"\0two\n", "x.dat", base=b"\0one\n")
    assert b"+\0two\n" in between(field, data).text()
    crlf = drafted(field, "one\r\nthree\r\n", "x.md", base="one\r\ntwo\r\n")
    found = between(field, crlf)
    assert (found.added, found.removed) == (1, 1)
    (line,) = field.me.ls(["x.md"])
    assert (line.drafts[0].added, line.drafts[0].removed) == (1, 1)
    marker = field.base / "ran"
    git("config", "diff.driven.textconv", f"touch {marker}; cat", cwd=field.root)
    git("config", "diff.driven.command", f"touch {marker}; true", cwd=field.root)
    git("config", "diff.external", f"touch {marker}; true", cwd=field.root)
    assert between(field, drafted(field, "two\n", "x.txt", base="one\n")).added == 1
    assert not marker.exists(), "no program that attributes or settings name is run"


def test_settings_for_differences_count(field):
    lines = [f"{number}\n" for number in range(20)]
    ref = drafted(field, "".join([*lines[:10], "new\n", *lines[10:]]), base="".join(lines))
    assert len(between(field, ref).hunks) == 1 + 3 + 1 + 3
    git("config", "diff.context", "1", cwd=field.root)
    git("config", "diff.noprefix", "true", cwd=field.root)
    git("config", "color.diff", "always", cwd=field.root)
    assert between(field, ref).hunks[1:] == (b" 9\n", b"+new\n", b" 10\n")


def test_words(field):
    ref = drafted(field, "the new word\n", base="the old word\n")
    found = between(field, ref, words=True)
    assert found.hunks[-1] == b"the [-old-]{+new+} word\n"
    painted = list(found.shown(Paint(on=True)))[-1]
    assert painted == "the \x1b[31m[-old-]\x1b[0m\x1b[32m{+new+}\x1b[0m word"


@pytest.mark.parametrize("name", ["-rf.md", "--stat", "a\nb.md", "b\udcff.md", ":(top)x", "*.md", "caf\u00e9 x.md"])
def test_odd_names_and_control_characters(field, name):
    """Exact in a pipe, escaped where it is shown; a lone CR ends no line."""
    data = "\x1b[31mred\x1b[0m\x07\u202e\u2028\rsame line\n\x9b\ttab\n"
    ref = drafted(field, data, f"./{name}")
    found = between(field, DraftRef(name, ref.number))
    assert data.splitlines(keepends=True)[0].encode() in found.text()
    assert (found.added, found.removed) == (2, 0)
    for line in found.shown(Paint(on=False)):
        assert line.replace("\t", "").isprintable(), line
        line.encode()  # no surrogate is left


def test_binary_contents_are_told_by_size_and_digest(field):
    data = b"\x89PNG\r\n\x1a\n\0" * 1_000_000
    ref = drafted(field, data, "a.png", base=b"\0")
    found = between(field, ref)
    assert found.hunks is None
    (text,) = found.shown(Paint(on=False))
    assert "a.png (1 B, " in text
    assert f"a.png.draft-0001@ann (9.0 MB, {hashlib.sha256(data).hexdigest()[:12]})" in text
    assert found.plain()["after"] == {
        "name": "a.png.draft-0001@ann",
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
        "mode": "100644",
    }
    assert list(found.summary(Paint(on=False))) == ["a.png.draft-0001@ann  binary, 1 B to 9.0 MB"]


@pytest.mark.parametrize("data", [b"", b"\r", b"x" * (1 << 20), ("\u6f22" * 334).encode()[:1001], b"no end"])
def test_bytes_are_bytes(field, data):
    found = between(field, drafted(field, data, "b.txt", base=b"old\n"))
    assert b"".join(line[1:] for line in found.hunks if line.startswith(b"+")) == (data and data + b"\n")
    assert all(line.replace("\t", "").isprintable() for line in found.shown(Paint(on=False)))


def test_additions_and_deletions(field):
    new = drafted(field, "one\n", "new.md")
    header = b"new file mode 100644\n--- /dev/null\n+++ new.md.draft-0001@ann\n"
    assert between(field, new).text() == header + b"@@ -0,0 +1 @@\n+one\n"
    field.bob.claim(2, seen=1)
    field.bob.draft(["a.txt"], delete=True)
    assert b"deleted file mode 100644\n--- a.txt\n+++ /dev/null\n" in between(field, DraftRef("a.txt", 1)).text()


def test_an_empty_file_that_comes_or_goes_is_a_difference(field):
    found = between(field, drafted(field, "", "new.md", mode=0o755))
    assert found.text() == b"new file mode 100755\n--- /dev/null\n+++ new.md.draft-0001@ann\n"
    assert list(found.summary(Paint(on=False))) == ["new.md.draft-0001@ann  +0 -0  new"]
    found = between(field, drafted(field, b"\0", "new.bin"))
    assert list(found.summary(Paint(on=False))) == ["new.bin.draft-0001@ann  binary, no file to 1 B  new"]


def test_by_the_command_line(field):
    """All drafts of a job; counts; word by word; a difftool, given the target itself and copies that are read-only."""
    field.me.add_job("both", [SPEC, "a.txt"])
    field.ann.claim(3, seen=1)
    field.write("ann", SPEC, "v1\n")
    field.write("ann", "a.txt", "one\ntwo\n")
    field.ann.draft([str(field.worktree("ann") / each) for each in (SPEC, "a.txt")])
    field.ann.submit()
    run = lambda *words, **more: draftfs("diff", *words, cwd=field.root, **more)  # noqa: E731
    assert run("--job", "3", "--stat").out == "a.txt.draft-0001@ann  +1 -0\ndocs/spec.md.draft-0001@ann  +1 -1\n"
    diffs = json.loads(run("--job", "3", "--json").out)["data"]["diffs"]
    assert [each["after"]["name"] for each in diffs] == ["a.txt.draft-0001@ann", "docs/spec.md.draft-0001@ann"]
    assert run("--word-diff", SPEC, "1").out.endswith("[-v0-]{+v1+}\n")
    seen = field.base / "seen"
    git(
        "config",
        "difftool.look.cmd",
        f'ls -l "$LOCAL" >{seen}; ls -l "$REMOTE" >>{seen}; cat "$REMOTE" >>{seen}',
        cwd=field.root,
    )
    assert run("--tool", "look", SPEC, "1").status == 0
    target, copy, text = seen.read_text().splitlines()
    assert target.endswith(f" {field.root}/docs/spec.md")
    assert copy.startswith("-r--r--r--")
    assert copy.endswith("/draft-0001@ann/spec.md")
    assert text == "v1"
    assert run("--difftool", SPEC, "1").status == 2, "git would guess an editor"
    git("config", "diff.tool", "look", cwd=field.root)
    assert run("--difftool", "--base", SPEC, "1").status == 0
    assert "/base/spec.md" in seen.read_text()
    unknown = run("--tool", "nosuch", SPEC, "1")
    assert (unknown.status, "difftool" in unknown.err) == (8, True)
    assert run("--difftool", "--json", SPEC, "1").status == 2
