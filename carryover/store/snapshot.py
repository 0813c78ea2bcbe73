"""What is known of a log: its state, how far it was read, and what could not be read.

Kept as a snapshot in the user's cache folder, so that a start costs the same on day 1 000 as on day 1. A snapshot is
believed only when the log still carries the checksum it was taken at; anything odd about it means reading the log.
"""

from __future__ import annotations

import json
from binascii import crc32
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from carryover.errors import StoreUnavailable
from carryover.memory.events import Event
from carryover.memory.state import EMPTY, OutOfOrder, State, dump, fold, load
from carryover.store import files
from carryover.store.files import FileSystem
from carryover.store.log import NAMED_DAMAGE, Changed, Damage, Log, Position, Reading

FORMAT = 2
#: Events that a reading may find new before it is worth a new snapshot: a millisecond's work, and so no save has to
#: write one.
WORTH = 50


@dataclass(frozen=True, slots=True)
class Known:
    """A log, as far as it has been read."""

    state: State = field(default_factory=lambda: EMPTY)
    position: Position = field(default_factory=Position)
    damage: tuple[Damage, ...] = ()
    damaged: int = 0
    newer: int = 0
    #: The log ends in the middle of a line; only under the lock does that mean that its writer died.
    torn: bool = False
    #: Events that were not in the snapshot.
    fresh: int = 0


def known(log: Log, start: Known | Path | None) -> Known:
    """
    Everything in *log*: what was known of it, or its snapshot, and what came since; where that does not fit, all of it.
    """
    if isinstance(start, Path):
        start = _load(start)
    if start is not None:
        with suppress(OutOfOrder, Changed):
            return advance(log, start)
    return everything(log)


def everything(log: Log) -> Known:
    """All of *log*: file by file, or at once where one file's events do not simply follow the last one's."""
    with suppress(OutOfOrder):
        return advance(log, Known())
    reading = log.read()
    return _with(Known(), reading, fold(reading.events), len(reading.events))


def advance(log: Log, start: Known) -> Known:
    """
    *start* and what the log holds since.

    Raises:
        (OutOfOrder, Changed): what came since does not simply follow; read from the first line.
    """
    state, fresh = start.state, 0

    def take(events: list[Event]) -> None:
        nonlocal state, fresh
        if events:
            state, fresh = fold(events, state), fresh + len(events)

    return _with(start, log.read(start.position, take), state, fresh)


def _with(start: Known, reading: Reading, state: State, fresh: int) -> Known:
    return replace(
        start,
        state=state,
        position=reading.position,
        damage=(*start.damage, *reading.damage)[:NAMED_DAMAGE],
        damaged=start.damaged + reading.damaged,
        newer=start.newer + reading.newer,
        torn=reading.torn,
        fresh=start.fresh + fresh,
    )


def path_for(cache: Path | None, folder: Path) -> Path | None:
    """
    Where the snapshot of the log in *folder* is kept; None where there is no cache folder.

    Should two folders ever share a name here, each finds that the other's snapshot does not fit its log.
    """
    if cache is None:
        return None
    name = str(folder).encode("utf-8", "surrogateescape")
    return cache / "snapshots" / f"{crc32(name):08x}-{len(name)}.json"


def store(system: FileSystem, path: Path, what: Known) -> None:
    """Keep a snapshot. It is not synced: one that a power cut has spoilt is not believed."""
    data = {
        "format": FORMAT,
        "state": dump(what.state),
        "position": asdict(what.position),
        "damage": [asdict(one) for one in what.damage],
        "damaged": what.damaged,
        "newer": what.newer,
    }
    content = json.dumps(data, separators=(",", ":")).encode()
    files.make_folder(system, path.parent, durable=False)
    files.replace(system, path, b"%08x\n" % crc32(content) + content, durable=False)


def _load(path: Path) -> Known | None:
    """The snapshot; None where there is none, or something else. It is only a shortcut: the log is read instead."""
    try:
        check, _, content = (files.read(path, -1) or b"").partition(b"\n")
        if check != b"%08x" % crc32(content):
            return None
        data = json.loads(content)
        if data["format"] != FORMAT:
            return None
        return Known(
            load(data["state"]),
            Position(**data["position"]),
            tuple(Damage(**one) for one in data["damage"]),
            data["damaged"],
            data["newer"],
        )
    except (OSError, StoreUnavailable, ValueError, KeyError, TypeError, RecursionError):
        return None
