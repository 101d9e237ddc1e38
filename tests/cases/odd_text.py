"""Texts that something on the way could take for something else, and how they are read back: C27, C28, C29."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import yaml
from ruamel.yaml import YAML

from tests.support import draftfs

NAMES = [
    "no",
    "yes",
    "on",
    "null",
    "true",
    "007",
    "7",
    "0o7",
    "1e5",
    "100000",
    "1_0",
    "10",
    "750",
    "2024-01-01",
]  # names of C26
NO_NAMES = ("~", "12:30", ".inf", "=", "<<", "!!!", "???")
SIGNS = (
    *(
        "08",
        "0x1F",
        "0b11",
        "+1",
        ".nan",
        "- x",
        "a: b",
        "#x",
        "x #y",
        " lead",
        "trail ",
        "''",
        '"',
        "'",
        "*a",
        "&a",
        "!x",
    ),
    *("@x", "`", "%x", "|", ">", "{", "[", "---", "...", "? x", "- - -", "a:\tb", "\\x41", "%41", "%", "{bytes: x}"),
)
DIGESTS = ("61e9540", "680841e1", "9509425349e4", "1234567890" * 4, "0e0", "1e400", "12.5e3", "1" * 400)
CONTROLS = tuple(
    f"a{each}z"
    for each in (
        "💥",
        "\x1b[31m",
        "\x7f",
        "\x85",
        "\u2028",
        "\u2029",
        "\ufeff",
        "\r",
        "\r\n",
        "\t",
        "\udcff",
        "\n",
        "\x01",
    )
)
MARKERS = ("<<<<<<< ours\n=======\n>>>>>>> theirs\n",)
TEXTS = (*NAMES, *NO_NAMES, *SIGNS, *DIGESTS, *CONTROLS, *MARKERS)


def by_two_readers(path: Path) -> dict:
    """The record in this file, by a YAML 1.1 and by a YAML 1.2 reader, which agree."""
    text = path.read_bytes().decode()
    first, second = yaml.safe_load(text), YAML(typ="safe").load(StringIO(text))
    assert first == second
    return first


def text_of(value: object) -> str:
    """Text that is not UTF-8 is kept percent-escaped, under a key of its own."""
    if not isinstance(value, dict):
        assert type(value) is str
        return value
    (escaped,) = value.values()
    raw = re.sub(rb"%([0-9A-F]{2})", lambda found: bytes([int(found[1], 16)]), escaped.encode())
    return raw.decode("utf-8", "surrogateescape")


def cli_json(*arguments: str, **where: object) -> dict:
    ran = draftfs(*arguments, "--json", **where)
    assert ran.status == 0, ran
    return json.loads(ran.out)["data"]
