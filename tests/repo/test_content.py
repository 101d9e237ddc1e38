"""What a commit holds, and whether a file is the same by git's clean form (C21, C22, C41)."""

import os
import subprocess

import pytest

from draftfs import repo as repo_module
from draftfs.errors import EnvironmentFault
from draftfs.records import TreeEntry
from draftfs.repo import Repo

NAMES = [
    "caf\u00e9.md",
    'a"b.md',
    "a\\b.md",
    "nl\nx.md",
    "tab\t.md",
    "bad\udcff.md",
    " lead.md",
    "trail .md",
    "-rf.md",
    "--all",
    ":(top)x",
    ":!y",
    "*.md",
    "[a].md",
    "d/*.md",
]


def find(place) -> Repo:
    return Repo.find(str(place))


def blob(checkout, content):
    return checkout.git("hash-object", "--stdin", text=content)


def all_files(checkout):
    listed = []
    for folder, folders, files in os.walk(checkout.top):
        folders.sort()
        listed += [(os.path.join(folder, name), os.lstat(os.path.join(folder, name)).st_mtime_ns) for name in files]
    return sorted(listed)


# ── what a commit holds ──


@pytest.mark.parametrize("quote", ["true", "false"])
def test_entry_of_any_name(main, quote):
    main.git("config", "core.quotePath", quote)
    for name in NAMES:
        main.write(name, name)
    main.write("other.md", "other")
    main.write("d/k.md", "k")
    main.commit()
    found = find(main.top / "docs")
    for name in NAMES:
        assert found.entry("HEAD", name) == TreeEntry("100644", blob(main, name))


def test_entry_kinds(main):
    os.symlink("spec.md", main.top / "docs/link")
    commit = main.commit()
    main.git("update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
    main.git("commit", "-q", "-m", "sub")
    found = find(main)
    assert found.entry("HEAD", "run.sh").mode == "100755"
    assert found.entry("HEAD", "docs/link") == TreeEntry("120000", blob(main, "spec.md"))
    assert found.entry("HEAD", "docs") == TreeEntry("040000", main.git("rev-parse", "HEAD:docs"))
    assert found.entry("HEAD", "sub") == TreeEntry("160000", commit)
    for absent in ("none", "docs/none", "docs/spec.md/below", "doc", "sub/f"):
        assert found.entry("HEAD", absent) is None
    with pytest.raises(EnvironmentFault, match="ls-tree failed: fatal: Not a valid object name"):
        found.entry("nonsense", "docs")


def test_touched_since(main):
    start = main.git("rev-parse", "HEAD")
    main.write("*.md", "1")
    first = main.commit()
    main.write("docs/spec.md", "changed")
    main.commit()
    main.git("revert", "-n", "HEAD")
    back = main.commit()
    found = find(main)
    assert found.touched_since(start, back, ["docs/spec.md"])
    assert found.touched_since(start, back, ["docs"])
    assert found.touched_since(start, back, ["*.md"])
    assert not found.touched_since(first, back, ["*.md"])
    assert not found.touched_since(start, back, ["run.sh"])
    assert not found.touched_since(back, back, ["docs/spec.md"])
    assert found.touched_since("0" * 39 + "1", back, ["run.sh"])


def test_touched_by_a_side_that_a_merge_dropped(main):
    start = main.git("rev-parse", "HEAD")
    main.git("checkout", "-q", "-b", "side")
    main.write("docs/spec.md", "side")
    main.commit()
    main.git("checkout", "-q", "main")
    main.commit()
    main.git("merge", "-q", "-s", "ours", "-m", "m", "side")
    assert find(main).touched_since(start, "HEAD", ["docs/spec.md"])


# ── the clean form ──


CRLF = "one\r\ntwo\r\n"
LF = "one\ntwo\n"


@pytest.mark.parametrize(
    ("settings", "attributes"),
    [
        ({"core.autocrlf": "true"}, ""),
        ({"core.autocrlf": "input"}, ""),
        ({}, "* text=auto"),
        ({}, "* text eol=crlf"),
        ({}, "docs/*.md text eol=crlf"),
    ],
)
def test_line_ends_alone_are_the_same_content(main, tmp_path, settings, attributes):
    for key, value in settings.items():
        main.git("config", key, value)
    main.write(".gitattributes", attributes)
    a, b, c = (main.write(tmp_path / name, text) for name, text in (("a", CRLF), ("b", LF), ("c", "one\r\ntwO\r\n")))
    before = all_files(main)
    found = find(main.top / "docs")
    assert found.clean_blob("docs/spec.md", a) == found.entry("HEAD", "docs/spec.md").oid
    assert found.same_content("docs/spec.md", a, b)
    assert not found.same_content("docs/spec.md", a, c)
    assert all_files(main) == before


def test_without_conversion_line_ends_count(main, tmp_path):
    a, b = main.write(tmp_path / "a", CRLF), main.write(tmp_path / "b", LF)
    assert not find(main).same_content("docs/spec.md", a, b)


@pytest.mark.parametrize(
    ("settings", "attributes"),
    [
        ({"core.autocrlf": "true"}, ""),
        ({}, "* text=auto"),
        ({}, "* text=auto eol=crlf"),
        ({}, "* text"),
        ({}, "* -text"),
    ],
)
@pytest.mark.parametrize("content", [CRLF, "one\r\nTWO\r\n", "mixed\r\none\n"])
def test_clean_form_where_crlf_was_committed(main, tmp_path, settings, attributes, content):
    main.write("docs/spec.md", CRLF)
    main.commit()
    for key, value in settings.items():
        main.git("config", key, value)
    main.write(".gitattributes", attributes)
    ours = find(main).clean_blob("docs/spec.md", main.write(tmp_path / "f", content))
    main.write("docs/spec.md", content)
    os.utime(main.top / "docs/spec.md", ns=(1, 1))
    main.git("add", "docs/spec.md")
    assert ours == main.git("rev-parse", ":docs/spec.md")


def test_attributes_are_those_of_the_checkout_asked(main, tmp_path):
    worktree = main.worktree(tmp_path / "wa")
    worktree.write(".gitattributes", "* text")
    a, b = main.write(tmp_path / "a", CRLF), main.write(tmp_path / "b", LF)
    found = find(main)
    assert not found.same_content("docs/spec.md", a, b)
    assert found.same_content("docs/spec.md", a, b, str(worktree))
    assert found.clean_blob("docs/spec.md", a, str(worktree)) == blob(main, LF)


def test_ident(main, tmp_path):
    main.write(".gitattributes", "*.md ident")
    a, b = main.write(tmp_path / "a", "$Id$\n"), main.write(tmp_path / "b", "$Id: 0123 $\n")
    assert find(main).same_content("docs/spec.md", a, b)
    assert find(main).clean_blob("docs/spec.md", b) == blob(main, "$Id$\n")


def filtered(main, clean, smudge="cat", *, required=False):
    main.git("config", "filter.up.clean", clean)
    main.git("config", "filter.up.smudge", smudge)
    main.git("config", "filter.up.required", "true" if required else "false")
    main.write(".gitattributes", "*.md filter=up\n:(top)x filter=up\n-rf filter=up\n")


@pytest.mark.parametrize("name", ["docs/spec.md", "*.md", "nl\nx.md", "bad\udcff.md", ":(top)x", "-rf"])
def test_clean_filter(main, tmp_path, name):
    filtered(main, "tr a-z A-Z")
    a, b = main.write(tmp_path / "a", "word"), main.write(tmp_path / "b", "WORD")
    assert find(main).same_content(name, a, b)
    assert find(main).clean_blob(name, a) == blob(main, "WORD")


@pytest.mark.parametrize("required", [True, False])
def test_missing_filter_program_leaves_the_raw_bytes(main, tmp_path, required):
    filtered(main, "/no/such/program", required=required)
    a, b = main.write(tmp_path / "a", "word"), main.write(tmp_path / "b", "WORD")
    assert not find(main).same_content("docs/spec.md", a, b)
    assert find(main).clean_blob("docs/spec.md", a) == blob(main, "word")


def test_comparing_a_file_that_is_gone_is_an_error(main, tmp_path):
    with pytest.raises(EnvironmentFault):
        find(main).clean_blob("docs/spec.md", str(tmp_path / "gone"))


def test_one_process_compares_two_files(main, tmp_path, monkeypatch):
    calls = []
    real = repo_module.run
    found = find(main)
    monkeypatch.setattr(repo_module, "run", lambda *a, **k: calls.append(a) or real(*a, **k))
    found.same_content("docs/spec.md", main.write(tmp_path / "a", "a"), main.write(tmp_path / "b", "b"))
    assert len(calls) == 1


def smudged(found, oid, path, tmp_path):
    with open(tmp_path / "out", "wb") as out:
        found.smudged(oid, path, out.fileno())
    return (tmp_path / "out").read_bytes()


def test_smudged(main, tmp_path):
    raw = main.git("rev-parse", "HEAD:docs/spec.md")
    assert smudged(find(main), raw, "docs/spec.md", tmp_path) == LF.encode()
    main.write(".gitattributes", "* text eol=crlf")
    assert smudged(find(main.top / "docs"), raw, "docs/spec.md", tmp_path) == CRLF.encode()
    filtered(main, "cat", "tr a-z A-Z")
    assert smudged(find(main), raw, "nl\nx.md", tmp_path) == LF.upper().encode()
    filtered(main, "cat", "/no/such/program", required=True)
    with pytest.raises(EnvironmentFault):
        smudged(find(main), raw, "docs/spec.md", tmp_path)


# ── what differs from a commit ──


def test_changed_under(main):
    for name in ("keep", "edit", "gone", "mode", "touched", "link"):
        main.write(f"d/{name}", name)
    main.write("d-e/x", "x")
    main.write(".gitignore", "*.o\n")
    commit = main.commit()
    main.write("d/edit", "Edit")
    (main.top / "d/gone").unlink()
    (main.top / "d/mode").chmod(0o755)
    os.utime(main.top / "d/touched", ns=(1, 1))
    (main.top / "d/link").unlink()
    os.symlink("link", main.top / "d/link")
    main.write("d/new\n\udcff", "new")
    main.write("d/sub/staged", "staged")
    main.git("add", "d/sub/staged")
    main.write("d/sub/came-and-went", "")
    main.git("add", "d/sub/came-and-went")
    (main.top / "d/sub/came-and-went").unlink()
    main.write("d/x.o", "ignored")
    main.write("d/keep.draft-0001@ann", "a draft")
    main.write("d-e/x", "outside")
    subprocess.run(["git", "init", "-q", main.top / "d/nested"], check=True)
    main.write("d/nested/f", "f")
    index = (main.top / ".git/index").read_bytes()
    found = find(main.top / "docs")
    assert found.changed_under(commit, "d") == ("d/edit", "d/gone", "d/link", "d/mode", "d/new\n\udcff", "d/sub/staged")
    assert found.changed_under(commit, "d/edit") == ("d/edit",)
    assert found.changed_under(commit, "d/keep") == ()
    assert (main.top / ".git/index").read_bytes() == index


@pytest.mark.parametrize("key", ["diff.autoRefreshIndex", "diff.relative", "diff.mnemonicPrefix"])
def test_changed_under_whatever_the_settings(main, key):
    for value in ("true", "false"):
        main.git("config", key, value)
        os.utime(main.top / "docs/spec.md", ns=(1, 1))
        assert find(main.top / "docs").changed_under("HEAD", "docs") == ()
        main.write("run.sh", "#!/bin/sh\n# " + value)
        assert find(main.top / "docs").changed_under("HEAD", "run.sh") == ("run.sh",)


def test_changed_under_compares_the_checkout_not_the_index_or_head(main):
    old = main.git("rev-parse", "HEAD")
    main.write("docs/spec.md", "newer\n")
    main.git("rm", "-q", "--cached", "run.sh")
    newer = main.commit()
    main.git("rm", "-q", "--cached", "-r", "docs")
    found = find(main)
    assert found.changed_under(newer, "docs") == ()
    assert found.changed_under(old, "docs") == ("docs/spec.md",)
    main.write("docs/spec.md", LF)
    assert found.changed_under(old, "docs") == ()
    assert found.changed_under(newer, "docs") == ("docs/spec.md",)
    main.git("add", "docs")
    assert found.changed_under(old, "docs") == ()


def test_changed_under_is_no_pattern(main):
    main.write("*.md", "1")
    main.write("other.md", "1")
    commit = main.commit()
    main.write("other.md", "2")
    assert find(main).changed_under(commit, "*.md") == ()
    main.write("*.md", "2")
    assert find(main).changed_under(commit, "*.md") == ("*.md",)


def test_changed_under_leaves_out_conversion(main):
    main.git("config", "core.autocrlf", "true")
    main.write("docs/spec.md", CRLF)
    assert find(main).changed_under("HEAD", "docs") == ()
    main.write("docs/spec.md", "one\r\ntwO\r\n")
    assert find(main).changed_under("HEAD", "docs") == ("docs/spec.md",)
