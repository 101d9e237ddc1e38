"""C40: first use by many at once. (tests/races kills at chosen calls; here it is the real command, killed at random times.)"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys

import pytest

from draftfs import SystemClock
from tests.actors import PROJECT
from tests.support import Field, draftfs, git

MANY = 12


@pytest.fixture
def bare(tmp_path):
    """A repository without a store, and so many worktrees."""
    field = Field(tmp_path, SystemClock())
    git("init", "-q", "-b", "main", str(field.root), cwd=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "start", cwd=field.root)
    for number in range(MANY):
        git("worktree", "add", "-q", str(tmp_path / f"w{number}"), "-b", f"w{number}", cwd=field.root)
    return field


def _start(field: Field, number: int) -> subprocess.Popen:
    program = f"{sys.executable} -m draftfs"
    script = (
        f"{program} init --json && {program} job add j{number} f{number}.md --as agent{number} --json &&"
        f" exec {program} claim --next --as agent{number} --json"
    )
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    where = field.base / f"w{number}"
    return subprocess.Popen(
        ["sh", "-c", script], cwd=where, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


@pytest.mark.parametrize("round_", range(2))
def test_first_use_by_many(bare, round_):
    first = draftfs("claim", "1", "--seen", "1", "--json", cwd=bare.root)
    assert first.status == 5
    error = json.loads(first.out)["error"]
    assert (error["code"], error["hint"]) == ("no_store", "draftfs init")
    chance = random.Random(round_)
    running = [_start(bare, number) for number in range(MANY)]
    doomed = set(chance.sample(range(MANY), 3))
    outcomes = []
    for number, process in enumerate(running):
        if number in doomed:
            try:
                process.wait(chance.random() * 2)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
    for number, process in enumerate(running):
        out, err = process.communicate(timeout=100)
        if number not in doomed:
            assert process.returncode == 0, out + err
            outcomes.append([json.loads(line)["data"] for line in out.splitlines()])
    again = draftfs("init", "--json", cwd=bare.root)
    assert again.status == 0, again.out
    store = bare.me
    assert store.tree.top == str(bare.root)
    assert sum(made["created"] for made, _, _ in outcomes if "created" in made) <= 1
    jobs = [added["jobs"][0]["id"] for _, added, _ in outcomes]
    epochs = [claimed["claim"]["epoch"] for _, _, claimed in outcomes]
    claimed = [each["claim"]["job"] for _, _, each in outcomes]
    for numbers in (jobs, epochs, claimed):
        assert len(numbers) == len(set(numbers))
    lines = (bare.root / ".git" / "info" / "exclude").read_text().splitlines()
    ours = [line for line in lines if "draft" in line]
    assert ours
    assert len(ours) == len(set(ours))
    assert git("config", "--get-all", "draftfs.store", cwd=bare.root) == "draftfs\n"
    assert store.doctor().findings == ()
