"""Edits of the note's file are noticed while a session runs, when ``watchfiles`` is there to notice them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from pathlib import Path

VIEW = "CARRYOVER.md"


@functools.cache
def add_environment() -> None:
    """Make the environment's packages importable: the extension starts Python without them, to start fast."""
    import site

    site.main()


class Watch:
    """Calls `changed`, from a thread of its own, whenever the view in the followed folder changes."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._folder: Path | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, folder: Path) -> None:
        """Watch `folder` from now on. Cheap when it is watched already, and when it does not exist yet."""
        if self._thread and self._thread.is_alive() and folder == self._folder:
            return
        self.stop()
        if not folder.is_dir():
            return
        self._folder, self._stop = folder, threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(folder, self._stop), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread = None

    def _watch(self, folder: Path, stop: threading.Event) -> None:
        add_environment()
        try:
            from watchfiles import watch
        except ImportError:
            return  # then edits are noticed at the next boundary
        try:
            for _ in watch(folder, watch_filter=_is_view, stop_event=stop, recursive=False):
                self._changed()
        except (OSError, RuntimeError):
            return  # the folder went away, or the system watches no more files: as without watchfiles


def _is_view(_change: object, path: str) -> bool:
    return Path(path).name == VIEW
