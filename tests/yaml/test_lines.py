"""The quick reader of plain lines takes nothing that the strict one would not take, or would understand otherwise."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftfs.engine import yamlfile, yamllines
from draftfs.engine.yamltext import FileError
from draftfs.engine.yamlwalk import Walk
from draftfs.records import Choice, Content, Target

CONTENT = Content("ab" * 32, 7, "100644")
TARGET = Target("docs/spec.md", 12, (3, 12), Choice(3, CONTENT, "a person", "then", "main", None, "1", "2", CONTENT))
BODY = yamlfile.encode(TARGET).split(b"\n", 2)[2].decode()
PIECES = [
    "a",
    "b",
    "bytes",
    "no",
    "é",
    '"',
    '"x"',
    '"a: b"',
    '"#"',
    " ",
    "  ",
    "    ",
    "- ",
    "-",
    ":",
    ": ",
    "\n",
    "\n  ",
]
PIECES += [
    "1",
    "-1",
    "01",
    "null",
    "true",
    "True",
    "~",
    "[]",
    "{}",
    "[1]",
    "#",
    "\\",
    '"\\n"',
    "&a ",
    "*a",
    "!x ",
    "---",
    "\t",
    "? ",
]


def agree(text):
    """What the quick reader says; the strict one says the same, if it said anything."""
    quick = yamllines.read(text)
    if quick is not None:
        assert Walk(text).run() == quick, text
    return quick


def test_a_record_of_ours_is_read_by_it_whole():
    assert agree(BODY) is not None
    assert yamlfile.decode(Target, yamlfile.encode(TARGET), "x") == TARGET


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: 1",
        "a:\n",
        "a: 1\na: 2\n",
        "no: 1\n",
        'bytes: "x"\n',
        "a: 01\n",
        'a: "x\n',
        'a: "\\n"\n',
        "a: ~\n",
        "  a: 1\n",
        "a: 1\n  b: 2\n",
        "a:\n  b: 1\n c: 2\n",
        "a:\n- 1\n",
        "- 1\n",
        "a:\n  - 1\n  b: 2\n",
        "a:\n  - - 1\n",
        "a:\n  -\n",
        "a: 1\n\n",
        "a: 1 # x\n",
        "a: 1\n...\n",
        'a: "\x85"\n',
        'a: "\u2028"\n',
        'a: "\t"\n',
        "a" * 200 + ": 1\n",
        "a:\n" + "".join(f"{'  ' * n}a:\n" for n in range(1, 30)) + "  " * 30 + "a: 1\n",
    ],
)
def test_what_is_not_plain_is_left_to_the_strict_reader(text):
    assert yamllines.read(text) is None


@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_no_text_is_understood_otherwise(pieces):
    agree("".join(pieces) + "\n")


def test_no_small_change_of_a_record_is_understood_otherwise():
    chance, taken = random.Random(7), 0
    for _ in range(1500):
        at = chance.randrange(len(BODY))
        text = BODY[:at] + chance.choice(PIECES) + BODY[at + chance.randrange(3) :]
        try:
            taken += agree(text) is not None
        except FileError as fault:
            raise AssertionError(text) from fault
    assert taken > 100
