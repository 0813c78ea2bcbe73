"""The note and what stands beside it, for a person to read. Waited for, so the standard library only."""

from __future__ import annotations

from carryover.cli import REFUSED
from carryover.cli.place import Place, show_json
from carryover.cli.wording import short_time, source
from carryover.memory.note import items
from carryover.memory.state import Standing, State
from carryover.messages import say
from carryover.store.pointer import read_pointer
from carryover.text import truncate

#: Characters of the note, and of each tail beside it, that are shown.
PREVIEW = 800


def show(place: Place) -> int:
    """Print it; the exit status says whether there is anything."""
    state = place.state()
    note, tails = state.note(place.tree), state.tails(place.tree)
    if place.as_json:
        show_json(_facts(place, state))
    elif note is None and not tails:
        place.say("note.none")
    else:
        print("\n".join(_lines(place, state)))
    return 0 if tails or (note and note.text) else REFUSED


def _lines(place: Place, state: State) -> list[str]:
    language, project = place.language, place.store.project
    lines = _note_lines(place, state.note(place.tree))
    for tail in state.tails(place.tree):
        kept, messages = tail.covers or ("?", "?")
        lines += ["", say("show.tail", language, time=short_time(tail.at), kept=kept, messages=messages)]
        lines += [f"> {line}" for line in truncate(tail.text, PREVIEW).splitlines()]
    lines.append("")
    if last := read_pointer(project.folder):
        lines.append(say("note.last_session", language, path=last))
    lines.append(say("show.events", language, n=place.store.known().state.events))
    if damaged := place.store.known().damaged:
        lines.append(say("show.damaged", language, n=damaged))
    return lines


def _note_lines(place: Place, note: Standing | None) -> list[str]:
    if note is None or not note.text:
        return [str(place.store.view_path), say("note.empty", place.language)]
    saved = say(
        "show.saved",
        place.language,
        time=short_time(note.at),
        source=source(note.source, place.language),
        n=len(items(note.text)),
    )
    lines = [str(place.store.view_path), saved, "", truncate(note.text, PREVIEW)]
    if len(note.text) > PREVIEW:
        lines += ["", say("show.more", place.language, n=len(note.text) - PREVIEW)]
    return lines


def _facts(place: Place, state: State) -> dict[str, object]:
    project, note = place.store.project, state.note(place.tree)
    return {
        "project": str(project.root),
        "tree": project.tree,
        "view": str(place.store.view_path),
        "note": _standing(note) | {"open": len(items(note.text))} if note else None,
        "tails": [_standing(tail) | {"covers": tail.covers} for tail in state.tails(place.tree)],
        "older_tails": state.older_tails(place.tree),
        "last_session": read_pointer(project.folder) or None,
        "events": place.store.known().state.events,
        "damaged": place.store.known().damaged,
    }


def _standing(one: Standing) -> dict[str, object]:
    return {
        "id": one.id,
        "at": one.at,
        "source": one.source,
        "by": one.by,
        "session": one.session,
        "text": one.text,
    }
