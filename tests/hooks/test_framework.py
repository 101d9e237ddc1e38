"""For users of the pre-commit framework: `.pre-commit-hooks.yaml`, a check only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support import GIT_ENVIRONMENT, Ran, git

MANIFEST = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"
TOOL = Path(sys.executable).parent / "pre-commit"


def pre_commit(*arguments: str, cwd: Path) -> Ran:
    environment = {**os.environ, **GIT_ENVIRONMENT, "PRE_COMMIT_HOME": str(cwd.parent / "cache")}
    command = [str(TOOL), *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


def test_the_manifest_is_one(tmp_path):
    assert pre_commit("validate-manifest", str(MANIFEST), cwd=tmp_path).status == 0


@pytest.fixture
def checked(real):
    """The hook of the manifest, run by the framework with the draftfs of these tests; none of our own hooks."""
    (hook,) = yaml.safe_load(MANIFEST.read_text())
    hook |= {"language": "system", "entry": f"{sys.executable} -m {hook['entry']}", "stages": ["pre-commit"]}
    config = {"repos": [{"repo": "local", "hooks": [hook]}]}
    (real.root / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    git("add", ".pre-commit-config.yaml", cwd=real.root)
    git("commit", "-q", "-m", "config", cwd=real.root)
    assert pre_commit("install", cwd=real.root).status == 0
    for name in ("ann", "bob"):
        git("merge", "-q", "main", cwd=real.worktree(name))
    real.bob.claim(1, seen=1)
    return real


def commit(real, name: str, *arguments: str) -> Ran:
    environment = {**os.environ, **GIT_ENVIRONMENT, "PRE_COMMIT_HOME": str(real.base / "cache"), "DRAFTFS_AGENT": name}
    command = ["git", "commit", "-q", "-m", "x", *arguments]
    done = subprocess.run(
        command, cwd=real.worktree(name), env=environment, capture_output=True, text=True, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("how", [["-a"], ["--only", "docs/spec.md"], ["docs/spec.md"]])
def test_the_index_of_this_very_commit_is_judged(checked, how):
    """C64: of `commit -a` and of a commit of some paths the usual index is not what is committed."""
    before = git("rev-parse", "wa", cwd=checked.root)
    checked.write("ann", "docs/spec.md", "ann\n")
    refused = commit(checked, "ann", *how)
    assert refused.status == 1
    assert "docs/spec.md" in refused.out + refused.err
    assert "held by bob" in refused.out + refused.err
    assert git("rev-parse", "wa", cwd=checked.root) == before


def test_the_holder_and_free_paths_pass(checked):
    checked.write("bob", "docs/spec.md", "bob\n")
    assert commit(checked, "bob", "-a").status == 0
    checked.write("ann", "free.md", "free\n")
    git("add", "free.md", cwd=checked.worktree("ann"))
    assert commit(checked, "ann").status == 0
