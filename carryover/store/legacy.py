"""Logs and notes of pi-carryover 1.x, read in place.

Its log entries are a fence line, ``@`` and an ISO time, the whole note, and a closing fence; a note may contain
fences of its own. Each entry becomes a note event whose id is made from its time and text, so that every reading, on
every machine, makes the same event of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from carryover.memory.events import Event
from carryover.store.codec import derived_id

#: What its notes name as their origin.
NAME = "pi-carryover"
OPENING = b"```carryover-entry"
_CLOSING = b"```"
#: How its raw fallback announces itself in the first line of a note.
_RAW = "<!-- carryover: 降级抓取"
_HEADER = "<!-- carryover: "


@dataclass(frozen=True, slots=True)
class Entry:
    #: None where its closing fence is missing: whoever wrote it died in it.
    event: Event | None
    #: Index of the first line after it.
    end: int


def entry(lines: list[bytes], start: int, *, ended: bool) -> Entry | None:
    """
    The entry that opens at ``lines[start]``; None when its end has not been written yet.

    It ends at the last closing fence before the next entry, an event of ours, or the end (*ended*) of the file.
    """
    end = start + 1
    closing = 0
    while end < len(lines) and not _begins_another(lines[end]):
        if lines[end].rstrip(b"\r") == _CLOSING:
            closing = end
        end += 1
    if end == len(lines) and not (ended and closing):
        return None
    if not closing:
        return Entry(None, end)
    after = closing + 1
    while after < len(lines) and not lines[after].strip():
        after += 1  # blank lines between its entries are nobody's damage
    return Entry(_event(lines[start + 1 : closing]), after)


def _begins_another(line: bytes) -> bool:
    """Whether the line is another entry's first, perhaps glued to something, or an event of ours."""
    return line.rstrip(b"\r").endswith(OPENING) or (line.startswith(b'{"v":') and b',"sum":"' in line)


def is_raw(text: str) -> bool:
    """Whether a note of pi-carryover's says of itself that it is the raw fallback."""
    return text.lstrip("\ufeff \n").startswith(_RAW)


def without_header(text: str) -> str:
    """A note without the comment in which pi-carryover says how it came about."""
    first, _, rest = text.partition("\n")
    return rest if first.startswith(_HEADER) else text


def _event(lines: list[bytes]) -> Event:
    stamp = lines[0].strip() if lines else b""
    at = stamp[1:].strip().decode("ascii", "replace") if stamp.startswith(b"@") else ""
    text = b"\n".join(lines[1:] if at else lines).decode("utf-8", "replace").strip("\n")
    raw = is_raw(text)
    fields = {
        "v": 1,
        "id": derived_id(_milliseconds(at), b"\n".join(lines)),
        "at": at,
        "op": "note",
        "by": "agent",
        "host": "pi",
        "source": "raw" if raw else "import",
        "origin": NAME,
        "text": without_header(text),
    }
    return Event(fields)


def _milliseconds(at: str) -> int:
    try:
        time = datetime.fromisoformat(at)
        return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0
