from __future__ import annotations

import pytest

from draftfs import SystemClock
from tests.cases.commands import Site
from tests.support import Field, make_field


@pytest.fixture
def real(tmp_path, _plain_environment) -> Field:
    """The set-up by the system's clock, for cases that mix the API with real commands: those live in the same boot. (To
    another boot's command every file would look unsynced, and be written anew from the journal.)"""
    made = make_field(tmp_path, SystemClock())
    yield made
    if not made.damaged:
        checkup = made.me.doctor()
        assert not checkup.findings, checkup.findings


@pytest.fixture
def site(real) -> Site:
    """The same, by the real command line."""
    return Site(real)


@pytest.fixture
def guarded(site) -> Site:
    """The same, with the hooks installed."""
    site.guard()
    return site
