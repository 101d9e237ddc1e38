"""Store: one method per operation. Nothing here prints, prompts or reads the environment.

What must be read from disk is read before the lock; what is decided is decided in one transaction (see `calls`). The operations
are in `draftfs.operations`, by what they are about; here is how a store is opened.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from draftfs import names
from draftfs.answers import Checkup
from draftfs.calls import FreshKeys, Keys
from draftfs.clock import Clock, SystemClock
from draftfs.engine.objects import Progress
from draftfs.errors import Damaged
from draftfs.operations.jobs import JobOperations
from draftfs.operations.oversight import OversightOperations
from draftfs.operations.review import ReviewOperations
from draftfs.operations.talk import TalkOperations
from draftfs.operations.work import WorkOperations
from draftfs.repo import Repo


class Store(JobOperations, WorkOperations, ReviewOperations, TalkOperations, OversightOperations):
    """The store of one repository, as one caller sees it. Make one with `Store.open` or `Store.init`.

    Methods raise DraftfsError and nothing else on purpose. Durations are whole seconds. Paths are taken from the folder
    the store was opened from, and answered relative to the root. `receipt` is the key of G1; without one a fresh key is
    made. `job` and `token` name a claim; without them it is the one whose token this worktree keeps. Threads each open
    a Store of their own.
    """

    @classmethod
    def open(
        cls,
        cwd: str = ".",
        *,
        agent: str | None = None,
        clock: Clock | None = None,
        lock_wait: float = 10.0,
        keys: Keys | None = None,
        progress: Progress | None = None,
        running: tuple[int, int] | None = None,
    ) -> Store:
        """Open the store of the repository that `cwd` lies in.

        `running` is the claim (job, epoch) that this program was started under, if any: it does not write by the token of
        another claim of that job. The actor is `agent`; else, but in the root, the holder recorded there; else the person. `lock_wait` is in
        seconds; `progress` is told the bytes of each step of a long copy. Raises NotFound `no_store`, BadRequest
        `bad_name`, EnvironmentFault `git`, Damaged.
        """
        if agent is not None:
            names.agent_name(agent)
        repo = Repo.find(cwd)
        return cls(
            repo,
            agent,
            clock=clock or SystemClock(),
            lock_wait=lock_wait,
            keys=keys or FreshKeys(),
            progress=progress,
            running=running,
        )

    @classmethod
    def init(
        cls,
        cwd: str = ".",
        *,
        root: str | None = None,
        clock: Clock | None = None,
        lock_wait: float = 10.0,
        **options: Any,
    ) -> tuple[Store, bool]:
        """Make the store of the repository that `cwd` lies in, or complete or open the one there; True when it is new.

        `root` (relative to `cwd`) names the checkout that people look at: needed where it is not simply the main one, and
        where the root was moved. `options` are those of `open`. Raises what `founding.make` raises.
        """
        clock = clock or SystemClock()
        from draftfs import founding

        repo = founding.place(cwd, root)
        made = founding.make(repo, clock, lock_wait, named=root is not None)
        store = cls.open(repo.cwd, clock=clock, lock_wait=lock_wait, **options)
        if root is not None and not store._workspace.in_root:  # noqa: SLF001
            founding.move_root(store.engine, repo, store.tree.top, store.actor)
            store = cls.open(repo.cwd, clock=clock, lock_wait=lock_wait, **options)
        founding.hide_drafts(store.engine, repo)
        return store, made

    @classmethod
    def examine(
        cls, cwd: str = ".", *, fix: bool = False, clock: Clock | None = None, lock_wait: float = 10.0, **options: Any
    ) -> Checkup:
        """As `doctor`, also for a store that is too damaged to be opened. `options` are those of `open`.

        Raises Damaged where a newer version wrote the store.
        """
        from draftfs import doctor, founding

        clock, fixed = clock or SystemClock(), list[str]()
        while True:
            try:
                checkup = cls.open(cwd, clock=clock, lock_wait=lock_wait, **options).doctor(fix=fix)
            except Damaged as fault:
                file = str(fault.details.get("file"))
                if fault.details.get("cause") == "format":
                    raise
                if not fix:
                    return doctor.unopened(fault)
                said = founding.mend(Repo.find(cwd), clock, lock_wait, file)
                if not said or said[0] in fixed:
                    raise
                fixed += said
            else:
                return replace(checkup, fixed=(*fixed, *checkup.fixed))
