"""Every row of the table "operation x hook x outcome" is what git and the hooks really do; and whoever is refused gets out by
the command that the message names, after which the same thing passes for who holds the path."""

from __future__ import annotations

import pytest

from tests.enforcement import measure
from tests.enforcement.operations import OPERATIONS, Operation
from tests.enforcement.scene import SPEC

ROWS = [pytest.param(each, id=each.name) for each in OPERATIONS]


@pytest.mark.parametrize("operation", [each for each in ROWS if each.values[0].by])
def test_the_holder(operation: Operation, tmp_path):
    scene, outcome = measure.of_operation(operation, tmp_path / "s", "holder")
    assert outcome.ran.by == operation.holder, outcome.ran.said
    if not operation.holder:
        _passed(operation, outcome)
    else:  # by the records alone: before there is one, only pre-push can show the token
        recorded = measure.again(operation, scene, operation.do.replace("push -q --no-verify", "push -q"))
        assert (recorded.ran.status, recorded.moved) == (0, True), recorded.ran.said
    assert not scene.store().doctor().findings


@pytest.mark.parametrize("operation", [each for each in ROWS if each.values[0].by])
def test_a_path_that_nobody_reserved(operation: Operation, tmp_path):
    _, outcome = measure.of_operation(operation, tmp_path / "s", "free")
    _passed(operation, outcome)


@pytest.mark.parametrize("operation", ROWS)
def test_the_late_worker(operation: Operation, tmp_path):
    scene, outcome = measure.of_operation(operation, tmp_path / "s", "late")
    if not operation.by:
        _passed(operation, outcome)
        return
    assert outcome.ran.by == operation.by, outcome.ran.said
    assert outcome.ran.status != 0
    assert not outcome.moved
    assert outcome.left == operation.left
    _explained(operation, outcome.ran.said)
    if operation.out:
        assert scene.run(operation.out).status == 0
        assert measure.left(scene) == ()
    status = scene.git("status", "--porcelain=v2", "--branch")
    assert "# branch.head wa" in status or "detach" in operation.before + operation.do or "symbolic" in operation.do
    scene.take_back()
    retried = measure.again(operation, scene, operation.do.replace("push -q --no-verify", "push -q"))
    assert (retried.ran.status, retried.moved) == (0, True), retried.ran.said


def _passed(operation: Operation, outcome: measure.Outcome) -> None:
    assert (outcome.ran.status, outcome.ran.by) == (0, ""), outcome.ran.said
    assert outcome.ran.hooks == operation.hooks
    assert outcome.moved == bool(operation.moves)


def _explained(operation: Operation, said: str) -> None:
    """The path, who holds it and until when, what became of her own claim, what to do, and the way out."""
    assert f"  {SPEC} (" in said, said
    assert "held by bob until 2" in said
    assert "ann's claim of job 1 (epoch 1) lapsed at" in said or operation.holder or "remote:" in said
    assert "next: stop working on it, or wait until it is free and claim it" in said
    assert "nothing has moved" in said
    assert operation.out in said
    if not operation.left:
        assert "nothing is left behind" in said or operation.moves == "refs/heads/wa", said
