"""The living note: unfinished work only.

The note is Markdown that people and agents write as they like. Three things are done to it: finished items
are dropped, two writers' versions are merged item by item, and its open items are listed to see whether one
was lost.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from carryover.memory.merge import merge
from carryover.memory.outline import Block, Outline, Piece, assemble, parse, render

__all__ = ["Item", "finish", "items", "merge"]

_NO_LETTERS = re.compile(r"[\W\d_]+")
_SHARE = re.compile(r"(\d{1,9})\s{0,3}/\s{0,3}(\d{1,9})")
_PERCENT = re.compile(r"(\d{1,9})\s{0,3}[%％]")
_SAYS_DONE = re.compile(
    r"(?:(?:done|completed|finished)(?: (?:items?|tasks?|work|so far|today|recently|this session))? ?"
    r"|已经?完成了?(?:的?(?:任务|事项|工作|项目|部分|内容))? ?"
    r"|完成了?(?:的(?:任务|事项|工作|项目|部分|内容))? ?)+"
)
#: What stands, in the casefolded text, where anything at all is finished: strokes, a box that is not empty, a heading.
_MAYBE_FINISHED = re.compile(r"~~|[\[［【](?![ \t　]*[\]］】])|#[^\n]*(?:done|completed|finished|完成)")
_MARKUP = re.compile(r"[*_`~]+")
_END_PUNCTUATION = " .,;:!?…。，；：！？、"


@dataclass(frozen=True, slots=True)
class Item:
    """An open item. ``key`` is the text without markup, case and end punctuation."""

    text: str
    key: str


@lru_cache(maxsize=16)  # a save asks this seven times, of two notes
def finish(text: str) -> str:
    """The note without finished items.

    Finished is what is ticked, struck out as a whole, or stands under a heading that says Done (Completed,
    Finished, 已完成, 完成), each with everything nested in it, and a heading that is left empty by this.
    One thing overrules this: an empty check box is open work, so it stays, and with it what it is nested in.
    What stays keeps its bytes, but for CRLF, which becomes LF. Doing it twice is doing it once.
    """
    if not _MAYBE_FINISHED.search(text.casefold()):
        return text.replace("\r\n", "\n").replace("\r", "\n")
    outline = parse(text)
    dropped = _finished(outline)
    if not dropped:
        return render(outline)
    kept = [Piece(outline, at, block) for at, block in enumerate(outline.blocks) if at not in dropped]
    return assemble(kept, outline)


def items(text: str) -> tuple[Item, ...]:
    """The open items of a note, paragraphs among them, in their order. Fenced code and headings are none."""
    outline = parse(text)
    finished = _finished(outline)
    contents = (
        " ".join(block.content.split())
        for at, block in enumerate(outline.blocks)
        if at not in finished and block.kind in ("item", "prose") and not _is_ticked(block)
    )
    found = (Item(content, _key(content)) for content in contents)
    return tuple(item for item in found if item.key)


def _key(content: str) -> str:
    return " ".join(_MARKUP.sub("", content).casefold().split()).strip(_END_PUNCTUATION)


def _finished(outline: Outline) -> set[int]:
    """The indices of the blocks that go."""
    parents = outline.parents()
    finished: set[int] = set()
    needed: set[int] = set()
    for at, block in enumerate(outline.blocks):
        if parents[at] in finished or _is_finished(block):
            finished.add(at)
        above = at if _is_open(block) else -1
        while above >= 0 and above not in needed:
            needed.add(above)
            above = parents[above]
    return _with_emptied_headings(outline, finished - needed)


def _with_emptied_headings(outline: Outline, dropped: set[int]) -> set[int]:
    """Adds the headings under which nothing but thematic breaks is left, when there was more."""
    for at in reversed(range(len(outline.blocks))):
        if outline.blocks[at].kind == "heading" and at not in dropped:
            below = range(at + 1, outline.end(at))
            left = [one for one in below if one not in dropped]
            if len(left) < len(below) and all(outline.blocks[one].kind == "rule" for one in left):
                dropped.update((at, *left))
    return dropped


def _is_finished(block: Block) -> bool:
    if block.kind == "heading":
        return _says_done(block.content)
    return _is_ticked(block) or _is_struck(block)


def _says_done(heading: str) -> bool:
    """
    Whether a heading names finished work. Symbols, counts and dates beside the word do not matter, unless they say that
    it is not all of it: "60 % done", "0/5 completed", "Done?".
    """
    if any(part[1] != part[2] for part in _SHARE.finditer(heading)) or "?" in heading or "？" in heading:
        return False
    if any(percent[1] != "100" for percent in _PERCENT.finditer(heading)):
        return False
    return bool(_SAYS_DONE.fullmatch(_NO_LETTERS.sub(" ", heading).strip().casefold()))


def _is_ticked(block: Block) -> bool:
    return bool(block.box and block.box.strip())


def _is_open(block: Block) -> bool:
    return block.box is not None and not block.box.strip() and not _is_struck(block)


def _is_struck(block: Block) -> bool:
    inner = block.content.removeprefix("~~").removesuffix("~~")
    return block.kind in ("item", "prose") and len(inner) == len(block.content) - 4 > 0 and "~~" not in inner
