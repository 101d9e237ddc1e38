"""C26: names that turn into something else, or into each other."""

from __future__ import annotations

import pytest

from draftfs.errors import Fenced
from tests.protocol import data, error, refused, run

NAMES = "no yes on null true 007 7 0o7 1e5 100000 1_0 10 750 2024-01-01".split()  # noqa: SIM905


def test_fourteen_names_are_fourteen_agents(field):
    held = {}
    for name in NAMES:
        claimed = field.agent(name).claim_paths([f"f-{name}.md"])
        field.put(name, f"f-{name}.md", f"by {name}")
        held[name] = claimed.job.id, claimed.claim.token
    assert [field.me.job(number).job.holder for number, _ in held.values()] == NAMES
    assert (field.root / "f-007.md.draft-0001@007").is_file()
    fenced = 0
    for name in NAMES:
        store = field.agent(name)
        for other in NAMES:
            if other != name:
                with pytest.raises(Fenced):
                    store.release(job=held[other][0], token=held[name][1])
                fenced += 1
    assert fenced == 182
    for name in NAMES:
        assert field.agent(name).release(job=held[name][0], token=held[name][1]).job.state == "open"


def test_the_same_through_processes(real):
    tokens = {}
    for name in ("no", "007", "7", "1e5"):
        claimed = data(run(real, name, "claim", "--", f"f-{name}.md"))
        assert claimed["claim"]["holder"] == name
        assert isinstance(claimed["claim"]["holder"], str)
        tokens[name] = claimed["claim"]["job"], claimed["claim"]["token"]
    error(run(real, "7", "release", "--job", str(tokens["007"][0]), "--token", tokens["7"][1]), 4, "fenced")
    for name, (job, token) in tokens.items():
        data(run(real, name, "release", "--job", str(job), "--token", token))


def test_readers_have_positions_of_their_own(real):
    for name in ("007", "7"):
        assert data(run(real, name, "read", "--limit", "1"))["page"] == f"{name}:1:1"
    data(run(real, "007", "ack", "007:1:1"))
    error(run(real, "7", "ack", "007:1:1"), 3, "not_handed_out")
    assert data(run(real, "7", "read", "--limit", "1"))["acknowledged"] == 0
    assert sorted(path.name for path in (real.store / "readers").iterdir()) == ["007.yaml", "7.yaml"]


@pytest.mark.parametrize("name", ["~", "12:30", ".inf", "=", "<<", "!!!", "???"])
def test_names_that_are_none(field, name):
    with refused(field, "bad_name"):
        field.open(agent=name)
