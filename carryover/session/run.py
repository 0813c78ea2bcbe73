"""One session in one project, from its start to its end."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from carryover.errors import StoreUnavailable
from carryover.memory.note import items
from carryover.memory.state import EMPTY, State
from carryover.messages import say
from carryover.session.exchange import Session
from carryover.session.notes import Author, Shown
from carryover.session.progress import Progress
from carryover.settings import Settings
from carryover.store import trace
from carryover.store.checkpoints import Checkpoint
from carryover.store.pointer import read_pointer, write_pointer
from carryover.store.store import Store
from carryover.store.views import Kind
from carryover.text import tokens

# The reply to a start is waited for; what renders the block is imported after it.
if TYPE_CHECKING:
    from carryover.memory.brief import Brief, Request

#: Views that hold something the log does not know yet.
CHANGED = frozenset((Kind.EDITED, Kind.TEAMMATE, Kind.FOREIGN))

_CLEARED = "The note was cleared meanwhile: nothing is open. `carryover history` has what it held."


class Run:
    """What is known of a running session: what it was given, where it stands, what could not be read."""

    def __init__(self, session: Session, store: Store, settings: Settings) -> None:
        self.session = session
        self.store = store
        self.settings = settings
        self.checkpoints = store.checkpoints()
        self.progress = Progress(session, store.project.tree, self.checkpoints)
        #: Sentences about what could not be read, for the last line of the next block.
        self.unreadable: list[str] = []
        #: Sessions that ended unseen and are owed a summary.
        self.owed: list[Checkpoint] = []
        #: Bytes of the session's file of which a summary was asked for.
        self.summed_up = -1
        #: What was done to the view before this session is on record.
        self.merged = False
        self.shown = Shown()
        self.last_session = read_pointer(store.project.folder)
        self._block: Brief | None = None

    @property
    def tree(self) -> str:
        return self.store.project.tree

    def author(self, by: str, source: str) -> Author:
        return Author(by, source, self.session.host, self.session.id)

    # ------------------------------------------------------------ what is on record

    def delivered(self) -> tuple[State, list[str]]:
        """What may be told, and a sentence about everything that may not be, or could not be read."""
        try:
            state, withheld = self.store.delivered()
        except StoreUnavailable as error:
            return EMPTY, [str(error)]
        return state, [withheld] if withheld else []

    def view_kind(self) -> Kind | None:
        """What the view turns out to be; None where that cannot be known."""
        try:
            return self.store.view(self.store.known().state).kind
        except StoreUnavailable:
            return None

    def differs(self, kind: Kind | None) -> bool:
        """Whether a view of this *kind*, or a joined log, is to be put on record, or the view to be written again."""
        state = self.store.known().state
        joined = len(state.heads.get(self.tree, ())) > 1
        return joined or kind in CHANGED or (kind is Kind.CUT and state.events > 0)

    def tail_stands(self) -> bool:
        """Whether a tail of this very session stands beside the note."""
        return any(tail.session == self.session.id for tail in self.delivered()[0].tails(self.tree))

    def status(self, language: str) -> str:
        """
        How many items are open, for a status bar; empty where no note was ever written.

        Raises:
            StoreUnavailable: the log cannot be read.
        """
        self.store.known()
        note = self.delivered()[0].note(self.tree)
        if note is None:
            return ""
        count = len(items(note.text))
        return say("status.open", language, n=count) if count else say("status.nothing", language)

    # ------------------------------------------------------------ the block

    @property
    def block(self) -> str | None:
        """The block of the last boundary; None before the first."""
        return self._block.text if self._block is not None else None

    def render_block(self) -> str:
        """The block for the boundary that has just been crossed."""
        from carryover.memory.brief import brief

        state, problems = self.delivered()
        root = f"{self.store.project.root}{os.sep}"  # it would leave no room for what is wrong
        unreadable = tuple(dict.fromkeys(one.replace(root, "") for one in (*problems, *self.unreadable)))
        self.unreadable.clear()
        self._block = brief(state, replace(self._request(), unreadable=unreadable))
        self.shown = Shown.of(state, self.tree)
        self._trace(self._block)
        return self._block.text

    def news(self) -> str | None:
        """What somebody else has changed since it was shown. The block itself stays as it is."""
        from carryover.memory.brief import brief, remark

        state, problems = self.delivered()
        if problems and self.store.trusted:
            return None  # the next boundary says what could not be read
        note = state.note(self.tree)
        known = note is None or self.shown.covers(note)
        tails = [tail.id for tail in state.tails(self.tree) if tail.session != self.session.id]
        if known and self.shown.holds(tails):
            return None
        request = replace(self._request(), last_session=None, tools=False)
        self.shown = Shown.of(state, self.tree)
        return brief(state, request).text or remark(_CLEARED, request).text

    def _request(self) -> Request:
        from carryover.session import blocks

        is_this_one = self.last_session == str(self.session.file or "")
        last = "" if is_this_one else self.last_session
        return blocks.request(self.store, tools=not self.session.nested, last_session=last)

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

    # ------------------------------------------------------------ where it stands

    def stand_at(self, file: Path | None) -> None:
        """Its transcript is *file*, where the host tells that only now."""
        if file is not None:
            self.session = replace(self.session, file=file)

    def count(self, language: str) -> None:
        """Count what is new in its transcript. Raises `TranscriptError` where that cannot be read."""
        self.progress.count(self.session.file, language)

    def keep(self, language: str) -> None:
        """
        Count what is new, and write down where it stands.

        Raises:
            StoreUnavailable: it cannot be written.
            TranscriptError: the session's file cannot be read.
        """
        self.count(language)
        self.progress.keep(self.store.prepare)

    def point(self, file: str, tree: str) -> None:
        """Keep *file* as the last session's, for ``/resume``, unless it belongs to another work tree."""
        if tree == self.tree:
            write_pointer(self.store.system, self.store.project.folder, file)
