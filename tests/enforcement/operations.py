"""The table "operation x hook x outcome", as data. tests/enforcement/test_operations.py measures every row."""

from __future__ import annotations

from dataclasses import dataclass

MSG, REF, PUSH, RECV = "prepare-commit-msg", "reference-transaction", "pre-push", "pre-receive"


@dataclass(frozen=True)
class Operation:
    """`do` is lines of shell (see scene.PRELUDE) run in ann's worktree; `before` prepares it with the hooks off, for a
    commit that was already made when she lost her claim.

    `hooks` are those of ours that git runs where nobody refuses. `by` refuses the late worker ("": it passes, for it
    brings no new commit to a branch), `holder` whoever holds the path, too: by the records alone. `left` is what that leaves behind, `out` the command that gets her out of it.
    `moves` is a ref that has another value when it passed ("": none has).
    """

    name: str
    do: str
    hooks: tuple[str, ...] = (REF,)
    by: str = REF
    holder: str = ""
    left: tuple[str, ...] = ()
    out: str = ""
    before: str = ""
    moves: str = "refs/heads/wa"
    shown: str = ""
    """What the page calls the way out, where it is not a command."""

    @property
    def retried(self) -> bool:
        """Whether, once she holds the path again, the same line passes."""
        return bool(self.by)


ABORT = {how: f"git {how} --abort" for how in ("merge", "cherry-pick", "rebase", "am")}
RESET = "git reset --hard"
KEPT = "the same command again, under a claim"
MADE = "main=$(git rev-parse main)\n"
PUSHED = (REF, PUSH, RECV)
PICK = ("prepare-commit-msg", "reference-transaction")
ON_OWN = "echo own >own.txt; git add own.txt; git commit -q -m own\n"
MINE = "edit; git commit -q -a -m one; edit 5; git commit -q -a -m two\n"
MOVED = "person sh -c 'echo x >other.txt; git add other.txt; git commit -q -m other'\n"
CLASH = "person sh -c 'sed -i 3s/.*/theirs/ \"$P\"; git commit -q -a -m theirs'\n"
PATCH = "git format-patch -q -1 --stdout $late >$T/late.patch\n"

OPERATIONS = (
    Operation("commit", 'edit; git add "$P"; git commit -q -m x', PICK, left=("index",), shown=KEPT),
    Operation(
        "commit, in an editor",
        "edit; git add \"$P\"; GIT_EDITOR='echo x >>' git commit -q",
        PICK,
        MSG,
        left=("index",),
        shown=KEPT,
    ),
    Operation("commit -a", "edit; git commit -q -a -m x", PICK, left=("files",), shown=KEPT),
    Operation("commit --only PATH", 'edit; git commit -q -m x --only -- "$P"', PICK, left=("files",), shown=KEPT),
    Operation("commit --no-verify", "edit; git commit -q -a --no-verify -m x", PICK, left=("files",), shown=KEPT),
    Operation(
        "commit --amend",
        "edit; git commit -q -a --amend --no-edit",
        PICK,
        MSG,
        left=("files",),
        shown=KEPT,
        before=ON_OWN,
    ),
    Operation(
        "commit --amend --no-verify",
        "edit; git commit -q -a --amend --no-verify -m y",
        PICK,
        left=("files",),
        shown=KEPT,
        before=ON_OWN,
    ),
    Operation(
        "commit on a detached HEAD",
        "git checkout -q --detach; edit; git commit -q -a -m x",
        PICK,
        left=("files",),
        shown=KEPT,
        moves="HEAD",
    ),
    Operation(
        "merge --no-ff", "git merge -q --no-ff -m x $late", PICK, left=("MERGE_HEAD", "index"), out=ABORT["merge"]
    ),
    Operation("merge, a fast-forward", "git merge -q --ff-only $late", left=("index",), out=RESET),
    Operation(
        "merge --squash, then commit",
        "git merge -q --squash $late; git commit -q -m x",
        PICK,
        left=("index",),
        out=RESET,
    ),
    Operation(
        "merge, octopus",
        "git merge -q -m x $late side",
        PICK,
        left=("MERGE_HEAD", "index"),
        out=ABORT["merge"],
        before="git branch side; no_hooks git checkout -q side; "
        + ON_OWN
        + "git checkout -q wa; git commit -q --allow-empty -m y",
    ),
    Operation(
        "merge, its conflict resolved",
        "git merge -q $late || edit 3; git commit -q -a -m x",
        PICK,
        left=("MERGE_HEAD", "index", "files"),
        out=ABORT["merge"],
        before="sed -i '3s/.*/early/' \"$P\"; git commit -q -a -m early",
    ),
    Operation(
        "cherry-pick", "git cherry-pick $late", PICK, left=("CHERRY_PICK_HEAD", "index"), out=ABORT["cherry-pick"]
    ),
    Operation(
        "cherry-pick --continue",
        'git cherry-pick $late || edit 3; git add "$P"; git cherry-pick --continue',
        PICK,
        MSG,
        left=("CHERRY_PICK_HEAD", "index"),
        out=ABORT["cherry-pick"],
        before="sed -i '3s/.*/early/' \"$P\"; git commit -q -a -m early",
    ),
    Operation(
        "revert", "git revert --no-edit HEAD", PICK, left=("index",), out=RESET, before="git reset -q --hard $late"
    ),
    Operation("rebase", "git rebase -q main", PICK, left=("rebase-merge",), out=ABORT["rebase"], before=MINE + MOVED),
    Operation(
        "rebase --apply",
        "git rebase -q --apply main",
        left=("rebase-apply",),
        out="git rebase --quit && git switch wa",
        before=MINE + MOVED,
    ),
    *(
        Operation(
            f"rebase -i, {word}",
            f"GIT_EDITOR='echo more >>' GIT_SEQUENCE_EDITOR='sed -i 2s/pick/{word}/' git rebase -q -i HEAD~2",
            PICK,
            left=("rebase-merge",),
            out=ABORT["rebase"],
            before=MINE,
        )
        for word in ("squash", "fixup", "reword")
    ),
    Operation("am", "git am -q $T/late.patch", left=("rebase-apply", "index"), out=ABORT["am"], before=PATCH),
    Operation("reset --hard COMMIT", "git reset -q --hard $late", left=("index",), out=RESET),
    Operation(
        "checkout -b NAME COMMIT",
        "git checkout -q -b other $late",
        left=("index",),
        out=RESET,
        moves="refs/heads/other",
    ),
    Operation(
        "switch -C NAME COMMIT", "git switch -q -C other $late", left=("index",), out=RESET, moves="refs/heads/other"
    ),
    Operation("branch NAME COMMIT", "git branch other $late", moves="refs/heads/other"),
    Operation(
        "branch -f NAME COMMIT", "git branch -f other $late", before="git branch other", moves="refs/heads/other"
    ),
    Operation("worktree add -b NAME", "git worktree add -q -b other $T/wo $late", moves="refs/heads/other"),
    Operation("update-ref", "git update-ref refs/heads/wa $late", left=()),
    Operation(
        "commit-tree, then update-ref",
        'edit; git add "$P"; git update-ref refs/heads/wa $(git commit-tree -p HEAD -m x $(git write-tree))',
        left=("index",),
        shown=KEPT,
    ),
    Operation(
        "fast-import",
        "{ echo 'commit refs/heads/other'; echo 'committer A <a@x> 1 +0000'; printf 'data 1\\nx\\n'; echo \"from $(git rev-parse HEAD)\"; echo \"M 100644 inline $P\"; printf 'data 2\\nx\\n\\n'; } | git fast-import --quiet",
        moves="refs/heads/other",
    ),
    Operation("push . COMMIT:NAME", "git push -q . $late:refs/heads/other", PUSHED, PUSH, moves="refs/heads/other"),
    Operation(
        "push --no-verify . COMMIT:NAME",
        "git push -q --no-verify . $late:refs/heads/other",
        (REF, RECV),
        RECV,
        RECV,
        moves="refs/heads/other",
    ),
    Operation("fetch . COMMIT:NAME", "git fetch -q . $late:refs/heads/other", moves="refs/heads/other"),
    Operation("push, a branch", "git push -q origin HEAD:wa", PUSHED, PUSH, before=MINE, moves="origin"),
    Operation(
        "push, a detached commit",
        "git push -q origin HEAD:refs/heads/x",
        PUSHED,
        PUSH,
        before="git checkout -q --detach $late",
        moves="origin",
    ),
    Operation(
        "push --force",
        "git push -q --force origin HEAD:wa",
        PUSHED,
        PUSH,
        before=ON_OWN + "git push -q origin wa; git reset -q --hard $late",
        moves="origin",
    ),
    Operation(
        "push --no-verify, a branch",
        "git push -q --no-verify origin HEAD:wa",
        (REF, RECV),
        RECV,
        RECV,
        before=MINE,
        moves="origin",
    ),
    Operation(
        "push --no-verify, a tag",
        "git push -q --no-verify origin $late:refs/tags/t",
        (RECV,),
        RECV,
        RECV,
        moves="origin",
    ),
    Operation(
        "push --no-verify, any namespace",
        "git push -q --no-verify origin $late:refs/x/y",
        (RECV,),
        RECV,
        RECV,
        moves="origin",
    ),
    Operation(
        "push, a deletion",
        "git push -q origin :gone",
        PUSHED,
        "",
        before="git push -q origin main:gone",
        moves="origin",
    ),
    Operation("stash, stash pop", "edit; git stash -q; git stash pop -q", by="", moves=""),
    Operation("notes add", "git notes add -m x", by="", moves="refs/notes/commits"),
    Operation("gc", "git gc -q", by="", moves="", before=MINE),
    Operation("pack-refs --all", "git pack-refs --all", by="", moves="", before=MINE),
    Operation("branch -m NAME", "git branch -m other", by="", moves="refs/heads/other", before=MINE),
    Operation(
        "branch -D NAME", "git branch -q -D other", by="", moves="refs/heads/other", before="git branch other $late"
    ),
    Operation("tag NAME COMMIT", "git tag t $late", by="", moves="refs/tags/t"),
    Operation(
        "symbolic-ref HEAD elsewhere, then commit",
        "git update-ref refs/draft/x HEAD; git symbolic-ref HEAD refs/draft/x; edit; git commit -q -a -m x",
        PICK,
        left=("files",),
        shown=KEPT,
        moves="HEAD",
    ),
)
