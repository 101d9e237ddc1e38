"""What all commands share: their options, how they are declared, and how their help is laid out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from draftfs.cli._call import Answer, Call
from draftfs.errors import BadRequest

Run = Callable[..., Answer]

if TYPE_CHECKING:
    _Type = click.ParamType[Any]  # generic since click 8.4
else:
    _Type = click.ParamType

_NARROWEST: Final = 60
_WIDEST: Final = 100
_SHARED: Final = "Options of every command"


class Asked(Exception):
    """Help or the version."""

    def __init__(self, data: dict[str, Any], text: str) -> None:
        super().__init__(text)
        self.answer = Answer(data, text.splitlines())


# ── values ──


class Number(_Type):
    """A whole number from `least` on. `int` would take `1_0`, ` 7` and digits of other scripts as well."""

    name = "number"

    def __init__(self, least: int = 0) -> None:
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int):
            return value
        if not re.fullmatch("[0-9]{1,18}", value) or int(value) < self._least:
            self.fail(f"{value!r} is not a whole number from {self._least} on", param, ctx)
        return int(value)


class Numbers(_Type):
    """Numbers separated by commas, as a tuple; with `none` no number at all."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        one = Number(1)
        return () if value == "none" else tuple(one.convert(each.strip(), param, ctx) for each in value.split(","))


class Duration(_Type):
    """A ttl: `90`, `90s`, `30m`, `2h`. Raises BadRequest `bad_ttl`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        if isinstance(value, int):
            return value
        from draftfs.settings import check_ttl, seconds

        length = seconds(value)
        if length is None:
            raise BadRequest("bad_ttl", f"a claim lasts 1 s to 24 h, and {value!r} is no duration", hint="--ttl 30m")
        check_ttl(length)
        return length


class Seconds(_Type):
    """How long to wait: `0`, `2`, `0.5`, `30s`, `10m`, `2h`."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)([smh]?)", value)
        if not found:
            self.fail(f"{value!r} is not a number of seconds", param, ctx)
        return float(found[1]) * {"m": 60, "h": 3600}.get(found[2], 1)


# ── options ──


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Note the option in the Call. What stands behind the command's name goes over what stands before it."""
    if value is not None and value is not False and param.name is not None:
        setattr(ctx.find_object(Call), param.name, value)


def _enter(ctx: click.Context, _: click.Parameter, value: tuple[str, ...]) -> None:
    call = ctx.find_object(Call)
    if call is not None:
        for folder in value:
            call.folder = call.path(folder)


def _receipt(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value == "":
        raise click.BadParameter("a receipt key is not empty", ctx, param)
    _remember(ctx, param, value)


def _option(*names: str, **attributes: Any) -> click.Option:
    return click.Option(names, **{"expose_value": False, "callback": _remember, **attributes})


def shared_options() -> list[click.Parameter]:
    """The options of every command, and of the program itself."""
    return [
        _option("--json", "json_given", is_flag=True, help="Print one JSON object, errors too."),
        _option("--as", "name", metavar="NAME", help="Act as this agent. Beats DRAFTFS_AGENT."),
        _option(
            "--lock-wait", type=Seconds(), metavar="SECONDS", help="Wait this long for the store's lock, 10 by default."
        ),
        _option("-C", "directory", metavar="DIR", multiple=True, callback=_enter, help="Run as if started in DIR."),
        _option(
            "--color", type=click.Choice(["auto", "always", "never"]), help="Colour the output; auto: on a terminal."
        ),
    ]


def _write_option() -> click.Parameter:
    help_text = "Make the command repeatable: with the same key it happens once, and the first answer comes back."
    return _option("--receipt", metavar="KEY", callback=_receipt, help=help_text)


def _fenced_options() -> list[click.Parameter]:
    return [
        click.Option(["--job"], type=Number(1), metavar="N", help="Say which claim, where the worktree holds several."),
        _option("--token", "given_token", metavar="TOKEN", help="Prove the claim with this token, not the worktree's."),
    ]


# ── commands ──


class Command(click.Command):
    """A command whose help begins with what it does and an example."""

    def __init__(
        self, name: str, *, synopsis: str, examples: Sequence[str], shared: list[click.Parameter], **rest: Any
    ) -> None:
        super().__init__(name, add_help_option=False, **rest)
        self._synopsis, self._examples, self._own = synopsis, examples, list(self.params)
        self.params += [*shared, help_option()]
        self._shared = [*shared, self.params[-1]]

    def invoke(self, ctx: click.Context) -> Any:
        call = ctx.find_object(Call)
        if call is not None:
            call.json = call.json_given
            call.agent()  # a bad name is refused before anything else is
        return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        call = ctx.find_object(Call)
        if call is not None:
            rest = self._behind_separator(args)
            call.separated, call.behind = rest is not None, tuple(rest or ())
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as fault:
            fault.ctx = fault.ctx or ctx  # an option without its value does not say whose it is
            raise

    def _behind_separator(self, args: Sequence[str]) -> Sequence[str] | None:
        """What stands behind the `--` that ends the options. One that is itself an option's value does not (`--note --`)."""
        takes_value = {
            name for each in self.params if isinstance(each, click.Option) and not each.is_flag for name in each.opts
        }
        skip = False
        for at, each in enumerate(args):
            if each == "--" and not skip:
                return args[at + 1 :]
            skip = not skip and each in takes_value
        return None

    def takes_paths(self) -> bool:
        return any(isinstance(each, click.Argument) and each.nargs == -1 for each in self.params)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.width = _width()
        formatter.write(f"{self.short_help}\n\n")
        for example in self._examples:
            formatter.write(f"  $ {example}\n")
        formatter.write(f"\nUsage: {ctx.command_path} {self._synopsis}".rstrip() + "\n")
        for paragraph in (self.help or "").split("\n\n"):
            formatter.write_paragraph()
            formatter.write_text(" ".join(paragraph.split()))
        self._section(ctx, formatter, "Options", self._own)
        self._section(ctx, formatter, _SHARED, self._shared)

    def _section(
        self, ctx: click.Context, formatter: click.HelpFormatter, title: str, params: Sequence[click.Parameter]
    ) -> None:
        records = [record for each in params if (record := each.get_help_record(ctx)) is not None]
        if records:
            with formatter.section(title):
                formatter.write_dl(records, col_max=26)


def _width() -> int:
    """How wide help may be: as the terminal, within reason; in a pipe as wide as it reads well."""
    import shutil

    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((_WIDEST, 24)).columns))


def help_option() -> click.Option:
    """--help, as an answer like any other."""

    def show(ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            formatter = ctx.make_formatter()
            ctx.command.format_help(ctx, formatter)
            text = formatter.getvalue().rstrip()
            raise Asked({"help": text}, text)

    return click.Option(
        ["-h", "--help"], is_flag=True, is_eager=True, expose_value=False, callback=show, help="Show this text."
    )


def command(
    name: str, summary: str, *, synopsis: str = "", examples: Sequence[str], writes: bool = False, fenced: bool = False
) -> Callable[[Run], click.Command]:
    """Declare a command. The function is called with the Call, then the command's own options; its docstring is the help
    text behind the example. `writes` adds --receipt, `fenced` --job and --token as well."""

    def declare(run: Run) -> click.Command:
        own: list[click.Parameter] = list(reversed(getattr(run, "__click_params__", [])))
        own += _fenced_options() if fenced else []
        own += [_write_option()] if writes or fenced else []
        return Command(
            name,
            callback=click.pass_obj(run),
            params=own,
            short_help=summary,
            help=run.__doc__,
            synopsis=synopsis,
            examples=examples,
            shared=shared_options(),
        )

    return declare


def usage(message: str, hint: str) -> NoReturn:
    """Refuse how a command was called."""
    raise BadRequest("usage", message, hint=hint)
