"""The append-only log: segments, positions, damage.

``carryover.log`` is written to; at 900 KB it becomes the next ``carryover.0001.log`` and is never touched again. A
`Position` says how far somebody has read, so that the next reading costs only what came since. Nothing in here knows
what an event means.
"""

from __future__ import annotations

import os
import re
from binascii import crc32
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from carryover.memory.events import Event
from carryover.store import files, legacy
from carryover.store.codec import VERSION, Damaged, decode, salvage
from carryover.store.files import SYSTEM, FileSystem

#: Bytes at which the log becomes a segment: below the 1 MB at which pi-carryover 1.x renames a log it shares with us.
ROTATE_AT = 900_000
#: Damaged lines that are named one by one; all are counted.
NAMED_DAMAGE = 20

#: Bytes before a position by which it is known again; a line's own checksum and signature are shorter.
CHECKED = 96

_SEGMENTS = re.compile(r"/carryover\.([0-9]{4}|[1-9][0-9]{4,})\.log(?=/)")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Position:
    """How far a log has been read: bytes and lines of one segment, and a checksum of what stands before it."""

    segment: int = 1
    offset: int = 0
    line: int = 0
    check: str = "00000000"
    #: The last line that was read has no newline yet.
    open: bool = False


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that could not be read, or not whole. It stays where it is."""

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


class Changed(Exception):
    """The log up to a position is not the one that was read: read it all again."""


class Log:
    """The log in one folder."""

    def __init__(self, folder: Path, system: FileSystem = SYSTEM) -> None:
        self.folder = folder
        self.system = system
        self.path = folder / "carryover.log"
        #: What pi-carryover 1.x makes of the log at 1 MB. The next one would overwrite it, so it becomes a segment.
        self.renamed = folder / "carryover.log.1"

    # ------------------------------------------------------------ reading

    def segment(self, number: int) -> Path:
        return self.folder / f"carryover.{number:04}.log"

    def pieces(self, since: int = 1) -> dict[int, Path]:
        """The files that make up the log, from number *since* on, oldest first; the last one is written to."""
        try:
            names = os.listdir(self.folder)  # noqa: PTH208 - a path for each would take longer than all the rest
        except (FileNotFoundError, NotADirectoryError):
            names = []
        # Asked for several times in a save; so all names are looked through at once, and few become paths.
        numbers = sorted(map(int, _SEGMENTS.findall("/".join(["", *names, ""]))))
        found = {number: self.segment(number) for number in numbers if number >= since}
        following = numbers[-1] + 1 if numbers else 1
        if self.renamed.name in names and files.read(self.renamed, 1):
            found[following] = self.renamed
            following += 1
        found[following] = self.path
        return found

    def _are_still(self, pieces: dict[int, Path]) -> bool:
        """Whether no file of the log was renamed since its pieces were listed."""
        renamed = os.path.lexists(self.renamed) and bool(files.read(self.renamed, 1))
        return renamed == (self.renamed in pieces.values()) and not os.path.lexists(self.segment(max(pieces)))

    def read(self, since: Position | None = None, into: Callable[[list[Event]], None] | None = None) -> Reading:
        """
        Everything after *since*, in the order of the files. Needs no lock: what is half written is left for later.

        *into* is given the events file by file, in the place of `Reading.events`: a long log need not be held whole.

        Raises:
            Changed: what stands before *since* is not what was read there.
            StoreUnavailable: it cannot be read, which is never the same as empty.
        """
        reading = Reading(position=since or Position())
        with files.explained("read", self.path):
            while not self._read_pieces(self.pieces(reading.position.segment), reading, into):
                pass  # a file was renamed under our hands: go on from where we are, by the names of now
        return reading

    def _read_pieces(
        self, pieces: dict[int, Path], reading: Reading, into: Callable[[list[Event]], None] | None
    ) -> bool:
        """Read on; False where a file was renamed meanwhile: it may not be the one that it was taken for."""
        first = reading.position.segment
        if reading.position.offset and reading.position.segment not in pieces:
            raise Changed
        for number, path in pieces.items():
            if number < first:
                continue
            fresh = number > reading.position.segment
            offset = 0 if fresh else reading.position.offset
            start = max(0, offset - CHECKED)
            content = files.read(path, -1, start)
            if path in (self.path, self.renamed) and not self._are_still(pieces):
                return False
            if content is None and path != self.path:
                return False
            known, content = (content or b"")[: offset - start], (content or b"")[offset - start :]
            if offset and _print(known) != reading.position.check:
                raise Changed
            if not content:
                continue  # the position stays behind the last line that there is
            if fresh:
                reading.position = Position(number)
                if number > 1 and number - 1 not in pieces:
                    reading.refuse(0, "the segments before it are missing")
            self._take(content, reading, whole=path != self.path)
            if into is not None:
                into(reading.events)
                reading.events = []
            used = reading.position.offset - offset
            before = (known + content[max(0, used - CHECKED) : used])[-CHECKED:]
            reading.position = replace(reading.position, check=_print(before))
        return True

    def find(self, wanted: str, name: str = "id") -> Event | None:
        """An event whose field *name* is *wanted*, looked for from the newest segment back."""
        mark = f'"{name}":"{wanted}"'.encode()
        for number, path in self._backwards():
            content = self._content(path)
            if mark in content or legacy.OPENING in content:
                for event in self._events(number, path, content):
                    if event.get(name) == wanted:
                        return event
        return None

    def newest(self, limit: int, wanted: Callable[[Event], bool]) -> list[Event]:
        """The last *limit* events that are *wanted*, newest first; reads no further back than it must."""
        found: dict[str, Event] = {}
        for number, path in self._backwards():
            for event in self._events(number, path, self._content(path)):
                if event.id not in found and wanted(event):
                    found[event.id] = event
            if len(found) >= limit:
                break
        return sorted(found.values(), key=lambda event: event.id, reverse=True)[:limit]

    def _backwards(self) -> list[tuple[int, Path]]:
        with files.explained("read", self.path):
            return list(reversed(self.pieces().items()))

    def _content(self, path: Path) -> bytes:
        with files.explained("read", path):
            return files.read(path, -1) or b""

    def _events(self, number: int, path: Path, content: bytes) -> list[Event]:
        reading = Reading(position=Position(number))
        self._take(content, reading, whole=path != self.path)
        return reading.events

    def _take(self, content: bytes, reading: Reading, *, whole: bool) -> None:
        """Read lines from where the reading stands. Of a *whole* file the last line needs no newline."""
        if reading.position.open:
            content = _close(content, reading, whole)
        place = reading.position
        lead = len(_BOM) if place.offset == 0 and content.startswith(_BOM) else 0
        lines = content[lead:].split(b"\n")
        rest = lines.pop()
        index = 0
        while index < len(lines):
            line = lines[index]
            if not line.endswith((legacy.OPENING, legacy.OPENING + b"\r")):
                _take_line(line, reading, place.line + index + 1)
                index += 1
                continue
            entry = legacy.entry(lines, index, ended=whole or not rest or rest.startswith(b'{"v":'))
            if entry is None:  # pi-carryover is writing it at this moment
                rest = b"\n".join([*lines[index:], rest])
                break
            if before := line.rpartition(legacy.OPENING)[0]:
                _take_line(before, reading, place.line + index + 1, glued=True)
            if entry.event is not None:
                reading.events.append(entry.event)
            else:
                reading.refuse(place.line + index + 1, "an entry of pi-carryover that was cut short")
            index = entry.end
        used = len(content) - len(rest)
        reading.position = replace(place, offset=place.offset + used, line=place.line + index)
        reading.torn = False
        if rest:
            _take_unfinished(rest, reading, whole)

    # ------------------------------------------------------------ writing (under the lock)

    def append(self, data: bytes) -> None:
        """Append whole lines and sync them; mend a missing last newline first; begin a new segment when it is time."""
        size = self._size()
        if size >= ROTATE_AT:
            self.adopt()
            self._settle(self.path)
            size = 0
        if size and files.read(self.path, 1, size - 1) != b"\n":
            data = b"\n" + data
        files.append(self.system, self.path, data)

    def adopt(self) -> None:
        """Take in a log that pi-carryover 1.x renamed, before its next rename would overwrite it."""
        if files.read(self.renamed, 1):
            self._settle(self.renamed)

    def _size(self) -> int:
        try:
            return os.lstat(self.path).st_size
        except FileNotFoundError:
            return 0

    def _settle(self, path: Path) -> None:
        """Make *path* the segment that it was counted as. No number is given twice; the next append syncs the name."""
        number = next(number for number, piece in self.pieces().items() if piece == path)
        self.system.replace(path, self.segment(number))


def _take_line(line: bytes, reading: Reading, number: int, *, glued: bool = False) -> None:
    try:
        event = decode(line)
        if glued:
            raise Damaged("glued lines")
    except Damaged as error:
        whole = _salvage(line)
        reading.events.extend(whole)
        reason = "NUL bytes" if b"\0" in line else "glued lines" if whole else str(error)
        reading.refuse(number, reason if line.strip() else "blank line")
    else:
        _count(event, reading)


def _count(event: Event, reading: Reading) -> None:
    reading.events.append(event)
    if event.fields.get("v") != VERSION:
        reading.newer += 1


def _salvage(line: bytes) -> list[Event]:
    """The whole events in a line that lost a newline, or that a torn one was glued to."""
    starts = [match.start() for match in re.finditer(rb'\{"v":', line)]
    found = []
    for start, end in pairwise([*starts, len(line)]):
        with suppress(Damaged):  # this piece is what the line is counted as damaged for
            found.append(salvage(line[start:end]))
    return found


def _close(content: bytes, reading: Reading, whole: bool) -> bytes:
    """Go on after a line that had no newline when it was read: what stands there now ends it, or is glued to it."""
    place = reading.position
    rest, newline, after = content.partition(b"\n")
    if not newline and not whole:
        return b""  # not even that is all there
    if rest.strip():
        _take_line(rest, reading, place.line + 1, glued=True)
    used, ended = len(rest) + len(newline), bool(newline)
    reading.position = replace(place, offset=place.offset + used, line=place.line + ended, open=not ended)
    return after


def _take_unfinished(rest: bytes, reading: Reading, whole: bool) -> None:
    """A last line without its newline is an event when its checksum says that it is all there."""
    place = reading.position
    try:
        _count(decode(rest), reading)
    except Damaged as error:
        reading.torn = True
        if not whole:
            return
        reading.refuse(place.line + 1, f"cut short: {error}")
    reading.position = replace(place, offset=place.offset + len(rest), open=True)


def _print(content: bytes) -> str:
    """What a reader remembers of the bytes before its position; the last event's checksum is among them."""
    return f"{crc32(content):08x}"
