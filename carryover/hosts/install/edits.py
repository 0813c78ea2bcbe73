"""The smallest edits of a JSON text that somebody else wrote: what is not named stays as it is, to the byte.

The functions take and give whole texts. ``Edit.between`` says what they did, so that it can be taken back.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from carryover.jsonc import Container, Part, without_comments


@dataclass(frozen=True, slots=True)
class Edit:
    """At the character *start*, *old* became *new*."""

    start: int
    old: str
    new: str

    @classmethod
    def between(cls, before: str, after: str) -> Edit:
        """The one edit that makes *after* of *before*."""
        start = _alike(before, after)
        tail = _alike(before[start:][::-1], after[start:][::-1])
        return cls(start, before[start : len(before) - tail], after[start : len(after) - tail])

    def undo(self, after: str) -> str:
        return after[: self.start] + self.old + after[self.start + len(self.new) :]


def replace(text: str, part: Part, value: str) -> str:
    """*text* with *value* in place of the value of *part*."""
    return text[: part.value_start] + value + text[part.end :]


def append(text: str, holder: Container, part: str) -> str:
    """*text* with *part*, an element or a member, last in *holder* and laid out as its neighbours are."""
    if not holder.parts:
        return _fill(text, holder, part)
    first, last = holder.parts[0], holder.parts[-1]
    bare = without_comments(text)
    comma = bare.find(",", last.end, holder.close)
    at, separator = (last.end, ",") if comma < 0 else (comma + 1, "")
    line = _line_start(text, first.start)
    gap = " "
    if line > holder.open and not text[line : first.start].strip():
        gap = _newline(text) + text[line : first.start]
        end = _line_end(bare, at)
        at = at if bare[at:end].strip() else end  # a comment behind the last part stays behind it
    return text[: last.end] + separator + text[last.end : at] + gap + part + text[at:]


def drop(text: str, holder: Container, index: int) -> str:
    """*text* without the part at *index*, its comma, and its line if it had one to itself."""
    part, others = holder.parts[index], holder.parts
    bare = without_comments(text)
    start, end = part.start, part.end
    after = bare.find(",", end, others[index + 1].start if index + 1 < len(others) else holder.close)
    before = bare.find(",", others[index - 1].end, start) if after < 0 and index else -1
    if after >= 0:
        text = text[:after] + text[after + 1 :]
    elif before >= 0:
        text = text[:before] + text[before + 1 :]
        start, end = start - 1, end - 1
    line, line_end = _line_start(text, start), _line_end(text, end)
    if line > holder.open and not text[line:start].strip() and not text[end:line_end].strip():
        return text[:line] + re.sub(r"\A(?:\r\n|\r|\n)", "", text[line_end:])
    if after >= 0:
        return text[:start] + text[end:].lstrip(" \t")
    if before >= 0 and not text[before:start].strip():
        start = before
    return text[:start] + text[end:]


def _fill(text: str, holder: Container, part: str) -> str:
    """*text* with *part* in an empty *holder*: before any comment, on its own line if there are lines."""
    gap = ""
    inside = holder.open + 1
    if re.search(r"[\r\n]", without_comments(text)[inside : holder.close]):
        line = text[_line_start(text, holder.open) :]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        gap = _newline(text) + indent + ("\t" if indent.startswith("\t") else "  ")
    return text[:inside] + gap + part + text[inside:]


def _alike(one: str, other: str) -> int:
    """How many characters the two begin with in common."""
    return len(os.path.commonprefix([one, other]))  # noqa: RUF071 - by characters is what is wanted here


def _newline(text: str) -> str:
    found = re.search(r"\r\n|\r|\n", text)
    return found[0] if found else "\n"


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _line_end(text: str, at: int) -> int:
    found = re.compile(r"[\r\n]").search(text, at)
    return found.start() if found else len(text)
