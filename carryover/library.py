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
from pathlib import Path

from carryover import project as projects
from carryover import settings as configuration
from carryover.memory.brief import Brief, Request, brief
from carryover.memory.events import Event
from carryover.memory.state import State
from carryover.session import notes
from carryover.session.notes import Author
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
        self, folder: str | os.PathLike[str] = ".", *, by: str = "agent", environ: Mapping[str, str] = os.environ
    ) -> None:
        project = projects.find(Path(folder), environ)
        self.settings = configuration.load(project.root, environ)
        self.store = Store(project, self.settings, environ)
        self.by = by

    def state(self) -> State:
        """Everything that stands, edits of CARRYOVER.md included. Raises `StoreUnavailable` where it cannot be read."""
        return self.store.delivered()[0]

    def note(self) -> str:
        """The note, without finished items; empty where there is none."""
        note = self.state().note(self.store.project.tree)
        return note.text if note is not None else ""

    def save(self, text: str, *, source: str = "agent") -> None:
        """
        Replace the note.

        Raises:
            EventRefused: *text* is empty or too large.
            StoreError: it could not be written; nothing was half done.
        """
        with self.store.writing() as writer:
            notes.write(writer, text, Author(self.by, source))

    def clear(self) -> bool:
        """Clear the note; False where there was none. `restore` undoes it."""
        with self.store.writing() as writer:
            return notes.clear(writer, Author(self.by, "command"))

    def restore(self, name: str = "") -> None:
        """
        Go back to the note that *name* (the end of an event's id, or a time) means; without a name, to the one before.

        Raises:
            NotFound: there is no such note.
        """
        tree, log = self.store.project.tree, self.store.log
        past = history.note_named(log, tree, name) if name else history.previous(log, tree)
        with self.store.writing() as writer:
            notes.restore(writer, past, Author(self.by, "restore"))

    def history(self, limit: int = 20) -> list[Event]:
        """The newest notes, newest first, cleared ones among them."""
        return history.notes(self.store.log, self.store.project.tree, limit)

    def brief(self, *, budget: int | None = None, tools: bool = False) -> Brief:
        """The block that a session of this project would be given, within *budget* tokens."""
        project = self.store.project
        state, withheld = self.store.delivered()
        request = Request(
            project=project.root.name,
            tree=project.tree,
            tokens=budget or self.settings.block_tokens,
            tools=tools,
            last_session=read_pointer(project.folder) or None,
            live_trees=projects.live_trees(project),
            unreadable=(withheld,) if withheld else (),
        )
        return brief(state, request)
