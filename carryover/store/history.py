"""The note's past: what it was, and when."""

from __future__ import annotations

from datetime import datetime

from carryover.errors import NotFound
from carryover.memory.events import Event
from carryover.memory.note import finish
from carryover.store.log import Log

#: Characters of an id that a person may give at the least.
SHORTEST = 6


def notes(log: Log, tree: str, limit: int) -> list[Event]:
    """The newest *limit* events that set or cleared the note of *tree*, newest first; raw tails are none."""
    return log.newest(limit, lambda event: is_note(event) and event.tree == tree)


def is_note(event: Event) -> bool:
    return event.op == "clear" or (event.op == "note" and event.source != "raw")


def note_named(log: Log, tree: str, name: str) -> Event:
    """
    The note that *name* means: the end of an event's id, or a time.

    Raises:
        NotFound: no note of this tree, or more than one, is meant.
    """
    found = _by_id(log, tree, name.strip().upper())
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{name!r} could mean {len(found)} notes; give more characters of the id")
    when = _instant(name)
    if when is None:
        raise NotFound(f"no note ends in {name!r}, and it is no time (2026-11-30, or 2026-11-30T18:00)")
    earlier = log.newest(1, lambda event: is_note(event) and event.tree == tree and _not_after(event, when))
    if not earlier:
        raise NotFound(f"there was no note yet at {name}")
    return earlier[0]


def previous(log: Log, tree: str) -> Event:
    """The note before the one that stands, that reads otherwise. Raises `NotFound` where there is none."""
    newest = notes(log, tree, 1)
    current = _shown(newest[0]) if newest else ""
    older = log.newest(1, lambda event: is_note(event) and event.tree == tree and _shown(event) != current)
    if not older:
        raise NotFound("there is no earlier note to go back to")
    return older[0]


def _shown(event: Event) -> str:
    return finish(event.text).strip()


def _by_id(log: Log, tree: str, end: str) -> list[Event]:
    if len(end) < SHORTEST:
        return []
    return log.newest(2, lambda event: event.id.endswith(end) and is_note(event) and event.tree == tree)


def _instant(text: str) -> datetime | None:
    """A time as a person gives it; a day alone means its end, and no offset means this computer's."""
    try:
        when = datetime.fromisoformat(text.strip())
        if len(text.strip()) <= len("2026-11-30"):
            when = when.replace(hour=23, minute=59, second=59)
        return when.astimezone()
    except (ValueError, OverflowError):  # the first and the last days there are have no time elsewhere
        return None


def _not_after(event: Event, when: datetime) -> bool:
    try:
        return datetime.fromisoformat(event.at).astimezone() <= when
    except (ValueError, OverflowError):
        return False
