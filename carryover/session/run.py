"""One session in one project, from its start to its end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from carryover import project as projects
from carryover.errors import StoreUnavailable
from carryover.memory.note import items
from carryover.memory.state import EMPTY, State
from carryover.messages import say
from carryover.process import owner
from carryover.session.exchange import Session
from carryover.session.notes import Author, Shown
from carryover.settings import Settings
from carryover.store import trace
from carryover.store.checkpoints import Checkpoint, Checkpoints
from carryover.store.pointer import read_pointer, write_pointer
from carryover.store.store import Store
from carryover.text import tokens

# The reply to a start is waited for; what renders the block and reads session files is imported after it.
if TYPE_CHECKING:
    from carryover.memory.brief import Brief, Request


class Run:
    """What is known of a running session: where it stands, what it was given, what could not be read."""

    def __init__(self, session: Session, store: Store, settings: Settings) -> None:
        self.session = session
        self.store = store
        self.settings = settings
        self.checkpoints = Checkpoints(store.project.log_folder, store.system)
        #: Kept since the user's first message; None before it.
        self.checkpoint: Checkpoint | None = None
        #: Sentences about what could not be read, for the block's last line.
        self.unreadable: list[str] = []
        #: Sessions that ended unseen and are owed a summary.
        self.owed: list[Checkpoint] = []
        self.shown = Shown()
        self.last_session = read_pointer(store.project.folder)
        self._block: Brief | None = None
        self._counted = _size(session.file)

    @property
    def tree(self) -> str:
        return self.store.project.tree

    def author(self, by: str, source: str) -> Author:
        return Author(by, source, self.session.host, self.session.id)

    # ------------------------------------------------------------ the block

    @property
    def block(self) -> str | None:
        """The block of the last boundary; None before the first."""
        return self._block.text if self._block is not None else None

    def render_block(self) -> str:
        """The block for the boundary that has just been crossed."""
        from carryover.memory.brief import brief

        request = self._request()
        try:
            state, withheld = self.store.delivered()
        except StoreUnavailable as error:
            state, withheld = EMPTY, str(error)
        if withheld:
            request = replace(request, unreadable=(*request.unreadable, withheld))
        self._block = brief(state, request)
        self.shown = _shown(state, self.tree)
        self._trace(self._block)
        return self._block.text

    def news(self) -> str | None:
        """The note, if somebody else has changed it since it was shown. The block itself stays as it is."""
        from carryover.memory.brief import brief

        try:
            state, _ = self.store.delivered()
        except StoreUnavailable:
            return None  # the next boundary says what could not be read
        note = state.note(self.tree)
        known = note is None or self.shown.covers(note)
        if known and {tail.id for tail in state.tails(self.tree)} <= set(self.shown.ids):
            return None
        self.shown = _shown(state, self.tree)
        return brief(state, replace(self._request(), last_session=None, tools=False, unreadable=())).text or None

    def _request(self) -> Request:
        from carryover.memory.brief import Request

        project = self.store.project
        known_already = self.last_session == str(self.session.file or "")
        return Request(
            project=project.root.name,
            tree=project.tree,
            tokens=self.settings.block_tokens,
            tools=not self.session.nested,
            last_session=None if known_already else self.last_session or None,
            live_trees=projects.live_trees(project),
            unreadable=tuple(self.unreadable),
        )

    def _trace(self, block: Brief) -> None:
        folder = self.store.project.folder
        if folder.is_dir():
            trace.delivered(
                self.store.system,
                folder,
                at=self.store.now(),
                session=self.session.id,
                ids=list(self.shown.ids),
                tokens=tokens(block.text),
                fingerprint=block.fingerprint,
            )

    def status(self, language: str) -> str:
        """How many items are open, for a status bar; empty where no note was ever written."""
        state, _ = self.store.delivered()
        note = state.note(self.tree)
        if note is None:
            return ""
        count = len(items(note.text))
        return say("status.open", language, n=count) if count else say("status.nothing", language)

    # ------------------------------------------------------------ where it stands

    def keep_checkpoint(self, language: str) -> None:
        """
        Count what is new in the session's file and write down where it stands. Until the user has spoken in this run
        there is nothing to keep.

        Raises:
            (OSError, StoreUnavailable): it cannot be written.
            TranscriptError: the session's file cannot be read.
        """
        file = self.session.file
        if file is None or not file.exists():
            return
        before = self.checkpoint or self.first_checkpoint(file, language)
        from carryover.session.transcripts import pi

        count = pi.count(file, self._counted)
        self._counted = count.offset
        checkpoint = replace(
            before,
            file=str(file),
            users=before.users + count.users,
            messages=before.messages + count.users + count.assistants,
            language=language,
        )
        if checkpoint.users and checkpoint != self.checkpoint:
            self.store.prepare()
            self.checkpoints.keep(checkpoint)
            self.checkpoint = checkpoint

    def first_checkpoint(self, file: Path, language: str) -> Checkpoint:
        """Where the session stood when this run of it began."""
        session = self.session
        return Checkpoint(
            session=session.id,
            file=str(file),
            since=self._counted,
            before=session.messages if self._counted else 0,
            users=0,
            messages=0,
            host=session.host,
            mode=session.mode,
            tree=self.tree,
            language=language,
            owner=owner(session.owner) if session.owner else None,
        )

    def point(self, file: str) -> None:
        """Keep *file* as the last session's, for ``/resume``."""
        write_pointer(self.store.system, self.store.project.folder, file)


def _shown(state: State, tree: str) -> Shown:
    note = state.note(tree)
    return Shown(tuple(state.base(tree)), note.text if note is not None else "")


def _size(file: Path | None) -> int:
    try:
        return file.stat().st_size if file is not None else 0
    except OSError:
        return 0  # a session's file is made with its first message
