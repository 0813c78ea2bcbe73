"""The path of the last session's file, on one line, as pi-carryover 1.x keeps it: what ``/resume`` is told."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from carryover.errors import StoreUnavailable
from carryover.store import files
from carryover.store.files import FileSystem

NAME = ".carryover-session"
LARGEST = 4096


def read_pointer(folder: Path) -> str:
    """The path, or nothing where none is known."""
    try:
        content = files.read(folder / NAME, LARGEST) or b""
    except (OSError, StoreUnavailable):
        return ""  # a convenience, of which no other part of the store depends
    return content.decode("utf-8", "replace").strip().partition("\n")[0].strip()


def write_pointer(system: FileSystem, folder: Path, file: str) -> None:
    """Keep it. It is no truth: where it cannot be written, the store has said so already."""
    if read_pointer(folder) != file:
        with suppress(OSError, StoreUnavailable):
            files.replace(system, folder / NAME, f"{file}\n".encode("utf-8", "surrogateescape"), durable=False)
