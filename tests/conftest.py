"""Fixtures for all tests. After every test the full self-check runs on every store that it made with `field`."""

from __future__ import annotations

import pytest

from tests.support import GIT_ENVIRONMENT, Field, make_field


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    for name, value in GIT_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
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
