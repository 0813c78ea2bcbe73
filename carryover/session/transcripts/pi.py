"""pi's session files: one JSON object a line, a tree by ``id`` and ``parentId``, written at the end only.

Version 3 is what pi writes today. The first version had no ids: each of its lines follows the one before.
The active branch is the path from the last line to the root, as pi itself takes it when it opens the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import stat_result
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from carryover.errors import TranscriptMalformed, TranscriptMissing, TranscriptUnreadable
from carryover.session.transcripts.base import Count, Tail
from carryover.session.transcripts.lines import backwards, forwards
from carryover.session.transcripts.pi_entries import Entry, looks_like_session, read, salvage
from carryover.session.transcripts.pi_story import Story, spoken
from carryover.text import clean

LIMIT_BYTES = 8 * 1024 * 1024
#: How many times its limit a reading may look through for the beginning of a line too long to be held.
_LOOK = 8
#: Unreadable lines on one branch that are bridged. Each costs a walk through what was passed over.
_GAPS = 16


def tail(path: Path, *, limit_messages: int = 200, limit_bytes: int = LIMIT_BYTES, since: int = 0) -> Tail:
    """The end of the active branch; its cost depends on the limits, not on the size of the file.

    Reads back until one message more than ``limit_messages`` is met and it is known whether a save stands, or
    ``limit_bytes`` are read, or the branch began, or ``since`` is reached (an ``end`` or ``offset`` given
    earlier; one behind the file's end was measured on another file and counts as 0). Of what lies before a
    compaction, only the messages that it kept are told.

    Raises TranscriptMissing, TranscriptUnreadable, TranscriptMalformed.
    """
    with _opened(path) as (file, size):
        reading = _Reading(file, since if since <= size else 0, size, limit_bytes)
        story = Story(limit_messages)
        complete = False
        for entry in _branch(reading.entries()):
            story.see(entry)
            if story.told:
                break
        else:
            complete = not (story.compacted or reading.cut_short)
        if reading.met and not reading.known and not looks_like_session(file):
            raise TranscriptMalformed(f"Cannot use {clean(str(path))}: it is not a session file of pi.")
    return story.tail(complete=complete, damaged=reading.damaged, end=reading.end)


def count(path: Path, since: int, until: int | None = None) -> Count:
    """The messages in the whole lines between two offsets (``until``: the file's end), whatever their branch.

    Reads nothing else. A line that cannot be read counts nothing.

    Raises TranscriptMissing, TranscriptUnreadable.
    """
    roles = {"user": 0, "assistant": 0}
    with _opened(path) as (file, size):
        end = size if until is None else min(until, size)
        offset = min(since, end)
        for line in forwards(file, offset, end):
            offset = line.end
            entry = read(line) or salvage(line)
            if entry and (message := spoken(entry)):
                roles[message.role] += 1
    return Count(roles["user"], roles["assistant"], offset)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """The file, and its size now. A pipe is refused unopened, for opening one may wait for ever."""
    name = clean(str(path))
    try:
        status = _status(path)
        if not S_ISREG(status.st_mode):
            raise TranscriptUnreadable(f"Cannot read the session {name}: it is not a regular file.")
        with path.open("rb") as file:
            yield file, status.st_size
    except (FileNotFoundError, NotADirectoryError):
        raise TranscriptMissing(f"Cannot read the session {name}: there is no such file.") from None
    except OSError as error:
        raise TranscriptUnreadable(f"Cannot read the session {name}: {error.strerror or error}.") from error


def _status(path: Path) -> stat_result:
    try:
        return path.stat()
    except ValueError:  # a NUL or a lone surrogate: no file can have that name
        raise FileNotFoundError from None


class _Reading:
    """The entries of a file, last first, and how reading them went."""

    def __init__(self, file: BinaryIO, since: int, size: int, limit: int) -> None:
        self.end = size
        self.met = 0
        self.known = 0
        self.damaged = 0
        self.cut_short = False
        self._file = file
        self._since = since
        self._limit = limit

    def entries(self) -> Iterator[Entry | None]:
        """``None`` stands for a line that could not be read."""
        size, held = self.end, 0
        floor = max(self._since, size - _LOOK * self._limit)
        for line in backwards(self._file, floor, size):
            held += len(line.head) + len(line.tail)
            if held > self._limit or line.start == floor > self._since:
                self.cut_short = True
                return
            if line.blank:
                continue
            self.met += 1
            entry = read(line)
            if entry is None and not line.finished:
                self.end = line.start  # half a line: still being written, or never to be finished
                continue
            if entry is None:
                self.damaged += 1
                entry = salvage(line)
            self.known += entry is not None and entry.known
            if entry is None or entry.kind != "session":
                yield entry


def _branch(entries: Iterable[Entry | None]) -> Iterator[Entry]:
    """The active branch out of a file's entries, both last first; None stands for an unreadable line.

    An unreadable line may have been on the branch, and then nobody knows its parent. Should the entry looked
    for never turn up, the branch goes on with the first one passed over: most lines follow the one before.
    """
    wanted: str | None = None
    for _ in range(_GAPS):
        passed: list[Entry | None] = []
        found, gap = False, False
        for entry in entries:
            if entry is None:
                gap = True
                passed.append(None)
            elif entry.id is None or not found or entry.id == wanted:
                yield entry
                if entry.id is None:
                    continue
                if entry.parent is None:
                    return
                wanted, found, gap = entry.parent, True, False
                passed.clear()
            elif gap:
                passed.append(entry)
        if not any(passed):
            return
        entries = passed
