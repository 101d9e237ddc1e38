"""C62: other tools' hooks. (Real hook managers are in tests/hooks/test_managers.py.)"""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.hooks.test_installing import snapshot
from tests.support import git

SCRIPT = """#!/bin/sh
{{ echo "{hook} $*"; cat; }} >>"{log}"
exit {status}
"""
ARGUMENTS = "#!/bin/sh\nshift\necho \"prepare-commit-msg $* $MARK\" >>'{log}'\n"


class Foreign:
    def __init__(self, site, folder) -> None:
        self.site, self.folder, self.log = site, folder, site.field.base / "log"
        folder.mkdir(parents=True, exist_ok=True)
        self.put("prepare-commit-msg", ARGUMENTS.format(log=self.log))
        for hook in ("pre-push", "reference-transaction"):
            self.put(hook, SCRIPT.format(hook=hook, log=self.log, status=0))

    def put(self, hook: str, text: str) -> None:
        file = self.folder / hook
        file.write_text(text)
        file.chmod(0o750)

    def said(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


@pytest.fixture(params=["default", "local hooksPath"])
def foreign(site, request):
    folder = site.root / ".git/hooks"
    if request.param != "default":
        folder = site.root / ".git/mine"
        git("config", "core.hooksPath", str(folder), cwd=site.root)
    return Foreign(site, folder)


def commit(site, **more: str) -> int:
    where = site.where("ann")
    return subprocess.run(
        ["git", "commit", "-q", "--allow-empty", "-m", "x"],
        cwd=where,
        env={**os.environ, **more},
        capture_output=True,
        check=False,
    ).returncode


def test_foreign_hooks_run_once_with_what_git_gave_and_come_back(site, foreign):
    site.where("ann")
    foreign.said()
    git("clone", "-q", "--bare", str(site.root), str(site.field.base / "bare"), cwd=site.field.base)
    before = snapshot(foreign.folder)
    commit(site, MARK="here")
    plain = foreign.said()
    git("reset", "-q", "--hard", "HEAD~1", cwd=site.where("ann"))
    foreign.said()
    site.run("me", "hooks install")
    installed = snapshot(foreign.folder)
    site.run("me", "hooks install")
    assert snapshot(foreign.folder) == installed

    assert commit(site, MARK="here") == 0
    masked = [[word for word in line.split() if len(word) != 40] for line in plain]
    assert [[word for word in line.split() if len(word) != 40] for line in foreign.said()] == masked
    git("push", "-q", str(site.field.base / "bare"), "HEAD:refs/heads/pushed", cwd=site.where("ann"))
    at = git("rev-parse", "HEAD", cwd=site.where("ann")).strip()
    assert [line for line in foreign.said() if "pushed" in line] == [f"HEAD {at} refs/heads/pushed {'0' * 40}"]

    site.run("me", "hooks uninstall")
    assert snapshot(foreign.folder) == before


@pytest.mark.parametrize("hook", ["prepare-commit-msg", "reference-transaction"])
def test_their_refusal_counts(site, foreign, hook):
    foreign.put(hook, "#!/bin/sh\nexit 3\n")
    site.field.base.joinpath("wa").exists() or git(
        "-c", "core.hooksPath=/dev/null", "worktree", "add", "-q", str(site.field.base / "wa"), cwd=site.root
    )
    site.run("me", "hooks install")
    assert commit(site) != 0


def test_a_global_folder_is_refused_with_the_hint(site):
    config = site.field.base / "gitconfig"
    config.write_text(f"[core]\n\thooksPath = {site.field.base}/all\n")
    site.environment = {"GIT_CONFIG_GLOBAL": str(config)}
    error = site.refused("me", "shared_hooks", "hooks install")
    assert "--shared-folder" in error["hint"]
    assert not (site.field.base / "all").exists()
    site.run("me", "hooks install", "--shared-folder")
    assert site.run("me", "hooks status")["active"] is True


def test_overwritten_it_is_said_which(site):
    site.run("me", "hooks install")
    mine = site.root / ".git/hooks/pre-push"
    mine.unlink()
    mine.write_text("#!/bin/sh\nexit 0\n")
    mine.chmod(0o755)
    found = site.run("me", "hooks status", status=6)
    assert [(each["hook"], each["file"]) for each in found["hooks"] if each["state"] == "replaced"] == [
        ("pre-push", str(mine))
    ]
    site.run("me", "hooks install")
    assert site.run("me", "hooks status")["active"] is True
