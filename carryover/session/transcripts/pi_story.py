"""What the entries of a pi session tell: who said what, what was changed, and whether a save still stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from carryover.session.transcripts.base import Message, Tail
from carryover.session.transcripts.pi_entries import Entry, Json, calls, said, text_at
from carryover.session.transcripts.speech import agent_words, user_words
from carryover.text import clean, truncate

SAVE_TOOL = "save_carryover"
#: Tools that change nothing. After any other, a note saved before it may be out of date.
READING_TOOLS = frozenset(
    ["read", "grep", "find", "ls", "glob", "list", "search", "view", "recall", "fetch", "web_search"]
)
_WRITING_TOOLS = frozenset(["edit", "multiedit", "write"])
_FILES = 50
_LINE_LENGTH = 300


class Story:
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
        words = spoken(self._edited(entry))
        if words:
            self._count += 1
            if len(self._messages) < self._limit:
                self._messages.append(words)

    def _result(self, message: Json) -> None:
        if message.get("isError"):
            self._failed(f"{text_at(message, 'toolName')}: {said(message.get('content'))}")

    def _work(self, message: Json) -> None:
        if message.get("stopReason") == "error":
            self._failed(text_at(message, "errorMessage"))
        for call in reversed(calls(message.get("content"))):
            if call.name.lower() in _WRITING_TOOLS and call.id in self._succeeded:
                self._changed(text_at(call.arguments, "path") or text_at(call.arguments, "file_path"))

    def _changed(self, file: str) -> None:
        if file and len(self._files) < _FILES:
            self._files.setdefault(_one_line(file))

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
        if entry.role == "user":  # also one of an image alone; not one of noise alone
            is_noise = said(entry.message.get("content")).strip() and not spoken(entry)
            return None if is_noise else False
        if entry.role == "bashExecution":  # the user's own "!" command, which the model is shown
            return None if entry.message.get("excludeFromContext") else False
        if entry.role != "assistant":
            return None
        made = calls(entry.message.get("content"))
        if any(call.name == SAVE_TOOL and call.id in self._succeeded for call in made):
            return True
        names = {call.name.lower() for call in made}
        return False if names - READING_TOOLS - {SAVE_TOOL} else None


def spoken(entry: Entry) -> Message | None:
    """What a person or the model said; None for everything else, and for what is noise only."""
    words, at = said(entry.message.get("content")), truncate(clean(entry.at), 40)
    if entry.role == "user" and (text := user_words(words)):
        return Message("user", text, at)
    if entry.role == "assistant" and (text := agent_words(words)):
        return Message("assistant", text, at)
    return None


def _one_line(text: str) -> str:
    return truncate(" ".join(agent_words(text).split()), _LINE_LENGTH)
