"""Checkpoints: one small file for each session that has not been saved yet.

It says where the session's file is and whose session it is. When its owner is found dead, the session ended without
anybody seeing it, and whoever starts next saves it.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from carryover.process import Owner
from carryover.store import files
from carryover.store.files import FileSystem

FOLDER = "carryover.sessions"
LARGEST = 64_000
_PLAIN = re.compile(r"[A-Za-z0-9-]{1,64}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How a session stands."""

    session: str
    #: Its transcript, and the byte at which this run of it began.
    file: str
    since: int
    #: Messages in the transcript before this run, and user messages and all messages in it.
    before: int
    users: int
    messages: int
    host: str
    mode: str
    tree: str
    language: str
    owner: Owner | None
    #: The raw tail it was saved as, where the summary was left to another session.
    raw: str = ""
    #: The byte of the transcript up to which its messages were counted.
    counted: int = 0


class Checkpoints:
    """The checkpoints beside one log."""

    def __init__(self, folder: Path, system: FileSystem) -> None:
        self.folder = folder / FOLDER
        self.system = system

    def keep(self, checkpoint: Checkpoint) -> None:
        """Write it, durably. Raises `OSError` or `StoreUnavailable` where that cannot be done."""
        files.make_folder(self.system, self.folder)
        data = json.dumps(asdict(checkpoint), ensure_ascii=True, separators=(",", ":")).encode()
        files.replace(self.system, self.path(checkpoint.session), data)

    def drop(self, session: str) -> bool:
        """Remove it; False where somebody else has done so already."""
        try:
            self.system.unlink(self.path(session))
        except FileNotFoundError:
            return False
        return True

    def find(self, session: str) -> Checkpoint | None:
        """That session's; None where there is none that can be read."""
        return self._read(self.path(session))

    def all(self) -> list[Checkpoint]:
        """Every checkpoint that can be read, by session; one that cannot be read says nothing about anybody."""
        try:
            names = sorted(entry.name for entry in self.folder.iterdir() if entry.suffix == ".json")
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [one for name in names if (one := self._read(self.folder / name)) is not None]

    def path(self, session: str) -> Path:
        """A name of ours for a session that somebody else named."""
        if _PLAIN.fullmatch(session):
            return self.folder / f"{session}.json"
        from hashlib import sha256  # 3 ms to import; pi's own names are plain

        return self.folder / f"x{sha256(session.encode('utf-8', 'replace')).hexdigest()[:32]}.json"

    def _read(self, path: Path) -> Checkpoint | None:
        try:
            data = json.loads(files.read(path, LARGEST) or b"")
            owner = data["owner"]
            data["owner"] = Owner(int(owner["pid"]), str(owner["started"]), str(owner["machine"])) if owner else None
            checkpoint = Checkpoint(**data)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        numbers = (
            checkpoint.since,
            checkpoint.before,
            checkpoint.users,
            checkpoint.messages,
            checkpoint.counted,
        )
        words = (checkpoint.session, checkpoint.file, checkpoint.tree, checkpoint.raw, checkpoint.language)
        sound = all(type(one) is int and one >= 0 for one in numbers) and all(isinstance(one, str) for one in words)
        return checkpoint if sound and self.path(checkpoint.session) == path else None
