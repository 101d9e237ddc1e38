"""Fixtures for all tests. After every test the full self-check runs on every store that it made with `field`."""

from __future__ import annotations

from pathlib import Path

import pytest

from draftfs import SystemClock
from tests.support import GIT_ENVIRONMENT, Field, make_field


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    for name, value in GIT_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))  # for the processes that tests start
    for name in ("DRAFTFS_AGENT", "DRAFTFS_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def field(tmp_path, _plain_environment) -> Field:
    made = make_field(tmp_path)
    yield made
    if not made.damaged:
        checkup = made.me.doctor()
        assert not checkup.findings, checkup.findings
        assert all(checkup.checks.values())


@pytest.fixture
def real(tmp_path, _plain_environment) -> Field:
    """The same by the system's clock, for tests with real processes."""
    made = make_field(tmp_path, SystemClock())
    yield made
    if not made.damaged:
        assert not made.me.doctor().findings
