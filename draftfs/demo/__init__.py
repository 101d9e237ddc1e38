"""`draftfs demo`: the story of the late worker on a real repository, with real processes, checked at every step.

A copy of the sample repository, two worktrees, two agents as processes of their own. One of them is stopped in the middle
of its work, comes back after another has taken over, and reads why it is late; a person chooses, and mends what an edit by
hand did to that; then two programs that know nothing of draftfs do jobs under
`draftfs run`, one of whose runs is killed and one stopped. Every command is shown as a person would type it, with what it
printed; the first outcome that is not as it must be ends the demo with status 1.
"""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from draftfs.demo.stage import (
    Agent,
    Failed,
    Place,
    head,
    insist,
    job,
    show,
    tell,
    token,
    version,
    wait_for,
    wait_until_open,
    wait_until_over,
)

_PACKAGE: Final = Path(__file__).parents[1]
_PAGE: Final = "docs/faq.md"
_JOB: Final = 9
_HEADING: Final = "## What happens when a product does not fit into the oven?"


def run() -> int:
    """Play it all through in a temporary folder; 0 when every outcome was right."""
    started = time.monotonic()
    base = Path(tempfile.mkdtemp(prefix="draftfs-demo-"))
    agents: list[Agent] = []
    try:
        _play(base, agents)
    except Failed as fault:
        print(f"\nTHE DEMO FAILED: {fault}", file=sys.stderr)
        return 1
    finally:
        for agent in agents:
            agent.stop()
        shutil.rmtree(base, ignore_errors=True)
    tell(f"Every outcome was as it must be. ({time.monotonic() - started:.0f} s)")
    return 0


def _play(base: Path, agents: list[Agent]) -> None:
    root = base / "bakery"
    me = Place("me", root)
    tell("A project, its store and hooks, a server that it is pushed to, and the work to be done")
    _set_up(me, root)
    me.run("draftfs worktree add ../ann --as ann")
    me.run("draftfs worktree add ../bob --as bob")
    ann, bob = Agent("ann", base / "ann"), Agent("bob", base / "bob")
    agents += [ann, bob]

    tell("Ann claims a job for three seconds, commits her first words, and stalls in the middle of it")
    first = f"draftfs claim {_JOB} --seen {version(me, _JOB)} --ttl 3s --receipt ann-claims"
    ann.run(first)
    old = token(ann, first)
    _answer(ann, "Nobody bakes them.")
    ann.run("git commit -q -a -m 'An answer'")
    ann.signal(signal.SIGSTOP)
    late = f"draftfs draft {_PAGE}"
    ann.begin(late)

    tell("Her claim lapses. Bob takes over; his answer is lost, and the same command gives him his token all the same")
    wait_until_open(me, _JOB)
    second = f"draftfs claim {_JOB} --seen {version(me, _JOB)} --receipt bob-claims"
    bob.run(f"{second} >&-", status=8)
    bob.run(second)
    new = token(bob, second)
    insist(new["standing"] == "live" and new["replayed"], "Bob's retry is a replay, and live")
    insist(new["token"] != old["token"] and new["epoch"] > old["epoch"], "a new claim is a new token")
    _answer(bob, "They are split into as few loads as possible, the fullest first.")
    bob.run("git commit -q -a -m 'The answer to the oldest question'")
    bob.run(f"draftfs draft {_PAGE} --note 'split, fullest first'")
    bob.run("draftfs submit")

    tell("Ann wakes up. She re-reads the newest version, and is refused at every write")
    ann.signal(signal.SIGCONT)
    ann.finish(late, status=4)
    ann.run(f"draftfs job show {_JOB}")
    stolen = f"{late} --token {old['token']} --job {_JOB}"
    for command in (late, "draftfs renew", "draftfs submit", "draftfs release", stolen):
        ann.run(command, status=4)
    ann.run(first)
    again = token(ann, first)
    insist(again["token"] == old["token"], "her retry gives Ann her old token")
    insist(again["standing"] == "superseded", f"... and says how it stands: {again['standing']}")

    _read(me, ann)
    _commit_late(me, ann)
    _choose(me, bob, root)
    _look_after(me, root)
    _run_programs(me, base, agents)


def _read(me: Place, ann: Agent) -> None:
    tell(
        "She reads what happened meanwhile. It comes again until she acknowledges it, and what is acknowledged does not"
    )
    me.run(f"draftfs send --to ann --subject 'Bob has done job {_JOB}' --body 'Take another, please.' --job {_JOB}")
    ann.run("draftfs read --mine")
    page = ann.json("draftfs read")
    insist([each["kind"] for each in page["events"]] == ["claim.lapsed", "message.sent"], "both come again")
    ann.run(f"draftfs ack {page['page']}")
    insist(ann.json("draftfs read")["events"] == [], "and now neither does")


def _commit_late(me: Place, ann: Agent) -> None:
    tell("She tries git. Her branch does not move, whichever way she takes")
    _answer(ann, "Nobody bakes them, and nobody will.")
    branch = head(ann, "ann")
    for command, status in (
        ("git commit -q -a -m 'Better late than never'", 128),
        ("git commit -q -a --no-verify -m 'Better late than never'", 128),
        ("git commit -q -a --amend -m 'An answer, again'", 128),
    ):
        ann.run(command, status=status)
    ann.run("git stash -q")
    ann.run("git switch -q -c tidy main")
    ann.run("git cherry-pick ann", status=128)
    ann.run("git cherry-pick --abort")
    ann.run("git merge -q --no-ff -m 'Take it all the same' ann", status=128)
    ann.run("git merge --abort")
    made = ann.run("git commit-tree -p main -m 'By hand' ann^{tree}").strip()
    ann.run(f"git update-ref refs/heads/main {made}", status=128)
    insist(head(ann, "ann") == branch, "her branch stands where it stood")
    insist(head(ann, "tidy") == head(ann, "main") == head(me, "HEAD"), "and so do the others")

    tell(
        "Without hooks she can commit. Then the push is refused, by her side's hook and by the server's; and it is found"
    )
    ann.run("git switch -q --detach main")
    ann.run("git -c core.hooksPath=/dev/null cherry-pick ann", status=0)
    ann.run("git push -q origin HEAD:refs/heads/answer", status=1)
    ann.run("git push -q --no-verify origin HEAD:refs/heads/answer", status=1)
    ann.run("git push -q --no-verify origin HEAD:refs/tags/answer", status=1)
    insist(not me.run("git ls-remote origin 'refs/*/answer'", shown=False), "nothing of it is on the server")
    me.run("draftfs verify main..ann", status=6)
    ann.run("git switch -q ann")


def _choose(me: Place, bob: Agent, root: Path) -> None:
    tell("A person looks, and chooses. The job that comes after can be claimed only then")
    me.run("draftfs ls")
    draft = f"{_PAGE}.draft-0001@bob"
    me.run(f"draftfs diff {draft}")
    bob.run(f"draftfs claim {_JOB + 1} --seen 1", status=3)
    me.run(f"draftfs promote {draft} --yes")
    insist((root / _PAGE).read_bytes() == (bob.folder / _PAGE).read_bytes(), "the target is byte for byte Bob's draft")
    insist((root / draft).exists(), "the draft is still there")
    insist(job(me, _JOB)["state"] == "accepted", "the job is accepted")
    me.run("git commit -q -a -m 'The answer to the oldest question'")
    bob.run(f"draftfs claim {_JOB + 1} --seen 1")
    bob.run("draftfs release --note 'after lunch'")
    bob.run("git push -q origin bob")
    me.run("git push -q origin main")
    me.run("draftfs verify origin/start..main")


def _look_after(me: Place, root: Path) -> None:
    tell("Somebody edits what was chosen, by hand. check says so, and nothing of it is lost when it is made again")
    page = root / _PAGE
    chosen, edited = page.read_bytes(), page.read_bytes() + b"\nAsk the baker.\n"
    page.write_bytes(edited)
    me.run("draftfs check", status=6)
    me.run("draftfs regenerate")
    insist(page.read_bytes() == chosen, "the page is what was chosen")
    insist((root / f"{_PAGE}.draft-0002@hand-edit").read_bytes() == edited, "the edit is kept, as a draft")
    me.run(f"draftfs reject {_PAGE}.draft-0002@hand-edit --because 'everybody knows'")
    me.run("draftfs tidy")
    me.run("draftfs status")


def _run_programs(me: Place, base: Path, agents: list[Agent]) -> None:
    tell(
        "Programs that know nothing of draftfs, under draftfs run. The first run is killed; its program goes on, and is late"
    )
    dora = Agent("dora", me.folder)
    agents.append(dora)
    late = "while [ -d ../../bakery -a ! -e ../../go ]; do sleep 0.1; done; echo more >>data/recipes.csv; git commit -q -a -m late 2>../../late-says; echo $? >../../late"
    program = f'agents/add-product.sh "$DRAFTFS_TEXT" && touch ../../dora && {late}'
    dora.begin(f"draftfs run 2 --ttl 3s -- sh -c '{program}'")
    wait_for(base / "dora")
    dora.signal(signal.SIGKILL)
    wait_until_open(me, 2)

    tell("The second is stopped, and its program is in the middle of something. It comes back, and stops it")
    emil = Agent("emil", me.folder)
    agents.append(emil)
    command = "draftfs run 2 --ttl 3s -- sh -c 'touch ../../emil; while [ -d ../../bakery ]; do sleep 0.1; done'"
    emil.begin(command)
    wait_for(base / "emil")
    emil.signal(signal.SIGSTOP)
    wait_until_over(me, 2)
    emil.signal(signal.SIGCONT)
    emil.finish(command, status=4)
    (base / "go").touch()
    wait_for(base / "late", filled=True)
    show(*(f"  | {line}" for line in (base / "late-says").read_text().splitlines()))
    status = (base / "late").read_text().strip()
    insist(status == "128", f"the first one's program could not commit any more (git's exit status: {status})")
    insist(job(me, 2)["state"] == "failed", "two attempts, and both are used")

    tell(
        "A person grants another attempt. This time nothing happens to it, nor to the next program, which commits by itself"
    )
    me.run("draftfs job retry 2")
    me.run("draftfs run 2 --as cleo -- sh -c 'agents/add-product.sh \"$DRAFTFS_TEXT\"'")
    me.run("draftfs run --next --as fred -- sh -c 'agents/decide.py \"$DRAFTFS_TEXT\"'")
    me.run("draftfs ls")
    me.run("draftfs promote --job 2 --yes")
    me.run("draftfs promote --job 1 --yes")
    me.run("git commit -q -a -m 'Onion bread, and a decision'")
    insist("Onion bread" in me.run("bin/daysheet wed", shown=False), "the bakery has its onion bread")
    me.run("draftfs job list")
    me.run("draftfs log --limit 14")
    me.run("draftfs verify origin/main..main")
    me.run("draftfs doctor")


def _set_up(me: Place, root: Path) -> None:
    beside = _PACKAGE.parent / "sample_repo"
    shutil.copytree(beside if beside.is_dir() else _PACKAGE / "sample_repo", root)
    me.run("git init -q -b main .")
    me.run("git add -A")
    me.run("git commit -q -m 'A day sheet for the bakery'")
    me.run("draftfs init --hooks")
    me.run("git init -q --bare ../server.git")
    me.run(f"git -C ../server.git config draftfs.store {root}/.git/draftfs")
    me.run("draftfs hooks install -C ../server.git")
    me.run("git remote add origin ../server.git")
    me.run("git push -q -u origin main main:start")
    me.run("draftfs job add --from jobs.yaml")
    me.run(f"draftfs job add 'Answer the oldest question' {_PAGE}")
    me.run(f"draftfs job add 'Say it in the guide, too' docs/guide.md --after {_JOB}")


def _answer(agent: Agent, answer: str) -> None:
    target = agent.folder / _PAGE
    before, heading, rest = target.read_text("utf-8").partition(_HEADING)
    after = "\n## " + rest.partition("\n## ")[2]
    target.write_text(f"{before}{heading}\n\n{answer}\n{after}", "utf-8")
    show(f"  ({agent.name} edits {_PAGE})")
