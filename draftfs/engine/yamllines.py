"""The plain part of what records are written in, read line by line: several times as fast as a parser of all YAML.

Takes nothing that the strict reader (`yamlwalk`) would not take, or would understand otherwise: what is not exactly as
`yamlfile.encode` writes plain fields is left to that.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, Final

from draftfs.engine.yamltext import BYTES_KEY, is_identifier

_LINE = re.compile(
    r"^( *)(- )?(?:([A-Za-z_][A-Za-z0-9_]{0,100}):(?!\S) ?)?"
    r'(?:("[^"\n]*")|(null|true|false|\[\]|\{\})|(0|-?[1-9][0-9]{0,17}))?$',
    re.MULTILINE,
)
_PLAIN = re.compile(r"[\n -\[\]-~\xa0-\u0600]*")  # no backslash: it begins an escape
_WORDS: Final[dict[str, Callable[[], Any]]] = {
    "null": lambda: None,
    "true": lambda: True,
    "false": lambda: False,
    "[]": list,
    "{}": dict,
}
_DEEPEST: Final = 16  # spaces


class _NotPlain(Exception):
    pass


def read(text: str) -> dict[str, Any] | None:
    """The fields of a record, by all lines behind its first two; None where they are not plain."""
    if not text.endswith("\n") or not _PLAIN.fullmatch(text):
        return None
    lines = _LINE.findall(text[:-1])
    if len(lines) != text.count("\n"):
        return None
    reader = _Lines(lines)
    try:
        fields = reader.mapping(0)
    except _NotPlain:
        return None
    return fields if reader.at == len(lines) else None


@functools.lru_cache(maxsize=1024)
def _is_key(text: str) -> bool:
    return is_identifier(text) and not BYTES_KEY.fullmatch(text)


class _Lines:
    """Lines, each as indentation, dash, key, quoted text, word and number, of which any may be empty."""

    def __init__(self, lines: list[tuple[str, ...]]) -> None:
        self.lines, self.at = lines, 0

    def mapping(self, pad: int, *, begun: bool = False) -> dict[str, Any]:
        """The fields from here on that are indented by `pad`; with `begun` the first stands behind the dash of an item.
        Whatever comes behind them is the caller's."""
        fields: dict[str, Any] = {}
        while self.at < len(self.lines):
            indent, dash, key, text, word, number = self.lines[self.at]
            if not begun and (dash or len(indent) != pad):
                break
            if key in fields or not _is_key(key):
                raise _NotPlain
            begun = False
            self.at += 1
            if text:
                fields[key] = text[1:-1]
            elif number:
                fields[key] = int(number)
            else:
                fields[key] = _WORDS[word]() if word else self._nested(pad + 2)
        if not fields:
            raise _NotPlain
        return fields

    def _nested(self, pad: int) -> Any:
        if pad > _DEEPEST or self.at >= len(self.lines):
            raise _NotPlain
        return self._items(pad) if self.lines[self.at][1] else self.mapping(pad)

    def _items(self, pad: int) -> list[Any]:
        items: list[Any] = []
        while self.at < len(self.lines):
            indent, dash, key, text, _, number = self.lines[self.at]
            if not dash or len(indent) != pad:
                break
            if key:
                items.append(self.mapping(pad + 2, begun=True))
                continue
            if not (text or number):
                raise _NotPlain
            items.append(text[1:-1] if text else int(number))
            self.at += 1
        if not items:
            raise _NotPlain
        return items
