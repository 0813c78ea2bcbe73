"""JSON as people write it: with comments, trailing commas and a byte order mark.

What JSON does not know is blanked out, character by character, and the rest given to ``json``. So every
offset stays true, which is also what lets an editor find its place in a text (``container``).

>>> loads('{"a": [1, 2,], // two\\n}')
{'a': [1, 2]}
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

# Each pattern consumes a string as a whole, closed or not: nothing is found inside one, and no text makes the
# search start over, so that reading is linear in the text's length.
_STRING = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
_COMMENT = re.compile(rf"{_STRING}|//[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|[\[{{:,]\s*+,|,(?=\s*+[\]}}])", re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*+")


def loads(text: str) -> object:
    """The value of *text*. Raises ValueError, saying the line and column, when it has none."""
    try:
        return _decode(text, text)
    except ValueError:
        return _decode(without_trailing_commas(without_comments(text)), text)


def is_plain(text: str) -> bool:
    """Is *text* what a strict reader of JSON accepts?"""
    try:
        _decode(text, text)
    except ValueError:
        return False
    return True


def without_comments(text: str) -> str:
    """*text* with spaces in place of comments and a byte order mark; everything else keeps its offset."""

    def blank(found: re.Match[str]) -> str:
        if found[0].startswith('"'):
            return found[0]
        if found[0].startswith("/*") and not (found[0].endswith("*/") and len(found[0]) >= 4):
            raise json.JSONDecodeError("Comment without an end", text, found.start())
        return " " * len(found[0])

    return _COMMENT.sub(blank, text.replace("\ufeff", " ", 1) if text.startswith("\ufeff") else text)


def without_trailing_commas(text: str) -> str:
    """*text*, which must hold no comments, with a space in place of each comma before a closing bracket."""
    return _TRAILING_COMMA.sub(lambda found: " " if found[0] == "," else found[0], text)


@dataclass(frozen=True, slots=True)
class Part:
    """A member of an object or an element of an array, by its offsets in the text."""

    key: str | None
    #: Where its key starts, or the value of an element.
    start: int
    #: Where its value starts and ends.
    value_start: int
    end: int
    value: object


@dataclass(frozen=True, slots=True)
class Container:
    """An object or an array, by its offsets in the text."""

    open: int
    close: int
    parts: tuple[Part, ...]


def container(text: str, start: int = 0) -> Container:
    """The object or array that begins at *start*, after white space and comments.

    Raises ValueError, saying the line and column, when there is none or it is not well formed.
    """
    plain = without_trailing_commas(without_comments(text))
    start = _skip_space(plain, start)
    value, end = _decode_at(plain, start, text)
    if not isinstance(value, dict | list):
        raise json.JSONDecodeError("Expecting an object or an array", text, start)
    parts: list[Part] = []
    at = _skip_space(plain, start + 1)
    while at < end - 1:
        parts.append(_part(plain, at, keyed=isinstance(value, dict)))
        at = _skip_space(plain, parts[-1].end)
        if plain[at] == ",":
            at = _skip_space(plain, at + 1)
    return Container(start, end - 1, tuple(parts))


def _part(plain: str, start: int, keyed: bool) -> Part:
    key, value_start = None, start
    if keyed:
        key, end = _DECODER.raw_decode(plain, start)
        value_start = _skip_space(plain, _skip_space(plain, end) + 1)
    value, end = _DECODER.raw_decode(plain, value_start)
    return Part(key, start, value_start, end, value)


def _skip_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _decode(text: str, original: str) -> object:
    """The value of the whole *text*; errors tell the line and column in *original*."""
    start = _skip_space(text, 0)
    value, end = _decode_at(text, start, original)
    if (rest := _skip_space(text, end)) < len(text):
        raise json.JSONDecodeError("Extra data", original, rest)
    return value


def _decode_at(text: str, start: int, original: str) -> tuple[object, int]:
    try:
        return _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise json.JSONDecodeError(error.msg, original, error.pos) from None
    except RecursionError:
        raise json.JSONDecodeError("Nested too deeply", original, start) from None


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
