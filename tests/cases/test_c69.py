"""C69: the contender decides how long the other may hold. (The numbers themselves: tests/claims/test_time.py.)"""

from __future__ import annotations

from tests.protocol import data, error, refused, run, state


def test_anns_own_600_seconds_count(field):
    field.ann.claim(1, seen=1, ttl=600)
    for seconds in (0, 2, 597):
        field.clock.advance(seconds)
        with refused(field, "path_clash") as caught:
            field.bob.claim_paths(["docs/spec.md"], ttl=1)
        (clash,) = caught.value.details["clashes"]
        assert clash["holder"] == "ann"
        assert clash["expires_at"] in caught.value.message
        assert "claim --next" in caught.value.hint
    field.me.configure("claim.ttl", "1s")
    with refused(field, "path_clash"):
        field.bob.claim_paths(["docs/spec.md"])
    field.clock.advance(1)
    assert field.bob.claim_paths(["docs/spec.md"]).standing == "live"


def test_values_on_the_command_line(real):
    for text in ("0", "-5", "1e9", "inf", "0.5", "NaN", "86401s", "25h", "", "1_0", "\u0663"):
        refusal = error(run(real, "ann", "claim", "1", "--seen", "1", f"--ttl={text}"), 2, "bad_ttl")
        assert "1 s to 24 h" in refusal["message"], text
    assert state(real) == ("open", 1, 0)
    for text, seconds in (("1s", 1), ("24h", 86400), ("86400", 86400)):
        claimed = data(run(real, "ann", "claim", "--ttl", text, "--", f"f-{text}.md"))
        assert claimed["claim"]["ttl"] == seconds
