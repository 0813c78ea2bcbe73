"""Merging two notes that were made from the same one, item by item.

An item changed is its old wording deleted and its new wording added. So three sets decide what stands: what
both have, and what either has that the base had not. Nothing here guesses which items are alike.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterator
from itertools import count, takewhile

from carryover.memory.outline import NESTED, Block, Outline, Piece, assemble, indent, parse, render

_TOP = -1  # stands where a block has no parent
_Link = int | tuple[int, bool]  # a block, or the beginning of a list of siblings


def merge(base: str, ours: str, theirs: str) -> str:
    """One note with the changes of both sides, in the layout of ``theirs``.

    Deleted on one side and unchanged on the other: gone. Deleted on one and changed on the other: the changed
    item stays. Added on either: stays, ours in its own section, after what it followed there. Changed on
    both: both versions stand. What was added keeps the headings and items it is nested in. Headings and
    paragraphs are items too; line ends become LF. Which side is called ours makes no difference to which
    items stand, only to how and where.
    """
    outlines = parse(base), parse(ours), parse(theirs)
    base, ours, theirs = (render(outline) for outline in outlines)
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    return _Merge(*outlines).text()


class _Side:
    """One of the three notes. A *name* is a number that an item has in all three of them."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.parents = outline.parents()
        self.keys = [_key(block) for block in outline.blocks]
        self.names: list[int] = []
        self.place: dict[int, int] = {}

    def call(self, names: list[int]) -> None:
        self.names = names
        self.place = {name: at for at, name in enumerate(names)}

    def block(self, name: int) -> Block:
        return self.outline.blocks[self.place[name]]

    def parent(self, name: int) -> int:
        above = self.parents[self.place[name]]
        return _TOP if above < 0 else self.names[above]

    def likeness(self, at: int, within_parent: bool) -> object:
        """What equal items have in common: kind, tick and words, not bullet, spaces or indentation."""
        above = self.parents[at]
        return (self.keys[at], self.keys[above] if above >= 0 else None) if within_parent else self.keys[at]

    def indent(self, name: int) -> int:
        """The columns a block is indented beyond what it is nested in."""
        above = self.parents[self.place[name]]
        nested = above >= 0 and self.outline.blocks[above].kind != "heading"
        return self.block(name).indent - (self.outline.blocks[above].indent if nested else 0)

    def ancestors(self, name: int) -> Iterator[int]:
        while (name := self.parent(name)) != _TOP:
            yield name

    def home(self, name: int, standing: Collection[int]) -> int:
        """The nearest ancestor that stands."""
        return next((above for above in self.ancestors(name) if above in standing), _TOP)


class _Merge:
    def __init__(self, base: Outline, ours: Outline, theirs: Outline) -> None:
        self.base, self.ours, self.theirs = _Side(base), _Side(ours), _Side(theirs)
        _name(self.base, self.ours, self.theirs)
        self.standing = self._standing()
        self.homes = self._homes()
        self.framed = dict.fromkeys(name for name in self.theirs.names if self._keeps_its_place(name))

    def text(self) -> str:
        usual = {
            self.homes[name]: self.theirs.indent(name)
            for name in reversed(self.framed)
            if self._is_untouched(name) and not self._is_heading(name)
        }
        columns: dict[int, int] = {}  # where the blocks begin that others may be nested in
        pieces = []
        for name in self._order():
            piece = self._piece(name)
            if piece.block.kind != "heading":
                columns[name] = columns.get(self.homes[name], 0) + self._indent(name, usual, columns)
                if not self._is_untouched(name) or piece.block.indent != columns[name]:
                    piece = piece._replace(block=_moved(piece.block, columns[name]))
            pieces.append(piece)
        frame = self.theirs if self.theirs.names else self.ours
        return assemble(pieces, frame.outline)

    def _standing(self) -> set[int]:
        base, ours, theirs = self.base.place.keys(), self.ours.place.keys(), self.theirs.place.keys()
        standing = (ours & theirs) | (ours - base) | (theirs - base)
        kept = set(standing)
        for side, added in (self.ours, ours - base), (self.theirs, theirs - base):
            for name in added:
                kept.update(takewhile(lambda above: above not in standing, side.ancestors(name)))
        return kept

    def _homes(self) -> dict[int, int]:
        """What each block is nested in: as in theirs, unless only we moved it or they do not have it."""
        homes = {
            name: (self.theirs if name in self.theirs.place else self.ours).home(name, self.standing)
            for name in self.standing
        }
        for name in self.ours.names:
            if name in self.standing and name in self.theirs.place and self._only_we_moved(name):
                home = self.ours.home(name, self.standing)
                if not _is_inside(home, name, homes):
                    homes[name] = home
        return homes

    def _only_we_moved(self, name: int) -> bool:
        before = self.base.parent(name) if name in self.base.place else None
        return self.ours.parent(name) != before == self.theirs.parent(name)

    def _keeps_its_place(self, name: int) -> bool:
        return name in self.standing and self.theirs.home(name, self.standing) == self.homes[name]

    def _order(self) -> Iterator[int]:
        """Each block, then what is nested in it; what is inserted follows what it followed in ours."""
        following: dict[_Link, int] = {}
        last: dict[_Link, int] = {}
        for name in self.framed:
            start = self._list(name)
            following[last.get(start, start)] = last[start] = name
        last.clear()
        for name in self.ours.names:
            if name not in self.standing:
                continue
            start = self._list(name)
            if name not in self.framed:
                previous = last.get(start, start)
                if previous in following:
                    following[name] = following[previous]
                following[previous] = name
            last[start] = name

        waiting: list[_Link] = [(_TOP, True), (_TOP, False)]
        while waiting:
            if (name := following.get(waiting.pop(), _TOP)) != _TOP:
                yield name
                waiting += name, (name, True), (name, False)

    def _list(self, name: int) -> _Link:
        """The siblings a block is one of. Headings are a list of their own, after all else in a section."""
        return self.homes[name], self._is_heading(name)

    def _is_heading(self, name: int) -> bool:
        side = self.theirs if name in self.theirs.place else self.ours
        return side.block(name).kind == "heading"

    def _is_untouched(self, name: int) -> bool:
        """Whether the block is nested in what it is nested in there."""
        return name in self.framed and self.theirs.parent(name) == self.homes[name]

    def _indent(self, name: int, usual: dict[int, int], columns: Collection[int]) -> int:
        """How far a block is indented in its home: as it was there; what is new there as its siblings."""
        if self._is_untouched(name):
            return self.theirs.indent(name)
        home = self.homes[name]
        if name not in self.framed and self.ours.parent(name) == home:
            return usual.setdefault(home, self.ours.indent(name))
        return usual.setdefault(home, NESTED if home in columns else 0)

    def _piece(self, name: int) -> Piece:
        """The block as theirs has it, unless only we gave it other spaces or another bullet."""
        if name not in self.theirs.place:
            return Piece(self.ours.outline, self.ours.place[name], self.ours.block(name))
        block = self.theirs.block(name)
        if name in self.ours.place and name in self.base.place and block.text == self.base.block(name).text:
            block = self.ours.block(name)._replace(gap=block.gap)
        return Piece(self.theirs.outline, self.theirs.place[name], block)


def _name(base: _Side, ours: _Side, theirs: _Side) -> None:
    """Gives the same item the same name in all three notes."""
    base.call(list(range(len(base.parents))))
    fresh = count(len(base.parents))
    our_old, their_old = _pairs(ours, base), _pairs(theirs, base)
    ours.call([our_old[at] if at in our_old else next(fresh) for at in range(len(ours.parents))])
    both_new = _pairs(theirs, ours, their_old, frozenset(our_old))
    names = their_old | {at: ours.names[other] for at, other in both_new.items()}
    theirs.call([names[at] if at in names else next(fresh) for at in range(len(theirs.parents))])


def _pairs(
    side: _Side, other: _Side, done: Collection[int] = frozenset(), other_done: Collection[int] = frozenset()
) -> dict[int, int]:
    """Which block is which: equal ones in equal parents first, then equal ones anywhere, in their order."""
    pairs: dict[int, int] = {}
    taken = set(other_done)
    for within_parent in (True, False):
        waiting: defaultdict[object, deque[int]] = defaultdict(deque)
        for at in range(len(other.parents)):
            if at not in taken:
                waiting[other.likeness(at, within_parent)].append(at)
        for at in range(len(side.parents)):
            if at not in done and at not in pairs and (equal := waiting[side.likeness(at, within_parent)]):
                pairs[at] = equal.popleft()
                taken.add(pairs[at])
    return pairs


def _key(block: Block) -> tuple[str, bool | None, str]:
    ticked = None if block.box is None else bool(block.box.strip())
    return block.kind, ticked, " ".join(block.content.split())


def _is_inside(home: int, name: int, homes: dict[int, int]) -> bool:
    while home not in (name, _TOP):
        home = homes[home]
    return home == name


def _moved(block: Block, column: int) -> Block:
    """The block indented to that column, its further lines far enough to stay part of it."""
    by = column - block.indent
    first, *more = block.text.split("\n")
    margin = column + (block.kind == "item")
    lines = [_indented(first, column), *(_indented(line, max(indent(line) + by, margin)) for line in more)]
    return block._replace(text="\n".join(lines), indent=column, unclosed=_indented(block.unclosed, column))


def _indented(line: str, column: int) -> str:
    bare = line.lstrip(" \t")
    return " " * column + bare if bare else line
