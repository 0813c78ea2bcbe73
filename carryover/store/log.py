"""The append-only log: segments, positions, damage.

``carryover.log`` is written to; at 900 KB it becomes the next ``carryover.0001.log`` and is never touched again. A
`Position` says how far somebody has read, so that the next reading costs only what came since. Nothing in here knows
what an event means.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from carryover.memory.events import Event
from carryover.store import files, legacy
from carryover.store.codec import VERSION, Damaged, checksum, decode
from carryover.store.files import SYSTEM, FileSystem

#: Bytes at which the log becomes a segment: below the 1 MB at which pi-carryover 1.x renames a log it shares with us.
ROTATE_AT = 900_000
#: Damaged lines that are named one by one; all are counted.
NAMED_DAMAGE = 20

_SEGMENT = re.compile(r"carryover\.(\d{4,})\.log")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Position:
    """How far a log has been read: bytes and lines of one segment, and the checksum of the last line before it."""

    segment: int = 1
    offset: int = 0
    line: int = 0
    check: str = ""


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that could not be read. It stays where it is."""

    segment: int
    line: int
    reason: str


@dataclass(slots=True)
class Reading:
    """What a reading brought."""

    events: list[Event] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    damaged: int = 0
    #: Where the next reading goes on.
    position: Position = Position()
    #: Lines of a later format: read as far as they are understood, never written over.
    newer: int = 0
    #: The log ends in the middle of a line: somebody is writing it, or died in it.
    torn: bool = False

    def refuse(self, line: int, reason: str) -> None:
        self.damaged += 1
        if len(self.damage) < NAMED_DAMAGE:
            self.damage.append(Damage(self.position.segment, line, reason))


class Log:
    """The log in one folder."""

    def __init__(self, folder: Path, system: FileSystem = SYSTEM) -> None:
        self.folder = folder
        self.system = system
        self.path = folder / "carryover.log"

    # ------------------------------------------------------------ reading

    def segments(self) -> int:
        """The number of the newest finished segment; 0 where there is none. Numbers are never given twice."""
        try:
            names = [entry.name for entry in self.folder.iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return 0
        return max((int(match[1]) for name in names if (match := _SEGMENT.fullmatch(name))), default=0)

    def segment(self, number: int) -> Path:
        return self.folder / f"carryover.{number:04}.log"

    def read(self, since: Position | None = None) -> Reading:
        """Everything after *since*, in the order of the files. Needs no lock: what is half written is left for later."""
        reading = Reading(position=since or Position())
        while True:
            newest = self.segments()
            for number in range(reading.position.segment, newest + 1):
                if number > reading.position.segment:
                    reading.position = Position(number)
                self._read_file(self.segment(number), reading)
            if reading.position.segment <= newest:
                reading.position = Position(newest + 1)
            content = files.read(self.path, -1, reading.position.offset)
            if self.segments() == newest:  # else the log became a segment while we looked: read that first
                self._take(content or b"", reading)
                return reading

    def still_holds(self, position: Position) -> bool:
        """Whether the log up to *position* is the one that was read: the line before it carries the same checksum."""
        newest = self.segments()
        if position.segment > newest + 1:
            return False
        if position.offset == 0:
            return True
        path = self.path if position.segment == newest + 1 else self.segment(position.segment)
        start = max(0, position.offset - _CHECKED)
        content = files.read(path, position.offset - start, start)
        if content is None or len(content) != position.offset - start:
            return False
        return _check_of(content) == position.check

    def find(self, wanted: str, name: str = "id") -> Event | None:
        """An event whose field *name* is *wanted*, looked for from the newest segment back."""
        newest = self.segments()
        mark = f'"{name}":"{wanted}"'.encode()
        for path in [self.path, *(self.segment(number) for number in range(newest, 0, -1))]:
            content = files.read(path, -1) or b""
            at = content.find(mark)
            while at >= 0:
                start, end = content.rfind(b"\n", 0, at) + 1, content.find(b"\n", at)
                try:
                    event = decode(content[start : end if end >= 0 else len(content)])
                except Damaged:
                    event = None
                if event is not None and event.get(name) == wanted:
                    return event
                at = content.find(mark, at + 1)
        return None

    def newest(self, limit: int, wanted: Callable[[Event], bool]) -> list[Event]:
        """The last *limit* events that are *wanted*, newest first; reads no further back than it must."""
        found: dict[str, Event] = {}
        for number in range(self.segments() + 1, 0, -1):
            reading = Reading(position=Position(number))
            path = self.segment(number)
            self._take(files.read(path if path.exists() else self.path, -1) or b"", reading, whole=True)
            for event in sorted(reading.events, key=lambda event: event.id, reverse=True):
                if event.id not in found and wanted(event):
                    found[event.id] = event
            if len(found) >= limit:
                break
        return sorted(found.values(), key=lambda event: event.id, reverse=True)[:limit]

    def _read_file(self, path: Path, reading: Reading) -> None:
        content = files.read(path, -1, reading.position.offset)
        if content is None:
            return reading.refuse(0, "the segment is missing")
        self._take(content, reading, whole=True)

    def _take(self, content: bytes, reading: Reading, *, whole: bool = False) -> None:
        """Read lines from where the reading stands. Of a *whole* file the last line needs no newline."""
        place = reading.position
        lead = len(_BOM) if place.offset == 0 and content.startswith(_BOM) else 0
        lines = content[lead:].split(b"\n")
        rest = lines.pop()
        index, count = 0, len(lines)
        while index < count:
            if lines[index].rstrip(b"\r") == legacy.OPENING:
                entry = legacy.entry(lines, index, ended=whole or not rest)
                if entry is None:  # pi-carryover is writing it at this moment
                    rest = b"\n".join([*lines[index:], rest])
                    break
                reading.events.append(entry.event)
                index = entry.end
            else:
                _take_line(lines[index], reading, place.line + index + 1)
                index += 1
        used = len(content) - len(rest)
        check = _check_of(content[max(0, used - _CHECKED) : used]) if used > lead else place.check
        reading.position = Position(place.segment, place.offset + used, place.line + index, check)
        if rest:
            _take_unfinished(rest, reading, whole)

    # ------------------------------------------------------------ writing (under the lock)

    def append(self, data: bytes) -> None:
        """Append whole lines and sync them; mend a missing last newline first; begin a new segment when it is time."""
        size = self._size()
        if size >= ROTATE_AT:
            self._rotate()
            size = 0
        if size and (files.read(self.path, 1, size - 1) or b"\n") != b"\n":
            data = b"\n" + data
        files.append(self.system, self.path, data)

    def adopt(self) -> None:
        """Take in a log that pi-carryover 1.x renamed, before its next rename would overwrite it."""
        stray = self.folder / "carryover.log.1"
        if files.read(stray, 1):
            self._settle(stray)

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def _rotate(self) -> None:
        self._settle(self.path)

    def _settle(self, path: Path) -> None:
        self.system.replace(path, self.segment(self.segments() + 1))
        self.system.sync_folder(self.folder)


def _take_line(line: bytes, reading: Reading, number: int) -> None:
    try:
        event = decode(line)
    except Damaged as error:
        whole = _salvage(line)
        reading.events.extend(whole)
        reason = "NUL bytes" if b"\0" in line else "glued lines" if whole else str(error)
        reading.refuse(number, reason if line.strip() else "blank line")
    else:
        reading.events.append(event)
        if event.fields.get("v") != VERSION:
            reading.newer += 1


def _salvage(line: bytes) -> list[Event]:
    """The whole events in a line that lost a newline, or that a torn one was glued to."""
    starts = [match.start() for match in re.finditer(rb'\{"v":', line)]
    found = []
    for start, end in pairwise([*starts, len(line)]):
        try:
            found.append(decode(line[start:end]))
        except Damaged:
            continue  # this piece is what the line is counted as damaged for
    return found


def _take_unfinished(rest: bytes, reading: Reading, whole: bool) -> None:
    """A last line without its newline is an event when its checksum says that it is all there."""
    try:
        event = decode(rest)
    except Damaged as error:
        reading.torn = True
        if whole:
            reading.refuse(reading.position.line + 1, f"cut short: {error}")
        return
    reading.events.append(event)
    place = reading.position
    reading.position = Position(place.segment, place.offset + len(rest), place.line, checksum(rest))


#: Bytes before a position in which its last line's checksum is looked for.
_CHECKED = 96


def _check_of(content: bytes) -> str:
    """The checksum at the end of the last line in *content*, or, where it has none, that line's last bytes."""
    last = content.rstrip(b"\n").rpartition(b"\n")[2]
    return checksum(last) or last[-16:].hex()
