"""C23: composed and decomposed letters are two names where the file system keeps them apart."""

import pytest

from draftfs.paths import Fold
from tests.support import git

COMPOSED, DECOMPOSED = "caf\u00e9.md", "cafe\u0301.md"


@pytest.mark.parametrize("setting", ["true", "false"])
def test_no_bytes_cross_over(site, setting):
    if site.field.me.info.fold != Fold():
        pytest.skip("this file system folds names")
    git("config", "core.precomposeunicode", setting, cwd=site.root)
    for who, name in (("ann", COMPOSED), ("bob", DECOMPOSED)):
        drafted = site.hand_in(who, name, f"{who}'s\n")
        assert (drafted["target"], drafted["file"]) == (name, f"{name}.draft-0001@{who}")
    assert [each["target"] for each in site.run("me", "ls")["targets"]] == sorted([COMPOSED, DECOMPOSED])
    assert sorted(site.check()) == sorted(("unpromoted", name) for name in (COMPOSED, DECOMPOSED))
    site.run("me", "promote --yes", f"{COMPOSED}.draft-0001@ann", f"{DECOMPOSED}.draft-0001@bob")
    assert (site.read(COMPOSED), site.read(DECOMPOSED)) == (b"ann's\n", b"bob's\n")
    assert site.check() == []
