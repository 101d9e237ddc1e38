"""C67: amend, squash, reword. Admission goes by recorded steps; trailers are information. (More of it: tests/honest.)

DESIGN differs from the case in one point: a squash in a rebase keeps what git made of the messages, so an older pair may stand
further up in the text; of trailers, as git reads them, there is one pair.
"""

from __future__ import annotations

import pytest

from tests.support import git, wait_for

SPEC = "docs/spec.md"
OURS = "Draftfs-Job: 3\nDraftfs-Epoch: 1\n"


@pytest.fixture
def mine(guarded):
    """ann's commits of v1 and v2, under her claim."""
    guarded.hold("ann", SPEC)
    for number in (1, 2):
        guarded.write("ann", SPEC, f"v{number}\n")
        guarded.git("ann", "commit", "-qam", f"step {number}")
    return guarded


def message(site) -> str:
    return site.git("ann", "log", "-1", "--format=%B").out.strip() + "\n"


def rebase(site, *lines: str, onto: str = "main", **options):
    (site.field.base / "todo").write_text("".join(f"{line}\n" for line in lines))
    how = {"GIT_SEQUENCE_EDITOR": f"cp {site.field.base / 'todo'}", "GIT_EDITOR": "true"}
    return site.git("ann", "rebase", "-q", "-i", onto, **how, **options)


def clean(site) -> bool:
    return site.run("me", "verify", "main..wa")["findings"] == []


def test_at_most_one_pair_after_any_number_of_amends(mine):
    for number in range(3):
        mine.write("ann", SPEC, f"amended {number}\n")
        mine.git("ann", "commit", "-qa", "--amend", "--no-edit")
    assert message(mine) == f"step 2\n\n{OURS}"
    mine.git("ann", "commit", "-q", "--amend", "-m", "mine\n\nReviewed-by: B\nDraftfs-Job: 99\nDraftfs-Epoch: 99")
    assert message(mine) == f"mine\n\nReviewed-by: B\n{OURS}"
    assert clean(mine)


@pytest.mark.parametrize("how", ["squash", "fixup", "reword"])
@pytest.mark.parametrize("submitted", [False, True])
def test_rebase(mine, how, submitted):
    if submitted:
        mine.run("ann", "submit")
    first, second = mine.git("ann", "rev-list", "--reverse", "main..").out.split()
    rebase(mine, f"pick {first}", f"{how} {second}")
    keys = mine.git("ann", "log", "-1", "--format=%(trailers:only,unfold)").out
    assert keys.strip() + "\n" == OURS
    assert clean(mine)


def test_merge_squash(mine):
    mine.run("ann", "submit")
    mine.git("ann", "checkout", "-qb", "flat", "main")
    mine.git("ann", "merge", "-q", "--squash", "wa")
    mine.commit("ann")


@pytest.mark.parametrize("settings", [(), ("commit.verbose", "true"), ("core.commentChar", ";")])
def test_what_git_aborts_stays_aborted(mine, settings):
    if settings:
        mine.git("ann", "config", *settings)
    mine.write("ann", SPEC, "v3\n")
    before = mine.tip("ann")
    for options, editor in ((("-m", ""), "false"), ((), "true"), (("-v",), "true")):
        assert "empty" in mine.git("ann", "commit", "-a", *options, status=1, GIT_EDITOR=editor).err
    assert mine.tip("ann") == before


def test_another_encoding(mine):
    mine.git("ann", "config", "i18n.commitEncoding", "latin1")
    (mine.field.base / "message").write_bytes("sübject\n".encode("latin1"))
    mine.git("ann", "commit", "-q", "--amend", "-F", str(mine.field.base / "message"))
    raw = git("cat-file", "commit", "HEAD", cwd=mine.where("ann"))
    assert raw.partition("\n\n")[2] == "s\udcfcbject\n\n" + OURS


def test_trailers_neither_help_nor_harm(mine):
    mine.git("ann", "commit", "-q", "--amend", "-m", "no trailers", "--no-verify")
    mine.run("ann", "submit")
    mine.git("ann", "commit", "-q", "--amend", "-m", "none")
    assert message(mine) == "none\n"
    mine.hold("ann", "a.txt")
    mine.write("bob", SPEC, "not bob's\n")
    mine.blocked("bob", "commit", "-qam", f"x\n\n{OURS}")
    assert clean(mine)


def moved_on(site, data: str = "moved on\n") -> None:
    site.write("me", "other.md", data)
    site.git("me", "add", "other.md")
    site.git("me", "commit", "-qm", "moved on")


def remade(site) -> None:
    """All that can be made of her own recorded changes."""
    start = site.git("ann", "merge-base", "main", "wa").out.strip()
    site.git("ann", "commit", "-q", "--amend", "-m", "words")
    site.git("ann", "checkout", "-qB", "picked", "main")
    site.git("ann", "cherry-pick", f"{start}..wa")
    site.git("ann", "checkout", "-q", "wa")
    site.git("ann", "rebase", "-q", "main")
    site.git("ann", "reset", "-q", "--soft", "main")
    site.commit("ann")


def test_after_submitting_all_of_it_passes_and_nothing_new(mine):
    mine.run("ann", "submit")
    moved_on(mine)
    remade(mine)
    assert clean(mine)
    mine.write("ann", SPEC, "new\n")
    said = mine.blocked("ann", "commit", "-qa", "--amend", "--no-edit")
    assert "was submitted at" in said
    mine.git("ann", "checkout", "-q", ".")
    mine.git("ann", "reset", "-q", "--hard")
    mine.write("ann", SPEC, "v1\n")  # once admitted, and older: nobody recorded that step
    assert SPEC in mine.blocked("ann")
    mine.write("ann", SPEC, "v0\n")
    assert SPEC in mine.blocked("ann")


def test_after_a_lapse_none_of_it_until_she_holds_a_new_claim(guarded):
    site = guarded
    site.run("ann", "claim", "--ttl", "6s", "--", SPEC)
    for number in (1, 2):
        site.write("ann", SPEC, f"v{number}\n")
        site.git("ann", "commit", "-qam", f"step {number}")
    wait_for(lambda: site.field.me.job(3).job.holder is None)
    said = site.blocked("ann", "commit", "-q", "--amend", "-m", "words")
    assert "lapsed at" in said
    moved_on(site)
    site.git("ann", "checkout", "-qb", "picked", "main")
    site.blocked("ann", "cherry-pick", "wa~1")
    site.git("ann", "cherry-pick", "--abort", status=None)
    site.git("ann", "merge", "-q", "--squash", "wa")
    site.blocked("ann", "commit", "-qm", "x")
    site.git("ann", "reset", "-q", "--hard")
    site.git("ann", "checkout", "-q", "wa")
    assert site.git("ann", "rebase", "-q", "main", status=None).status != 0
    site.git("ann", "rebase", "--abort")
    assert site.run("me", "verify", "main..wa", status=6)["findings"]
    site.run("ann", "claim", "3", "--seen", str(site.field.version(3)), "--adopt")
    remade(site)
    assert clean(site)
