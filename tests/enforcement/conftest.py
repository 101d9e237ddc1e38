"""The prepared repositories go when the tests have run."""

from __future__ import annotations

import pytest

from tests.enforcement import scene


@pytest.fixture(scope="session", autouse=True)
def _templates():
    yield
    scene.remove_templates()
