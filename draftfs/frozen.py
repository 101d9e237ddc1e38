"""Frozen dataclasses that cost little to define.

`dataclass(frozen=True)` writes and compiles six methods for every class, and every command, and every hook of git's, defines
some sixty. That was a quarter of what a hook adds to a commit (`make bench`). Here only `__init__` is compiled; the other
five are the same functions for all classes, and do what a dataclass's own would.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def frozen(kind: type[T]) -> type[T]: ...
@overload
def frozen(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: Any = None, *, kw_only: bool = False) -> Any:
    """As `dataclasses.dataclass(frozen=True)`: compared and hashed by all fields, never assigned to after `__init__`."""

    def define(kind: type[T]) -> type[T]:
        made = dataclass(eq=False, repr=False, kw_only=kw_only)(kind)
        for name, method in _METHODS.items():
            setattr(made, name, method)
        return made

    return define if kind is None else define(kind)


def _set(self: Any, name: str, value: object) -> None:
    if name in self.__dict__ or name not in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    self.__dict__[name] = value


def _delete(_: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _values(record: Any) -> tuple[object, ...]:
    return tuple([record.__dict__[name] for name in record.__dataclass_fields__])


def _equal(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, each in self.__dataclass_fields__.items() if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


_METHODS = {"__setattr__": _set, "__delattr__": _delete, "__eq__": _equal, "__hash__": _hash, "__repr__": _repr}
