"""How a command is called: options, their places, the environment, names that look like options (C22, C25, C74)."""

from __future__ import annotations

import json
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from draftfs.cli import _call
from tests.cli.conftest import PROGRAM, answer, environment, in_terminal, refusal
from tests.support import Ran, draftfs, git


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "..",
        ".",
        "/etc/x",
        "a/b",
        "a\\b",
        "C:x",
        "",
        " ",
        "a" * 65,
        "a" * 300,
        "💥",
        "e\u0301",
        "a\nb",
        "-x",
        "--help",
        "%2e%2e",
        "hand-edit",
    ],
)
def test_a_bad_name_is_refused_before_anything_else(still, name):
    for command in (("claim", "1", "--seen", "9"), ("ls", "../nowhere")):
        error = refusal(draftfs(*command, f"--as={name}", "--json", cwd=still.wa), 2, "bad_name")
        assert error["hint"]
        refusal(draftfs(*command, "--json", cwd=still.wa, agent=name), 2, "bad_name")
    shown = draftfs("ls", f"--as={name}", cwd=still.wa)
    assert shown.err.count("\n") == 2


@pytest.mark.parametrize("name", ["con", "a" * 64, "007", "no"])
def test_a_good_name_is_text_everywhere(place, name):
    assert answer(draftfs("claim", "--next", "--as", name, "--json", cwd=place.wa))["claim"]["holder"] == name


def test_as_beats_the_environment_even_an_empty_one(place):
    assert answer(place.ann("claim", "--next", "--as", "eve", "--json"))["claim"]["holder"] == "eve"
    assert (
        answer(draftfs("claim", "--next", "--as", "bob", "--json", cwd=place.wb, agent=""))["claim"]["holder"] == "bob"
    )


def test_the_token_comes_from_the_option_then_the_environment_then_the_worktree(place):
    token = place.claimed()["claim"]["token"]
    answer(place.ann("renew", "--json"))
    answer(place.bob("renew", "--token", token, "--json"))
    answer(place.bob("renew", "--json", DRAFTFS_TOKEN=token))
    refusal(place.ann("renew", "--json", DRAFTFS_TOKEN="99.nonsense"), 4, "fenced")
    refusal(place.ann("renew", "--json", DRAFTFS_TOKEN=""), 2, "usage")
    answer(place.ann("renew", "--token", token, "--json", DRAFTFS_TOKEN="99.nonsense"))


def test_shared_options_may_stand_before_the_command(place):
    for arguments in (("--json", "job", "list"), ("job", "--json", "list"), ("job", "list", "--json")):
        assert len(answer(place.me(*arguments))["jobs"]) == 2
    assert answer(draftfs("--as", "ann", "--json", "claim", "--next", cwd=place.wa))["claim"]["holder"] == "ann"


def test_dash_c_works_like_gits(place, tmp_path):
    for folders in (("-C", "r"), ("-C", "nowhere", "-C", str(place.root)), ("-C", "", "-C", "r", "-C", "docs")):
        assert len(answer(draftfs(*folders, "job", "list", "--json", cwd=tmp_path))["jobs"]) == 2
    added = draftfs("-C", "r", "job", "add", "t", "b.md", "-C", "docs", "--json", cwd=tmp_path)
    assert answer(added)["jobs"][0]["paths"] == ["docs/b.md"]
    (place.root / "docs/text").write_text("in docs")
    text = draftfs("-C", "r/docs", "job", "add", "t", "c.md", "--text-file", "text", "--json", cwd=tmp_path)
    assert answer(text)["jobs"][0]["text"] == "in docs"


def test_nearest_names_are_suggested(still):
    assert "draftfs claim" in still.me("clam").err
    assert "draftfs job list" in still.me("job", "lst").err
    assert "--json" in still.me("ls", "--jsn").err


LOOKALIKES = ["-rf.md", "--all", "--dry-run/x", "-", "--", ":(top)x", ":!y", "*.md", "[a].md", "~x", "$HOME.md"]


def test_names_that_look_like_options_or_patterns(place):
    assert answer(place.ann("claim", "--json", "--", *LOOKALIKES))["claim"]["paths"] == sorted(LOOKALIKES)
    assert answer(place.bob("claim", "--json", "--", "other.md"))["claim"]["paths"] == ["other.md"]
    for name in LOOKALIKES:
        (place.wa / name).parent.mkdir(exist_ok=True)
        (place.wa / name).write_text("new\n")
    drafts = answer(place.ann("draft", "--json", "--", *LOOKALIKES))["drafts"]
    assert [draft["file"] for draft in drafts] == [f"{name}.draft-0001@ann" for name in sorted(LOOKALIKES)]
    answer(place.ann("submit", "--json"))
    for name in LOOKALIKES:
        listed = answer(place.me("ls", "--json", "--", name))["targets"]
        assert [target["target"] for target in listed] == [name]
        assert "+new" in answer(place.me("diff", "--json", "--", f"{name}.draft-0001@ann"))["diff"]
        answer(place.me("promote", "--json", "--", name, "1"))
        assert (place.root / name).read_text() == "new\n"


@pytest.mark.parametrize("name", ["-rf.md", "--dry-run/x"])
def test_an_option_lookalike_is_a_usage_error_with_the_way_to_say_it(place, name):
    error = refusal(place.ann("claim", name, "--json"), 2, "usage")
    assert error["hint"].endswith(f"draftfs claim -- {name}")
    assert answer(place.ann("claim", f"./{name}", "--json"))["claim"]["paths"] == [name]


def test_a_single_dash_is_a_file_and_never_standard_input(place):
    assert answer(place.ann("claim", "-", "--json"))["claim"]["paths"] == ["-"]


def test_a_number_is_a_job_unless_it_is_written_as_a_path(place):
    error = refusal(place.ann("claim", "7", "--json"), 2, "usage")
    assert error["hint"] == "draftfs job show 7"
    assert answer(place.ann("claim", "./7", "--json"))["claim"]["paths"] == ["7"]
    assert answer(place.ann("claim", "--json", "--", "8"))["claim"]["paths"] == ["8"]
    assert answer(place.ann("claim", "--json", "10", "9"))["claim"]["paths"] == ["10", "9"]


def test_a_separator_that_is_the_value_of_an_option_is_none(place):
    place.drafted()
    done = answer(place.me("job", "cancel", "--because", "--", "2", "--json"))
    assert done["job"]["because"] == "--"
    error = refusal(place.ann("claim", "--as", "ann", "--receipt", "--", "7", "--json"), 2, "usage")
    assert error["hint"] == "draftfs job show 7"


def test_paths_are_those_of_the_working_folder_in_every_spelling(place, tmp_path):
    docs = place.wa / "docs"
    (tmp_path / "link").symlink_to(place.wa)
    added = draftfs("job", "add", "s", "spec.md", "--json", cwd=docs, agent="ann")
    assert answer(added)["jobs"][0]["paths"] == ["docs/spec.md"]
    place.claimed()
    first = draftfs("draft", "spec.md", "--receipt", "K", "--json", cwd=docs, agent="ann")
    second = draftfs("draft", "docs/spec.md", "--receipt", "K", "--json", cwd=tmp_path / "link", agent="ann")
    assert answer(first)["drafts"] == answer(second)["drafts"]
    assert answer(second)["replayed"] is True


def test_a_jobs_file_speaks_from_the_root(place):
    (place.root / "docs/jobs.yaml").write_text('jobs:\n  - title: "one"\n    paths: [docs/spec.md]\n')
    data = answer(draftfs("job", "add", "--from", "jobs.yaml", "--json", cwd=place.root / "docs"))
    assert data["jobs"][0]["paths"] == ["docs/spec.md"]


def test_a_jobs_file_may_come_by_standard_input(place):
    text = 'jobs:\n  - title: "one"\n    paths: [x]\n  - title: "two"\n    paths: [y]\n    after: [2]\n'
    done = subprocess.run(
        [*PROGRAM, "job", "add", "--from", "-", "--json"],
        cwd=place.root,
        input=text,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert [job["title"] for job in json.loads(done.stdout)["data"]["jobs"]] == ["one", "two"]


def test_variables_of_another_repository_change_nothing(place, tmp_path):
    git("init", "-q", "other", cwd=tmp_path)
    other = {"GIT_DIR": str(tmp_path / "other/.git"), "GIT_WORK_TREE": str(tmp_path / "other")}
    assert len(answer(place.me("job", "list", "--json", **other))["jobs"]) == 2
    place.submitted()
    assert "+v1" in answer(place.me("diff", "docs/spec.md", "1", "--json", **other))["diff"]


def test_folders_that_are_no_place_to_work(still, tmp_path):
    for command in (("ls",), ("job", "add", "s", "x.md"), ("claim", "1", "--seen", "1"), ("draft", "x.md")):
        refusal(draftfs(*command, "--json", cwd=still.root / ".git", agent="ann"), 2, "bad_path")
        gone = tmp_path / "gone"
        gone.mkdir()
        refusal(gone_folder(*command, "--json", folder=gone), 2, "usage")


def gone_folder(*arguments, folder):
    """Run in a folder that is removed before the program starts."""
    command = ["sh", "-c", 'rmdir "$0"; exec "$@"', str(folder), *PROGRAM, *arguments]
    settings = environment()
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)
    return Ran(done.returncode, done.stdout, done.stderr)


def test_no_prompt_without_a_terminal_and_colours_only_where_wanted(place):
    place.submitted()
    (place.root / "docs/spec.md").write_text("moved on\n")
    plain = {"NO_COLOR": "1"}
    assert "\x1b[33m" in in_terminal("ls", cwd=place.root)[1]
    assert "\x1b" not in in_terminal("ls", cwd=place.root, **plain)[1]
    assert "\x1b" not in in_terminal("ls", cwd=place.root, TERM="dumb")[1]
    assert "\x1b" not in in_terminal("ls", "--color", "never", cwd=place.root)[1]
    assert "\x1b[33m" in in_terminal("ls", "--color", "always", cwd=place.root, **plain)[1]
    assert "\x1b" not in place.me("ls").out


def test_the_hint_can_be_pasted_where_the_command_was_run(place):
    """Below the top of the checkout, outside it with -C, and for names that cannot be printed."""
    place.drafted()
    place.ann("submit")
    (place.root / "docs/spec.md").write_text("mine\n")
    below, base = place.root / "docs", place.field.base
    diff = " diff -- docs/spec.md.draft-0001@ann,"
    assert f"hint: draftfs{diff}" in place.me("promote", "docs/spec.md", "1").err
    assert f"hint: draftfs -C ..{diff}" in draftfs("promote", "spec.md", "1", cwd=below).err
    assert f"hint: draftfs -C {place.root}{diff}" in draftfs("-C", "r", "promote", "docs/spec.md", "1", cwd=base).err
    shown = below / "spec.md.draft-0001@ann"
    shown.unlink()
    shown.mkdir()
    assert "hint: cd .. && mv -n -- docs/spec.md.draft" in draftfs("restore", "spec.md", "1", cwd=below).err
    assert r"hint: draftfs ls --all -- 'a'$'\x0a''b'" in place.me("diff", "a\nb", "1").err


def test_an_option_without_its_value_leads_to_the_help_of_its_command(tmp_path):
    assert draftfs("diff", "--tool", cwd=tmp_path).err.endswith("hint: draftfs diff --help\n")


def test_only_copying_that_takes_a_moment_is_shown(monkeypatch):
    """Not the time that somebody took to answer a question before it."""
    said, now = [], [0.0]
    monkeypatch.setattr(_call.time, "monotonic", lambda: now[0])
    progress = _call.Progress(SimpleNamespace(say=said.append))
    for at, shown in ((60.0, 0), (60.1, 0), (60.3, 1), (60.4, 1)):
        now[0] = at
        progress(4)
        assert len(said) == shown
