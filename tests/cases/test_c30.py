"""C30: duplicate keys in a record: not free, and not guessed."""

from __future__ import annotations

import pytest

from draftfs.errors import DraftfsError
from tests.damage.lived import edit

DUPLICATES = {
    "holder": ("leases/0001.yaml", '"ann"\n', '"ann"\nholder: "bob"\n'),
    "token_sha256": ("leases/0001.yaml", "\ntoken_sha256:", f'\ntoken_sha256: "{"0" * 64}"\ntoken_sha256:'),
    "state": ("jobs/0001.yaml", '"claimed"\n', '"claimed"\nstate: "open"\n'),
}


def refused(call) -> DraftfsError:
    with pytest.raises(DraftfsError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("journalled", [True, False])
@pytest.mark.parametrize("recheck", [False, True], ids=["old checksum", "right checksum"])
@pytest.mark.parametrize("key", DUPLICATES)
def test_two_lines_of_one_key_are_damage(field, key, recheck, journalled):
    field.damaged = True
    field.ann.claim(1, seen=1)
    if not journalled:
        field.me.engine.checkpoint()
    name, old, new = DUPLICATES[key]
    edit(field.store / name, old, new, recheck=recheck)
    bad = (field.store / name).read_bytes()
    lines = [str(at) for at, line in enumerate(bad.decode().splitlines(), 1) if line.startswith(f"{key}:")]

    fault = refused(lambda: field.bob.claim(1, seen=2))
    assert (fault.code, fault.details["file"], fault.hint) == ("damaged", name, "draftfs doctor --fix")
    assert all(line in fault.message for line in lines)
    assert len(lines) == 2
    assert key in fault.message
    assert refused(lambda: field.bob.claim_paths(["docs/spec.md"])).code in ("damaged", "path_clash")
    if name.startswith("leases"):
        assert refused(field.ann.renew).code == "damaged"
    assert refused(field.ann.release).code == "damaged"
    assert (field.store / name).read_bytes() == bad
    listed = field.me.jobs()
    assert [finding.path for finding in listed.damaged] == [name]
    assert 2 in [line.job.id for line in listed]
    assert field.bob.claim(2, seen=1).claim.epoch == 2

    (finding,) = field.me.doctor().findings
    assert (finding.path, finding.repair) == (name, "draftfs doctor --fix")
    mended = field.me.doctor(fix=True)
    assert not mended.findings
    if journalled:
        assert field.ann.renew().claim.epoch == 1, "put back from the journal: ann's token is live"
        return
    assert refused(field.ann.renew).code == "fenced"
    assert any(event.kind in ("claim.revoked", "job.cancelled") for event in field.me.log())
    version = field.me.job(1).job.version
    if name.startswith("leases"):
        field.bob.release()
        assert field.agent("cat").claim(1, seen=version).claim.epoch == 3
    else:
        assert field.me.job(1).job.state == "cancelled"
        assert field.agent("cat").claim_paths(["docs/spec.md"]).claim.epoch == 3
