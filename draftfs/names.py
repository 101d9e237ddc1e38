"""Names of agents, readers and people, and free text: what is taken, how it is refused, and how it is shown (§9)."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from draftfs.errors import BadRequest
from draftfs.records import HAND_EDIT, Actor

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PERSON: Final = re.compile(r"_[A-Za-z0-9.-]{1,63}")
TEXT_BYTES: Final = 256 << 10
_UNSAFE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_HINT: Final = "give a shorter or plainer text"


def agent_name(text: str) -> str:
    """`text`, if it can name an agent or reader. Raises BadRequest `bad_name`."""
    if not _NAME.fullmatch(text):
        raise BadRequest(
            "bad_name",
            f"{text[:80]!r} cannot name an agent: 1 to 64 of A-Z a-z 0-9 . _ - and a letter or digit first",
            hint="choose another name for --as or DRAFTFS_AGENT",
        )
    if text == HAND_EDIT:
        raise BadRequest(
            "bad_name", f"{text!r} is what draftfs itself signs hand edits with", hint="choose another name"
        )
    return text


def person_in_file_name(name: str) -> str:
    """A person's name where it is part of a file name: `_` first, which no agent's name can have."""
    return "_" + (re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-") or "person")[:63]


def author_of(actor: Actor) -> str:
    """The name that an actor's drafts bear."""
    return actor.name if actor.is_agent else person_in_file_name(actor.name)


def reader_name(text: str) -> str:
    """`text`, if it can name a reader of the feed: an agent, or a person by `reader_of`. Raises BadRequest `bad_name`."""
    return text if _PERSON.fullmatch(text) else agent_name(text)


def reader_of(actor: Actor) -> str:
    """The name by which an actor reads the feed. A person's is as in a file name; where more than blanks had to be replaced
    for that, the end of a digest tells two of them apart."""
    safe = author_of(actor)
    if actor.is_agent or safe[1:] == "-".join(actor.name.split()):
        return safe
    digest = hashlib.sha256(actor.name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{safe[:56]}-{digest[:6]}"


def free_text(text: str, what: str, most: int = TEXT_BYTES) -> str:
    """`text`, if it can be kept exactly: no NUL, at most `most` bytes, and every character or undecodable byte a real one."""
    try:
        size = len(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise BadRequest("usage", f"{what} holds a lone surrogate that stands for no byte", hint=_HINT) from None
    if "\0" in text:
        raise BadRequest("usage", f"{what} holds a NUL character", hint=_HINT)
    if size > most:
        raise BadRequest("usage", f"{what} has {size} bytes; at most {most} are kept", hint=_HINT)
    return text


def shown(text: str) -> str:
    r"""`text` on one line, and unable to steer a terminal: control characters and those that turn the direction of writing
    are escaped, a byte that is not UTF-8 shows as `\xff`. Output of this has no surrogates left."""
    return _UNSAFE.sub(escaped, text)


def shown_command(text: str) -> str:
    r"""As `shown`, for a command to paste: `pasteable` has put such characters between quotes, and there a shell takes
    `'$'\x0a''` for one."""
    return _UNSAFE.sub(lambda found: f"'$'{escaped(found)}''", text)


def escaped(found: re.Match[str]) -> str:
    """What stands for a character that is not shown as it is."""
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"
