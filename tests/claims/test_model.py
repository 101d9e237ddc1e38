"""A plain model of jobs, claims, receipts and time, run against the rules on the file engine.

The model is what DESIGN §2 (G1-G4), §4 and §5 say, over dictionaries. Each step asks both for the same and compares the
answer, or the code of the refusal; after each step everything that both hold is compared. Only `Calls` and the rules are
used, so the same machine can drive any engine.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, precondition, rule

from draftfs import layout, tokens
from draftfs.answers import Claimed, JobChanged, JobsAdded, Renewed
from draftfs.calls import Calls, FreshKeys
from draftfs.engine.files import FileEngine, create
from draftfs.errors import DraftfsError
from draftfs.paths import Fold, clash
from draftfs.records import Actor, NewJob, Settings, StoreInfo
from draftfs.rules import claims, decisions, jobs
from tests.support import ManualClock

PATHS = (("src",), ("src/a.py",), ("src-app",), ("docs/b.md", "src/a.py"), ("docs",))
ATTEMPTS = 2
AGENTS = ("ann", "bob")


@dataclass
class ModelJob:
    paths: tuple[str, ...]
    after: tuple[int, ...]
    state: str = "open"
    version: int = 1
    used: int = 0
    max: int = ATTEMPTS
    epoch: int = 0
    deadline: int = 0
    ttl: int = 0

    def change(self, state: str) -> None:
        self.version += 1
        self.state = "failed" if state == "open" and self.used >= self.max else state


@dataclass
class Model:
    """Deadlines and `now` are whole seconds of one boot."""

    jobs: dict[int, ModelJob] = field(default_factory=dict)
    endings: dict[tuple[int, int], str] = field(default_factory=dict)
    receipts: dict[str, tuple] = field(default_factory=dict)
    epoch: int = 0
    now: int = 0
    rebooted: bool = False

    def live(self) -> dict[int, ModelJob]:
        return {number: job for number, job in self.jobs.items() if job.state == "claimed"}

    def notice(self, only: int | None) -> None:
        for job in self.live().values() if self.rebooted else ():
            job.deadline = self.now + job.ttl
        self.rebooted = False
        for number, job in self.live().items():
            if only in (None, number) and job.deadline <= self.now:
                self.end(number, "lapsed", "open")

    def end(self, number: int, how: str, state: str) -> None:
        job = self.jobs[number]
        self.endings[number, job.epoch] = how
        if how == "released":
            job.used -= 1
        job.change(state)

    def standing(self, number: int, epoch: int) -> str:
        job = self.jobs[number]
        if job.epoch > epoch:
            return "superseded"
        return "live" if job.state == "claimed" else self.endings[number, epoch]

    def claim(self, number: int, seen: int, ttl: int) -> str | None:
        job = self.jobs[number]
        if job.state != "open":
            return "attempts_used_up" if job.state == "failed" else "job_not_open"
        if seen != job.version:
            return "stale_version"
        if any(self.jobs[each].state != "accepted" for each in job.after):
            return "not_accepted"
        held = [path for other in self.live().values() for path in other.paths]
        if any(clash(path, other, Fold()) for path in job.paths for other in held):
            return "path_clash"
        self.epoch += 1
        job.epoch, job.deadline, job.ttl = self.epoch, self.now + ttl, ttl
        job.used += 1
        job.change("claimed")
        return None

    def under(self, number: int, epoch: int, what: str, ttl: int) -> str | None:
        job = self.jobs[number]
        if job.state != "claimed" or job.epoch != epoch:
            return "fenced"
        if what == "renew":
            job.deadline, job.ttl = self.now + ttl, ttl
        elif what == "submit":
            self.end(number, "submitted", "submitted")
        else:
            self.end(number, "released" if what == "release" else "failed", "open")
            self.endings[number, epoch] = "released"
        return None

    def decide(self, number: int, what: str) -> str | None:
        job = self.jobs[number]
        wanted = {
            "accept": ("submitted",),
            "reject": ("submitted",),
            "revoke": ("claimed",),
            "retry": ("open", "failed"),
            "cancel": ("open", "claimed", "submitted", "failed"),
        }
        if job.state not in wanted[what]:
            return "job_not_open"
        if job.state == "claimed":
            self.endings[number, job.epoch] = {"revoke": "revoked", "cancel": "cancelled"}[what]
        if what == "retry":
            job.max += 1
        job.change({"accept": "accepted", "cancel": "cancelled"}.get(what, "open"))
        return None


class Machine(RuleBasedStateMachine):
    tokens = Bundle("tokens")

    def __init__(self) -> None:
        super().__init__()
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # what is tested here needs no disk
        self.folder, self.clock, self.model = tempfile.mkdtemp(dir=memory), ManualClock(), Model()
        info = StoreInfo("a store", "..", "files", Fold(), Settings(job_attempts=ATTEMPTS), self.clock.now().stamp)
        create(f"{self.folder}/store", self.clock, info, 10)
        self.engine = FileEngine(f"{self.folder}/store", self.clock)
        self.asked: list[tuple] = []
        self.issued: dict[int, str] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def ask(self, who, operation, meant, kind, rule_, key, only, modelled):
        """Both answer the same request; returns (answer or None, whether it was a replay)."""
        key = key or f"key {len(self.asked)}"
        self.asked.append((who, operation, meant, kind, rule_, key, only, modelled))
        actor = Actor(who, is_agent=who != "me")
        calls = Calls(self.engine, "a store", actor, FreshKeys())
        asked = (operation, who, tuple(sorted(meant.items())))
        self.model.notice(only)
        known = self.model.receipts.get(key)
        expected = modelled() if known is None else None if known[0] == asked else "receipt_mismatch"
        try:
            answer = calls.write(operation, meant, kind, rule_, key, only=only)
        except DraftfsError as refusal:
            if refusal.code != expected:
                raise
            return None, False
        assert expected is None, f"should have been refused: {expected}"
        assert answer.replayed == (known is not None)
        if known is None:
            self.model.receipts[key] = (asked, answer)
        self.check_answer(answer, answer if known is None else known[1])
        return answer, known is not None

    def check_answer(self, answer, first):
        """A replay gives what the first answer gave, and how its claim stands now."""
        claim = getattr(answer, "claim", None)
        if claim is not None:
            assert answer.standing == self.model.standing(claim.job, claim.epoch)
            assert (claim.expires_in is not None) == (answer.standing == "live")
            assert (claim.token, claim.epoch) == (first.claim.token, first.claim.epoch)
            if claim.token is not None:
                self.issued[claim.epoch] = claim.token
        if hasattr(answer, "job"):
            assert answer.job == first.job

    @rule(which=st.integers(0, 60))
    def ask_again(self, which):
        """Any earlier request, to the letter: refused ones may be accepted by now, answered ones are replayed."""
        self.ask(*self.asked[which % len(self.asked)])

    @initialize()
    def add(self):
        new = [NewJob(f"job {n}", paths, (1,) if n == 3 else ()) for n, paths in enumerate(PATHS)]
        self.ask(
            "me",
            "job add",
            {},
            JobsAdded,
            lambda tx, _: JobsAdded(jobs=jobs.add(tx, new, "me")),
            "add",
            None,
            lambda: None,
        )
        self.model.jobs = {n + 1: ModelJob(each.paths, each.after) for n, each in enumerate(new)}

    numbers = st.integers(1, len(PATHS))
    ttls = st.integers(1, 9)
    keys = st.sampled_from([*[None] * 9, "key 1"])  # None: a fresh one

    @rule(
        target=tokens,
        who=st.sampled_from(AGENTS),
        number=numbers,
        behind=st.sampled_from([0, 0, 0, 1]),
        ttl=ttls,
        key=keys,
    )
    def claim(self, who, number, behind, ttl, key):
        self.model.notice(None)
        seen = self.model.jobs[number].version - behind
        start = claims.Start(PATHS[number - 1], ())

        def rule_(tx, key):
            return claims.claim(tx, number, Actor(who, is_agent=True), seen=seen, ttl=ttl, start=start, key=key)

        meant = {"job": number, "seen": seen, "ttl": ttl}
        answer, replayed = self.ask(
            who, "claim", meant, Claimed, rule_, key, None, lambda: self.model.claim(number, seen, ttl)
        )
        if answer is None:
            return multiple()
        claim = answer.claim
        return multiple() if replayed else number, claim.epoch, claim.token

    @rule(held=tokens, other=numbers, own=st.booleans(), ttl=ttls, key=keys)
    @precondition(lambda self: self.model.epoch)
    def write_under_a_claim(self, held, other, own, ttl, key):
        """With the token of the job itself, or of another."""
        number, epoch, token = held
        aimed = number if own else other
        self._write(aimed, epoch, token, "renew", ttl, key)

    @rule(held=tokens, what=st.sampled_from(["release", "failed", "submit", "submit"]), key=keys)
    def end_a_claim(self, held, what, key):
        number, epoch, token = held
        self._write(number, epoch, token, what, 1, key)

    @precondition(lambda self: self.model.live())
    @rule(data=st.data(), what=st.sampled_from(["failed", "submit"]))
    def end_a_live_claim(self, data, what):
        number = data.draw(st.sampled_from(sorted(self.model.live())))
        job = self.model.jobs[number]
        self._write(number, job.epoch, self.issued[job.epoch], what, 1, None)

    def _write(self, number, epoch, token, what, ttl, key):
        actor = Actor("ann", is_agent=True)

        def rule_(tx, _):
            if what == "renew":
                return claims.renew(tx, number, token, actor, ttl)
            if what == "submit":
                return claims.submit(tx, number, token, actor, None)
            return claims.release(tx, number, token, actor, failed=what == "failed", note=None)

        kind, operation = (
            (Renewed, "renew") if what == "renew" else (JobChanged, "submit" if what == "submit" else "release")
        )
        meant = {"job": number, "token": tokens.digest(token), "what": what, "ttl": ttl}
        self.ask("ann", operation, meant, kind, rule_, key, number, lambda: self.model.under(number, epoch, what, ttl))

    @rule(number=numbers, what=st.sampled_from(["accept", "reject", "revoke", "retry"] * 2 + ["cancel"]), key=keys)
    def decide(self, number, what, key):
        self._decide(number, what, key)

    def _decide(self, number, what, key):
        me = Actor("me", is_agent=False)
        acts = {
            "accept": lambda tx: decisions.accept(tx, number, me),
            "reject": lambda tx: decisions.reject(tx, number, me, "x"),
            "revoke": lambda tx: decisions.revoke(tx, number, me, "x"),
            "cancel": lambda tx: decisions.cancel(tx, number, me, "x"),
            "retry": lambda tx: JobChanged(job=jobs.retry(tx, number, "me", 1)),
        }
        self.ask(
            "me",
            f"job {what}",
            {"job": number},
            JobChanged,
            lambda tx, _: acts[what](tx),
            key,
            number,
            lambda: self.model.decide(number, what),
        )

    @precondition(lambda self: any(job.state == "submitted" for job in self.model.jobs.values()))
    @rule(data=st.data(), what=st.sampled_from(["accept", "reject"]))
    def decide_a_submitted_job(self, data, what):
        submitted = [number for number, job in self.model.jobs.items() if job.state == "submitted"]
        self._decide(data.draw(st.sampled_from(submitted)), what, None)

    @rule(seconds=st.integers(1, 9))
    def time_passes(self, seconds):
        self.clock.advance(seconds)
        self.model.now += seconds

    @rule()
    def somebody_looks(self):
        Calls(self.engine, "a store", Actor("me", is_agent=False), FreshKeys()).notice()
        self.model.notice(None)

    @rule(seconds=st.sampled_from([-86400, 86400]))
    def the_wall_clock_jumps(self, seconds):
        self.clock.jump_wall(seconds)

    @precondition(lambda self: self.model.live())
    @rule(later=st.integers(0, 9))
    def the_machine_starts_again(self, later):
        self.clock.reboot()
        self.model.rebooted = True
        self.somebody_looks()
        self.time_passes(later)

    @rule()
    def the_engine_starts_again(self):
        self.engine.checkpoint()
        self.engine = FileEngine(f"{self.folder}/store", self.clock)

    @invariant()
    def both_hold_the_same(self):
        def look(view):
            held = {
                each.id: each for folder in (layout.JOBS, layout.DONE) for each in map(view.get, view.under(folder))
            }
            leases = {each.job: each for each in map(view.get, view.under(layout.LEASES))}
            kept = {key for key in self.model.receipts if view.get(layout.receipt(tokens.digest(key)))}
            return held, leases, view.counters, kept

        held, leases, counters, kept = self.engine.write(look)[0].value
        for number, job in self.model.jobs.items():
            real = held[number]
            assert (real.state, real.version, real.epoch) == (job.state, job.version, job.epoch), number
            assert (real.attempts.used, real.attempts.max) == (job.used, job.max), number
        live = self.model.live()
        assert {each.job: (each.epoch, each.ttl) for each in leases.values()} == {
            number: (job.epoch, job.ttl) for number, job in live.items()
        }
        assert (counters.epoch, counters.live) == (self.model.epoch, len(live))
        assert kept == set(self.model.receipts), "one for each accepted write, none for a refused one (G1)"
        paths = [(each.job, path) for each in leases.values() for path in each.paths]
        assert not [1 for a, one in paths for b, two in paths if a < b and clash(one, two, Fold())], "G3"


TestModel = Machine.TestCase
TestModel.settings = settings(
    max_examples=150,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
