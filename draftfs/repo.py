"""What git knows: the checkout, its HEAD, what a commit holds at a path, the clean form of a file (§5, §8, §9).

Every answer is for the folder it was asked from: variables that a hook, or anybody, left in the environment to name
another repository do not count. Nothing here changes the repository but `set_config` and `worktree_add`.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Collection, Sequence
from typing import Final

from draftfs import layout, paths
from draftfs.errors import BadRequest, DraftfsError, EnvironmentFault, NotFound, from_oserror
from draftfs.frozen import frozen
from draftfs.git import clean
from draftfs.git.command import Answer, fault_of, run
from draftfs.records import TreeEntry

_BETWEEN: Final = "--//"
_LITERAL: Final = ("--literal-pathspecs",)


@frozen
class Head:
    """What a checkout stands on. `branch` is None when detached, `commit` None while the branch is unborn."""

    commit: str | None
    branch: str | None


@frozen
class Repo:
    """One checkout, seen from the folder `cwd`. All four are absolute and without symlinks."""

    cwd: str
    top: str
    git_dir: str
    common_dir: str

    @classmethod
    def find(cls, cwd: str) -> Repo:
        """The checkout that `cwd` lies in.

        Raises NotFound `no_store` where there is none, BadRequest `bad_path` inside git's own folder, `usage` when
        `cwd` is gone, and EnvironmentFault `git` where git refuses to say or cannot.
        """
        try:
            cwd = os.path.realpath(cwd, strict=True)
        except OSError as gone:
            said = f"the working directory cannot be used: {gone.strerror}"
            raise BadRequest("usage", said, hint="cd to a folder that is there") from gone
        # rev-parse repeats an option that it does not know: a separator no path contains, not one with line ends either.
        asked = ("--is-bare-repository", "--is-inside-git-dir", "--git-dir", "--git-common-dir", "--show-toplevel")
        questions = [part for option in asked for part in (option, _BETWEEN)][:-1]
        answer = run(cwd, "rev-parse", "--path-format=absolute", *questions, accept=(0, 128))
        facts = answer.out.split(f"\n{_BETWEEN}\n")
        if answer.status or facts[1] != "false":
            raise _no_checkout(answer, *facts[:2])
        if facts[0] not in ("true", "false"):
            raise EnvironmentFault("git", "this git is too old", hint="install git 2.36 or newer")
        git_dir, common_dir, top = map(os.path.realpath, (facts[2], facts[3], facts[4].removesuffix("\n")))
        if _below(git_dir, cwd):  # of a submodule's folder in .git/modules, git itself says that it is not inside
            raise _no_checkout(answer, "false", "true")
        return cls(cwd, top, git_dir, common_dir)

    @staticmethod
    def common_dir_of(cwd: str) -> str:
        """The git folder shared by all checkouts of the repository of `cwd`, which may also be a bare one or git's own folder."""
        answer = run(cwd, "rev-parse", "--path-format=absolute", "--git-common-dir", accept=(0, 128))
        if answer.status:
            raise _no_checkout(answer, "", "")
        return os.path.realpath(answer.out.removesuffix("\n"))

    @property
    def linked(self) -> bool:
        """Whether this is a linked worktree, not the main checkout."""
        return self.git_dir != self.common_dir

    def main_checkout(self) -> str | None:
        """The top of the main checkout; None in a bare repository.

        None as well where git has not noted it: seen from a linked worktree of a repository made with
        `--separate-git-dir`. Asked in that main checkout itself, the answer is right there too.
        """
        if not self.linked:
            return self.top
        if (named := self._of_main("core.worktree")) is not None:
            return os.path.realpath(os.path.join(self.common_dir, named))
        return os.path.dirname(self.common_dir) if self.common_dir.endswith("/.git") and not self.is_bare() else None

    def is_bare(self) -> bool:
        """Whether the repository has linked worktrees only."""
        return self.linked and self._of_main("core.bare", "--type=bool") == "true"

    def _of_main(self, key: str, *kind: str) -> str | None:
        """A setting as the main git folder has it: its own config.worktree counts instead of this worktree's."""
        options = (f"--git-dir={self.common_dir}",)
        answer = run(self.top, "config", "-z", *kind, "--get", key, options=options, accept=(0, 1))
        return None if answer.status else answer.out.removesuffix("\0")

    def target(self, argument: str) -> str:
        """What a user typed in `cwd`, as a target path. Symlinked parents are resolved, a symlink in last place is not.

        The path need not exist. Raises BadRequest `bad_path`, with the right spelling where there is one.
        """
        if not argument or "\0" in argument:
            raise BadRequest(
                "bad_path", f"{argument!r} is not a path: it is empty or holds a NUL byte", hint="name a file or folder"
            )
        full = _resolved(os.path.join(self.cwd, argument))
        inner = _below(self.top, full)
        if inner is None:
            raise self._elsewhere(argument, full)
        if any(_below(folder, full) for folder in (self.git_dir, self.common_dir) if _below(self.top, folder)):
            raise BadRequest(
                "bad_path",
                f"{argument!r} lies in git's own folder",
                hint=f"name a path in {self.top}",
                path=argument,
            )
        folder = os.path.dirname(full)
        while len(folder) > len(self.top):
            if os.path.lexists(os.path.join(folder, ".git")):
                raise self._elsewhere(argument, full, nested=folder)
            folder = os.path.dirname(folder)
        parent, _, name = inner.rpartition("/")
        if draft := layout.parse_draft_name(name):
            right = self.typed(os.path.join(parent, draft.target))
            raise BadRequest("bad_path", f"{argument!r} is a draft", hint=f"name its target: {right}", path=argument)
        return paths.target_path(inner)

    def scope(self, argument: str) -> str:
        """What a user typed to look at, as a target path; the whole checkout is ""."""
        whole = bool(argument) and "\0" not in argument and _resolved(os.path.join(self.cwd, argument)) == self.top
        return "" if whole else self.target(argument)

    def _elsewhere(self, argument: str, full: str, nested: str | None = None) -> BadRequest:
        """The refusal of a path in another checkout of this repository, in a nested one of another, or in none."""
        listed = run(self.top, "worktree", "list", "--porcelain", "-z").out.split("\0")
        others = {os.path.realpath(item[9:]) for item in listed if item.startswith("worktree ")}
        others = {*others, self.main_checkout() or self.top} - {self.top}
        said, hint = "lies outside this checkout", f"name a path in {self.top}"
        if nested:
            said, hint = "lies in a nested repository", f"cd {nested}, or name {self.typed(nested)} as a whole"
        for other in sorted(others, key=len):  # the innermost has the last word
            inner = _below(other, full)
            if inner and inner != ".":
                said, hint = f"lies in another checkout, {other}", f"in this one it is {self.typed(inner)}"
        return BadRequest("bad_path", f"{argument!r} {said}", hint=hint, path=argument)

    def typed(self, path: str) -> str:
        """How to type the target `path` in `cwd`."""
        typed = os.path.relpath(os.path.join(self.top, path), self.cwd)
        return f"./{typed}" if typed.startswith("-") else typed

    def head(self, checkout: str | None = None) -> Head:
        """Where HEAD stands in this checkout, or in another one of the same repository."""
        at = checkout or self.top
        # Reading the HEAD file would save the process, but not every ref lies in a file of its own (packed, reftable).
        both = run(at, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD", accept=(0, 128))
        commit, _, ref = both.out.strip().partition("\n")
        if both.status or not ref:  # unborn, or a branch that is itself called HEAD
            commit = run(at, "rev-parse", "-q", "--verify", "HEAD", accept=(0, 1)).out.strip()
            # A ref that a power cut emptied looks unborn to rev-parse; symbolic-ref fails over it.
            ref = run(at, "symbolic-ref", "-q", "HEAD", accept=(0, 1)).out.strip()
        return Head(commit or None, None if ref in ("", "HEAD") else ref.removeprefix("refs/heads/"))

    def merge_base(self, a: str, b: str) -> str | None:
        """A best common ancestor of two commits, None when they have none."""
        return run(self.top, "merge-base", a, b, accept=(0, 1)).out.strip() or None

    def entry(self, commit: str, path: str) -> TreeEntry | None:
        """What `commit` holds at the target `path`."""
        return self.entries(commit, [path]).get(path)

    def entries(self, commit: str, targets: Sequence[str], *deep: str) -> dict[str, TreeEntry]:
        """What `commit` holds at each of `targets`; with "-r" also all below them. One process for every 500."""
        found: dict[str, TreeEntry] = {}
        for start in range(0, len(targets), 500):
            command = ("ls-tree", "-z", "--full-tree", *deep, commit, "--", *targets[start : start + 500])
            items = run(self.top, *command, options=_LITERAL).out.split("\0")
            split = (item.partition("\t") for item in items if item)
            found |= {name: TreeEntry(about.split()[0], about.split()[2]) for about, _, name in split}
        return found

    def lines_changed(self, before: str, after: str) -> tuple[int, int] | None:
        """Lines added and removed between two files (absolute paths); None where git takes one for binary."""
        how = ("--no-index", "--no-ext-diff", "--no-textconv", "--no-color", "--numstat", "-z")
        # From the top folder: in the checkout git would clean the target by its attributes, and not the draft.
        added, removed, *_ = f"{run(os.sep, 'diff', *how, '--', before, after, accept=(0, 1)).out}\t\t".split("\t")
        return None if added == "-" else (int(added or 0), int(removed or 0))

    def touched_since(self, commit: str, head: str, paths: Sequence[str]) -> frozenset[str]:
        """Those of `paths` (files or folders) that any commit touches which `head` has and `commit` has not; all where git does not know either.

        Commits count whose effect a merge dropped again: without --full-history git would leave their side out. Those do not
        that an amend or a rebase only made anew, with the same change.
        """
        found: set[str] = set()
        for start in range(0, len(paths), 500):
            some = paths[start : start + 500]
            which = ("--full-history", "--cherry-pick", "--right-only", f"{commit}...{head}")
            command = ("rev-list", *which, "--", *some)
            answer = run(self.top, *command, options=_LITERAL, accept=(0, 128))
            if answer.status:
                return frozenset(paths)
            if answer.out:
                how = ("--stdin", "--root", "-c", "-r", "-z", "--name-only", "--no-commit-id", "--no-renames")
                told = run(self.top, "diff-tree", *how, "--", *some, options=_LITERAL, feed=answer.out).out
                for name in told.split("\0"):
                    found.update(name[:at] for at, letter in enumerate(f"{name}/") if letter == "/")
        return frozenset(found.intersection(paths))

    def holding(self, blobs: Collection[str], checkout: str) -> dict[str, list[str]]:
        """The paths at which the index of `checkout` holds each of `blobs` (ids)."""
        found: dict[str, list[str]] = {blob: [] for blob in blobs}
        for item in run(checkout, "ls-files", "-s", "-z", "--full-name", ":(top)").out.split("\0"):
            about, _, path = item.partition("\t")
            if path and about.split(" ")[1] in found:
                found[about.split(" ")[1]].append(path)
        return found

    def draft_files(self, checkout: str) -> list[str]:
        """The files of `checkout` that are named like drafts, tracked, ignored or neither; not behind a symlink, in a
        nested repository or another worktree. Some may be gone, or no files: git is asked by its index and names alone."""
        command = ("ls-files", "--cached", "--others", "-z", "--full-name", "--", ":(top)*.draft-*@*")
        plain = ("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false")
        names = dict.fromkeys(run(checkout, *command, options=plain).out.split("\0"))
        return [name for name in names if layout.parse_draft_name(name)]

    def clean_blob(self, path: str, file: str, checkout: str | None = None) -> str:
        """The id of the blob that git would store for the bytes of `file` (absolute; a link is followed) as target `path`.

        By the attributes and index of `checkout`. The raw bytes' id where the filter cannot run. Stores nothing.
        """
        return self._clean_blobs(path, (file,), checkout or self.top)[0]

    def kept_blob(self, path: str, file: str, checkout: str) -> str:
        """As `clean_blob`, and git has the blob from now on. Raises EnvironmentFault `git` where a filter that must run cannot:
        raw bytes are not to be committed then."""
        options, how = self._conversion(path, (file,), checkout)
        return run(checkout, "hash-object", "-w", how, "--", file, options=options).out.strip()

    def same_content(self, path: str, a: str, b: str, checkout: str | None = None) -> bool:
        """Whether the files `a` and `b` have the same clean form as target `path`. For files whose bytes differ."""
        first, second = self._clean_blobs(path, (a, b), checkout or self.top)
        return first == second

    def _clean_blobs(self, path: str, files: tuple[str, ...], at: str) -> list[str]:
        options, how = self._conversion(path, files, at)
        answer = run(at, "hash-object", how, "--", *files, options=options, accept=(0, 128))
        return (answer if answer.status == 0 else run(at, "hash-object", "--no-filters", "--", *files)).out.split()

    def _conversion(self, path: str, files: tuple[str, ...], at: str) -> tuple[tuple[str, ...], str]:
        """The options of git, and of hash-object, that convert as for a commit."""
        try:
            how = clean.indexed(at, [path]).get(path) if any(map(clean.has_carriage_return, files)) else None
        except OSError as fault:
            raise from_oserror(fault, "comparing contents") from fault
        if how == clean.PLAIN:
            return (), "--no-filters"
        return () if how is None else ("-c", how), f"--path={path}"

    def smudged(self, oid: str, path: str, into: int) -> None:
        """Write the blob to the descriptor `into` as a checkout would have it at target `path`."""
        run(self.top, "cat-file", "--filters", f"--path={path}", oid, into=into)

    def changed_under(self, commit: str, folder: str) -> tuple[str, ...]:
        """Every path at or under `folder` where this checkout differs from `commit` in content, mode or existence.

        Untracked files count unless ignored; drafts, and what lies in nested repositories, do not.
        """
        # `git diff` would tell in one call, but it writes the index, in the way of whoever works in this checkout.
        staged = ("diff-index", "--cached", "-z", "--name-only", "--no-renames", "--ignore-submodules=none", commit)
        unstaged = ("ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard")
        index, files = (
            set(run(self.top, *command, "--", folder, options=_LITERAL).out.split("\0")) - {""}
            for command in (staged, unstaged)
        )
        known = self.entries(commit, [folder], "-r") if files else {}
        return tuple(
            path
            for path in sorted(index | files)
            if not path.endswith("/") and not layout.parse_draft_name(path.rpartition("/")[2])
            if path not in files or self._differs(path, known.get(path))  # else as in the index, and that differs
        )

    def _differs(self, path: str, entry: TreeEntry | None) -> bool:
        """Whether the file at `path` is not what `entry` says, the index apart. A symlink is taken for different."""
        file = os.path.join(self.top, path)
        if entry is None:
            return os.path.lexists(file)
        if os.path.islink(file) or not os.path.isfile(file):
            return True
        return entry != TreeEntry("100755" if os.access(file, os.X_OK) else "100644", self.clean_blob(path, file))

    def git_dirs(self) -> tuple[str, ...]:
        """The git folders of all worktrees, the main checkout's first."""
        linked = f"{self.common_dir}/worktrees"
        names = sorted(os.listdir(linked)) if os.path.isdir(linked) else []
        return (self.common_dir, *(f"{linked}/{name}" for name in names))

    def config(self, key: str) -> str | None:
        """A value of the repository's own config."""
        answer = run(self.top, "config", "--local", "-z", "--get", key, accept=(0, 1))
        return None if answer.status else answer.out.removesuffix("\0")

    def set_config(self, key: str, value: str) -> None:
        run(self.top, "config", "--local", key, value)

    def exclude_file(self) -> str:
        """Where the patterns stand that hide files from git in all worktrees."""
        return os.path.join(self.common_dir, "info", "exclude")

    def person(self) -> str:
        """The person's name: git's user.name, else the login. One line of printable text, never empty."""
        name = run(self.top, "config", "-z", "--get", "user.name", accept=(0, 1)).out.removesuffix("\0")
        try:
            name = name.strip() or pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            name = f"uid-{os.getuid()}"
        return "".join(letter if letter.isprintable() else "?" for letter in name)

    def worktree_add(self, path: str, branch: str | None, start: str) -> str:
        """Make a linked worktree at `path` (relative to `cwd`) on a new branch, or detached. Returns its top."""
        full = os.path.join(self.cwd, path)
        kind = ("--detach",) if branch is None else ("--no-track", "-b", branch)
        run(self.top, "worktree", "add", *kind, "--", full, start)
        return os.path.realpath(full)


def _resolved(path: str) -> str:
    parent, name = os.path.split(path.rstrip("/"))
    return os.path.realpath(path) if name in ("", ".", "..") else os.path.join(os.path.realpath(parent), name)


def _below(folder: str, path: str) -> str | None:
    """`path` as seen from `folder`, "." for itself; None when it lies elsewhere. Both absolute and resolved."""
    if path == folder:
        return "."
    prefix = folder.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def _no_checkout(answer: Answer, bare: str, inside: str = "") -> DraftfsError:
    """Why there is no checkout here, from what rev-parse could still say."""
    if bare == "true":
        hint = "run it in one of its worktrees: draftfs -C WORKTREE …"
        hint += "; git worktree add PATH makes one, draftfs init --root PATH the store"
        return NotFound("no_store", "this is a bare repository, without a checkout", hint=hint)
    if inside == "true":
        return BadRequest("bad_path", "this is git's own folder, not a checkout", hint="cd to the checkout")
    if "not a git repository (or any" in answer.err:
        return NotFound("no_store", "this is not a git repository", hint="git init && draftfs init")
    return fault_of("rev-parse", answer)
