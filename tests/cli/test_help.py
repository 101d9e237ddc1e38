"""Help that can be trusted, and a start that costs little."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import click
import pytest

from draftfs.cli._app import GROUPS, program
from draftfs.cli._command import Command
from tests.cli.conftest import environment
from tests.support import draftfs

COMMANDS = [name for names in GROUPS.values() for name in names]


def found(name: str) -> Command:
    command: click.Command = program()
    for word in name.split():
        command = command.get_command(click.Context(command), word)
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does_with_an_example_and_explains_its_options(name, tmp_path):
    shown = draftfs(*name.split(), "--help", cwd=tmp_path)
    assert (shown.status, shown.err) == (0, "")
    lines = shown.out.splitlines()
    assert re.fullmatch(r"[A-Z][a-z]+( .*)?[^.]", lines[0])
    assert lines[2].startswith("  $ ")
    assert f"draftfs {name}" in lines[2]
    assert max(map(len, lines)) <= 100
    command = found(name)
    assert command.callback.__doc__ or command.help
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            assert option.help.endswith("."), option.name
            assert option.opts[0] in shown.out


def test_in_a_narrow_terminal_help_is_narrow(tmp_path):
    shown = draftfs("tidy", "--help", cwd=tmp_path, COLUMNS="65").out
    assert max(map(len, shown.splitlines())) <= 65
    assert draftfs("tidy", "--help", cwd=tmp_path).out != shown


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_can_be_parsed(name):
    import shlex

    for example in found(name)._examples:
        for part in re.split(r" \| ", example):
            words = shlex.split(part)
            if words[: 1 + len(name.split())] == ["draftfs", *name.split()]:
                arguments = words[1 + len(name.split()) :]
                found(name).make_parser(click.Context(found(name))).parse_args(arguments)


def test_the_page_of_the_program_is_short_and_complete(tmp_path):
    shown = draftfs("--help", cwd=tmp_path).out
    assert len(shown.splitlines()) < 60
    for name in COMMANDS:
        group, _, member = name.partition(" ")
        assert re.search(rf"^  ({name} +\w|{group} +(\w+, )*{member}[,:])", shown, re.MULTILINE)
    for status in range(9):
        assert re.search(rf"\b{status}  \w", shown)
    assert draftfs(cwd=tmp_path).out == shown
    assert draftfs("-h", cwd=tmp_path).out == shown


@pytest.mark.parametrize("group", ["job", "worktree", "receipt"])
def test_a_group_lists_its_commands(group, tmp_path):
    shown = draftfs(group, "--help", cwd=tmp_path)
    assert shown.status == 0
    for name in COMMANDS:
        if name.startswith(f"{group} "):
            assert f"  {name.split()[1]}" in shown.out


def loaded(*arguments: str, cwd) -> set[str]:
    code = (
        "import json, sys\nfrom draftfs.cli import main\nmain(sys.argv[1:])\nprint(json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=cwd, env=environment(), capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_a_command_imports_only_itself(still):
    modules = {
        each for each in loaded("--version", cwd=still.root) if each.split(".")[0] in ("draftfs", "yaml", "portalocker")
    }
    assert not {"yaml", "portalocker", "draftfs.store", "draftfs.engine"} & modules
    own = {
        each
        for each in loaded("claim", "--help", cwd=still.root)
        if re.fullmatch(r"draftfs\.cli\.[a-z]+(\.[a-z]+)?", each)
    }
    assert own == {"draftfs.cli.claim"}


def test_the_version_is_one(tmp_path):
    from draftfs import __version__

    assert draftfs("--version", cwd=tmp_path).out == f"draftfs {__version__}\n"
