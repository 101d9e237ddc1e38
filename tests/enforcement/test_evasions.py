"""Each way round the local hooks is refused, or is found afterwards by those whom the page names."""

from __future__ import annotations

import pytest

from tests.enforcement import measure
from tests.enforcement.evasions import EVASIONS, Evasion

DROPPED = "merge -s ours drops bob's admitted work"


@pytest.mark.parametrize("evasion", [pytest.param(each, id=each.name) for each in EVASIONS])
def test_it_is_refused_or_found(evasion: Evasion, tmp_path):
    scene, ran = measure.of_evasion(evasion, tmp_path / "s")
    if evasion.by:
        assert ran.status != 0, ran.said
        assert (ran.by or "git") == evasion.by, ran.said
        assert ran.by == "" or "draftfs: refused" in ran.said
        return
    assert (ran.status, ran.by) == (0, ""), ran.said
    assert measure.finders(evasion, scene) == evasion.found


@pytest.mark.parametrize("evasion", [each for each in EVASIONS if each.name in ("GIT_CONFIG_COUNT", DROPPED)])
def test_a_person_can_vouch_for_what_was_found(evasion: Evasion, tmp_path):
    scene, _ = measure.of_evasion(evasion, tmp_path / "s")
    assert scene.run("person draftfs admit main..wa --because 'read by me'", agent=None).status == 0
    assert scene.run("person draftfs verify main..wa").status == 0
    assert scene.run("git push -q --no-verify origin wa:main").status == 0


def test_each_row_says_who_or_why():
    for evasion in EVASIONS:
        assert sum(map(bool, (evasion.by, evasion.found, evasion.because))) == 1, evasion.name
