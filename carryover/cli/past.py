"""The past: the notes there were, and the log they stand in."""

from __future__ import annotations

import click

from carryover.cli import REFUSED
from carryover.cli.options import here, with_json, with_project
from carryover.cli.place import Place, show_json, show_text
from carryover.cli.wording import first_line, short_id, short_time, source
from carryover.errors import CarryoverError
from carryover.memory.events import Event
from carryover.memory.note import items
from carryover.store import history as past

#: Characters of a note's first line in a list, and of a session's id in a line of the log.
GLIMPSE = 60
SESSION_LENGTH = 12
#: Notes that the shell offers.
OFFERED = 20


def complete_note(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For the shell: the ids of the last notes."""
    try:
        with context.scope(cleanup=False):
            place = here()
        events = past.notes(place.store.log, place.tree, OFFERED)
    except CarryoverError:
        return []  # what cannot be offered can still be typed
    return [short for event in events if (short := short_id(event.id)).startswith(incomplete.upper())]


@click.command()
@click.argument("event", metavar="[ID|TIME]", default="", shell_complete=complete_note)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many notes to list.")
@with_project
@with_json
def history(event: str, limit: int) -> int:
    """List the notes there were, newest first; with an id or a time, print that one."""
    place = here()
    if event:
        found = [past.note_named(place.store.log, place.tree, event)]
    else:
        found = past.notes(place.store.log, place.tree, limit)
    if place.as_json:
        show_json([_facts(one) for one in found])
    elif event:
        show_text(found[0].text)
    else:
        _list(place, found)
    return 0 if found else REFUSED


def _list(place: Place, notes: list[Event]) -> None:
    if not notes:
        place.say("note.none")
    for note in notes:
        where = source(note.source or note.op, place.language)
        glimpse = first_line(note.text, GLIMPSE)
        show_text(
            f"{short_id(note.id)}  {short_time(note.at)}  {len(items(note.text)):>3}  {where}  {glimpse}".rstrip()
        )


def _facts(event: Event) -> dict[str, object]:
    return {
        "id": event.id,
        "at": event.at,
        "op": event.op,
        "source": event.source,
        "by": event.by,
        "session": event.session,
        "text": event.text,
    }


@click.command()
@click.option("--tail", type=click.IntRange(min=1), default=20, show_default=True, help="How many events to show.")
@with_project
@with_json
def log(tail: int) -> int:
    """Show the newest events of the log, oldest first, as they stand there."""
    place = here()
    events = list(reversed(place.store.log.newest(tail, lambda event: True)))
    if place.as_json:
        show_json([event.fields for event in events])
    elif not events:
        place.say("log.empty", path=place.store.log.path)
    else:
        for event in events:
            show_text(_line(event))
    return 0 if events else REFUSED


def _line(event: Event) -> str:
    what = f"{event.op}/{event.source}" if event.source else event.op
    covers = f"{event.covers[0]}/{event.covers[1]}" if event.covers else ""
    session = event.session[-SESSION_LENGTH:]
    return (
        f"{short_id(event.id)}  {event.at}  {what:<13}  {event.by:<6}  {session:<12}  {covers:>7}  {len(event.text):>6}"
    )
