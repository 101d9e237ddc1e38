"""The file of `job add --from`: jobs written by hand, read without a guess (C27).

jobs:
  - title: "Write the parser"      # text; required
    paths: [src/parser.py]         # one path or several; required
    key: parser                    # a name for `after`, in this file only
    after: [lexer, 12]             # keys of this file, in any order, and numbers of jobs
    attempts: 3                    # at least 1
    contest: 2                     # at least 2
    text: |
      What is to be done, at length.
"""

from __future__ import annotations

import difflib
from typing import Any, Final

from draftfs.codec import describe
from draftfs.engine.userfile import Document, Odd, parse_user_file
from draftfs.records import NewJob

__all__ = ["NewJob", "read"]

_KNOWN: Final = ("title", "paths", "key", "after", "attempts", "contest", "text")

Field = tuple[str, ...]


def read(data: bytes, name: str) -> tuple[NewJob, ...]:
    """The jobs that file `name` asks for, in its order; all of them or none.

    Raises BadRequest naming file, line and field: `bad_job` where `after` names a key the file does not have, `bad_file`
    for everything else. Whether numbers are those of jobs, and whether jobs wait for each other, is not looked at.
    """
    form = _Form(parse_user_file(data, name))
    listed = form.fields((), form.document.value, ("jobs",), required=("jobs",))["jobs"]
    jobs = tuple(_job(form, ("jobs", at), value) for at, value in form.items(("jobs",), listed))
    keys: dict[str, int] = {}
    for index, job in enumerate(jobs):
        if job.key is not None and keys.setdefault(job.key, index) != index:
            first = form.document.line(("jobs", str(keys[job.key]), "key"))
            raise form.document.refusal(("jobs", str(index), "key"), f"{job.key!r} is taken already, on line {first}")
    for index, job in enumerate(jobs):
        for key in job.after:
            if isinstance(key, str) and key not in keys:
                problem = f"no job of this file has the key {key[:40]!r}{_nearest(key, keys)}"
                raise form.document.refusal(("jobs", str(index), "after"), problem, code="bad_job")
    return jobs


def _job(form: _Form, at: Field, value: Any) -> NewJob:
    given = form.fields(at, value, _KNOWN, required=("title", "paths"))
    paths = tuple(form.filled(*each) for each in form.one_or_more((*at, "paths"), given["paths"]))
    if not paths:
        raise form.document.refusal((*at, "paths"), "expected at least one path")
    after = form.one_or_more((*at, "after"), given.get("after", []))
    return NewJob(
        title=form.filled((*at, "title"), given["title"]),
        paths=paths,
        after=tuple(form.number(*each, least=1) if type(each[1]) is int else form.filled(*each) for each in after),
        key=form.filled((*at, "key"), given["key"]) if "key" in given else None,
        attempts=form.number((*at, "attempts"), given["attempts"], least=1) if "attempts" in given else None,
        contest=form.number((*at, "contest"), given["contest"], least=2) if "contest" in given else None,
        text=form.text((*at, "text"), given.get("text", "")),
    )


class _Form:
    """What values must be; whatever is something else is refused where it stands in the document."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def fields(self, at: Field, value: Any, known: tuple[str, ...], required: tuple[str, ...]) -> dict[str, Any]:
        if type(value) is not dict:
            raise self.document.refusal(at, f"expected fields ({', '.join(required)}), got {_described(value)}")
        for name in value:
            if name not in known:
                raise self.document.refusal((*at, name), f"unknown field{_nearest(name, known)}")
        for name in required:
            if name not in value:
                raise self.document.refusal((*at, name), "missing")
        return value

    def items(self, at: Field, value: Any) -> list[tuple[str, Any]]:
        if type(value) is not list:
            raise self.document.refusal(at, f"expected a list, got {_described(value)}")
        return [(str(index), each) for index, each in enumerate(value)]

    def one_or_more(self, at: Field, value: Any) -> list[tuple[Field, Any]]:
        """The values of a list, or one value that stands for a list of one, each with its place."""
        return [((*at, index), each) for index, each in self.items(at, value)] if type(value) is list else [(at, value)]

    def text(self, at: Field, value: Any) -> str:
        if type(value) is not str:
            quote = ": quote it" if isinstance(value, (bool, int, Odd)) else ""
            raise self.document.refusal(at, f"expected text, got {_described(value)}{quote}")
        if "\0" in value:
            raise self.document.refusal(at, "holds a NUL character")
        return value

    def filled(self, at: Field, value: Any) -> str:
        text = self.text(at, value)
        if not text.strip():
            raise self.document.refusal(at, "is empty")
        return text

    def number(self, at: Field, value: Any, *, least: int) -> int:
        if type(value) is not int:
            raise self.document.refusal(at, f"expected a whole number, got {_described(value)}")
        if value < least:
            raise self.document.refusal(at, f"expected at least {least}, got {value}")
        return value


def _described(value: Any) -> str:
    return value.what if isinstance(value, Odd) else describe(value)


def _nearest(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name[:40], known, n=1)
    return f"; did you mean {near[0]}?" if near else ""
