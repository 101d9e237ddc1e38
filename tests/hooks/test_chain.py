"""The hook that was there before: it runs once, with what git gave, and its refusal counts."""

from __future__ import annotations

import pytest

from tests.support import git

LOG = """#!{shell}
echo "$0 $# $*" >>"$LOG"
cat >>"$LOG"
exit {status}
"""


def log(shim, hook: str, *, shell: str = "/bin/sh", status: int = 0) -> None:
    shim.foreign(hook, LOG.format(shell=shell, status=status))


def run(shim, hook: str, *arguments: str, stdin: str, **more: str):
    import os

    return shim.direct(hook, *arguments, stdin=stdin, PATH=os.environ["PATH"], LOG=str(shim.base / "log"), **more)


def logged(shim) -> str:
    file = shim.base / "log"
    text = file.read_text() if file.exists() else ""
    file.unlink(missing_ok=True)
    return text


@pytest.mark.parametrize("status", [0, 3])
@pytest.mark.parametrize(
    ("hook", "arguments"), [("pre-push", ("a b", "url")), ("pre-receive", ()), ("reference-transaction", ("prepared",))]
)
def test_arguments_and_ten_thousand_lines_come_through_and_the_status_counts(shim, hook, arguments, status):
    log(shim, hook, status=status)
    lines = "".join(f"{'0' * 40} {'1' * 40} refs/tags/{n}\n" for n in range(10_000))
    ran = run(shim, hook, *arguments, stdin=lines)
    assert (ran.status, ran.err) == (status, "")
    rest = logged(shim)
    assert rest.endswith(lines)
    assert rest.removesuffix(lines).endswith(f"/{hook} {len(arguments)} {' '.join(arguments)}\n".replace("  ", " "))


@pytest.mark.parametrize("stdin", ["", "no end of line", "\n\n", "a  b\\n\t\n"])
def test_standard_input_comes_through_to_the_byte(shim, stdin):
    for hook, arguments in (("pre-push", ("r", "u")), ("reference-transaction", ("prepared",))):
        log(shim, hook)
        run(shim, hook, *arguments, stdin=stdin)
        assert logged(shim).endswith(f" {len(arguments)} {' '.join(arguments)}\n{stdin}")


@pytest.mark.parametrize("state", ["prepared", "committed", "aborted"])
def test_every_state_reaches_it(shim, state):
    log(shim, "reference-transaction")
    line = f"{'0' * 40} {'1' * 40} refs/heads/x\n"
    run(shim, "reference-transaction", state, stdin=line)
    assert logged(shim).endswith(f" 1 {state}\n{line}")


@pytest.mark.parametrize(("shell", "same"), [("/bin/sh", True), ("/usr/bin/env sh", True), ("/bin/bash", False)])
def test_a_plain_shell_script_finds_its_own_name(shim, shell, same):
    log(shim, "pre-push", shell=shell)
    run(shim, "pre-push", "r", "u", stdin="")
    assert ("/pre-push 2 r u" in logged(shim)) is same


def test_a_bash_script_that_asks_whether_it_was_sourced_runs(shim):
    shim.foreign("pre-push", '#!/usr/bin/env bash\n[[ "${BASH_SOURCE[0]}" == "$0" ]] && exit 3\nexit 0\n')
    assert run(shim, "pre-push", "r", "u", stdin="").status == 3


def test_it_does_not_run_when_ours_refuses_and_runs_when_ours_only_warns(shim):
    log(shim, "pre-push")
    shim.answer(1)
    assert run(shim, "pre-push", "r", "u", stdin="a b c d\n").status == 1
    assert logged(shim) == ""
    shim.answer(8)
    ran = run(shim, "pre-push", "r", "u", stdin="a b c d\n")
    assert (ran.status, "warning" in ran.err) == (0, True)
    assert logged(shim).endswith("2 r u\na b c d\n")


def test_without_a_store_it_runs_all_the_same(shim):
    import shutil

    shutil.rmtree(shim.root / ".git/draftfs")
    log(shim, "pre-push")
    run(shim, "pre-push", "r", "u", stdin="line\n")
    assert logged(shim).endswith("line\n")


def test_one_that_git_would_pass_over_is_passed_over(shim):
    kept = shim.foreign("pre-push", "#!/bin/sh\nexit 3\n")
    kept.chmod(0o644)
    assert run(shim, "pre-push", "r", "u", stdin="").status == 0
    kept.unlink()
    kept.symlink_to("nothing")
    assert run(shim, "pre-push", "r", "u", stdin="").status == 0
    kept.unlink()
    kept.mkdir()
    assert run(shim, "pre-push", "r", "u", stdin="").status == 0


@pytest.mark.parametrize("first", ["#!/bin/sh\r\n", "#!/no/such/shell\n"])
def test_one_that_cannot_start_refuses_as_it_did(shim, first):
    shim.foreign("pre-push", f"{first}exit 0\n")
    assert run(shim, "pre-push", "r", "u", stdin="").status != 0


def test_one_that_starts_the_hook_again_does_not_go_round(shim):
    shim.foreign("pre-push", '#!/bin/sh\necho once >>"$LOG"\nexec "$HOOK" "$@"\n')
    assert run(shim, "pre-push", "r", "u", stdin="", HOOK=str(shim.hooks / "pre-push")).status == 0
    assert logged(shim) == "once\n"
    assert len(shim.calls()) == 2


def test_one_that_does_not_read_makes_no_noise(shim):
    shim.foreign("pre-push", "#!/bin/sh\nexit 0\n")
    ran = run(shim, "pre-push", "r", "u", stdin="a line\n" * 100_000)
    assert (ran.status, ran.err) == (0, "")


def test_git_runs_both_in_a_real_commit(shim):
    for hook in ("prepare-commit-msg", "reference-transaction"):
        log(shim, hook)
    ran = shim.commit(shim.wa, LOG=str(shim.base / "log"))
    assert ran.status == 0, ran.err
    said = logged(shim)
    assert said.count("COMMIT_EDITMSG message\n") == 1
    assert said.count("1 prepared\n") == said.count("1 committed\n") == 1
    log(shim, "prepare-commit-msg", status=3)
    assert shim.commit(shim.wa, LOG=str(shim.base / "log")).status == 1
    assert git("log", "--format=%s", "wa", cwd=shim.root) == "x\nstart\n"
