"""Ways round the local hooks, as data. tests/enforcement/test_evasions.py tries each of them."""

from __future__ import annotations

from dataclasses import dataclass

from tests.enforcement.operations import MSG, PUSH, RECV, REF

VERIFY = "draftfs verify"
EVERYONE = (VERIFY, PUSH, RECV)


@dataclass(frozen=True)
class Evasion:
    """`do` is lines of shell in ann's worktree, who is late on docs/spec.md; bob holds it.

    `by` refuses it; "git" where git does so itself. Else it passes, and `found` are those who find `revision` then:
    `draftfs verify main..REVISION` (or `asked`), the pre-push and the pre-receive of a push of it to `to`. Where nobody
    does, `because` says why that is so.
    """

    name: str
    do: str
    by: str = ""
    found: tuple[str, ...] = ()
    because: str = ""
    revision: str = "refs/heads/wa"
    asked: str = ""
    to: str = "refs/heads/found"


LATE = "edit; git commit -q -a -m late\n"
BOBS = "bob edit; bob git commit -q -a -m bobs; person git merge -q --ff-only wb; person git push -q origin main\n"
OFF = "no_hooks git reset -q --hard $late\n"
NOTES = "notes=$(git rev-parse --git-path draftfs-worktree)\n"
TOKEN = """token() { sed 's/.*"token": "\\([^"]*\\)".*/\\1/' "$1"; }\n"""
OWN = "echo own >own.txt; git add own.txt; git commit -q -m own\n"
SHAPE = "git commit -q -a -m x"

EVASIONS = (
    # ── no hook runs ──
    Evasion("-c core.hooksPath=/dev/null", "edit; git -c core.hooksPath=/dev/null commit -q -a -m x", found=EVERYONE),
    Evasion("an empty core.hooksPath", "edit; git -c core.hooksPath= commit -q -a -m x", found=EVERYONE),
    Evasion("GIT_CONFIG_COUNT", "edit; no_hooks git commit -q -a -m x", found=EVERYONE),
    Evasion("core.hooksPath in the global configuration", "printf '[core]\\nhooksPath=/dev/null\\n' >$T/cfg; edit; GIT_CONFIG_GLOBAL=$T/cfg git commit -q -a -m x", found=EVERYONE),
    Evasion("core.hooksPath in the worktree's configuration", "git config extensions.worktreeConfig true; git config --worktree core.hooksPath /dev/null; edit; git commit -q -a -m x; git config --worktree --unset core.hooksPath", found=EVERYONE),
    Evasion("the branch's file written by hand, as git libraries do", 'edit; git add "$P"; c=$(git commit-tree -p HEAD -m x $(git write-tree)); echo $c >$R/.git/refs/heads/wa', found=EVERYONE),
    Evasion("git branch -m of such a branch", OFF + "git branch -m other", found=EVERYONE, revision="other"),
    Evasion("honest work on top of such a commit", OFF + OWN, found=EVERYONE),
    Evasion("HEAD pointed at a branch made so, honest work on top", "no_hooks git branch other $late; git symbolic-ref HEAD refs/heads/other; git reset -q --hard; " + OWN, found=EVERYONE, revision="other"),
    Evasion("merging a branch made so", "no_hooks git branch other $late; git merge -q --ff-only other", REF),
    # ── refs that no branch is ──
    Evasion("a tag on a late commit", "git tag t $late", found=EVERYONE, revision="t", to="refs/tags/t"),
    Evasion("a ref of another namespace", "git update-ref refs/draft/x $late", found=EVERYONE, revision="refs/draft/x", to="refs/x/y"),
    Evasion("HEAD moved to a late commit (update-ref --no-deref)", "git update-ref --no-deref HEAD $late", found=EVERYONE, revision="$(git rev-parse HEAD)"),
    Evasion("an empty rebase-merge folder, and a detached commit", "git checkout -q --detach; mkdir $(git rev-parse --git-path rebase-merge); " + LATE, found=EVERYONE, revision="$(git rev-parse HEAD)"),
    Evasion("the same, then a branch on it", "git checkout -q --detach; mkdir $(git rev-parse --git-path rebase-merge); " + LATE + "git branch other", REF),
    Evasion("a tag named like the branch to come", "git tag refs/heads/other $late; git branch other $late", REF),
    Evasion("the same for many branches at once", "for n in 1 2 3 4 5 6 7 8 9; do git tag refs/heads/o$n $late; echo create refs/heads/o$n $(git rev-parse $late); done | git update-ref --stdin", REF),
    Evasion("a symbolic branch that names another", "git symbolic-ref refs/heads/alias refs/heads/wb; git update-ref refs/heads/alias $late", REF),
    Evasion("a branch that is a symbolic ref elsewhere, moved there", "git update-ref refs/draft/x main; git symbolic-ref refs/heads/other refs/draft/x; git update-ref refs/draft/x $late", found=EVERYONE, revision="other"),
    Evasion("a commit through such a branch", "git update-ref refs/draft/x main; git symbolic-ref refs/heads/other refs/draft/x; git checkout -q other; " + LATE, REF),
    Evasion("a tag named like the root's HEAD, whose branch is unborn", "person git symbolic-ref HEAD refs/heads/unborn; git update-ref refs/tags/HEAD $late; git tag main-worktree/HEAD $late; git branch other $late", REF),
    Evasion("another worktree's HEAD", "(cd $T/wc && git checkout -q --detach); git update-ref worktrees/wc/HEAD $late", REF),
    # ── objects that hide others ──
    Evasion("git replace", "git replace $late main; git branch other $late", REF),
    Evasion("a graft that makes it people's", "echo $main $(git rev-parse $late) >$R/.git/info/grafts; git branch other $late", REF),
    Evasion("a pushed refs/replace", "git push -q --no-verify origin main:refs/replace/$(git rev-parse $late)", RECV),
    # ── merges ──
    Evasion("an edit slipped into a merge", OWN + "person git commit -q --allow-empty -m x; git merge -q --no-commit --no-ff main; edit; git commit -q -a -m x", REF),
    Evasion("merge -s ours drops bob's admitted work", OWN + BOBS + "git merge -q -s ours -m x main", found=EVERYONE, to="refs/heads/main"),
    Evasion("the same, seen when main has moved on", OWN + BOBS + "git merge -q -s ours -m x main; person git commit -q --allow-empty -m y", found=(VERIFY,)),
    Evasion("the same, then git's own clean merge", OWN + BOBS + "git merge -q -s ours -m x main; person sh -c 'echo x >>free.txt; git commit -q -a -m y; git push -q origin main'; git merge -q -m z main", found=EVERYONE, to="refs/heads/main"),
    # ── names and tokens ──
    Evasion("DRAFTFS_AGENT=bob in ann's worktree", "export DRAFTFS_AGENT=bob; " + LATE, REF),
    Evasion("DRAFTFS_AGENT unset in ann's worktree", "unset DRAFTFS_AGENT; " + LATE, REF),
    Evasion("DRAFTFS_AGENT empty", "cd $T/wc; export DRAFTFS_AGENT=; " + LATE, REF),
    Evasion("DRAFTFS_AGENT unset in a worktree that never held a claim", "cd $T/wc; unset DRAFTFS_AGENT; " + LATE, REF),
    Evasion("a fresh worktree", "git worktree add -q -b wn $T/wn; cd $T/wn; " + LATE, REF),
    Evasion("the store moved aside for a moment", "mv $R/.git/draftfs/store.yaml $T; " + LATE, REF),
    Evasion("the same in a worktree that never held a claim", "cd $T/wc; mv $R/.git/draftfs/store.yaml $T; " + LATE + "mv $T/store.yaml $R/.git/draftfs", found=EVERYONE, revision="refs/heads/wc"),
    Evasion("DRAFTFS_BYPASS, as if a person", "unset DRAFTFS_AGENT; export DRAFTFS_BYPASS=please; " + LATE, REF),
    Evasion("the token of her ended claim", NOTES + TOKEN + "export DRAFTFS_TOKEN=$(token $notes/claim-1-1.json); " + LATE, REF),
    Evasion("bob's live token in DRAFTFS_TOKEN", NOTES + TOKEN + "export DRAFTFS_TOKEN=$(token $R/.git/worktrees/wb/draftfs-worktree/claim-2-2.json); " + LATE, REF),
    Evasion("bob's notes copied into ann's worktree", NOTES + "cp $R/.git/worktrees/wb/draftfs-worktree/claim-2-2.json $notes/; " + LATE, REF),
    Evasion("the same, with bob's name", NOTES + "cp $R/.git/worktrees/wb/draftfs-worktree/claim-2-2.json $notes/; export DRAFTFS_AGENT=bob; " + LATE, because="who can read the token of a live claim (mode 0600) is its holder"),
    # ── shapes of a change ──
    Evasion("an old, once admitted content", BOBS + 'git merge -q --ff-only main; git checkout -q main~1 -- "$P"; git commit -q -m x', REF),
    Evasion("only the mode", 'chmod +x "$P"; ' + SHAPE, REF),
    Evasion("a deletion", 'git rm -q "$P"; ' + SHAPE, REF),
    Evasion("a rename", 'git mv "$P" new.md; ' + SHAPE, REF),
    Evasion("a symlink in its place", 'rm "$P"; ln -s /etc/passwd "$P"; ' + SHAPE, REF),
    Evasion("a submodule in its place", 'git update-index --cacheinfo 160000,$main,"$P"; git commit -q -m x', REF),
    Evasion("a folder in its place", 'rm "$P"; mkdir "$P"; echo x >"$P/x"; git add -A; ' + SHAPE, REF),
    Evasion("a file in place of its folder", "rm -r docs; echo x >docs; git add -A; " + SHAPE, REF),
    Evasion("assume-unchanged, and the index edited", 'b=$(echo x | git hash-object -w --stdin); git update-index --assume-unchanged "$P"; git update-index --cacheinfo 100644,$b,"$P"; git commit -q -m x', REF),
    # ── people's branch and checkout ──
    Evasion("update-ref refs/heads/main", "git update-ref refs/heads/main $late", REF),
    Evasion("update-ref refs/heads/main, to her own withdrawn branch", OFF + "git update-ref refs/heads/main wa", REF),
    Evasion("update-ref refs/heads/main, back over bob's work", BOBS + "git update-ref refs/heads/main main~1", REF),
    Evasion("branch -f main", "git branch -f main $late", "git"),
    Evasion("branch -f main to her withdrawn branch, while the root is on another", "person git checkout -q -b feature; " + OFF + "git branch -f main wa", REF),
    Evasion("her branch made main's upstream, then update-ref refs/heads/main", OFF + "git branch -q --set-upstream-to=wa main; git update-ref refs/heads/main wa", REF),
    Evasion("ten branches at once, the late one with a name that is no UTF-8", "{ for n in 1 2 3 4 5 6 7 8 9; do echo \"create refs/heads/k$n $main\"; done; printf 'create refs/heads/late\\377 %s\\n' $(git rev-parse $late); } | LC_ALL=C.UTF-8 git update-ref --stdin", REF),
    Evasion("push . COMMIT:main", "git push -q . $late:main", PUSH),
    Evasion("HEAD pointed at main, then a commit", "git symbolic-ref HEAD refs/heads/main; " + LATE, REF),
    Evasion("update-ref main-worktree/HEAD", "person git checkout -q --detach; git update-ref main-worktree/HEAD $late", REF),
    Evasion("main made a symbolic ref elsewhere, and moved there", "git update-ref refs/draft/m main; git symbolic-ref refs/heads/main refs/draft/m; git update-ref refs/draft/m $late", found=(VERIFY,), revision="main", asked="main~1..main"),
    Evasion("symbolic-ref main-worktree/HEAD to her branch", OFF + "git symbolic-ref main-worktree/HEAD refs/heads/wa", found=(VERIFY,)),
    Evasion("git -C ROOT commit, as ann", "cd $R; " + LATE, REF),
    Evasion("GIT_DIR of the root, as ann", "export GIT_DIR=$R/.git GIT_WORK_TREE=$PWD; " + LATE, REF),
    Evasion("git -C ROOT commit, without a name", "unset DRAFTFS_AGENT; cd $R; " + LATE, found=(VERIFY,), revision="main", asked="main~1..main"),
    Evasion("people's upstream ref written by hand", OFF + "git update-ref refs/remotes/origin/main $late", found=(VERIFY, RECV)),
    Evasion("the same, asked about work on top of it", OFF + OWN + "git update-ref refs/remotes/origin/main $late", found=(RECV,)),
    # ── other repositories ──
    Evasion("a commit in a clone, pushed", "git clone -q $R $T/c 2>/dev/null; cd $T/c; " + LATE + "git push -q origin HEAD:x", RECV),
    Evasion("a commit in a clone, fetched", "git clone -q $R $T/c 2>/dev/null; (cd $T/c; " + LATE.strip() + "); git fetch -q $T/c HEAD:x", REF),
    Evasion("a push named by an expression with spaces", OFF + OWN + "git push -q origin 'HEAD^{/wn}~0:refs/heads/x'", PUSH),
    Evasion("push --force of main, back over bob's work", BOBS + "git push -q --force origin main~1:main", PUSH),
    Evasion("push --force --no-verify of main, back over bob's work", BOBS + "git push -q --force --no-verify origin main~1:main", RECV),
)  # fmt: skip

__all__ = ["EVASIONS", "EVERYONE", "MSG", "PUSH", "RECV", "REF", "VERIFY", "Evasion"]
