"""C43: bytes are bytes (tests/drafts/test_bytes.py has the other ways, and the large one)."""

import hashlib
import os
import subprocess
import sys

import pytest

CONTENTS = {
    "empty": b"",
    "NUL": b"\0",
    "all": bytes(range(256)),
    "CR": b"\r",
    "cut": ("漢" * 334).encode()[:1001],
    "escape": b"\x1b[31mred\x1b[0m\x07\n",
}


@pytest.mark.parametrize("name", CONTENTS)
def test_in_and_out(site, name):
    data, digest = CONTENTS[name], hashlib.sha256(CONTENTS[name]).hexdigest()
    site.hold("ann", "b.bin")
    assert site.put("ann", "b.bin", data)["sha256"] == digest
    assert site.run("ann", "draft", "--from", "b.bin", "b.bin")["drafts"][0]["sha256"] == digest
    command = [sys.executable, "-m", "draftfs", "draft", "b.bin", "--from", "-"]
    piped = subprocess.run(
        command,
        cwd=site.where("ann"),
        input=data,
        capture_output=True,
        check=False,
        env={**os.environ, "DRAFTFS_AGENT": "ann", "PYTHONPATH": os.getcwd()},
    )
    assert piped.returncode == 0, piped.stderr
    assert (site.root / "b.bin.draft-0003@ann").read_bytes() == data
    site.run("ann", "submit")
    line = site.line("b.bin")["drafts"][0]
    assert (line["draft"]["size"], line["draft"]["delete"]) == (len(data), False)
    assert ("binary" in line["flags"]) == (b"\0" in data)
    shown = site.raw("me", "diff", "b.bin", "3")
    assert shown.status == 0
    site.run("me", "promote --yes", "b.bin", "3")
    assert site.read("b.bin") == data
