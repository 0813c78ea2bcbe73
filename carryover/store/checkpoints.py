"""Checkpoints: one small file for each session that has not been saved yet.

It says where the session's file is and whose session it is. When its owner is found dead, the session ended without
anybody seeing it, and whoever starts next saves it. It is signed with the user's own key: one that came with a clone
could name any file of the user's, and have its end written into the project.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from carryover.errors import StoreUnavailable
from carryover.process import Owner, can_be, lives
from carryover.store import files
from carryover.store.codec import signature
from carryover.store.files import FileSystem

FOLDER = "carryover.sessions"
LARGEST = 64_000
#: Numbers are offsets and counts; beyond this they are nobody's.
LARGEST_NUMBER = 2**53
#: Seconds without a sign after which a session on another machine is taken for ended.
SILENT_SECONDS = 86_400
#: What may be a file's name as it is: in no file system another's, nor a device's.
_PLAIN = re.compile(r"[a-z0-9][a-z0-9-]{7,63}")
_MAC = b',"mac":"'


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

    def __init__(self, folder: Path, system: FileSystem, key: Callable[[], bytes | None]) -> None:
        self.folder = folder / FOLDER
        self.system = system
        self._key = key

    def keep(self, checkpoint: Checkpoint) -> None:
        """Write it, durably. Raises `StoreUnavailable` where that cannot be done."""
        with files.explained("write to", self.folder):
            files.make_folder(self.system, self.folder)
            files.sweep(self.system, self.folder)
            data = json.dumps(asdict(checkpoint), ensure_ascii=True, separators=(",", ":")).encode()
            if (key := self._key()) is not None:
                data = data[:-1] + _MAC + signature(data, key) + b'"}'
            files.replace(self.system, self.path(checkpoint.session), data)

    def drop(self, session: str) -> bool:
        """Remove it; False where somebody else has done so already. Raises `StoreUnavailable` where it cannot go."""
        with files.explained("write to", self.folder):
            try:
                files.refuse_unless_folder(self.folder)
                self.system.unlink(self.path(session))
            except FileNotFoundError:
                return False
        return True

    def find(self, session: str) -> Checkpoint | None:
        """That session's; None where there is none that can be read."""
        return self._read(self.path(session))

    def ended(self) -> list[Checkpoint]:
        """
        Those whose host no longer runs, and those that were left for a later session. Of a host on another machine,
        which may be a container that is gone, that is taken for granted after a day without a sign.

        Raises:
            StoreUnavailable: as `all`.
        """
        return [one for one in self.all() if one.owner is None or self._has_ended(one, one.owner)]

    def _has_ended(self, checkpoint: Checkpoint, owner: Owner) -> bool:
        alive = lives(owner)
        if alive is not None:
            return not alive
        try:
            return time.time() - self.path(checkpoint.session).lstat().st_mtime > SILENT_SECONDS
        except OSError:
            return False

    def all(self) -> list[Checkpoint]:
        """
        Every checkpoint that can be read, by session; one that cannot be read says nothing about anybody.

        Raises:
            StoreUnavailable: their folder cannot be read, or is a link to elsewhere.
        """
        with files.explained("read", self.folder):
            try:
                files.refuse_unless_folder(self.folder)
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

    def _signed(self, content: bytes) -> bytes:
        """What was signed; nothing where it was signed by nobody here. Without a key of our own, all is believed."""
        content, _, mac = content.partition(_MAC)
        if mac:
            content += b"}"
        if not content or (key := self._key()) is None:
            return content
        from hmac import compare_digest  # only where there is a checkpoint

        return content if compare_digest(signature(content, key), mac[:-2]) else b""

    def _read(self, path: Path) -> Checkpoint | None:
        try:
            data = json.loads(self._signed(files.read(path, LARGEST) or b""))
            owner = data["owner"]
            data["owner"] = Owner(int(owner["pid"]), str(owner["started"]), str(owner["machine"])) if owner else None
            checkpoint = Checkpoint(**data)
        except (OSError, StoreUnavailable, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None
        fields = {name: value for name, value in asdict(checkpoint).items() if name != "owner"}
        numbers = [fields.pop(name) for name in ("since", "before", "users", "messages", "counted")]
        sound = all(type(one) is int and 0 <= one < LARGEST_NUMBER for one in numbers)
        sound = sound and all(isinstance(one, str) for one in fields.values())
        sound = sound and (checkpoint.owner is None or can_be(checkpoint.owner.pid))
        return checkpoint if sound and self.path(checkpoint.session) == path else None
