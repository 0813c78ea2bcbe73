"""Writing the note: what every writer of it, the agent, a person or a program, does under the lock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from carryover.errors import EventRefused, NotFound
from carryover.memory.events import Event
from carryover.memory.merge import merge
from carryover.memory.note import finish, items
from carryover.memory.state import Standing, State
from carryover.store import history
from carryover.store.store import Store, Writer
from carryover.text import clean

#: Characters that a note may have.
LARGEST = 200_000


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes, from where. ``by`` is set by the code path, never by the text."""

    by: str
    source: str
    host: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What the author was shown before writing: events, and the note's text."""

    ids: tuple[str, ...] = field(default=())
    text: str = ""

    @classmethod
    def of(cls, state: State, tree: str) -> Shown:
        """All of *state* that concerns one work tree."""
        note = state.note(tree)
        return cls(tuple(state.base(tree)), note.text if note is not None else "")

    def covers(self, note: Standing) -> bool:
        """Whether the author knows *note*: an edit of the file is known by its text before it is on record."""
        return note.id in self.ids or note.text == self.text

    def holds(self, ids: Iterable[str]) -> bool:
        """Whether the author was shown all of these."""
        return set(ids) <= set(self.ids)


@dataclass(frozen=True, slots=True)
class Written:
    event: Event
    #: Somebody else had saved since the author was shown the note, and both stand.
    merged: bool
    #: Finished items were dropped.
    dropped: bool
    #: Secrets were taken out.
    redacted: bool
    #: What the author knows now.
    shown: Shown

    def told(self, problem: str) -> str:
        """What a model is told of its own save; *problem* is why CARRYOVER.md does not show it."""
        words = [f"Saved: {len(items(finish(self.event.text)))} open items for the next session."]
        if self.dropped:
            words.append("Finished items were dropped.")
        if self.merged:
            words.append("Another session had saved a note meanwhile; its open items were kept beside yours.")
        if self.redacted:
            words.append("A secret in it was left out.")
        if problem:
            words.append(f"It is in the log, but {problem}.")
        return " ".join(words)


def write(writer: Writer, text: str, author: Author, shown: Shown | None = None) -> Written:
    """
    Put a note on record. It replaces what its author was *shown*; what was not shown is merged in, item by item.

    Without *shown* the author is taken to have seen everything, as one has who read the file just now.

    Raises:
        EventRefused: the text is empty or too large.
        StoreError: it could not be written.
    """
    text = clean(text).strip()
    if not text:
        raise EventRefused("not saved: the note is empty; if nothing is open, write one line that says so")
    if len(text) > LARGEST:
        raise EventRefused(
            f"not saved: {len(text)} characters, and a note has at most {LARGEST}; keep what is unfinished"
        )
    open_text = finish(text)
    known = Shown(tuple(writer.base)) if shown is None else shown
    current = writer.state.note(writer.tree)
    unseen = current if current is not None and not known.covers(current) else None
    written = merge(finish(known.text), unseen.text, open_text) if unseen is not None else text
    event = _append(writer, "note", author, _base(writer, known.ids), text=written, source=author.source)
    # What was merged in, its author has still not been shown: the next save must not take it for deleted.
    knows = Shown(known.ids, open_text) if unseen is not None else Shown((*known.ids, event.id), finish(event.text))
    return Written(event, unseen is not None, open_text.strip() != text.strip(), event.text != written, knows)


def clear(writer: Writer, author: Author) -> bool:
    """Clear the note and the tails beside it; False where there is neither."""
    note = writer.state.note(writer.tree)
    if (note is None or not note.text.strip()) and not writer.state.tails(writer.tree):
        return False
    _append(writer, "clear", author, writer.base)
    return True


def restore(writer: Writer, past: Event, author: Author) -> Event:
    """Make a past note the one that stands. What it replaces stays in the log, to be gone back to."""
    return _append(writer, "note", author, _base(writer, ()), text=past.text, source="restore", origin=past.id)


def go_back(store: Store, name: str, author: Author) -> tuple[Event, Writer]:
    """
    Restore the note that *name* means, or without a name the one before; that note, and who wrote it back.

    Looked for under the lock, where an edit of the file is on record already: that is what going back undoes.

    Raises:
        NotFound: there is no such note.
        EventRefused: the project is not trusted, and that note was not written here.
    """
    if not store.known().state.events:
        raise NotFound("there is no earlier note to go back to")
    with store.writing() as writer:
        log = store.log
        past = history.note_named(log, writer.tree, name) if name else history.previous(log, writer.tree)
        if not store.believes(past):
            raise EventRefused("not restored: this project is not trusted, and that note was not written here")
        restore(writer, past, author)
    return past, writer


def _base(writer: Writer, shown: tuple[str, ...]) -> list[str]:
    """What a note replaces: the notes that stand, and of the tails beside them those that its author was shown."""
    heads = [head.id for head in writer.state.heads.get(writer.tree, ())]
    return heads + [tail.id for tail in writer.state.tails(writer.tree) if tail.id in shown]


def _append(writer: Writer, op: str, author: Author, base: list[str], **fields: Any) -> Event:
    return writer.append(op, by=author.by, host=author.host, session=author.session, base=base, **fields)
