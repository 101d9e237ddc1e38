"""The difference of two tips: what honest merges bring passes, in any number and order; a side dropped once stays dropped for
nobody."""

from __future__ import annotations

import pytest

from tests.enforcement.scene import SPEC, Scene

WORK = "edit; git commit -q -a -m one\n"
OTHERS = "person sh -c 'sed -i 11s/.*/theirs/ $P; git commit -q -a -m theirs; git push -q origin main'\n"
MORE = "person sh -c 'sed -i 9s/.*/more/ $P; echo x >>free.txt; git commit -q -a -m more; git push -q origin main'\n"
BOBS = "bob git merge -q main; bob edit 11; bob git commit -q -a -m bobs; person git merge -q wb; person git push -q origin main\n"
TAKE = "git merge -q -m take main\n"


@pytest.fixture
def scene(tmp_path) -> Scene:
    """Ann's job on docs/spec.md is done: she holds nothing, and her steps stand."""
    made = Scene.of(tmp_path / "s", "holder")
    assert made.run(WORK).status == 0
    made.store("ann").submit()
    return made


def passes(scene: Scene, lines: str) -> None:
    done = scene.run(lines)
    assert done.status == 0, done.said
    ran = scene.run("person draftfs verify main..wa; git push -q origin wa:main; person git merge -q --ff-only wa")
    assert ran.status == 0, ran.said
    assert "draftfs: " not in ran.said, "not even a warning"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(OTHERS + TAKE, id="one path changed on both sides"),
        pytest.param(OTHERS + TAKE + MORE + TAKE, id="twice"),
        pytest.param(OTHERS + "git merge -q -m far main; " + MORE + "git branch b main~1; " + TAKE, id="main moved on between"),
        pytest.param(OTHERS + "git checkout -q -b x; " + TAKE + "git checkout -q wa; git merge -q --no-ff x", id="by another branch"),
        pytest.param("person git mv $P moved.md; person git commit -q -m mv; person git push -q origin main; " + TAKE, id="people renamed it"),
        pytest.param(
            "person sh -c 'git mv $P moved.md; sed -i 9s/.*/more/ moved.md; git commit -q -a -m mv; git push -q origin main'; " + TAKE,
            id="people renamed and changed it",
        ),
        pytest.param(
            "git branch o1; git checkout -q o1; echo 1 >o1; git add o1; git commit -q -m o1; git checkout -q wa; "
            "person git commit -q --allow-empty -m e; person git push -q origin main; git merge -q -m octopus o1 main",
            id="octopus",
        ),
    ],
)  # fmt: skip
def test_honest_merges_pass(scene, lines):
    passes(scene, lines)


def test_two_workers_on_one_path_in_turn(scene):
    scene.store("bob").claim_paths([SPEC])
    assert scene.run(BOBS).status == 0
    scene.store("bob").submit()
    passes(scene, TAKE)


def test_a_criss_cross(scene):
    ran = scene.run(
        OTHERS + "m=$(git rev-parse main) w=$(git rev-parse wa); " + TAKE +
        "person git merge -q -m back $w; person git push -q origin main"
    )  # fmt: skip
    assert ran.status == 0, ran.said
    passes(scene, MORE + TAKE)


@pytest.mark.parametrize(
    "drop",
    [
        "git merge -q -s ours -m x main",
        "git merge -q -X ours -m x main; git checkout -q HEAD~1 -- $P; git commit -q --amend -m x",
    ],
)
@pytest.mark.parametrize("then", ["", MORE + TAKE, MORE + TAKE + MORE.replace("more", "again") + TAKE])
def test_a_side_that_was_dropped(scene, drop, then):
    """Bob's admitted line is gone, whatever honest merges follow, and however the path changes elsewhere."""
    scene.store("bob").claim_paths([SPEC])
    assert scene.run(BOBS).status == 0
    scene.store("bob").submit()
    dropped = scene.run(drop)
    if dropped.status:
        assert "draftfs: refused" in dropped.said, dropped.said
        return
    assert scene.run(then).status == 0
    ran = scene.run("git push -q --no-verify origin wa:main")
    assert ran.by == "pre-receive", ran.said
    assert scene.run("person draftfs verify main..wa").status == 6
