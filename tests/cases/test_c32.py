"""C32: bombs and tags, in the store and as a jobs file: refused within the time and the memory there is."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

import pytest

from tests.damage.lived import rechecked
from tests.support import GIT_ENVIRONMENT

MEMORY = 524288 * 1024
SECONDS = 2.0

ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
BOMBS = {
    "aliases": lambda _: ALIASES,
    "nested": lambda _: "a: " + "[" * 100_000,
    "tag": lambda pwned: f"a: !!python/object/apply:os.system ['touch {pwned}']\n",
    "scalar": lambda _: 'a: "' + "x" * (200 << 20) + '"\n',
}


def limited(*arguments: str, cwd, agent: str | None = None) -> tuple[int, dict, float]:
    environment = {**os.environ, **GIT_ENVIRONMENT} | ({"DRAFTFS_AGENT": agent} if agent else {})
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "draftfs", *arguments, "--json"],
        cwd=cwd,
        check=False,
        capture_output=True,
        env=environment,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    return done.returncode, json.loads(done.stdout), time.perf_counter() - begun


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_in_the_store_is_damage_at_once(real, bomb, tmp_path):
    real.damaged = True
    real.worktree("bob")
    path, pwned = real.store / "jobs/0001.yaml", tmp_path / "pwned"
    head = b"\n".join(path.read_bytes().split(b"\n")[:2]) + b"\n"
    body = BOMBS[bomb](pwned).encode()
    for data in [head + body] if bomb == "scalar" else [head + body, rechecked(head + body)]:
        path.write_bytes(data)
        answers = {
            "list": limited("job", "list", cwd=real.root),
            "show": limited("job", "show", "1", cwd=real.root),
            "doctor": limited("doctor", cwd=real.root),
        }
        assert answers["list"][0] == 0
        assert [job["id"] for job in answers["list"][1]["data"]["jobs"]] == [2]
        assert [each["path"] for each in answers["list"][1]["data"]["damaged"]] == ["jobs/0001.yaml"]
        assert answers["show"][0] == 8
        assert answers["show"][1]["error"]["code"] == "damaged"
        assert answers["doctor"][0] == 6
        assert [each["path"] for each in answers["doctor"][1]["data"]["findings"]] == ["jobs/0001.yaml"]
        assert all(seconds < SECONDS for *_, seconds in answers.values()), answers
    status, claimed, seconds = limited("claim", "2", "--seen", "1", cwd=real.worktree("bob"), agent="bob")
    assert (status, claimed["data"]["claim"]["epoch"]) == (0, 1)
    assert seconds < SECONDS
    assert not pwned.exists()


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_as_a_jobs_file_is_refused_at_once(real, bomb, tmp_path):
    pwned = tmp_path / "pwned"
    (real.root / "jobs.yaml").write_text(BOMBS[bomb](pwned))
    status, answer, seconds = limited("job", "add", "--from", "jobs.yaml", cwd=real.root)
    assert (status, answer["error"]["code"]) == (2, "bad_file")
    assert seconds < SECONDS
    assert not pwned.exists()
    assert len(real.me.jobs()) == 2
