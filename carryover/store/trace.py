"""What was delivered to which session: a bounded file beside the log, for the question "was it told that?"."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from carryover.errors import StoreUnavailable
from carryover.store import files
from carryover.store.files import FileSystem

NAME = "carryover.trace"
#: Bytes at which the older half goes.
LARGEST = 64_000


def delivered(
    system: FileSystem, folder: Path, *, at: datetime, session: str, ids: list[str], tokens: int, fingerprint: str
) -> None:
    """Note one delivery. The trace is no truth: where it cannot be written, nothing is lost and nothing is said."""
    line = {
        "at": at.isoformat(timespec="seconds"),
        "session": session,
        "ids": ids,
        "tokens": tokens,
        "fingerprint": fingerprint,
    }
    path = folder / NAME
    with suppress(OSError, StoreUnavailable):
        content = files.read(path, LARGEST + 1) or b""
        if len(content) > LARGEST:
            content = content[len(content) // 2 :].partition(b"\n")[2]
        content += json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        files.replace(system, path, content, durable=False)


def deliveries(folder: Path) -> list[dict[str, object]]:
    """What the trace holds, oldest first. Raises `OSError` or `StoreUnavailable` where it cannot be read."""
    found = []
    for line in (files.read(folder / NAME, -1) or b"").splitlines():
        with suppress(ValueError, RecursionError):
            entry = json.loads(line)
            if isinstance(entry, dict):
                found.append(entry)
    return found
