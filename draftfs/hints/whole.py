"""Hints where there is no inotify: the root as a whole, by the observer that watchdog has for the platform."""

from __future__ import annotations

import os
from contextlib import suppress

from watchdog.events import DirModifiedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from draftfs.hints import CannotWatch, Ring, is_idle


class _Handler(FileSystemEventHandler):
    def __init__(self, ring: Ring) -> None:
        self._ring = ring

    def dispatch(self, event: FileSystemEvent) -> None:
        says_nothing = event.event_type in ("opened", "closed_no_write") or isinstance(event, DirModifiedEvent)
        if not says_nothing and any(_matters(os.fsencode(name)) for name in (event.src_path, event.dest_path) if name):
            self._ring()


def _matters(name: bytes) -> bool:
    return b"/.git/" not in name + b"/" and not is_idle(os.path.basename(name))


class Whole:
    """The root as a whole, by the observer that watchdog has for this platform."""

    def __init__(self, root: str, ring: Ring) -> None:
        self._observer = Observer()
        try:
            self._observer.schedule(_Handler(ring), os.path.realpath(root), recursive=True)
            self._observer.start()
        except Exception as fault:
            raise CannotWatch(str(fault)) from fault

    def refresh(self, *, everything: bool) -> None:
        """It finds new folders by itself."""

    def alive(self) -> bool:
        return self._observer.is_alive() and all(emitter.is_alive() for emitter in self._observer.emitters)

    def close(self) -> None:
        with suppress(Exception):
            self._observer.stop()
            self._observer.join()
