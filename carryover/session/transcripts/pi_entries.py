"""One line of a pi session file as an entry, however little of it there is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from carryover.session.transcripts.lines import Line

Json = dict[str, Any]

_KINDS = (
    "session|message|compaction|branch_summary|custom_message|custom|model_change|thinking_level_change|session_info"
    "|label|usage|context_edit"
)
_IDS = r'"id"\s*:\s*"([^"]{1,100})"\s*,\s*"parentId"\s*:\s*(?:"([^"]{1,100})"|null)'
#: An entry's beginning. Nested objects have other types, and within a string the quotes would be escaped.
_BEGINNING = re.compile(rf'\{{\s*"type"\s*:\s*"({_KINDS})"\s*(?:,\s*{_IDS})?')
_LATE_IDS = re.compile(_IDS)
_ROLE = re.compile(r'"message"\s*:\s*\{\s*"role"\s*:\s*"(\w+)"')
_CALL = re.compile(r'"toolCallId"\s*:\s*"([^"]{1,200})"')
_FAILED = re.compile(r'"isError"\s*:\s*true\b')
_SAID = re.compile(
    r'(?:"type"\s*:\s*"text"\s*,\s*"text"|"role"\s*:\s*"user"\s*,\s*"content")\s*:\s*'
    r'"((?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt]))*)'
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line's meaning. What is missing or of a wrong type is empty: a session file is untrusted bytes."""

    kind: str
    id: str | None
    """None in the oldest format, where every entry follows the one before."""
    parent: str | None
    at: str
    body: Json

    @property
    def known(self) -> bool:
        """It is of a kind that pi writes."""
        return self.kind in _KNOWN

    @property
    def message(self) -> Json:
        value = self.body.get("message") if self.kind == "message" else None
        return value if isinstance(value, dict) else {}

    @property
    def role(self) -> str:
        return text_at(self.message, "role")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call in an assistant's message. The name is empty where it could not be read."""

    id: str
    name: str
    arguments: Json


_KNOWN = frozenset(_KINDS.split("|"))


def read(line: Line) -> Entry | None:
    """The entry of a line; None when the line is damaged."""
    if line.tail:
        return _sketch(line)
    return _entry(_text(line.head.removeprefix(b"\xef\xbb\xbf")))


def salvage(line: Line) -> Entry | None:
    """The whole entry at the end of a damaged line.

    A crash leaves half a line without a newline, and the next entry is appended to it.
    """
    text = _text(line.head)
    beginnings = list(_BEGINNING.finditer(text, 1))
    return _entry(text[beginnings[-1].start() :]) if beginnings else None


def looks_like_session(file: BinaryIO) -> bool:
    """Whether the first line is, or begins as, a session's."""
    file.seek(0)
    first = _BEGINNING.match(_text(file.read(4096).removeprefix(b"\xef\xbb\xbf")).lstrip())
    return first is not None and first[1] == "session"


def text_at(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def parts(content: Any) -> Iterator[Json]:
    """The blocks of a message's content, which may be plain text."""
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (part for part in content if isinstance(part, dict))


def said(content: Any) -> str:
    """The text of a message's content, without thinking, images and calls."""
    return "\n".join(text_at(part, "text") for part in parts(content) if part.get("type") == "text")


def calls(content: Any) -> tuple[Call, ...]:
    found = (part for part in parts(content) if part.get("type") == "toolCall")
    return tuple(Call(text_at(part, "id"), text_at(part, "name"), _object(part.get("arguments"))) for part in found)


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _entry(text: str) -> Entry | None:
    try:
        body = json.loads(text, strict=False)  # control characters within strings are dropped later, with the others
    except (ValueError, RecursionError):  # the latter for an absurd nesting
        return None
    if not isinstance(body, dict):
        return None
    return Entry(
        kind=text_at(body, "type"),
        id=text_at(body, "id") or None,
        parent=text_at(body, "parentId") or None,
        at=text_at(body, "timestamp"),
        body=body,
    )


def _sketch(line: Line) -> Entry | None:
    """An entry from the two ends of a line too long to be held: who it belongs to, and the first words."""
    head, tail = _text(line.head), _text(line.tail)
    beginning = _BEGINNING.match(head.lstrip())
    if not beginning:
        return None
    kind, *ids = beginning.groups()
    if not ids[0] and (late := _LATE_IDS.findall(tail)):
        ids = late[-1]
    role = _ROLE.search(head)
    body = {"message": _sketched_message(role[1], head, tail)} if role else {}
    return Entry(kind, ids[0] or None, ids[1] or None, "", body)


def _sketched_message(role: str, head: str, tail: str) -> Json:
    if role == "toolResult":
        call = _CALL.search(head)
        return {"role": role, "toolCallId": call[1] if call else "", "isError": bool(_FAILED.search(tail))}
    content: list[Json] = []
    if words := _SAID.search(head):
        mark = "…" if words.end() == len(head) else ""
        content.append({"type": "text", "text": json.loads(f'"{words[1]}"', strict=False) + mark})
    if role == "assistant":
        content.append({"type": "toolCall"})  # some call made it this long, and nobody knows which
    return {"role": role, "content": content}
