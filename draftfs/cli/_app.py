"""The program itself: its groups of commands, each imported when it is called, and its help."""

from __future__ import annotations

import importlib
from typing import Any, Final

import click

from draftfs.cli._command import Asked, help_option, shared_options

ABOUT: Final = "Keep many agents' drafts beside the files they propose to replace, and let one person choose"

GROUPS: Final = {
    "Set up": ("init", "config", "hooks install", "hooks uninstall", "hooks status", "demo"),
    "Jobs": (
        "job add",
        "job list",
        "job show",
        "job edit",
        "job retry",
        "job cancel",
        "job revoke",
        "job accept",
        "job reject",
    ),
    "Work": ("claim", "renew", "release", "draft", "submit", "run", "worktree add"),
    "Review": ("ls", "diff", "promote", "reject", "merge", "regenerate", "tidy", "restore"),
    "Talk": ("read", "ack", "send", "log"),
    "Watch over": ("status", "check", "watch", "verify", "admit", "doctor", "receipt show"),
}

_STATUSES: Final = """\
Exit status
  0  done              3  refused: the store's state forbids it   6  findings
  1  a fault of ours   4  fenced: your claim is over, stop        7  busy: try again
  2  bad request       5  not found                               8  disk, permission, git, damage
"""


class Group(click.Group):
    """Commands by name, in the modules of one package; none is imported before it is asked for."""

    def __init__(self, name: str, package: str, members: tuple[str, ...], **rest: Any) -> None:
        super().__init__(name, add_help_option=False, no_args_is_help=False, **rest)
        self._package, self._members = package, members
        self.params += [*shared_options(), help_option()]

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self._members)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self._members:
            return None
        found = importlib.import_module(f"{self._package}.{cmd_name}").run
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        found = self.get_command(ctx, name)
        if found is None:
            import difflib

            near = difflib.get_close_matches(name[:40], self._members, n=1)
            said = f"; did you mean {ctx.command_path} {near[0]}?" if near else ""
            raise click.UsageError(f"{ctx.command_path} has no command {name!r}{said}", ctx)
        return name, found, args[1:]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"{self.short_help}\n\nUsage: {ctx.command_path} COMMAND …\n\n")
        width = max(map(len, self._members)) + 2
        for name in self._members:
            member = self.get_command(ctx, name)
            formatter.write(f"  {name:<{width}}{member.short_help if member else ''}\n")
        formatter.write(f"\nMore about one: {ctx.command_path} COMMAND --help\n")


class Root(Group):
    """The program. Its commands with two words are those of its groups."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _SUBGROUPS:
            return super().get_command(ctx, cmd_name)
        return Group(cmd_name, f"{self._package}.{cmd_name}", _members(cmd_name), short_help=_SUBGROUPS[cmd_name])

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"{ABOUT}\n\nUsage: draftfs COMMAND …\n")
        for title, names in GROUPS.items():
            formatter.write(f"\n{title}\n")
            for name, summary in dict.fromkeys(self._line(ctx, name) for name in names):
                formatter.write(f"  {name:<14}{summary}\n")
        formatter.write(
            f"\nOptions: --json, --as NAME, -C DIR, --lock-wait SECONDS, --color WHEN, --version, --help\n\n{_STATUSES}"
        )
        formatter.write("\nMore about one: draftfs COMMAND --help\n")

    def _line(self, ctx: click.Context, name: str) -> tuple[str, str]:
        """How a command is listed; those of one group stand in one line."""
        group = name.partition(" ")[0]
        members = _members(group)
        if len(members) < 2:
            return name, self._summary(ctx, name)
        return group, f"{', '.join(members)}: {_SUBGROUPS[group][:1].lower()}{_SUBGROUPS[group][1:]}"

    def _summary(self, ctx: click.Context, name: str) -> str:
        command: click.Command | None = self
        for word in name.split():
            assert isinstance(command, click.Group)
            command = command.get_command(ctx, word)
        return (command.short_help if command is not None else None) or ""


def _members(group: str) -> tuple[str, ...]:
    """The commands of a group; of the program itself for the empty name, its groups among them."""
    if group:
        return tuple(name.split()[1] for names in GROUPS.values() for name in names if name.startswith(f"{group} "))
    return tuple(dict.fromkeys(name.split()[0] for names in GROUPS.values() for name in names))


_SUBGROUPS: Final = {
    "hooks": "Have git refuse what a late worker commits",
    "job": "What there is to do",
    "worktree": "Make worktrees for agents",
    "receipt": "Look receipts up",
}


def _version_option() -> click.Option:
    def show(_: click.Context, __: click.Parameter, value: bool) -> None:
        if value:
            from draftfs.version import VERSION

            raise Asked({"version": VERSION}, f"draftfs {VERSION}")

    return click.Option(["--version"], is_flag=True, is_eager=True, expose_value=False, callback=show)


def program() -> Root:
    root = Root("draftfs", "draftfs.cli", _members(""), short_help=ABOUT)
    root.params.append(_version_option())
    return root
