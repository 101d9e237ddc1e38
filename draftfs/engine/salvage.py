"""What can be saved of a journal that cannot be read, and the place for what stood in the way (for `doctor --fix`)."""

from __future__ import annotations

import os
import re
from typing import Any

from draftfs import layout
from draftfs.clock import Instant
from draftfs.engine import fs, journal, lock
from draftfs.engine import mark as mark_file
from draftfs.engine.journal import Contents
from draftfs.engine.mark import MARK_BYTES, NO_MARK, Mark
from draftfs.engine.session import carried_over, read_journal
from draftfs.errors import Damaged


def set_aside(folder: str, name: str, stamp: str) -> str | None:
    """Give what stands at `name` a second, dated name, durably; returns that, or None when nothing stands there."""
    path = f"{folder}/{name}"
    if not os.path.lexists(path):
        return None
    fs.make_folder(f"{folder}/{layout.SET_ASIDE}", sharing=fs.sharing_of(folder))
    dated = f"{layout.SET_ASIDE}/{re.sub('[^0-9]', '', stamp)}-{name.replace('/', '-')}"
    for aside in (dated, *(f"{dated}-{copy}" for copy in range(2, 1000))):
        try:
            if os.path.isfile(path) and not os.path.islink(path):
                fs.link(path, f"{folder}/{aside}")
            elif not os.path.lexists(f"{folder}/{aside}"):
                fs.rename(path, f"{folder}/{aside}")  # a folder, say: it has no second name
            else:
                continue
        except FileExistsError:
            continue
        fs.sync_folder(f"{folder}/{layout.SET_ASIDE}")
        return aside
    return None


def image_of(folder: str, name: str) -> bytes | None:
    """The newest bytes of this record in the journal, if it holds any and can be read."""
    found: bytes | None = None
    try:
        contents = read_journal(folder)
    except (Damaged, OSError):
        return None
    for _, payload in contents.records:
        text = payload.get("images", {}).get(name)
        found = text.encode() if text is not None else found
    return found


def renew_journal(folder: str, now: Instant, lock_wait: float) -> list[str]:
    """Put a new journal in the place of one that cannot be read; says in words what was done, nothing when it is sound.

    In the same life of the page cache the files hold all that it did. After a power cut they may not: then every whole
    record in it is brought to them, those behind the damage too, as they are newer than what was damaged.
    """
    with lock.exclusive(f"{folder}/{layout.LOCK}", lock_wait) as held:
        path = f"{folder}/{layout.JOURNAL}"
        mark = mark_file.decode(os.pread(held, MARK_BYTES, 0))
        data = _bytes(path)
        if data is not None and _is_sound(data, mark):
            return []
        salt = _salt(data or b"", mark)
        records = journal.whole_records(data or b"", salt) if salt is not None else []
        trusted = (
            mark is not None and mark.salt == salt and (mark.boot, mark.device) == (now.boot, os.stat(folder).st_dev)
        )
        if not trusted:
            for _, payload in records:
                _apply(folder, payload)
        fs.sync_everything(folder)
        aside = set_aside(folder, layout.JOURNAL, now.stamp)
        reached = max([mark.sequence if mark is not None else 0, *(sequence for sequence, _ in records)])
        head = journal.head_of(data or b"") or {"base": 0, "pending": []}
        pending = carried_over(Contents(head, tuple(records), 0, has_tail=False))
        fs.replace_file(path, journal.new(reached, pending), sharing=fs.sharing_of(folder))
        fs.write_at(held, NO_MARK, 0, f"{folder}/{layout.LOCK}")
    lost = (
        "nothing is lost: the files hold all of it"
        if trusted
        else (f"{len(records)} whole records of it were brought to the files; later changes may be lost")
    )
    return [f"{layout.JOURNAL}: begun anew, {lost}" + (f"; what was there is now {aside}" if aside else "")]


def _bytes(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _is_sound(data: bytes, mark: Mark | None) -> bool:
    try:
        contents = journal.parse(data, layout.JOURNAL)
    except Damaged:
        return False
    return mark is None or mark.salt != contents.head["salt"] or contents.last >= mark.sequence


def _salt(data: bytes, mark: Mark | None) -> str | None:
    head = journal.head_of(data)
    if head is not None:
        return str(head["salt"])
    return mark.salt if mark is not None else None


def _apply(folder: str, payload: dict[str, Any]) -> None:
    for name, text in payload.get("images", {}).items():
        path = f"{folder}/{name}"
        if text is None:
            fs.unlink(path)
        else:
            fs.make_folder(os.path.dirname(path), sharing=fs.sharing_of(folder))
            fs.replace_file(path, text.encode(), sharing=fs.sharing_of(folder))
    if "feed" in payload:
        first, offset, text = payload["feed"]
        path = f"{folder}/{layout.segment(first)}"
        descriptor = fs.open_lasting(path, sharing=fs.sharing_of(folder))
        try:
            fs.write_at(descriptor, text.encode("ascii"), offset, path)
        finally:
            os.close(descriptor)
