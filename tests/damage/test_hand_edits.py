"""Files that somebody edited, copied, put back or replaced: never silently taken, never read as free."""

from __future__ import annotations

import json
import os
import re
import shutil

import pytest

from draftfs import Store
from draftfs.errors import DraftfsError
from draftfs.records import DraftRef
from tests.damage.lived import KEYS, Lived, edit, rechecked
from tests.damage.test_every_file import nothing_is_free, refuses, work_goes_on
from tests.support import draftfs

RECORDS = {
    "counters.yaml": lambda lived: lived.me.add_job("x", ["new.md"]),
    "jobs/0001.yaml": lambda lived: lived.me.job(1),
    "leases/0001.yaml": lambda lived: lived.ann.renew(),
    "claims/0004/4.yaml": lambda lived: lived.me.receipt(KEYS["cat's claim"]),
    "drafts/docs+spec.md/0002.yaml": lambda lived: lived.me.promote([DraftRef("docs/spec.md", 2)]),
    "drafts/docs+spec.md/target.yaml": lambda lived: lived.ann.draft(["docs/spec.md"]),
    "store.yaml": lambda lived: Store.open(str(lived.field.root), clock=lived.field.clock),
}
EDITS = {
    "unknown field": lambda data: data + b'more: "x"\n',
    "wrong type": lambda data: re.sub(rb': ("files"|"cat"|[0-9]+)\n', b": true\n", data),
    "bare word": lambda data: data.replace(b': "', b": no #", 1),
    "a field less": lambda data: b"\n".join(data.split(b"\n")[:2] + data.split(b"\n")[3:]),
}


@pytest.mark.parametrize("recheck", [False, True], ids=["old checksum", "right checksum"])
@pytest.mark.parametrize("how", EDITS)
@pytest.mark.parametrize("name", RECORDS)
def test_an_edited_record_is_damage_and_comes_back(lived, name, how, recheck):
    path = lived.store / name
    head, rest = path.read_bytes().split(b"\n", 1)
    changed = head + b"\n" + rest.split(b"\n", 1)[0] + b"\n" + EDITS[how](path.read_bytes()).split(b"\n", 2)[2]
    assert changed != path.read_bytes()
    path.write_bytes(rechecked(changed) if recheck else changed)
    fault = refuses(lambda: RECORDS[name](lived))
    assert (fault.code, fault.details["file"], fault.hint) == ("damaged", name, "draftfs doctor --fix")
    nothing_is_free(lived)
    assert [each.path for each in lived.examine().findings] == [name]
    assert not lived.examine(fix=True).findings
    assert lived.ann.renew().claim.epoch == 1
    work_goes_on(lived)


@pytest.mark.parametrize("name", ["jobs/0005.yaml", "leases/0001.yaml", "counters.yaml", "drafts/a.txt/0001.yaml"])
def test_a_plausible_edit_with_a_right_checksum_is_seen_while_the_journal_knows_better(lived, name):
    old, new = {"jobs": ('"free.md"', '"d.txt"'), "leas": ("ttl: 1800", "ttl: 9999"), "coun": ("job: 7", "job: 9")}.get(
        name[:4], ('"bob"', '"eve"')
    )
    edit(lived.store / name, old, new, recheck=True)
    assert [(each.kind, each.path) for each in lived.examine().findings][-1] == ("differs", name)
    assert not lived.examine(fix=True).findings
    assert old in (lived.store / name).read_text()
    work_goes_on(lived)


# ── other versions ──


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_of_another_format_names_its_writer_and_is_left_alone(lived, name):
    path = lived.store / name
    _, _, body = path.read_bytes().split(b"\n", 2)
    path.write_bytes(rechecked(b"format: 2\n# draftfs 9.8.7\n" + body + b'other: "x"\n'))
    bytes_before = path.read_bytes()
    fault = refuses(lambda: RECORDS[name](lived))
    assert (fault.code, fault.exit_status, fault.hint) == ("damaged", 8, "upgrade draftfs")
    assert "written by draftfs 9.8.7 in format 2" in fault.message
    if name == "store.yaml":
        assert "9.8.7" in refuses(lived.examine).message
        assert "9.8.7" in refuses(lambda: lived.examine(fix=True)).message
        assert "9.8.7" in refuses(lambda: Store.init(str(lived.field.root), clock=lived.field.clock)).message
    else:
        (finding,) = lived.examine(fix=True).findings
        assert (finding.kind, finding.path, finding.repair) == ("format", name, "upgrade draftfs")
    assert path.read_bytes() == bytes_before
    assert not (lived.store / "set-aside").exists()


def test_every_command_refuses_a_store_of_another_format(lived):
    path = lived.store / "store.yaml"
    path.write_bytes(rechecked(b"format: 2\n# draftfs 9.8.7\n" + path.read_bytes().split(b"\n", 2)[2]))
    for arguments in (
        ["init"],
        ["config"],
        ["job", "list"],
        ["claim", "--next"],
        ["ls"],
        ["log"],
        ["doctor", "--fix"],
        ["receipt", "show", "x"],
    ):
        ran = draftfs(*arguments, "--json", cwd=lived.field.root)
        error = json.loads(ran.out)["error"]
        assert (ran.status, error["code"], error["hint"]) == (8, "damaged", "upgrade draftfs"), arguments
        assert "9.8.7" in error["message"]


# ── copies ──

COPIES = {
    "jobs/0001 copy.yaml": "jobs/0001.yaml",
    "jobs/0009.yaml": "jobs/0001.yaml",
    "jobs/00001.yaml": "jobs/0001.yaml",
    "done/0009.yaml": "done/0003.yaml",
    "leases/0009.yaml": "leases/0001.yaml",
    "leases/0005.yaml": "leases/0001.yaml",
    "leases/0001.yaml.orig.yaml": "leases/0001.yaml",
    "claims/0004/9.yaml": "claims/0004/4.yaml",
    "claims/0004/04.yaml": "claims/0004/4.yaml",
    "drafts/a.txt/0007.yaml": "drafts/a.txt/0001.yaml",
    "drafts/a.txt/target (1).yaml": "drafts/a.txt/target.yaml",
    "feed/0000009.jsonl.bak": "feed/0000001.jsonl",
    "feed/old.jsonl": "feed/0000001.jsonl",
}


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_under_another_name_is_nobody_and_is_set_aside(lived, copy):
    before = {line.job.id: line.job for line in lived.me.jobs(everything=True)}
    data = (lived.store / COPIES[copy]).read_bytes()
    (lived.store / copy).write_bytes(data)
    assert {line.job.id: line.job for line in lived.me.jobs(everything=True)} == before
    lived.me.ls(everything=True)
    assert lived.ann.renew().claim.epoch == 1
    nothing_is_free(lived)
    if copy != "leases/0005.yaml":  # job 5 may have been claimed, for all that is known
        assert lived.eve.claim(5, seen=1).claim.epoch == 6
        lived.eve.release()
    assert copy in [each.path for each in lived.examine().findings]
    mended = lived.examine(fix=True)
    assert not mended.findings, mended
    assert data in [path.read_bytes() for path in (lived.store / "set-aside").iterdir()]
    assert {line.job.id: line.job.state for line in lived.me.jobs(everything=True)} == {
        number: job.state for number, job in before.items()
    }
    work_goes_on(lived)


def test_a_renamed_lease_is_missed_although_the_number_of_files_is_right(lived):
    os.rename(lived.store / "leases/0001.yaml", lived.store / "leases/0009.yaml")
    assert refuses(lambda: lived.eve.claim_paths(["docs/spec.md"])).code == "damaged"
    assert {each.path for each in lived.examine().findings} >= {"leases/0001.yaml", "leases/0009.yaml"}
    assert not lived.examine(fix=True).findings
    work_goes_on(lived)


def test_a_segment_put_beside_the_feed_is_not_read(lived):
    shutil.copy(lived.store / "feed/0000001.jsonl", lived.store / "feed/0000009.jsonl")
    events = lived.me.log(after=0, limit=1000)
    assert [event.position for event in events] == list(range(1, len(events) + 1))


# ── put back, or in the way ──


def test_an_old_job_that_was_put_back_is_known_by_its_epoch(lived):
    old = (lived.store / "jobs/0005.yaml").read_bytes()
    lived.eve.claim(5, seen=1)
    lived.eve.release()
    taken = lived.eve.claim(5, seen=3)
    lived.me.engine.checkpoint()
    (lived.store / "jobs/0005.yaml").write_bytes(old)
    assert "jobs/0005.yaml" in [each.path for each in lived.examine().findings]
    assert not lived.examine(fix=True).findings
    assert refuses(lived.eve.renew).code == "fenced"
    line = lived.me.job(5)
    assert line.job.state == "open"
    assert line.job.version > taken.job.version, "no version is seen twice"
    assert lived.eve.claim(5, seen=line.job.version).claim.epoch > taken.claim.epoch
    work_goes_on_without_eve(lived)


def work_goes_on_without_eve(lived: Lived) -> None:
    lived.eve.release()
    work_goes_on(lived)


@pytest.mark.parametrize("journalled", [True, False])
def test_a_lease_that_was_put_back_after_its_end_holds_nothing_for_long(lived, journalled):
    old = (lived.store / "leases/0001.yaml").read_bytes()
    lived.ann.release()
    if not journalled:
        lived.me.engine.checkpoint()
    (lived.store / "leases/0001.yaml").write_bytes(old)
    assert "leases/0001.yaml" in [each.path for each in lived.examine().findings]
    assert not lived.examine(fix=True).findings
    assert not (lived.store / "leases/0001.yaml").exists()
    assert lived.eve.claim_paths(["docs/spec.md"]).claim.epoch == 6


@pytest.mark.parametrize("name", ["jobs/0001.yaml", "leases/0001.yaml", "drafts/a.txt/target.yaml"])
@pytest.mark.parametrize("what", ["a symlink", "a dangling symlink", "a folder", "a pipe"])
def test_whatever_stands_in_a_record_s_place_is_damage_and_no_wait(lived, name, what):
    path = lived.store / name
    path.rename(lived.store / "real")
    {
        "a symlink": lambda: path.symlink_to(lived.store / "real"),
        "a dangling symlink": lambda: path.symlink_to("nowhere"),
        "a folder": path.mkdir,
        "a pipe": lambda: os.mkfifo(path),
    }[what]()
    said = [*lived.me.jobs(everything=True).damaged, *lived.me.ls().damaged]
    assert [finding.path for finding in said] == [name]
    assert name in [each.path for each in lived.examine().findings]
    mended = lived.examine(fix=True)
    assert not mended.findings, mended
    assert lived.ann.renew().claim.epoch == 1
    work_goes_on(lived)


def test_a_clash_of_two_live_claims_is_found(lived):
    lived.me.engine.checkpoint()
    edit(lived.store / "leases/0002.yaml", '- "a.txt"', '- "docs"', recheck=True)
    edit(lived.store / "jobs/0002.yaml", '- "a.txt"', '- "docs"', recheck=True)
    found = {each.kind: each for each in lived.examine().findings}
    assert found["clash"].repair in ("draftfs job revoke 1", "draftfs job revoke 2")
    assert not lived.examine().checks["G3 reservations: no two claims hold clashing paths"]


def test_only_errors_of_ours_are_raised(lived):
    """Whatever stands in a file, nothing but a DraftfsError comes out."""
    for name, need in RECORDS.items():
        for junk in (b"\xff\xfe\x00", b"format: 1\n" * 50, b"# draftfs\n", b"[" * 9000, os.urandom(200)):
            (lived.store / name).unlink()
            (lived.store / name).write_bytes(junk)
            with pytest.raises(DraftfsError):
                need(lived)
            lived.reset()
