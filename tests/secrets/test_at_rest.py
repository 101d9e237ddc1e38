"""G9: after everything that can happen, no token and no receipt key is found in the store; the token is kept in the
worktree's own git folder and nowhere else."""

from __future__ import annotations

import base64
import json
import os
import stat
from pathlib import Path

import pytest

from draftfs.errors import DraftfsError
from draftfs.records import DraftRef
from tests.damage.lived import HAZARDS
from tests.support import Field, draftfs, git

KEY = "a receipt key of one's own"


def spellings(secret: str) -> list[bytes]:
    """The secret as it is, and as it could be hidden without anybody meaning to."""
    raw = secret.encode()
    plain = [raw, raw.hex().encode(), raw.hex().upper().encode(), raw[::-1], json.dumps(secret)[1:-1].encode()]
    for padding in range(3):  # inside a longer text base64 looks different at each offset
        coded = base64.b64encode(b"x" * padding + raw)[4 : len(raw)]
        plain += [coded, coded.translate(bytes.maketrans(b"+/", b"-_"))]
    part = secret.partition(".")[2]
    if len(part) == 43:
        decoded = base64.urlsafe_b64decode(part + "=")
        plain += [part.encode(), decoded, decoded.hex().encode(), base64.b64encode(decoded)]
    return plain


def found_in(folder: Path, secrets: list[str]) -> list[str]:
    """Where in `folder` one of the secrets stands, in whatever spelling; in names, too."""
    places = []
    for path in folder.rglob("*"):
        data = os.fsencode(path.name) + b"\0" + (path.read_bytes() if path.is_file() else b"")
        places += [f"{path}: {secret}" for secret in secrets if any(each in data for each in spellings(secret))]
    return places


def refused(call) -> str:
    with pytest.raises(DraftfsError) as caught:
        call()
    return caught.value.code


def a_full_story(field: Field) -> tuple[list[str], list[str]]:
    """Claims, drafts, submits, promotes, lapses, replays, refusals, damage and its repair. Returns tokens and keys."""
    me, ann, bob = field.me, field.ann, field.bob
    first = ann.claim(1, seen=1, receipt=KEY)
    assert ann.claim(1, seen=1, receipt=KEY).claim.token == first.claim.token
    second = bob.claim(2, seen=1)
    field.put("ann", "docs/spec.md", "v1\n")
    field.put("bob", "a.txt", "b1\n")
    renewed = ann.renew()
    assert refused(lambda: ann.renew(receipt=KEY)) == "receipt_mismatch"
    assert refused(lambda: bob.renew(job=2, token=first.claim.token)) == "fenced"
    assert refused(lambda: bob.renew(job=2, token="12.5e3")) == "fenced"
    submitted = ann.submit(note="here it is")
    promoted = me.promote([DraftRef("docs/spec.md", 1)])
    field.clock.advance(3600)
    lapsed = me.jobs()[0]
    assert lapsed.job.state == "open"
    assert refused(bob.renew) == "fenced"
    third = bob.claim_paths(["b.md"])
    released = bob.release()
    fourth = bob.claim_next()
    me.engine.checkpoint()
    HAZARDS["half"](field.store / f"leases/{fourth.claim.job:04d}.yaml")
    assert not me.doctor(fix=True).findings
    assert refused(bob.renew) == "fenced"
    tokens = [str(each.claim.token) for each in (first, second, third, fourth)]
    written = (first, second, renewed, submitted, promoted, third, released, fourth)
    return tokens, [each.receipt for each in written]


def test_no_secret_is_anywhere_in_the_store(field):
    tokens, keys = a_full_story(field)
    assert len(set(tokens)) == 4
    assert found_in(field.store, tokens + keys) == []
    assert found_in(field.store, [tokens[0].split(".")[1]]) == []
    me = field.open()
    told = repr([*me.log(limit=1000), me.jobs(everything=True), me.ls(everything=True), *map(me.receipt, keys[1:])])
    assert not [secret for secret in tokens + keys if secret in told]
    assert me.doctor().checks["G9 secrets: no token is at rest"]


def test_the_search_itself_finds_what_there_is(tmp_path):
    token = f"7.{base64.urlsafe_b64encode(bytes(range(32))).rstrip(b'=').decode()}"
    for at, spelling in enumerate(spellings(token)):
        folder = tmp_path / str(at)
        folder.mkdir()
        (folder / "x").write_bytes(b"say: " + spelling + b"!")
        assert found_in(folder, [token]), spelling
    (tmp_path / KEY).mkdir()
    assert found_in(tmp_path, [KEY])


def test_doctor_finds_a_token_or_a_key_that_somebody_put_there(field):
    field.damaged = True
    claimed = field.ann.claim(1, seen=1)
    for secret in (claimed.claim.token, claimed.receipt):
        (field.store / "notes.txt").write_text(f"do not lose: {secret}\n")
        (finding,) = field.me.doctor().findings
        assert (finding.kind, finding.path) == ("secret", "notes.txt")
        assert secret not in finding.message
    for lookalike in ("7." + "a" * 43, "01890a5d-ac96-774b-bcce-b302099a8057"):
        (field.store / "notes.txt").write_text(lookalike)
        assert not field.me.doctor().findings, "what only looks like one is none"


def test_the_token_is_kept_in_the_worktree_s_git_folder_alone_and_for_its_owner_alone(field):
    token = field.ann.claim(1, seen=1).claim.token
    kept = Path(git("rev-parse", "--absolute-git-dir", cwd=field.worktree("ann")).strip()) / "draftfs-worktree"
    places = {place.rpartition(": ")[0] for place in found_in(field.base, [token])}
    assert places == {str(kept / "claim-1-1.json")}
    assert stat.S_IMODE((kept / "claim-1-1.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_no_command_prints_it_but_the_claim_itself_in_json(field, umask):
    old = os.umask(umask)
    try:
        worktree = field.worktree("ann")
        ran = draftfs("claim", "1", "--seen", "1", "--json", cwd=worktree, agent="ann")
        data = json.loads(ran.out)["data"]
        secrets = [data["claim"]["token"], data["receipt"]]
        (worktree / "docs/spec.md").write_text("v1\n")
        for arguments in (
            ["draft", "docs/spec.md"],
            ["renew"],
            ["job", "show", "1"],
            ["job", "list", "--all"],
            ["ls", "--all"],
            ["log"],
            ["doctor"],
            ["receipt", "show", secrets[1]],
            ["release"],
        ):
            for extra in ([], ["--json"]) if arguments[0] in ("job", "log", "receipt") and umask else ([],):
                ran = draftfs(*arguments, *extra, cwd=worktree, agent="ann")
                shown = ran.out + ran.err
                assert secrets[0] not in shown, arguments
                assert secrets[1] not in shown.replace(f"show {secrets[1]}", ""), arguments
        assert found_in(field.store, secrets) == []
        for path in (Path(git("rev-parse", "--absolute-git-dir", cwd=worktree).strip()) / "draftfs-worktree").rglob(
            "*"
        ):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    finally:
        os.umask(old)
