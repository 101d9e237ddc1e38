"""Messages: the trailers of the claim at the end, everything else byte for byte; what git aborts stays aborted."""

from __future__ import annotations

import subprocess

import pytest

from tests.honest.conftest import SPEC

OURS = "Draftfs-Job: 3\nDraftfs-Epoch: 1\n"


@pytest.fixture
def mine(place):
    """ann's change of her own path, staged."""
    place.hold("ann", SPEC)
    place.write("ann", SPEC, "v1\n")
    place.git("ann", "add", SPEC)
    return place


def raw(place) -> bytes:
    """The message of HEAD as it is stored."""
    got = subprocess.run(["git", "cat-file", "commit", "HEAD"], cwd=place.where("ann"), capture_output=True, check=True)
    return got.stdout.partition(b"\n\n")[2]


GIVEN = [
    ("subject", "subject\n\n"),
    ("fix: subject", "fix: subject\n\n"),
    ("subject\n\nbody\n", "subject\n\nbody\n\n"),
    ("subject\n\nSigned-off-by: A <a@b>\n", "subject\n\nSigned-off-by: A <a@b>\n"),
    ("subject\n\nDraftfs-Jobs: mine\nDraft: yes\nD: x\n", "subject\n\nDraftfs-Jobs: mine\nDraft: yes\nD: x\n"),
    ("subject\n\n#123\n", "subject\n\n#123\n\n"),
    ("subject\n\nbody\n---\nmore\n", "subject\n\nbody\n---\nmore\n\n"),
    ("subject\n\nDraftfs-Job: 99\nDraftfs-Epoch: 99\n", "subject\n\n"),
    ("sübject 💥\n\n  indented\n\ttab\n", "sübject 💥\n\n  indented\n\ttab\n\n"),
    ("subject\n\nlast line has no end", "subject\n\nlast line has no end\n\n"),
]


@pytest.mark.parametrize(
    ("given", "kept", "by"),
    [*((*each, "-m") for each in GIVEN), (*GIVEN[2], "-F"), (*GIVEN[-1], "-F"), (*GIVEN[4], "stdin")],
)
def test_what_was_written_is_kept(mine, given, kept, by):
    how = {"-m": ("-m", given), "-F": ("-F", str(mine.base / "message")), "stdin": ("-F", "-")}[by]
    (mine.base / "message").write_text(given)
    mine.git("ann", "commit", "-q", *how, feed=given if by == "stdin" else None)
    assert raw(mine).decode() == kept + OURS
    mine.git("ann", "commit", "-q", "--amend", "--no-edit")
    assert raw(mine).decode() == kept + OURS


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--trailer", "Reviewed-by: B <b@c>"), "subject\n\nReviewed-by: B <b@c>\n"),
        (("-s",), "subject\n\nSigned-off-by: A Person <person@example.invalid>\n"),
        (("-m", "second"), "subject\n\nsecond\n\n"),
        (("--cleanup=verbatim",), "subject\n\n"),
        (("--cleanup=whitespace", "-m", "# kept"), "subject\n\n# kept\n\n"),
        (("--cleanup=strip",), "subject\n\n"),
    ],
)
def test_options_that_write_the_message(mine, options, text):
    mine.git("ann", "commit", "-q", "-m", "subject", *options)
    assert raw(mine).decode() == text + OURS


def test_reuse_and_fixup(mine):
    mine.git("ann", "commit", "-q", "-m", "subject")
    for options in (("-C", "HEAD"), ("--fixup=HEAD",), ("--squash=HEAD", "-m", "x"), ("-c", "HEAD")):
        mine.write("ann", SPEC, repr(options))
        mine.git("ann", "commit", "-qa", *options, GIT_EDITOR="true")
        assert raw(mine).decode().count("Draftfs-Job: 3\n") == 1


@pytest.mark.parametrize("options", [("-m", ""), ("-m", "  \n"), (), ("-F", "/dev/null"), ("-v",), ("-t", "template")])
def test_what_git_aborts_stays_aborted(mine, options):
    (mine.where("ann") / "template").write_text("a template\n")
    before = mine.tip("ann")
    mine.git("ann", "commit", *options, status=1, GIT_EDITOR="true")
    assert mine.tip("ann") == before


def test_an_empty_message_that_is_allowed_stays_empty(mine):
    mine.git("ann", "commit", "-q", "--allow-empty-message", "-m", "")
    assert raw(mine) == b""


def editor(place, text: str) -> dict[str, str]:
    (place.base / "editor").write_text(f'#!/bin/sh\n{{ printf "{text}"; cat "$1"; }} >"$1.new" && mv "$1.new" "$1"\n')
    (place.base / "editor").chmod(0o755)
    return {"GIT_EDITOR": str(place.base / "editor")}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"commit.verbose": "true"},
        {"commit.cleanup": "scissors"},
        {"commit.cleanup": "scissors", "commit.verbose": "true"},
        {"core.commentChar": ";"},
        {"core.commentChar": "auto"},
        {"commit.status": "false"},
        {"commit.template": "../template"},
    ],
)
def test_an_editor(mine, settings):
    """Before it opens there is no text, so no trailer is added: what is written there is the message."""
    (mine.base / "template").write_text("")
    for key, value in settings.items():
        mine.git("ann", "config", key, value)
    mine.git("ann", "commit", "-q", **editor(mine, "subject\\n\\nbody\\n"))
    assert raw(mine).decode() == "subject\n\nbody\n"
    mine.git("ann", "commit", "-q", "--amend", **editor(mine, "better\\n\\n"))
    assert raw(mine).decode() == "better\n\nsubject\n\nbody\n\n" + OURS


def test_another_encoding(mine):
    mine.git("ann", "config", "i18n.commitEncoding", "latin1")
    (mine.base / "message").write_bytes("sübject\n".encode("latin1"))
    mine.git("ann", "commit", "-q", "-F", str(mine.base / "message"))
    assert raw(mine) == "sübject\n\n".encode("latin1") + OURS.encode()


def test_trailers_that_are_taken_out_or_pasted(mine):
    mine.git("ann", "commit", "-q", "-m", "subject")
    mine.git("ann", "commit", "-q", "--amend", "-m", "no trailers", "-n")
    mine.submit("ann")
    mine.git("ann", "commit", "-q", "--amend", "-m", "words\n\nDraftfs-Job: 99\nDraftfs-Epoch: 99\n")
    mine.git("ann", "commit", "-q", "--amend", "-m", "words")
    assert raw(mine) == b"words\n", "a claim that has ended signs nothing"


def test_only_a_live_claim_signs(place):
    place.commit("ann", "f0", "x\n", "subject")
    assert raw(place) == b"subject\n"
    place.hold("ann", SPEC)
    place.commit("ann", "f0", "y\n", "subject")
    assert raw(place).decode() == "subject\n\n" + OURS
    place.hold("ann", "f3")
    place.commit("ann", "f0", "z\n", "which of two?")
    assert raw(place) == b"which of two?\n"
    place.store("ann").release(job=4)
    place.store("ann").release(job=3)
    place.commit("ann", "f0", "x\n", "subject")
    assert raw(place) == b"subject\n"
    place.commit("me", "f1", "x\n", "subject")
    assert place.message("me").strip() == "subject"


def test_merges_and_picks(mine):
    mine.git("ann", "commit", "-q", "-m", "subject")
    mine.commit("me", "f0", "moved on\n")
    mine.git("ann", "merge", "-q", "-m", "merged", "main")
    assert raw(mine) == b"merged\n"
    mine.git("ann", "checkout", "-qb", "again", "main")
    mine.git("ann", "cherry-pick", "-x", "wa~1")
    assert raw(mine).decode().count("Draftfs-Job") == 1
