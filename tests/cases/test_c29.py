"""C29: re-saved records, and NUL. (Control characters in texts: test_c27.)"""

from __future__ import annotations

import json

import pytest

from draftfs import BadRequest
from draftfs.errors import DraftfsError
from tests.damage.lived import rechecked
from tests.support import draftfs


@pytest.mark.parametrize("nul", ["\0", "a\0b"])
def test_nul_is_refused_everywhere(field, nul):
    field.ann.claim(1, seen=1)
    field.write("ann", "docs/spec.md", "x")
    me, ann = field.me, field.ann
    before = [event.position for event in me.log()]
    for call in (
        lambda: me.add_job(nul, ["x.md"]),
        lambda: me.add_job("x", ["x.md"], text=nul),
        lambda: me.add_job("x", [f"x{nul}"]),
        lambda: me.cancel_job(2, because=nul),
        lambda: ann.draft(["docs/spec.md"], note=nul),
        lambda: ann.submit(note=nul),
        lambda: ann.send(["bob"], nul),
        lambda: ann.send(["bob"], "x", nul),
        lambda: ann.send([nul], "x"),
        lambda: ann.read(kinds=[nul]),
        lambda: ann.acknowledge(f"ann:1:{nul}"),
        lambda: ann.renew(receipt=nul),
        lambda: field.open(agent=nul),
    ):
        with pytest.raises(BadRequest):
            call()
    (field.root / "jobs.yaml").write_text('jobs: [{title: "a\\0b", paths: [x.md]}]')
    ran = draftfs("job", "add", "--from", "jobs.yaml", "--json", cwd=field.root)
    assert (ran.status, json.loads(ran.out)["error"]["code"]) == (2, "bad_file")
    assert [event.position for event in me.log()] == before


RESAVED = {
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "tab": lambda data: data.replace(b"\n  used", b"\n\tused"),
    "merge conflict": lambda data: data.replace(b"\npaths", b"\n<<<<<<< ours\n=======\n>>>>>>> theirs\npaths"),
    "NUL": lambda data: data.replace(b"write", b"wri\0e"),
    "not UTF-8": lambda data: data.replace(b"write", b"wri\xffe"),
}


@pytest.mark.parametrize("seal", [bytes, rechecked], ids=["old checksum", "right checksum"])
@pytest.mark.parametrize("how", RESAVED)
@pytest.mark.parametrize("journalled", [True, False])
def test_a_re_saved_job_is_damaged_and_its_paths_stay_held(field, how, seal, journalled):
    field.damaged = True
    field.ann.claim(1, seen=1)
    if not journalled:
        field.me.engine.checkpoint()
    path = field.store / "jobs/0001.yaml"
    changed = RESAVED[how](path.read_bytes())
    path.write_bytes(seal(changed) if changed.startswith(b"format") else changed)
    for call in (lambda: field.me.job(1), field.ann.release, lambda: field.bob.claim(1, seen=2)):
        with pytest.raises(DraftfsError) as refused:
            call()
        assert (refused.value.code, refused.value.details["file"]) == ("damaged", "jobs/0001.yaml")
        assert how in refused.value.message
    with pytest.raises(DraftfsError, match="held by ann"):
        field.bob.claim_paths(["docs/spec.md"])
    assert field.bob.claim(2, seen=1).claim.epoch == 2
    (finding,) = field.me.doctor().findings
    assert (finding.path, how in finding.message) == ("jobs/0001.yaml", True)
    mended = field.me.doctor(fix=True)
    assert not mended.findings
    assert field.me.job(1).job.state == ("claimed" if journalled else "cancelled")
    if not journalled:
        assert "draftfs job add 'write the spec' docs/spec.md" in mended.fixed[0]
        with pytest.raises(DraftfsError) as refused:
            field.ann.renew()
        assert refused.value.code == "fenced"


def test_lists_show_the_rest_and_say_what_is_missing(real):
    real.damaged = True
    path = real.store / "jobs/0001.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    ran = draftfs("job", "list", "--json", cwd=real.root)
    data = json.loads(ran.out)["data"]
    assert [job["id"] for job in data["jobs"]] == [2]
    assert [finding["path"] for finding in data["damaged"]] == ["jobs/0001.yaml"]
    assert "jobs/0001.yaml" in draftfs("job", "list", cwd=real.root).err
