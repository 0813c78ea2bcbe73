"""Writing the note by hand: replace it, clear it, go back to an earlier one."""

from __future__ import annotations

from typing import BinaryIO

import click

from carryover.cli import REFUSED
from carryover.cli.options import here, with_json, with_project
from carryover.cli.past import complete_note
from carryover.cli.place import Place, show_json, show_text
from carryover.cli.wording import short_time
from carryover.errors import EventRefused
from carryover.session import notes


@click.command()
@click.option(
    "--set",
    "file",
    metavar="FILE|-",
    type=click.File("rb"),
    help="Replace the note by what stands in this file; - is standard input.",
)
@with_project
@with_json
def note(file: BinaryIO | None) -> int:
    """Print the whole note, or replace it."""
    place = here()
    return _print(place) if file is None else _replace(place, file)


def _print(place: Place) -> int:
    standing = place.state().note(place.tree)
    text = standing.text if standing is not None else ""
    if place.as_json:
        show_json({"text": text})
    elif text:
        show_text(text)
    else:
        place.say("note.none" if standing is None else "note.empty")
    return 0 if text else REFUSED


def _replace(place: Place, file: BinaryIO) -> int:
    content = file.read(4 * notes.LARGEST + 1)  # a character has at most four bytes: what is longer is refused as it is
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EventRefused(f"not saved: the text is not UTF-8 (byte {error.start})") from error
    with place.store.writing() as writer:
        notes.write(writer, text, place.author("command"))
    place.say("save.done")
    place.warn_unless_rendered(writer)
    return 0


@click.command()
@with_project
def clear() -> int:
    """Clear the note. `carryover restore` undoes it."""
    place = here()
    if not place.state().trees():
        place.say("note.none")
        return REFUSED
    with place.store.writing() as writer:
        cleared = notes.clear(writer, place.author("command"))
    if not cleared:
        place.say("note.empty")
        return REFUSED
    place.say("note.cleared", undo="carryover restore")
    place.warn_unless_rendered(writer)
    return 0


@click.command()
@click.argument("event", metavar="[ID|TIME]", default="", shell_complete=complete_note)
@with_project
def restore(event: str) -> int:
    """Go back to the note of an id or a time; without one, to the note before this one."""
    place = here()
    past, writer = notes.go_back(place.store, event, place.author("restore"))
    place.say("note.restored", time=short_time(past.at))
    place.warn_unless_rendered(writer)
    return 0
