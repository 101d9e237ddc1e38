"""The two agents of the sample repository know nothing of draftfs, and do their jobs under `run`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from draftfs import Store, SystemClock
from tests.run.conftest import Runs, git
from tests.support import Field

SAMPLE = Path(__file__).parents[2] / "sample_repo"


@pytest.fixture
def bakery(tmp_path) -> Runs:
    field = Field(tmp_path, SystemClock())
    shutil.copytree(SAMPLE, field.root)
    git("init", "-q", "-b", "main", ".", cwd=field.root)
    git("add", "-A", cwd=field.root)
    git("commit", "-q", "-m", "start", cwd=field.root)
    Store.init(str(field.root))
    from draftfs.jobsfile import read

    field.me.add_jobs(read((field.root / "jobs.yaml").read_bytes(), "jobs.yaml"))
    return Runs(field)


def test_neither_names_draftfs():
    agents = sorted((SAMPLE / "agents").iterdir())
    assert [each.name for each in agents] == ["add-product.sh", "decide.py"]
    assert not any("draftfs" in each.read_text("utf-8").lower() for each in agents)


def test_the_python_one_decides_and_commits(bakery):
    run = bakery.run("1", script='agents/decide.py "$DRAFTFS_TEXT"')
    assert [each["target"] for each in run["drafts"]] == ["docs/specification.md"]
    assert (run["outside"], run["worktree"]["removed"], run["worktree"]["branch_removed"]) == ([], True, False)
    draft = (bakery.root / "docs/specification.md.draft-0001@ann").read_text("utf-8")
    assert "is split into as few loads as possible, each at most `oven_places`," in draft
    assert "not treated yet" not in draft


def test_the_shell_one_adds_the_product(bakery):
    run = bakery.run("2", script='agents/add-product.sh "$DRAFTFS_TEXT"')
    assert [each["target"] for each in run["drafts"]] == ["data/recipes.csv", "docs/menü.md"]
    assert run["worktree"]["removed"]
    card = (bakery.root / "docs/menü.md.draft-0001@ann").read_text("utf-8")
    assert "| Onion bread | Zwiebelbrot | Onion bread | Wed, Sat |\n\n## Allergens" in card
    assert "| Onion bread | ● | ● | | | | |\n" in card


@pytest.mark.parametrize(("job", "agent"), [("2", "decide.py"), ("1", "add-product.sh")])
def test_a_job_of_another_kind_fails(bakery, job, agent):
    run = bakery.run(job, script=f'agents/{agent} "$DRAFTFS_TEXT"', status=2)
    assert (run["ended"], run["worktree"]["removed"]) == ("failed", True)
