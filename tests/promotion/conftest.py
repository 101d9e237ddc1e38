import hashlib
import os

import pytest

from draftfs import DraftRef
from draftfs.engine import fs


class Desk:
    """A field, and what these tests do over and over."""

    def __init__(self, field):
        self.field, self.root = field, field.root

    def draft(self, data, target="docs/spec.md", *, by="ann", mode=None, delete=False, submit=True):
        """A new job on `target`, its draft handed in by `by`; returns the draft's reference."""
        agent = self.field.agent(by)
        job = agent.claim_paths([target]).claim.job
        if delete:
            info = agent.draft([target], delete=True, job=job).drafts[0]
        else:
            place = self.field.write(by, target, data)
            if mode is not None:
                place.chmod(mode)
            info = agent.draft([target], job=job).drafts[0]
        if submit:
            agent.submit(job=job)
        else:
            agent.release(job=job)
        return DraftRef(info.target, info.number)

    def promote(self, *refs, **options):
        return self.field.me.promote(refs, **options)

    def read(self, target="docs/spec.md"):
        return (self.root / target).read_bytes()

    def line(self, target="docs/spec.md", *, everything=False):
        lines = [each for each in self.field.me.ls([target], everything=everything) if each.target == target]
        return lines[0] if lines else None

    def litter(self):
        """Whatever of ours lies where it should not, in the root or in staging."""
        inside = {".git"}
        root = [
            os.path.join(folder, name)
            for folder, folders, names in os.walk(self.root)
            for name in [*names, *folders]
            if not folders.__contains__(".git") or name not in inside
            if name.startswith(".draftfs-") and "/.git" not in folder
        ]
        return root + os.listdir(self.field.store / "staging")

    def everything(self):
        """Every file of root and store: name, mode, bytes; but for git's index, and contents kept just in case."""
        found = {}
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and "/.git/index" not in path and "/objects/" not in path:
                    with open(path, "rb") as file:
                        found[path] = os.stat(path).st_mode, file.read()
        return found


@pytest.fixture
def desk(field):
    return Desk(field)


@pytest.fixture
def at(monkeypatch):
    """`at(call, act)`: do `act(path)` right before the first such system call on a path that holds `part`."""

    def arm(call, act, part="", *, nth=1):
        left = [nth]

        def observe(name, path):
            if name == call and part in path:
                left[0] -= 1
                if left[0] == 0:
                    fs.observer = None
                    act(path)

        monkeypatch.setattr(fs, "observer", observe)
        return left

    yield arm
    monkeypatch.setattr(fs, "observer", None)


def sha(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()
