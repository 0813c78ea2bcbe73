"""What installing must remember: the interpreter to start, and how the host's settings were before.

It is one JSON file of our own in the state folder, ``pi.json`` for pi:

- ``python``: the interpreter that has this package, for the extension to start;
- ``extension``: the file that was registered, by which the extension knows that ``python`` is meant for it;
- ``settings``: for each settings file ``written``, the checksum of what we made of it, ``created``, whether
  there was none before, and the edit: ``start``, ``old``, ``new``. No other text of the user's is kept.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from carryover.hosts.install.edits import Edit


@dataclass(frozen=True, slots=True)
class Record:
    """How one settings file was before our edit."""

    written: str
    created: bool
    edit: Edit

    @classmethod
    def of(cls, before: bytes | None, after: bytes) -> Record:
        edit = Edit.between((before or b"").decode(), after.decode())
        return cls(_checksum(after), before is None, edit)

    def fits(self, data: bytes | None) -> bool:
        """Is *data* what we wrote, so that the edit can be undone to the byte?"""
        return data is not None and _checksum(data) == self.written

    def before(self, data: bytes) -> bytes | None:
        """What the file was before, given *data* that fits; None if there was none."""
        return None if self.created else self.edit.undo(data.decode()).encode()


@dataclass(frozen=True, slots=True)
class Memory:
    python: str = ""
    extension: str = ""
    records: dict[str, Record] = field(default_factory=dict)

    @classmethod
    def load(cls, data: bytes | None) -> Memory:
        """The memory in *data*. What is missing or damaged is as if it had never been remembered."""
        try:
            content = json.loads(data or b"{}")
            records = {path: _record(fields) for path, fields in content.get("settings", {}).items()}
            return cls(str(content.get("python", "")), str(content.get("extension", "")), records)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return cls()

    def dump(self) -> bytes:
        content = {
            "python": self.python,
            "extension": self.extension,
            "settings": {path: _fields(record) for path, record in self.records.items()},
        }
        return (json.dumps(content, indent=2) + "\n").encode()

    def remember(self, settings: Path, record: Record | None) -> dict[str, Record]:
        """The records with *record* for *settings*, or without one."""
        others = {path: other for path, other in self.records.items() if path != str(settings)}
        return others | {str(settings): record} if record else others


def _record(fields: dict[str, Any]) -> Record:
    edit = Edit(int(fields["start"]), str(fields["old"]), str(fields["new"]))
    return Record(str(fields["written"]), bool(fields["created"]), edit)


def _fields(record: Record) -> dict[str, object]:
    edit = record.edit
    return {
        "written": record.written,
        "created": record.created,
        "start": edit.start,
        "old": edit.old,
        "new": edit.new,
    }


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
