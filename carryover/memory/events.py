"""An event: one line of the log, and what its fields mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Ids are ULIDs: Crockford's base 32, 48 bits of clock, 80 of chance (https://github.com/ulid/spec).
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#: The greatest id that is taken for one; its clock stands in the year 6429.
LAST_ID = "3" + "Z" * 25
#: A note's sources. All but ``raw`` replace the note they were made from.
SOURCES = ("agent", "summary", "raw", "command", "edit", "teammate", "restore", "import")

_LETTERS = frozenset(ALPHABET)


def is_id(text: str) -> bool:
    """Whether *text* is an event's id, and not beyond `LAST_ID`."""
    return len(text) == 26 and text <= LAST_ID and _LETTERS.issuperset(text)


class Event:
    """One event, as decoded. Unknown operations and fields are kept as they came.

    ``fields`` is the decoded line without its checksum and signature; ``line`` is the line itself, so that a copy of
    the event is the same bytes. Properties answer with neutral values where a field is missing or of a wrong type:
    a log is untrusted bytes.
    """

    __slots__ = ("fields", "id", "line", "op", "session", "source", "tree")

    def __init__(self, fields: dict[str, Any], line: bytes = b"") -> None:
        self.fields = fields
        self.line = line
        # What a fold asks of every event, some of it several times, is taken out once.
        self.id = self._text("id")
        self.op = self._text("op")
        self.session = self._text("session")
        self.source = self._text("source")
        #: The work tree it belongs to; empty for the main one.
        self.tree = self._text("tree")

    def __repr__(self) -> str:
        return f"Event({self.op} {self.id})"

    def _text(self, name: str) -> str:
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""

    @property
    def at(self) -> str:
        """When it was written: ISO 8601 with the writer's own offset."""
        return self._text("at")

    @property
    def by(self) -> str:
        """Who wrote it (human, agent, tool, hook), as set by the code path that wrote it."""
        return self._text("by")

    @property
    def branch(self) -> str:
        return self._text("branch")

    @property
    def text(self) -> str:
        return self._text("text")

    @property
    def origin(self) -> str:
        """The foreign note that this one was taken from."""
        return self._text("origin")

    @property
    def taken(self) -> str:
        """That foreign note's own text, where this event's is more than that."""
        taken = self.fields.get("taken")
        return taken if isinstance(taken, str) else self.text

    @property
    def base(self) -> tuple[str, ...]:
        """The ids of what the writer was shown and what this event therefore replaces."""
        value = self.fields.get("base")
        if isinstance(value, str):
            return (value,) if value else ()
        return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()

    @property
    def covers(self) -> tuple[int, int] | None:
        """``(n, m)``: a raw tail holds the last *n* of *m* messages."""
        value = self.fields.get("covers")
        if isinstance(value, list) and len(value) == 2 and all(type(one) is int for one in value):
            return value[0], value[1]
        return None

    def get(self, name: str, default: Any = None) -> Any:
        return self.fields.get(name, default)

    def items(self) -> Mapping[str, Any]:
        return self.fields
