"""From arguments to an exit status: run the command, print its one answer, then let its receipt key go.

The order matters. The key of a write is kept until its definite answer has reached standard output, so that the same
command run again after a crash, or with nobody listening, gets that answer instead of doing it all a second time (§5).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import click

from draftfs.cli import _app
from draftfs.cli._call import Answer, Call, Line
from draftfs.cli._command import Asked, Command
from draftfs.cli._streams import Streams
from draftfs.errors import BadRequest, DraftfsError, EnvironmentFault, from_oserror
from draftfs.frozen import frozen
from draftfs.names import shown, shown_command

SCHEMA: Final = 1
INTERRUPTED: Final = 128 + 2  # as a shell reports SIGINT
UNREAD: Final = 8
_OPEN_ENDED: Final = frozenset({"unknown", "busy", "timeout", "internal", "interrupted"})


@frozen
class _Outcome:
    """What is to be printed, and the status. `definite`: the same command run again is a new request.
    `repeatable`: until then it gives this answer again."""

    status: int
    out: bytes = b""
    err: str = ""
    definite: bool = True
    changed: bool = False
    repeatable: bool = False
    paged: bool = False
    stream: Iterator[Line] | None = None


def run(argv: Sequence[str]) -> int:
    """Run the command that `argv` asks for. Prints one answer, and what goes on behind it; never raises."""
    streams = Streams()
    call = Call(streams, json="--json" in _before_separator(argv))
    printed = False
    try:
        outcome = _guarded(argv, call, lambda: _outcome(argv, call))
        status, printed = _print(outcome, call)
        if printed and outcome.stream is not None:
            last = _guarded(argv, call, lambda: _flow(outcome, call))
            status, _ = _print(last, call)
    except KeyboardInterrupt:
        status = INTERRUPTED
    else:
        printed = printed and outcome.definite
    with suppress(KeyboardInterrupt):
        call.keys.settle() if printed else call.keys.leave()
        streams.drop_buffers()
    return status


def _guarded(argv: Sequence[str], call: Call, work: Callable[[], _Outcome]) -> _Outcome:
    """Do it; whatever goes wrong is an answer too."""
    try:
        return work()
    except DraftfsError as fault:
        fault.hint = call.from_here(fault.hint) if fault.hint else fault.hint
        return _failure(fault, call)
    except click.UsageError as fault:
        return _failure(_usage(fault, argv), call)
    except OSError as fault:
        return _failure(from_oserror(fault, "the command"), call, definite=False)
    except (KeyboardInterrupt, click.Abort):
        stopped = DraftfsError("interrupted", "interrupted", hint="run the same command again: it happens once")
        return _failure(stopped, call, status=INTERRUPTED)
    except Exception as fault:  # noqa: BLE001 - G10: no traceback ever reaches a user
        from draftfs.cli._report import internal_error

        return _failure(internal_error(fault, argv), call)
    finally:
        if call.progress is not None:
            call.progress.clear()


def _outcome(argv: Sequence[str], call: Call) -> _Outcome:
    """Make the answer ready to print."""
    _require_posix()
    answer = _answer(argv, call)
    return _Outcome(
        answer.status,
        b"" if answer.stream is not None and call.json else _body(answer, call),
        err="" if call.json else "".join(f"{line}\n" for line in answer.warnings),
        changed=answer.changed,
        repeatable="receipt" in answer.data,
        paged=answer.paged and not call.json,
        stream=answer.stream,
    )


def _flow(outcome: _Outcome, call: Call) -> _Outcome:
    """Print each line as it comes, until the stream ends, its reader has gone, or Ctrl-C, by which such commands end."""
    with suppress(KeyboardInterrupt):
        for line in outcome.stream or ():
            data = _json(line.data) if call.json else call.streams.encoded(f"{line.text}\n")
            if (call.json or line.text is not None) and call.streams.answer(data) != "whole":
                break
    return _Outcome(outcome.status)


def _require_posix() -> None:
    if sys.platform == "win32":
        raise EnvironmentFault("filesystem", "draftfs does not support Windows yet", hint="use it in WSL")


def _answer(argv: Sequence[str], call: Call) -> Answer:
    program = _app.program()
    try:
        with program.make_context("draftfs", list(argv) or ["--help"], obj=call) as context:
            answer = program.invoke(context)
    except Asked as asked:
        return asked.answer
    assert isinstance(answer, Answer)
    return answer


def _before_separator(argv: Sequence[str]) -> Sequence[str]:
    """The arguments that can be options, for what must be known before they are parsed."""
    return argv[: list(argv).index("--")] if "--" in argv else argv


# ── what is printed ──


def _body(answer: Answer, call: Call) -> bytes:
    if call.json:
        return _json({"schema": SCHEMA, "ok": True, "data": answer.data})
    return b"".join(_encoded(answer, call.streams))


def _encoded(answer: Answer, streams: Streams) -> Iterator[bytes]:
    for line in answer.lines:
        yield line if isinstance(line, bytes) else streams.encoded(f"{line}\n")


def _json(envelope: dict[str, Any]) -> bytes:
    r"""One line of ASCII, so that names that are not UTF-8 come out as \udcXX and nothing depends on the locale."""
    return json.dumps(envelope, ensure_ascii=True, separators=(",", ":"), default=str).encode("ascii") + b"\n"


def _failure(fault: DraftfsError, call: Call, *, status: int | None = None, definite: bool = True) -> _Outcome:
    status = fault.exit_status if status is None else status
    definite = definite and fault.code not in _OPEN_ENDED
    if call.json:
        from draftfs.codec import to_plain

        error = {
            "code": fault.code,
            "message": fault.message,
            "hint": fault.hint,
            "retryable": fault.retryable,
            "details": to_plain(fault.details),
        }
        return _Outcome(status, _json({"schema": SCHEMA, "ok": False, "error": error}), definite=definite)
    hint = f"hint: {shown_command(fault.hint)}\n" if fault.hint else ""
    return _Outcome(status, err=f"error: {shown(fault.message)}\n{hint}", definite=definite)


def _print(outcome: _Outcome, call: Call) -> tuple[int, bool]:
    """Print it; returns the status, and whether the answer has reached whoever was to read it.

    A reader who has seen enough (`draftfs ls | head -1`) is no failure of a command that changed nothing: it ends quietly,
    with its own status. A change whose answer nobody could read is one (C73), though the change stands.
    """
    streams = call.streams
    if outcome.err:
        streams.say(outcome.err)
    if outcome.paged and call.terminal and outcome.out:
        from draftfs.cli._pager import page

        if page(outcome.out, call.folder):
            return outcome.status, True
    went = streams.answer(outcome.out)
    if went == "whole":
        return outcome.status, True
    if outcome.status not in (0, 6) or (went == "broken pipe" and not outcome.changed):
        return outcome.status, False
    if outcome.changed:
        streams.say("error: the change was made, but its answer could not be written to standard output\n")
        if outcome.repeatable:
            streams.say("hint: run the same command again: it gives the answer and changes nothing\n")
    else:
        streams.say("error: the answer could not be written to standard output\n")
    return UNREAD, False


# ── how it was called ──


def _usage(fault: click.UsageError, argv: Sequence[str]) -> BadRequest:
    """What click says about the arguments, as an error of ours, with the command to run next."""
    path = fault.ctx.command_path if fault.ctx is not None else "draftfs"
    message = fault.format_message().strip().removesuffix(".")
    message = message[:1].lower() + message[1:]
    hint = f"{path} --help"
    command = fault.ctx.command if fault.ctx is not None else None
    if isinstance(fault, click.NoSuchOption):
        near = f"; did you mean {fault.possibilities[0]}?" if fault.possibilities else ""
        message = f"{path} has no option {fault.option_name}{near}"
        if isinstance(command, Command) and command.takes_paths():
            import shlex

            typed = _as_typed(fault.option_name, _before_separator(argv))
            hint = f"for a name that begins with a dash: {path} -- {shlex.quote(typed)}"
    return BadRequest("usage", message, hint=hint)


def _as_typed(option: str, argv: Sequence[str]) -> str:
    """The argument in which click found this option: of `-rf.md` it only names `-r`."""
    if option.startswith("--"):
        return next((each for each in argv if each.partition("=")[0] == option), option)
    found = (each for each in argv if each.startswith("-") and not each.startswith("--") and option[1:] in each)
    return next(found, option)
