"""pi's session files: one JSON object a line, a tree by ``id`` and ``parentId``, written at the end only.

Version 3 is what pi writes today. The first version had no ids: each of its lines follows the one before.
The active branch is the path from the last line to the root, as pi itself takes it when it opens the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import stat_result
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from carryover.errors import TranscriptMalformed, TranscriptMissing, TranscriptUnreadable
from carryover.session.transcripts.base import Count, Message, Tail
from carryover.session.transcripts.lines import backwards, forwards
from carryover.session.transcripts.pi_entries import (
    Entry,
    Json,
    calls,
    looks_like_session,
    read,
    said,
    salvage,
    text_at,
)
from carryover.session.transcripts.speech import agent_words, user_words
from carryover.text import clean, truncate

LIMIT_BYTES = 8 * 1024 * 1024
#: How many times its limit a reading may look through for the beginning of a line too long to be held.
_LOOK = 8
#: Unreadable lines on one branch that are bridged. Each costs a walk through what was passed over.
_GAPS = 16

SAVE_TOOL = "save_carryover"
#: Tools that change nothing. After any other, a note saved before it may be out of date.
READING_TOOLS = frozenset(
    [
        "read",
        "grep",
        "find",
        "ls",
        "glob",
        "list",
        "search",
        "view",
        "recall",
        "fetch",
        "web_fetch",
        "web_search",
    ]
)
_WRITING_TOOLS = frozenset(["edit", "multiedit", "write"])
_FILES = 50
_LINE_LENGTH = 300


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
        story = _Story(limit_messages)
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
            if entry and (message := _message(entry)):
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


class _Story:
    """What the entries of a branch tell, last first."""

    def __init__(self, limit: int) -> None:
        self.compacted = False
        self._limit = limit
        self._count = 0
        self._messages: list[Message] = []
        self._summaries: list[str] = []
        self._first_kept: str | None = None
        self._closed = False
        self._saved: bool | None = None
        self._files: dict[str, None] = {}
        self._error: str | None = None
        self._succeeded: set[str] = set()
        self._edits: dict[str, Any] = {}

    @property
    def told(self) -> bool:
        return (self._closed or self._count > self._limit) and self._saved is not None

    def see(self, entry: Entry) -> None:
        if entry.role == "toolResult" and not entry.message.get("isError"):
            self._succeeded.add(text_at(entry.message, "toolCallId"))
        if self._saved is None:
            self._saved = self._save_stands(entry)
        if self._closed:
            return
        if entry.kind == "message":
            self._hear(entry)
        elif entry.kind == "context_edit":
            self._edits.setdefault(text_at(entry.body, "targetId"), entry.body.get("replacement"))
        elif entry.kind in ("compaction", "branch_summary"):
            self._summarised(entry)
        self._closed = self.compacted and entry.id == self._first_kept

    def tail(self, *, complete: bool, damaged: int, end: int) -> Tail:
        return Tail(
            messages=tuple(reversed(self._messages)),
            count=self._count,
            complete=complete,
            summary="\n\n".join(reversed(self._summaries)) or None,
            saved=self._saved is True,
            files=tuple(reversed(self._files)),
            last_error=self._error,
            damaged=damaged,
            end=end,
        )

    def _hear(self, entry: Entry) -> None:
        if entry.role == "toolResult":
            self._result(entry.message)
        elif entry.role == "assistant":
            self._work(entry.message)
        spoken = _message(self._edited(entry))
        if spoken:
            self._count += 1
            if len(self._messages) < self._limit:
                self._messages.append(spoken)

    def _result(self, message: Json) -> None:
        if message.get("isError"):
            self._failed(f"{text_at(message, 'toolName')}: {said(message.get('content'))}")

    def _work(self, message: Json) -> None:
        if message.get("stopReason") == "error":
            self._failed(text_at(message, "errorMessage"))
        for call in reversed(calls(message.get("content"))):
            name = text_at(call.arguments, "path") or text_at(call.arguments, "file_path")
            if (
                name
                and call.name.lower() in _WRITING_TOOLS
                and call.id in self._succeeded
                and len(self._files) < _FILES
            ):
                self._files.setdefault(_one_line(name))

    def _failed(self, text: str) -> None:
        self._error = self._error or _one_line(text) or None

    def _edited(self, entry: Entry) -> Entry:
        """The entry as a later ``context_edit`` left it: what left the context is not told either."""
        if entry.id is None or entry.id not in self._edits:
            return entry
        replacement = self._edits[entry.id]
        content = replacement.get("content") if isinstance(replacement, dict) else None
        return replace(entry, body={"message": entry.message | {"content": content}})

    def _summarised(self, entry: Entry) -> None:
        if self.compacted:
            return  # an older one, within what the newest kept
        if text := agent_words(text_at(entry.body, "summary")):
            self._summaries.append(text)
        if entry.kind == "compaction":
            self.compacted = True
            self._first_kept = text_at(entry.body, "firstKeptEntryId") or entry.id

    def _save_stands(self, entry: Entry) -> bool | None:
        """Whether a save stands, as far as this entry tells; None: look further back."""
        if entry.role == "user":
            return False if _message(entry) else None
        if entry.role == "bashExecution":  # the user's own "!" command, which the model is shown
            return None if entry.message.get("excludeFromContext") else False
        if entry.role != "assistant":
            return None
        made = calls(entry.message.get("content"))
        if any(call.name == SAVE_TOOL and call.id in self._succeeded for call in made):
            return True
        changing = (
            call for call in made if call.name != SAVE_TOOL and call.name.lower() not in READING_TOOLS
        )
        return False if any(changing) else None


def _message(entry: Entry) -> Message | None:
    """What a person or the model said; None for everything else, and for what is noise only."""
    words = said(entry.message.get("content"))
    at = truncate(clean(entry.at), 40)
    if entry.role == "user" and (text := user_words(words)):
        return Message("user", text, at)
    if entry.role == "assistant" and (text := agent_words(words)):
        return Message("assistant", text, at)
    return None


def _one_line(text: str) -> str:
    return truncate(" ".join(agent_words(text).split()), _LINE_LENGTH)
