"""How far a session has come since this run of it began, counted as it goes and kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from carryover.process import owner
from carryover.session.exchange import Session
from carryover.store import files
from carryover.store.checkpoints import Checkpoint, Checkpoints

#: Bytes of a transcript that are sooner counted again, after a crash, than written down at every turn.
COUNTED_AGAIN = 256 * 1024


class Progress:
    """
    Where one session stands.

    What was counted is remembered even while it cannot be written down, so that a disk that was full for a moment
    costs nothing.
    """

    def __init__(self, session: Session, tree: str, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        # A session that had no messages began with its file, however late we are told of it.
        since = _size(session.file) if session.messages else 0
        self.now = Checkpoint(
            session=session.id,
            file=str(session.file or ""),
            since=since,
            before=session.messages if since else 0,
            users=0,
            messages=0,
            host=session.host,
            mode=session.mode,
            tree=tree,
            language="",
            owner=owner(session.owner) if session.owner else None,
            counted=since,
        )
        self._kept: Checkpoint | None = None

    @property
    def unsaved(self) -> Checkpoint | None:
        """Where it stands, if the user has said something in this run."""
        return self.now if self.now.users else None

    def take_over(self) -> bool:
        """Go on from where an earlier run stood that nobody saved: one before a reload, or one that was killed."""
        left = self._checkpoints.find(self.now.session)
        if left is None or left.raw:
            return False
        self.now = replace(left, file=self.now.file, mode=self.now.mode, owner=self.now.owner)
        return True

    def count(self, file: Path | None, language: str) -> None:
        """
        Count what is new in the session's file.

        Raises:
            TranscriptError: it cannot be read.
        """
        if file is None or not file.exists():
            return
        from carryover.session.transcripts import pi  # not before the reply to a start

        count = pi.count(file, self.now.counted)
        self.now = replace(
            self.now,
            file=str(file),
            users=self.now.users + count.users,
            messages=self.now.messages + count.users + count.assistants,
            language=language or self.now.language,
            counted=count.offset,
        )

    def keep(self, prepare: Callable[[], None]) -> None:
        """
        Write down where it stands, once *prepare* has made the folders. Until the user has spoken there is nothing.

        Raises:
            StoreUnavailable: it cannot be written.
        """
        if self.unsaved is not None and self._is_worth_keeping():
            with files.explained("write to", self._checkpoints.folder):
                prepare()
                self._checkpoints.keep(self.now)
            self._kept = self.now

    def _is_worth_keeping(self) -> bool:
        """
        Whether what is on disk does not do, or is there no more. Counts are made good by whoever reads it, from
        ``counted`` on, so a turn that adds a few kilobytes to the transcript costs no write.
        """
        kept, now = self._kept, self.now
        if kept is None or now.counted - kept.counted > COUNTED_AGAIN:
            return True
        if not self._checkpoints.path(now.session).exists():
            return True
        return now != replace(kept, users=now.users, messages=now.messages, counted=now.counted)


def _size(file: Path | None) -> int:
    try:
        return file.stat().st_size if file is not None else 0
    except (OSError, ValueError):
        return 0  # a session's file is made with its first message; no file at all has a name with a NUL in it
