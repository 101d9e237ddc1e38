"""Users' own YAML files, with every refusal explained: file, line, field, and what to write instead."""

from __future__ import annotations

import functools
from dataclasses import field
from typing import Any, Final

import yaml
from yaml.resolver import Resolver

from draftfs.engine.yamltext import LIMIT, Field, FileError, Lines, sign, text_of
from draftfs.engine.yamlwalk import WHOLE, Walk, lines_of
from draftfs.errors import BadRequest
from draftfs.frozen import frozen

_RESOLVER: Any = Resolver()
_WHAT: Final = {"int": "a number in another notation", "float": "a decimal number", "timestamp": "a date"}


@frozen
class Odd:
    """An unquoted scalar that YAML 1.1 reads as `what` ("a date"), and that is neither text nor a plain whole number."""

    text: str
    what: str


class _UserWalk(Walk):
    def value(self, text: str, style: str | None) -> Any:
        if style:
            if any("\ud800" <= each <= "\udfff" for each in text):  # PyYAML's Python part takes JSON's surrogate pairs
                raise self.fault("surrogate", "an escape for half a character")
            return text
        meaning = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)).rpartition(":")[2]
        if meaning == "str":
            return text
        if meaning == "null":
            return None
        if meaning == "bool":
            return text.lower() in ("true", "yes", "on")
        return int(text) if WHOLE.fullmatch(text) else Odd(text, _WHAT.get(meaning, "a sign of YAML's own"))

    def is_name(self, text: str) -> bool:
        return type(self.value(text, None)) is str

    def complete(self, fields: dict[str, Any]) -> Any:
        return fields


@frozen
class Document:
    """A user's YAML file: dicts, lists, str, int, bool, None and Odd; it knows where everything stands."""

    name: str
    value: Any
    text: str = field(repr=False)

    def line(self, field_path: Field) -> int | None:
        return self._lines.get(field_path)

    def refusal(self, field_path: Field, problem: str, code: str = "bad_file") -> BadRequest:
        """The error that names file, line, field and problem; a missing field has the line of what it is missing from."""
        above = (self.line(field_path[:depth]) for depth in range(len(field_path), -1, -1))
        line = next(filter(None, above), None)
        return FileError("content", problem, line, field_path).error(BadRequest, code, self.name)

    @functools.cached_property
    def _lines(self) -> Lines:
        return lines_of(_UserWalk, self.text)


def parse_user_file(data: bytes, name: str, limit: int = LIMIT) -> Document:
    """The one document in a user's file; an empty file's value is None. A BOM and CRLF are taken as they come.

    Raises BadRequest `bad_file` with file, cause and line for whatever is not plain, unambiguous data of `limit` bytes.
    """
    try:
        if wrong := sign(data, ("utf16", "nul_filled", "nul"), limit):
            raise wrong
        text = text_of(data).removeprefix("\ufeff")
        return Document(name, _UserWalk(text).run(), text)
    except FileError as fault:
        shown = sign(data, ("conflict", "tab"), limit) if fault.cause == "syntax" else None
        clear = shown if shown and (shown.cause == "conflict" or shown.line == fault.line) else fault
        raise clear.error(BadRequest, "bad_file", name) from None
