"""The state: a fold over the set of events.

What replaces what is said by named parents, never by time alone. A note's ``base`` names everything its writer was
shown, and that is what the note replaces; a note made from an older base stands beside the newer one until the two are
merged item by item. So two logs can be joined by union, in any order, and fold to the same state.

The state is bounded, whatever the length of the log: the notes that stand, a few raw tails, a short lineage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from carryover.memory.events import Event, is_id
from carryover.memory.merge import merge
from carryover.memory.note import finish

#: Raw tails that stand beside the note of one tree; older ones stay in the log and are counted.
TAILS = 3
#: Notes that stand beside each other in one tree, as joined logs bring them; more are counted as tails are.
HEADS = 16
#: Ancestors of the note that are remembered, so that a view from elsewhere finds the one it was made from.
LINEAGE = 12
#: Sessions of which is remembered how far they have been saved.
SESSIONS = 64


class OutOfOrder(Exception):
    """An event is older than the state, or made from a note the state no longer holds: fold the whole set again."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A note or raw tail as it stands. An empty ``text`` is a note that was cleared or finished."""

    id: str
    at: str
    source: str
    text: str
    session: str = ""
    tree: str = ""
    branch: str = ""
    by: str = ""
    host: str = ""
    origin: str = ""
    covers: tuple[int, int] | None = None


@dataclass(slots=True)
class State:
    """What is on record. Treat it as immutable: `fold` makes a new one."""

    events: int = 0
    #: The greatest id.
    last: str = ""
    #: ``at`` of that event.
    newest: str = ""
    #: Per tree: the notes that stand, oldest first. More than one only after logs were joined.
    heads: dict[str, tuple[Standing, ...]] = field(default_factory=dict)
    #: Per tree in which more than one note stands: the newest text that all of them were made from.
    forks: dict[str, str] = field(default_factory=dict)
    raw: dict[str, tuple[Standing, ...]] = field(default_factory=dict)
    older: dict[str, int] = field(default_factory=dict)
    #: Per tree: ids and origins of the note's last ancestors, newest last.
    lineage: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: Per session: bytes of its file up to which it has been saved, newest last.
    saved: dict[str, int] = field(default_factory=dict)

    def note(self, tree: str = "") -> Standing | None:
        """The note that stands, finished items dropped; None where none was ever written."""
        heads = self.heads.get(tree)
        if not heads:
            return None
        text, base = finish(heads[0].text), finish(self.forks.get(tree, ""))
        for head in heads[1:]:
            text = merge(base, text, finish(head.text))
        return replace(heads[-1], text=text)

    def tails(self, tree: str = "") -> tuple[Standing, ...]:
        """The newest raw tails that stand beside the note, oldest first."""
        return self.raw.get(tree, ())

    def older_tails(self, tree: str = "") -> int:
        """Raw tails that stand as well, but only in the log."""
        return self.older.get(tree, 0)

    def base(self, tree: str = "") -> list[str]:
        """The ids that a note made from what stands now replaces."""
        return [one.id for one in (*self.heads.get(tree, ()), *self.tails(tree))]

    def trees(self) -> frozenset[str]:
        return frozenset((*self.heads, *self.raw))


EMPTY = State()


def fold(events: Iterable[Event], state: State = EMPTY) -> State:
    """
    The state after *events*, given the state before them.

    Raises:
        OutOfOrder: *state* is not empty, and an event does not simply follow it.
    """
    ordered = list(events)
    ids = [event.id for event in ordered]
    if any(later <= earlier for earlier, later in pairwise(ids)):
        ordered = list(_unique(ordered))
    if state.events and ordered and ordered[0].id <= state.last:
        raise OutOfOrder
    return _Fold(state, ordered).result(state)


def _unique(events: list[Event]) -> Iterable[Event]:
    """Each id once, in order. Where two lines claim one id, the smaller line has it, in whatever order they came."""
    last = ""
    for event in sorted(events, key=lambda event: (event.id, event.line)):
        if event.id != last:
            yield event
        last = event.id


class _Fold:
    """One folding. Dictionaries are copied once and then written to; events become `Standing` only at the end."""

    def __init__(self, state: State, events: list[Event]) -> None:
        self.fresh = not state.events
        self.events = events
        self.heads: dict[str, list[Event | Standing]] = {tree: list(heads) for tree, heads in state.heads.items()}
        self.raw: dict[str, list[Event | Standing]] = {tree: list(raw) for tree, raw in state.raw.items()}
        self.older = dict(state.older)
        self.lineage = {tree: list(lineage) for tree, lineage in state.lineage.items()}
        self.saved = dict(state.saved)
        #: The notes of this folding, and what each was made from.
        self.notes: dict[str, Event] = {}
        self.parents: dict[str, tuple[str, ...]] = {}

    def result(self, state: State) -> State:
        for event in self.events:
            op = event.op
            if op == "note":
                self.note(event)
            elif op == "clear":
                self.stand(event)
        newest = self.events[-1] if self.events else None
        forked = [tree for tree, heads in self.heads.items() if len(heads) > 1]
        return State(
            state.events + len(self.events),
            newest.id if newest else state.last,
            newest.at if newest else state.newest,
            {tree: tuple(map(_standing, heads)) for tree, heads in self.heads.items()},
            {tree: self.fork(self.heads[tree]) if self.fresh else state.forks[tree] for tree in forked},
            {tree: tuple(map(_standing, raw)) for tree, raw in self.raw.items() if raw},
            {tree: count for tree, count in self.older.items() if count},
            {tree: tuple(lineage[-LINEAGE:]) for tree, lineage in self.lineage.items()},
            dict(list(self.saved.items())[-SESSIONS:]),
        )

    def note(self, event: Event) -> None:
        session, through = event.session, event.get("through")
        if session and type(through) is int:
            self.saved.pop(session, None)  # so that the newest stands last
            self.saved[session] = through
        if event.source == "raw":
            self.tail(event)
        else:
            self.stand(event)

    def tail(self, event: Event) -> None:
        tree, session = event.tree, event.session
        raw = [one for one in self.raw.get(tree, ()) if not session or one.session != session]
        raw.append(event)
        self.count(tree, len(raw) - TAILS)
        self.raw[tree] = raw[-TAILS:]

    def stand(self, event: Event) -> None:
        tree, base = event.tree, event.base
        heads = self.heads.get(tree, [])
        if event.source == "import" and "base" not in event.fields:
            base = tuple(head.id for head in heads)  # pi-carryover replaces the file, whatever was in it
        beside = [head for head in heads if head.id not in base]
        if beside and not self.fresh:
            raise OutOfOrder  # what they were made from may be far back
        self.count(tree, len(beside) + 1 - HEADS)
        self.heads[tree] = [*beside, event][-HEADS:]
        self.notes[event.id], self.parents[event.id] = event, base
        self.lineage.setdefault(tree, []).extend((event.origin, event.id) if is_id(event.origin) else (event.id,))
        if self.raw.get(tree):
            self.drop_tails(tree, base, event.session)

    def count(self, tree: str, more: int) -> None:
        if more > 0:
            self.older[tree] = self.older.get(tree, 0) + more

    def drop_tails(self, tree: str, base: tuple[str, ...], session: str) -> None:
        raw = self.raw[tree]
        if any(one.id in base for one in raw):
            self.older.pop(tree, None)  # who was shown the newest was told of the older ones
        self.raw[tree] = [one for one in raw if one.id not in base and not (session and one.session == session)]

    def fork(self, heads: list[Event | Standing]) -> str:
        """The newest text that all *heads* were made from; empty where there is none, so that nothing of them goes."""
        shared = set.intersection(*(self.ancestors(head.id) for head in heads))
        return self.notes[max(shared)].text if shared else ""

    def ancestors(self, note: str) -> set[str]:
        found: set[str] = set()
        waiting = [note]
        while waiting:
            parents = [one for one in self.parents[waiting.pop()] if one in self.notes and one not in found]
            found.update(parents)
            waiting += parents
        return found


def _standing(one: Event | Standing) -> Standing:
    if isinstance(one, Standing):
        return one
    return Standing(
        one.id,
        one.at,
        one.source or one.op,
        one.text if one.op == "note" else "",
        one.session,
        one.tree,
        one.branch,
        one.by,
        str(one.get("host", "")),
        one.origin,
        one.covers,
    )


# ---------------------------------------------------------------- as plain data


def dump(state: State) -> dict[str, Any]:
    """The state as plain data, for a snapshot."""
    data = {name: getattr(state, name) for name in State.__slots__}
    for name in ("heads", "raw"):
        data[name] = {tree: [_dumped(one) for one in ones] for tree, ones in data[name].items()}
    return data


def _dumped(one: Standing) -> dict[str, Any]:
    return {name: getattr(one, name) for name in Standing.__slots__}


def load(data: Mapping[str, Any]) -> State:
    """
    The state of a snapshot.

    Raises:
        (KeyError, TypeError, ValueError): it is no snapshot of this version.
    """

    def standings(value: Mapping[str, Any]) -> dict[str, tuple[Standing, ...]]:
        return {tree: tuple(_loaded(one) for one in ones) for tree, ones in value.items()}

    return State(
        data["events"],
        data["last"],
        data["newest"],
        standings(data["heads"]),
        dict(data["forks"]),
        standings(data["raw"]),
        dict(data["older"]),
        {tree: tuple(lineage) for tree, lineage in data["lineage"].items()},
        dict(data["saved"]),
    )


def _loaded(one: Mapping[str, Any]) -> Standing:
    covers = one["covers"]
    return Standing(**{**one, "covers": tuple(covers) if covers else None})
