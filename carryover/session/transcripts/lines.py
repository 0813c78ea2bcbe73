"""The lines of a file that may be huge, damaged, or growing while it is read.

Both readers go in blocks and hold one line at a time. Of a line longer than ``LONG`` only the two ends are
held: a session file has tool results of many megabytes, of which nothing is wanted but who they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

BLOCK = 64 * 1024
LONG = 1024 * 1024

#: How many pieces, of a block at most, are held of either end of a long line. Two, because the outermost one
#: may be a few bytes.
_ENDS = 2


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its newline, and the offsets where it starts and where the next one does."""

    start: int
    end: int
    head: bytes
    """The whole line, or the beginning of a long one."""
    tail: bytes = b""
    """The end of a long line; empty when ``head`` is the whole of it."""
    finished: bool = True
    """It ends in a newline. The last line of a file that is being written may not."""

    @property
    def blank(self) -> bool:
        return not self.head.strip(b" \t\r\xef\xbb\xbf")


class _Pieces:
    """A line as it comes together, from either direction."""

    __slots__ = ("_cut", "_pieces", "_size")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._cut = False

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > LONG and len(self._pieces) > 2 * _ENDS:
            del self._pieces[_ENDS:-_ENDS]
            self._cut = True

    def line(self, start: int, end: int, *, finished: bool = True, backwards: bool = False) -> Line:
        pieces = self._pieces[::-1] if backwards else self._pieces
        if not self._cut:
            return Line(start, end, b"".join(pieces), finished=finished)
        return Line(start, end, b"".join(pieces[:_ENDS]), b"".join(pieces[_ENDS:]), finished)


def backwards(file: BinaryIO, start: int, end: int) -> Iterator[Line]:
    """The lines between two offsets, last first; where ``start`` is within a line, its rest comes last."""
    pieces, finished, position, next_line = _Pieces(), False, end, end
    while position > start:
        size = min(BLOCK, position - start)
        position -= size
        file.seek(position)
        block = file.read(size)
        stop = len(block)
        while (newline := block.rfind(b"\n", 0, stop)) >= 0:
            pieces.add(block[newline + 1 : stop])
            begin = position + newline + 1
            yield pieces.line(begin, next_line, finished=finished, backwards=True)
            pieces, finished, stop, next_line = _Pieces(), True, newline, begin
        pieces.add(block[:stop])
    yield pieces.line(start, next_line, finished=finished, backwards=True)


def forwards(file: BinaryIO, start: int, end: int) -> Iterator[Line]:
    """The finished lines between two offsets, first one first."""
    pieces, begin, position = _Pieces(), start, start
    file.seek(start)
    while position < end and (block := file.read(min(BLOCK, end - position))):
        stop = 0
        while (newline := block.find(b"\n", stop)) >= 0:
            pieces.add(block[stop:newline])
            stop = newline + 1
            yield pieces.line(begin, position + stop)
            pieces, begin = _Pieces(), position + stop
        pieces.add(block[stop:])
        position += len(block)
