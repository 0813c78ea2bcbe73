"""Ids, times and sources, as people read them."""

from __future__ import annotations

from carryover.memory.events import SOURCES
from carryover.messages import say
from carryover.text import truncate

#: Characters of an id that are shown; every command takes the end of an id.
ID_LENGTH = 8


def short_id(event: str) -> str:
    return event[-ID_LENGTH:]


def short_time(at: str) -> str:
    """To the minute, in the writer's own offset."""
    return at[:16].replace("T", " ")


def source(name: str, language: str) -> str:
    """Where a note came from; a word that a later version wrote is shown as it is."""
    return say(f"source.{name}", language) if name in (*SOURCES, "clear") else name


def first_line(text: str, length: int) -> str:
    lines = (line.strip() for line in text.splitlines())
    return truncate(next((line for line in lines if line), ""), length)
