"""`frozen` does what `dataclass(frozen=True)` does; for each, the same class made both ways."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from draftfs.frozen import frozen
from draftfs.records import Content, DraftRef


def made(decorator, **options):
    class Point:
        """A point."""

        x: int
        tags: tuple[str, ...] = ()
        secret: str = dataclasses.field(default="s", repr=False)
        more: dict = dataclasses.field(default_factory=dict)

    return decorator(**options)(Point)


@pytest.fixture(params=["ours", "theirs"])
def point(request):
    return made(frozen) if request.param == "ours" else made(dataclasses.dataclass, frozen=True)


def test_what_it_is(point):
    one = point(1, ("a",))
    assert one == point(1, ("a",))
    assert one != point(2, ("a",))
    assert one != (1, ("a",), "s", {})
    assert repr(one).endswith("Point(x=1, tags=('a',), more={})")
    assert dataclasses.asdict(one) == {"x": 1, "tags": ("a",), "secret": "s", "more": {}}
    assert dataclasses.replace(one, x=3).x == 3
    assert one.more is not point(1).more


def test_it_never_changes(point):
    one = point(1)
    for change in (
        lambda: setattr(one, "x", 2),
        lambda: setattr(one, "other", 2),
        lambda: delattr(one, "x"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert one.x == 1


def test_bad_calls(point):
    for arguments, named in (((), {}), ((1, 2, 3, 4, 5), {}), ((1,), {"nope": 1})):
        with pytest.raises(TypeError):
            point(*arguments, **named)


def test_hashes():
    assert len({DraftRef("a", 1), DraftRef("a", 1), DraftRef("a", 2)}) == 2
    with pytest.raises(TypeError):
        hash(made(frozen)(1))  # by a field that cannot be


def test_classes_are_told_apart():
    @frozen
    class Other:
        target: str
        number: int

    assert Other("a", 1) != DraftRef("a", 1)


def test_inherited_fields_and_keywords():
    @frozen(kw_only=True)
    class Base:
        receipt: str = ""

    @frozen
    class Answer(Base):
        job: int

    assert Answer(3, receipt="k") == Answer(3, receipt="k") != Answer(3)
    assert [each.name for each in dataclasses.fields(Answer)] == ["receipt", "job"]


def test_copies():
    content = Content("ab", 2, "100644")
    for again in (copy.copy(content), copy.deepcopy(content), pickle.loads(pickle.dumps(content))):
        assert again == content
        with pytest.raises(dataclasses.FrozenInstanceError):
            again.size = 3
