"""Real processes claim the same job at once, many rounds: one winner each, rising epochs, losers told who won (G2-G4)."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack

import pytest

from draftfs import Store, SystemClock
from tests.actors import Actor, FileClock
from tests.support import git, make_field


@pytest.fixture
def crowd(tmp_path):
    """A store, and a way to start so many agents on it."""
    field = make_field(tmp_path, FileClock(tmp_path / "clock"))
    with ExitStack() as stack:

        def start(count: int) -> list[Actor]:
            names = [f"agent{number}" for number in range(count)]
            return [stack.enter_context(Actor(field.worktree(name), name, clock=field.clock)) for name in names]

        yield field, start
    assert field.me.doctor().findings == ()


@pytest.mark.parametrize(("count", "rounds"), [(2, 40), (8, 25)])
def test_one_winner_every_round(crowd, count, rounds):
    field, start = crowd
    agents, epochs = start(count), []
    for _ in range(rounds):
        version = field.version(1)
        for agent in agents:
            agent.ask("claim", 1, seen=version)
        answers = [agent.answer() for agent in agents]
        won = [(agent, answer["ok"]) for agent, answer in zip(agents, answers, strict=True) if "ok" in answer]
        lost = [answer for answer in answers if "error" in answer]
        assert len(won) == 1, answers
        winner, claimed = won[0]
        assert {answer["error"] for answer in lost} <= {"job_not_open"}
        assert all(winner.options["agent"] in answer["message"] for answer in lost)
        epochs.append(claimed["claim"]["epoch"])
        assert "ok" in winner.call("release")
    assert epochs == sorted(set(epochs))
    assert field.me.job(1).job.attempts.used == 0


def test_every_agent_gets_a_job_of_its_own(crowd):
    field, start = crowd
    agents = start(6)
    for number in range(6 * 4 - 2):
        field.me.add_job(f"piece {number}", [f"piece{number}.md"])
    taken = []
    for _ in range(4):
        for agent in agents:
            agent.ask("claim_next")
        claims = [agent.answer()["ok"]["claim"] for agent in agents]
        taken += [claim["job"] for claim in claims]
        for agent, claim in zip(agents, claims, strict=True):
            assert "ok" in agent.call("submit", job=claim["job"])
    assert sorted(taken) == list(range(1, 25))
    assert {agent.call("claim_next")["error"] for agent in agents} == {"nothing_ready"}


def test_clashing_paths_one_winner(crowd):
    """The same folder, a file in it, the folder above it: whoever is first shuts the others out."""
    _, start = crowd
    agents, wanted = start(4), ["a", "a/b", "a/b/c.md", "a/b/d.md"]
    for _ in range(10):
        for agent, path in zip(agents, wanted, strict=True):
            agent.ask("claim_paths", [f"{agent.options['cwd']}/{path}"])
        answers = [agent.answer() for agent in agents]
        won = [number for number, answer in enumerate(answers) if "ok" in answer]
        assert won in ([0], [1], [2, 3], [2], [3]), answers
        assert {answer["error"] for answer in answers if "error" in answer} <= {"path_clash"}
        for number in won:
            agents[number].call("release")


@pytest.mark.parametrize("round_", range(2))
def test_first_use_by_many_with_kills(tmp_path, round_):
    """C40: sixteen make the store at once, five of them die at it; one store comes of it."""
    root = tmp_path / "r"
    git("init", "-q", "-b", "main", str(root), cwd=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "start", cwd=root)
    with ExitStack() as stack:
        actors = [stack.enter_context(Actor(root)) for _ in range(16)]
        for number, actor in enumerate(actors):
            actor.ask("init", at=3 + 7 * number + 2 * round_ if number < 5 else None)
        answers = [actor.answer() for actor in actors]
    assert all("ok" in answer for answer in answers[5:]), answers
    assert sum(answer["ok"] for answer in answers if answer) <= 1
    with Actor(root) as last:
        assert last.call("init") == {"ok": False}
    exclude = (root / ".git" / "info" / "exclude").read_text().splitlines()
    assert len(exclude) == len(set(exclude)) or all(line.startswith("#") for line in exclude if exclude.count(line) > 1)
    configured = subprocess.run(
        ["git", "config", "--get-all", "draftfs.store"], cwd=root, capture_output=True, text=True, check=True
    )
    assert configured.stdout == "draftfs\n"
    store, made = Store.init(str(root), clock=SystemClock())
    assert not made
    assert store.tree.top == str(root)
    assert store.doctor().findings == ()
