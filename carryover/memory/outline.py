"""A Markdown note as an outline: headings, items, paragraphs and fenced code, as a tree.

Only as much Markdown is read as the note needs, and every byte is kept: ``render(parse(text)) == text`` for
text with LF line ends. Where Markdown and its careless writers disagree, the reading is chosen that leaves an
item on its own, because what hangs on nothing is never dropped together with something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

Kind = Literal["heading", "item", "prose", "code", "rule"]

# "##完成" without a space is common; "#tag" is no heading.
_HEADING = re.compile(r" {0,3}(?:(#{1,6})(?=[ \t]|$)|(#{2,6})(?=[^#\s]))")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+$")
_RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_MARKER = re.compile(
    r"([ \t]*)"
    r"(?:(?:[-*+•]|\d{1,9}[.)])(?:[ \t]+|$)|\d{1,9}、[ \t]*)?"
    r"(?:[\[［【](?P<box>[ xX✓✔√]?)[\]］】](?:[ \t]+|$))?"
)

_STARTERS = frozenset("-*+•_#`~[［【")  # and digits: no other character begins anything but a paragraph

#: What is indented this many columns beyond an item or a paragraph is nested in it.
NESTED = 2
_TOP = 7  # the depth below all six levels of headings


class Block(NamedTuple):
    """One heading, item, paragraph, fenced code or thematic break: its own lines, not what is nested in it.

    ``depth`` orders the tree: what follows a block and is deeper belongs to it. ``indent`` is in columns.
    """

    kind: Kind
    text: str
    depth: int
    indent: int
    content: str  # the text without indentation, marker and box
    box: str | None = None  # what the check box holds; None without one
    unclosed: str = ""  # the line that would end fenced code that has no end
    gap: str = ""  # what stands between this block and the next


class Outline(NamedTuple):
    lead: str  #: blank lines before the first block
    blocks: tuple[Block, ...]

    def end(self, start: int) -> int:
        """The index after the last block that belongs to the block at ``start``."""
        depth, end = self.blocks[start].depth, start + 1
        while end < len(self.blocks) and self.blocks[end].depth > depth:
            end += 1
        return end

    def parents(self) -> list[int]:
        """For each block the index of the block it belongs to, -1 at the top."""
        parents: list[int] = []
        for at, block in enumerate(self.blocks):
            above = at - 1
            while above >= 0 and self.blocks[above].depth >= block.depth:
                above = parents[above]
            parents.append(above)
        return parents


class Piece(NamedTuple):
    """A block on its way into another text; where it comes from decides how much room it gets."""

    source: Outline
    at: int
    block: Block

    def adjoins(self, following: Piece) -> bool:
        """Whether the two are neighbours of old, in this order and as they were."""
        old = self.source.blocks
        return (
            self.source is following.source
            and self.at + 1 == following.at
            and self.block is old[self.at]
            and following.block is old[following.at]
        )


def parse(text: str) -> Outline:
    """The outline of a text; CRLF and CR are read as LF."""
    return _Parser(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")).outline()


def render(outline: Outline) -> str:
    return outline.lead + "".join(block.text + block.gap for block in outline.blocks)


def assemble(pieces: Sequence[Piece], frame: Outline) -> str:
    """A text of these blocks, in this order, that begins and ends like ``frame``.

    Neighbours of old keep the blank lines between them; blocks that were none are set so that they stay two
    blocks.
    """
    if not pieces:
        return ""
    parts = [frame.lead]
    for piece, following in pairwise(pieces):
        parts += piece.block.text, _between(piece, following)
    return "".join(parts) + pieces[-1].block.text + (frame.blocks[-1].gap if frame.blocks else "")


def _between(piece: Piece, following: Piece) -> str:
    if piece.adjoins(following):
        return piece.block.gap
    closing = "\n" + piece.block.unclosed if piece.block.unclosed else ""
    lead = following.source.blocks[following.at - 1].gap if following.at else following.source.lead
    tight = piece.block.kind == following.block.kind == "item"
    gap = (min if tight else max)(piece.block.gap, lead, key=lambda blank: blank.count("\n"))
    at_least = 2 if following.block.kind in ("prose", "rule") and piece.block.kind != "heading" else 1
    return closing + (gap if gap.count("\n") >= at_least else "\n" * at_least)


class _Parser:
    """Reads line by line. ``margins`` holds, for each list item still open, the column from which lines nest
    in it."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.at = 0
        self.margins: list[int] = []

    def outline(self) -> Outline:
        lead = self._blank()
        blocks: list[Block] = []
        while self.at < len(self.lines):
            block = self._block()
            if self.at < len(self.lines):
                block = block._replace(gap="\n" + self._blank())
            blocks.append(block)
        return Outline(lead, tuple(blocks))

    def _blank(self) -> str:
        start = self.at
        while self.at < len(self.lines) and not self.lines[self.at].strip():
            self.at += 1
        blank = "\n".join(self.lines[start : self.at])
        return blank + "\n" if start < self.at < len(self.lines) else blank

    def _block(self) -> Block:
        line = self.lines[self.at]
        column = indent(line)
        while self.margins and column < self.margins[-1]:
            self.margins.pop()
        depth = _TOP + len(self.margins)
        if depth == _TOP and (heading := _HEADING.match(line)):
            content = _CLOSING_HASHES.sub("", line[heading.end() :].strip()).rstrip()
            return Block("heading", self._take(1), len(heading[1] or heading[2]), column, content)
        if _RULE.fullmatch(line):
            return Block("rule", self._take(1), depth, column, "")
        if fence := _FENCE.match(line):
            return self._code(fence[1], depth, column)
        marker = _marker(line)
        text = self._take_paragraph(column if marker else self.margins[-1] - 1 if self.margins else -1)
        self.margins.append(column + NESTED)
        if marker:
            return Block("item", text, depth, column, text[marker.end() :].strip(), marker["box"])
        return Block("prose", text, depth, column, text.strip())

    def _take(self, count: int) -> str:
        start, self.at = self.at, self.at + count
        return "\n".join(self.lines[start : self.at])

    def _take_paragraph(self, margin: int) -> str:
        """This line and those that continue it: they are indented beyond ``margin``."""
        end = self.at + 1
        while end < len(self.lines) and indent(self.lines[end]) > margin and _continues(self.lines[end]):
            end += 1
        return self._take(end - self.at)

    def _code(self, fence: str, depth: int, column: int) -> Block:
        """Fenced code ends at its closing fence, else with the item it is nested in, else with the text."""
        margin = self.margins[-1] if self.margins else 0
        end = self.at + 1
        while end < len(self.lines):
            line = self.lines[end]
            if (bare := line.strip(" \t")).startswith(fence) and not bare.strip(fence[0]):
                content = self._take(end - self.at)
                return Block("code", f"{content}\n{self._take(1)}", depth, column, content)
            if line.strip() and indent(line) < margin:
                break
            end += 1
        while not self.lines[end - 1].strip():
            end -= 1
        content = self._take(end - self.at)
        return Block("code", content, depth, column, content, unclosed=" " * column + fence)


def _marker(line: str) -> re.Match[str] | None:
    """The bullet, number or check box that makes the line an item."""
    marker = _MARKER.match(line)
    return marker if marker and marker.end() > marker.end(1) else None


def _continues(line: str) -> bool:
    """Whether the line starts nothing of its own."""
    bare = line.lstrip()
    if bare[:1] in _STARTERS or bare[:1].isdecimal():
        return not (_marker(line) or _HEADING.match(line) or _FENCE.match(line) or _RULE.fullmatch(line))
    return bool(bare)


def indent(line: str) -> int:
    """The column of the first character that is neither space nor tab."""
    width = len(line) - len(line.lstrip(" \t"))
    return len(line[:width].expandtabs(4)) if "\t" in line[:width] else width
