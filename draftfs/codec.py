"""Records to plain values and back, with exact types: what a file says is never bent into what was expected."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, TypeVar, Union

R = TypeVar("R")
Decoder = Callable[[Any, tuple[str, ...]], Any]


class Malformed(ValueError):
    """A plain value that is not what the record's type says. `field` is the path to it, outermost name first."""

    def __init__(self, field: tuple[str, ...], problem: str) -> None:
        super().__init__(f"{'.'.join(field) or 'the record'}: {problem}")
        self.field, self.problem = field, problem


def to_plain(value: Any) -> Any:
    """`value` with dataclasses as dicts (in field order) and tuples as lists, all the way down."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: to_plain(getattr(value, name)) for name in _names(type(value))}
    if isinstance(value, (tuple, list)):
        return [to_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: to_plain(each) for key, each in value.items()}
    return value


def digest_of(plain: Any) -> str:
    """SHA-256 (hex) of a plain value's canonical JSON: the same for equal values, however they were made."""
    canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def from_plain(kind: type[R], value: Any) -> R:
    """The record of type `kind` that `value` describes; a field with a default may be missing: an older version wrote it.

    Raises Malformed for any other missing field, an unknown or an ill-typed one.
    """
    decode: Decoder = _decoder(typing.cast(Any, kind))
    return typing.cast(R, decode(value, ()))


@functools.cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in dataclasses.fields(kind))


@functools.cache
def _decoder(kind: Any) -> Decoder:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _record(kind)
    if origin is tuple:
        return _sequence(_decoder(arguments[0]))
    if origin is Literal:
        return _literal(arguments)
    if origin in (Union, types.UnionType):
        (inner,) = (each for each in arguments if each is not type(None))
        return _optional(_decoder(inner))
    if origin is dict or kind is Any:
        return _untyped(dict if origin is dict else object)
    return _scalar(kind)


def _record(kind: type) -> Decoder:
    hints = typing.get_type_hints(kind)
    decoders = {name: _decoder(hints[name]) for name in _names(kind)}
    defaults = {each.name: each.default for each in dataclasses.fields(kind) if each.default is not dataclasses.MISSING}

    def decode(value: Any, at: tuple[str, ...]) -> Any:
        if type(value) is not dict:
            raise Malformed(at, f"expected fields, got {describe(value)}")
        if value.keys() != decoders.keys():
            _check_names(value, decoders, defaults, at)
        made: Any = object.__new__(kind)  # what __init__ would do, field by field
        made.__dict__.update(defaults)
        made.__dict__.update({name: decoders[name](each, (*at, name)) for name, each in value.items()})
        return made

    return decode


def _check_names(
    value: dict[Any, Any], decoders: dict[str, Decoder], defaults: dict[str, Any], at: tuple[str, ...]
) -> None:
    for name in value:
        if name not in decoders:
            raise Malformed((*at, str(name)), "unknown field")
    for name in decoders:
        if name not in value and name not in defaults:
            raise Malformed((*at, name), "missing")


def _sequence(each: Decoder) -> Decoder:
    def decode(value: Any, at: tuple[str, ...]) -> Any:
        if type(value) is not list:
            raise Malformed(at, f"expected a list, got {describe(value)}")
        return tuple(each(item, (*at, str(index))) for index, item in enumerate(value))

    return decode


def _literal(allowed: tuple[Any, ...]) -> Decoder:
    def decode(value: Any, at: tuple[str, ...]) -> Any:
        if value not in allowed:
            raise Malformed(at, f"expected one of {', '.join(allowed)}, got {describe(value)}")
        return value

    return decode


def _optional(inner: Decoder) -> Decoder:
    return lambda value, at: None if value is None else inner(value, at)


def _untyped(kind: type) -> Decoder:
    def decode(value: Any, at: tuple[str, ...]) -> Any:
        if not isinstance(value, kind):
            raise Malformed(at, f"expected fields, got {describe(value)}")
        return value

    return decode


def _scalar(kind: type) -> Decoder:
    wanted = _WORDS[kind]

    def decode(value: Any, at: tuple[str, ...]) -> Any:
        if type(value) is not kind:  # not isinstance: True would pass for 1
            raise Malformed(at, f"expected {wanted}, got {describe(value)}")
        return value

    return decode


_WORDS: dict[type, str] = {str: "text", int: "a whole number", float: "a decimal number", bool: "true or false"}


def describe(value: Any) -> str:
    """What `value` is, in the words of an error message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true/false"
    if isinstance(value, int):
        return "a number"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    return "a list" if isinstance(value, list) else "fields"
