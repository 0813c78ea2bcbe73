"""For programs: the memory of one project.

>>> import tempfile
>>> from carryover import Memory
>>> memory = Memory(tempfile.mkdtemp())
>>> memory.save("- [ ] finish the parser\\n- [x] read the grammar")
>>> memory.note()
'- [ ] finish the parser'
>>> memory.save("- [ ] finish the parser\\n- [ ] then the printer")
>>> memory.restore()
>>> memory.note()
'- [ ] finish the parser'
>>> [event.source for event in memory.history()]
['restore', 'agent', 'agent']
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from carryover import project as projects
from carryover import settings as configuration
from carryover.memory.brief import Brief, brief
from carryover.memory.events import Event
from carryover.memory.state import State
from carryover.session import blocks, notes
from carryover.session.notes import Author, Shown
from carryover.store import history
from carryover.store.pointer import read_pointer
from carryover.store.store import Store


class Memory:
    """
    What is remembered of the project that *folder* belongs to.

    Args:
        folder: any folder in the project; the project is found as the command line finds it.
        by: who the program writes for: ``agent``, ``tool``, ``hook``, or ``human`` where a person typed it.
        environ: where settings and the user's folders are taken from.

    Raises:
        ProjectError: *folder* is in no project (the home folder, say).
    """

    def __init__(
        self, folder: str | os.PathLike[str] = ".", *, by: str = "agent", environ: Mapping[str, str] | None = None
    ) -> None:
        environ = os.environ if environ is None else environ
        project = projects.find(Path(folder), environ)
        self.settings = configuration.load(project.root, environ)
        self.store = Store(project, self.settings, environ)
        self.by = by
        self._shown: Shown | None = None

    def state(self) -> State:
        """
        Everything that stands, edits of CARRYOVER.md included.

        Raises:
            StoreUnavailable: the log cannot be read. Where that is so of CARRYOVER.md alone, `problem` tells it.
        """
        return self._delivered()[0]

    def problem(self) -> str:
        """Why not all that is on record, or in CARRYOVER.md, is told: a sentence, empty where nothing is amiss."""
        return self._delivered()[1]

    def note(self) -> str:
        """The note, without finished items; empty where there is none."""
        note = self.state().note(self.store.project.tree)
        return note.text if note is not None else ""

    def save(self, text: str, *, source: str = "agent") -> None:
        """
        Replace the note. What somebody else has saved since this object last told it is merged in; where it has never
        told it, *text* replaces all that stands.

        Raises:
            EventRefused: *text* is empty or too large.
            StoreError: it could not be written; nothing was half done.
        """
        with self.store.writing() as writer:
            written = notes.write(writer, text, Author(self.by, source), self._shown)
        self._shown = written.shown

    def clear(self) -> bool:
        """Clear the note; False where there was none. `restore` undoes it."""
        with self.store.writing() as writer:
            cleared = notes.clear(writer, Author(self.by, "command"))
            self._shown = Shown.of(writer.state, writer.tree)
        return cleared

    def restore(self, name: str = "") -> None:
        """
        Go back to the note that *name* (the end of an event's id, or a time) means; without a name, to the one before.

        Raises:
            NotFound: there is no such note.
        """
        with self.store.writing() as writer:
            notes.go_back(writer, name, Author(self.by, "restore"))
            self._shown = Shown.of(writer.state, writer.tree)

    def history(self, limit: int = 20) -> list[Event]:
        """The newest notes, newest first, cleared ones among them."""
        return history.notes(self.store.log, self.store.project.tree, limit)

    def brief(self, *, budget: int | None = None, tools: bool = False) -> Brief:
        """The block that a session of this project would be given, within *budget* tokens."""
        state, problem = self._delivered()
        last = read_pointer(self.store.project.folder)
        request = blocks.request(self.store, tools=tools, last_session=last, tokens=budget)
        return brief(state, replace(request, unreadable=(problem,) if problem else ()))

    def _delivered(self) -> tuple[State, str]:
        told = self.store.delivered()
        self._shown = Shown.of(told[0], self.store.project.tree)
        return told
