"""Strict reading of YAML, from the parser's events: what records and users' own files have in common (§3).

No constructor and no resolver of PyYAML runs, nothing recurses, and every refusal knows its line and field.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any, Final

import yaml
from yaml import events

from draftfs.engine.yamltext import BYTES_KEY, DEPTH, Field, FileError, Lines, is_identifier

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # PyYAML may come without its C part: slow, no less safe
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,999}")
_SIMPLE: Final = {"null": None, "true": True, "false": False}
_FROM_PERCENT = re.compile("%(25|[89A-F][0-9A-F])")
_UNREADABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")


class Walk:
    """Builds a record's plain value from the parser's events: no recursion, no constructor, no resolver.

    Raises FileError for whatever `encode` never writes. Fills `lines`, if given, with the line each field begins on.
    """

    def __init__(self, text: str, lines: Lines | None = None) -> None:
        self.text, self.lines = text, lines
        self.root: list[Any] = []
        self.here: Any = self.root
        self.key: str | None = None
        self.at: Field = ()
        self.outer: list[tuple[Any, str | None, Field]] = []
        self.event: Any = None

    def value(self, text: str, style: str | None) -> Any:
        """What a scalar means; `style` is its quote, `|`, `>` or None."""
        if style in ('"', "'"):
            return text
        if style:
            raise self.fault("block_text", f"text behind a {style}, not quoted")
        if text in _SIMPLE:
            return _SIMPLE[text]
        if not WHOLE.fullmatch(text):
            raise self.fault("unquoted", f"expected text in quotes or a whole number, got {text[:40]!r}")
        return int(text)

    def is_name(self, text: str) -> bool:
        """Whether an unquoted key is text."""
        return is_identifier(text)

    def complete(self, fields: dict[str, Any]) -> Any:
        """What a mapping means."""
        if len(fields) != 1:
            return fields
        ((key, value),) = fields.items()
        if key != "bytes":
            return {key[1:]: value} if BYTES_KEY.fullmatch(key) else fields
        if type(value) is not str or "%" in _FROM_PERCENT.sub("", value):
            raise self.fault("bytes", "expected text with percent-escaped bytes")
        return _FROM_PERCENT.sub(lambda found: "%" if found[1] == "25" else chr(0xDC00 + int(found[1], 16)), value)

    def run(self) -> Any:
        steps: dict[type, Callable[[Any], None]] = {
            events.ScalarEvent: self._scalar,
            events.MappingStartEvent: self._open,
            events.SequenceStartEvent: self._open,
            events.MappingEndEvent: self._close,
            events.SequenceEndEvent: self._close,
            events.AliasEvent: self._refuse_marks,
            events.DocumentStartEvent: self._document,
        }
        try:
            next_event = _Loader(self.text).get_event
            while type(event := next_event()) is not events.StreamEndEvent:
                self.event = event
                if step := steps.get(type(event)):
                    step(event)
        except yaml.MarkedYAMLError as fault:
            mark = fault.problem_mark or fault.context_mark
            raise FileError("syntax", f"not YAML: {fault.problem}", mark.line + 1 if mark else None) from None
        except yaml.YAMLError:  # the reader's, which knows no line
            found = _UNREADABLE.search(self.text)
            line = self.text.count("\n", 0, found.start()) + 1 if found else None
            raise FileError("control", "a control character YAML does not allow", line) from None
        return self.root[0] if self.root else None

    def fault(self, cause: str, problem: str) -> FileError:
        return FileError(cause, problem, self.event.start_mark.line + 1, self._path())

    def _path(self) -> Field:
        """The field whose value is due: `at` is that of the open list or mapping."""
        if type(self.here) is dict:
            return self.at if self.key is None else (*self.at, self.key)
        return (*self.at, str(len(self.here))) if self.outer else ()

    def _scalar(self, event: Any) -> None:
        if event.anchor is not None or event.tag is not None:
            self._refuse_marks(event)
        text, style = event.value, event.style
        if self.key is not None or type(self.here) is not dict:
            self._put(self.value(text, style))
        elif style not in ('"', "'") and (style or not self.is_name(text)):
            raise self.fault("key", f"the key {text[:40]!r} is not text: quote it")
        elif text in self.here:
            first = (lines_of(type(self), self.text) if self.lines is None else self.lines).get((*self._path(), text))
            self.key = text
            raise self.fault("duplicate_key", f"a second time; the first is on line {first}")
        else:
            self.key = text
            if self.lines is not None:
                self.lines[self._path()] = event.start_mark.line + 1

    def _put(self, value: Any) -> None:
        if self.key is not None:
            self.here[self.key] = value
            self.key = None
            return
        if self.lines is not None:
            self.lines[self._path()] = self.event.start_mark.line + 1
        self.here.append(value)

    def _open(self, event: Any) -> None:
        self._refuse_marks(event)
        if self.key is None and type(self.here) is dict:
            raise self.fault("key", "a key is a list or fields, not text")
        if len(self.outer) > DEPTH:
            raise self.fault("depth", f"nested deeper than {DEPTH}")
        opened: Any = {} if type(event) is events.MappingStartEvent else []
        at, frame = self._path(), (self.here, self.key, self.at)
        self._put(opened)
        self.outer.append(frame)
        self.here, self.at = opened, at

    def _close(self, event: Any) -> None:
        closed = self.here
        value = self.complete(closed) if type(event) is events.MappingEndEvent else closed
        self.here, key, self.at = self.outer.pop()
        if value is not closed:
            self.here[-1 if key is None else key] = value

    def _document(self, _event: Any) -> None:
        if self.root:
            raise self.fault("documents", "a second document begins")

    def _refuse_marks(self, event: Any) -> None:
        if event.anchor is not None:
            cause = "alias" if type(event) is events.AliasEvent else "anchor"
            raise self.fault(cause, f"the {cause} {event.anchor[:80]!r}: write out what it stands for")
        if event.tag is not None:
            raise self.fault("tag", f"the tag {event.tag[:80]!r}: tags are not read")


def lines_of(walk: type[Walk], text: str) -> Lines:
    """The line of every field, up to the first fault. Only errors need it, so only they pay for it."""
    lines: Lines = {}
    with contextlib.suppress(FileError):
        walk(text, lines).run()
    return lines
