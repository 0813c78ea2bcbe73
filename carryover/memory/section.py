"""What is on record for a session, in sections that can be shown whole, in part or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Literal

from carryover.memory.outline import parse
from carryover.text import ELLIPSIS, clean, fit, quote, truncate

if TYPE_CHECKING:
    from carryover.memory.state import Standing, State

_AUTHORS = {
    "agent": "by the agent",
    "summary": "summary by a model",
    "command": "set by command",
    "edit": "edited by hand",
    "teammate": "from a teammate",
    "restore": "restored",
    "import": "imported from pi-carryover 1.x",
}
_TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2})")
_MARKS = re.compile(r"^> ?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Counts:
    """Items of the note, session tails, notes of removed work trees, and the characters of all of these."""

    items: int = 0
    tails: int = 0
    notes: int = 0
    characters: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(mine + others for mine, others in zip(astuple(self), astuple(other), strict=True)))

    def __str__(self) -> str:
        notes = count(self.notes, "note") and f"{count(self.notes, 'note')} of removed work trees"
        return ", ".join(filter(None, (count(self.items, "item"), count(self.tails, "tail"), notes)))


NOTHING = Counts()


@dataclass(frozen=True, slots=True)
class Section:
    """The note, one session's tail, or the note of a removed work tree."""

    kind: Literal["items", "tails", "notes"]  # as what it is counted
    title: str
    units: tuple[str, ...]  # quoted; each is shown whole, or cut, or not at all
    size: int  # code points of the text itself
    command: str

    @property
    def keeps_end(self) -> bool:
        """The newest of a tail is its end; a note begins with what matters most."""
        return self.kind == "tails"


def on_record(state: State, tree: str, live_trees: frozenset[str] | None) -> Iterator[Section]:
    """What a work tree is given, in the order in which it is left out from the end."""
    own = _note(state.note(tree)), *map(_tail, reversed(state.tails(tree)))
    removed: list[Section | None] = []
    if not tree and live_trees is not None:
        for gone in sorted(state.trees() - live_trees - {""}):
            where = f' of the removed work tree "{inline(gone, 16)}"'
            removed.append(_note(state.note(gone), where))
            removed += (_tail(tail, where) for tail in reversed(state.tails(gone)))
    return filter(None, (*own, *removed))


def _note(note: Standing | None, where: str = "") -> Section | None:
    text = clean(note.text).strip("\n") if note else ""
    if not note or not text.strip():
        return None
    title = f"Note{where} ({_AUTHORS.get(note.source, 'source unknown')}, {_time(note)}):"
    if where:
        return Section("notes", title, tuple(_items(text)), len(text), "carryover history")
    return Section("items", title, tuple(_items(text)), len(text), "carryover note")


def _tail(tail: Standing, where: str = "") -> Section | None:
    text = clean(tail.text).strip("\n")
    if not text.strip():
        return None
    extent = "the last {} of {} messages".format(*tail.covers) if tail.covers else "the last messages"
    title = f"Tail{where}, session of {_time(tail)}, covers {extent}, clues only:"
    return Section("tails", title, tuple(quote(text).split("\n")), len(text), "carryover history")


def _items(text: str) -> Iterator[str]:
    """The items of a note, quoted, each with the headings before it: a heading alone says nothing."""
    item = ""
    blocks = parse(text).blocks
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        item += block.text + "\n" * min(block.gap.count("\n"), 2)
        if block.kind != "heading" or following is None:
            yield quote(item.removesuffix("\n"))
            item = ""


def _time(standing: Standing) -> str:
    """To the minute, in the writer's own offset."""
    time = _TIME.match(standing.at)
    return f"{time[1]} {time[2]}" if time else "date unknown"


def inline(text: str, budget: int) -> str:
    """A name or sentence from outside, as it may stand between quotation marks in a line of ours."""
    line = " ".join(clean(text).split()).translate({ord("<"): "‹", ord(">"): "›", ord('"'): "'"})
    return truncate(fit(line, budget), 4 * budget)


def count(number: int, noun: str) -> str:
    """The number and its noun, or nothing at all for none."""
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""


@dataclass(frozen=True, slots=True)
class Part:
    """So much of a section: ``kept`` whole units, and the first ``cut`` code points of the next."""

    section: Section
    kept: int = 0
    cut: int = 0

    @property
    def is_whole(self) -> bool:
        return self.kept == len(self.section.units)

    @property
    def text(self) -> str:
        units, kept = self.section.units, self.kept
        if self.section.keeps_end:
            start = len(units) - kept
            first = (self._beginning(units[start - 1]),) if self.cut else ()
            return "\n".join((*first, *units[start:]))
        last = (self._beginning(units[kept]),) if self.cut else ()
        return "\n".join((*units[:kept], *last)).removesuffix("\n>")

    def _beginning(self, unit: str) -> str:
        """So much of a unit as is to be shown, without lines of which only the mark would be left."""
        return (truncate(unit, self.cut - 1, "").rstrip("\n> ") or "> ") + ELLIPSIS

    @property
    def shown(self) -> int:
        """Code points of the stored text that are shown."""
        if self.is_whole:
            return self.section.size
        return len(_MARKS.sub("", self.text)) - bool(self.cut) if self.is_seen else 0

    @property
    def items(self) -> tuple[int, int]:
        """How many are shown, if only in part, and how many are not."""
        seen = self.kept + bool(self.cut)
        return seen, len(self.section.units) - seen

    @property
    def is_seen(self) -> bool:
        return bool(self.kept or self.cut)

    def lines(self) -> Iterator[str]:
        """The title, the text, and where it was cut how much is missing and what shows it."""
        if not self.is_seen:
            return
        yield self.section.title
        if not self.is_whole and self.section.keeps_end:
            yield self._rest("before this")
        yield self.text
        if not self.is_whole and not self.section.keeps_end:
            yield self._rest("after this")

    def _rest(self, place: str) -> str:
        items = "" if self.section.keeps_end else count(self.items[1], "item")
        rest = filter(None, (items, count(self.section.size - self.shown, "character")))
        return f"({place}: {', '.join(rest)}; `{self.section.command}`)"


def counts(parts: Iterable[Part], older: int) -> tuple[Counts, Counts]:
    """What is shown and what is left out. A tail or a removed tree's note that is cut counts as shown."""
    shown, omitted = NOTHING, Counts(tails=older)
    for part in parts:
        seen, unseen = part.items if part.section.kind == "items" else (part.is_seen, not part.is_seen)
        shown += Counts(**{part.section.kind: seen}, characters=part.shown)
        omitted += Counts(**{part.section.kind: unseen}, characters=part.section.size - part.shown)
    return shown, omitted
