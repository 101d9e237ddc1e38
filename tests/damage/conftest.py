from __future__ import annotations

import pytest

from tests.damage.lived import Lived, live_in
from tests.support import GIT_ENVIRONMENT


@pytest.fixture(scope="session")
def _lived_once(tmp_path_factory) -> Lived:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in GIT_ENVIRONMENT.items():
            patch.setenv(name, value)
        patch.delenv("DRAFTFS_AGENT", raising=False)
        return live_in(tmp_path_factory.mktemp("lived"))


@pytest.fixture
def lived(_lived_once) -> Lived:
    """A store that has been lived in, whole again for each test."""
    _lived_once.reset()
    return _lived_once
