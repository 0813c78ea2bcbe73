"""CARRYOVER.md: the note as a file people read, edit and commit.

The file is the note, then the raw tails that stand beside it, then one comment that names the note's event, its last
ancestors, and a fingerprint of everything above. So a later reading can tell what it finds: our own rendering, an
older one, somebody else's, one that was edited, one that was cut off. Line endings and white space at the ends of
lines are no edit.
"""

from __future__ import annotations

import re
from binascii import crc32
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from carryover import text as texts
from carryover.errors import StoreUnavailable
from carryover.memory.events import is_id
from carryover.memory.state import Standing, State
from carryover.store import files, legacy

NAME = "CARRYOVER.md"
#: Bytes above which the file is not taken for a note.
LARGEST = 1_000_000
#: Ancestors named in the closing comment.
ANCESTORS = 4

# Every expression is bounded or tied to the beginning of a line: the file is anybody's.
_MARK = re.compile(r"<!-- carryover note=(\w*) after=([\w,]*) sum=([0-9a-f]{8})\b[^\n>]{0,200}-->")
_BOM = b"\xef\xbb\xbf"
_MARK_BEGINS = "<!-- carryover note="
_CUT_MARK = re.compile(r"<!-- carryover note=(\w*)(?: after=([\w,]*))?[^>]*")
_TAIL_OPENS = re.compile(r"<!-- carryover tail (\w+) *-->")
_TAIL_CLOSES = "<!-- /carryover tail -->"
_TAIL_TITLE = "## Not yet in the note: "
_OLDER = re.compile(r"<!-- \d+ older tails: carryover history -->")
_OURS, _THEIRS = re.compile(r"^<{7}(?: |$)", re.M), re.compile(r"^>{7}(?: |$)", re.M)


class Kind(Enum):
    """What a view file turned out to be."""

    MISSING = "missing"
    #: Our rendering of the note that stands.
    CURRENT = "current"
    #: Our rendering of an earlier note: another branch was checked out, or the view could not be written.
    OLDER = "older"
    #: Somebody else's rendering of a note that is not on our record.
    TEAMMATE = "teammate"
    #: A note of ours or somebody's, with changes.
    EDITED = "edited"
    #: A note that no carryover wrote: by hand, or by pi-carryover 1.x.
    FOREIGN = "foreign"
    #: The beginning of our own rendering: cut off, never parsed back.
    CUT = "cut"
    #: Conflict markers stand in it: left alone until somebody has resolved them.
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class View:
    """A view file, read."""

    kind: Kind
    #: The note in it, without tails and comment.
    text: str = ""
    #: The note event it names, then that note's ancestors, newest first.
    ancestors: tuple[str, ...] = ()
    #: Tails that stand in it.
    tails: frozenset[str] = frozenset()
    raw: bool = False
    #: The fingerprint of what stands above its closing comment.
    fingerprint: str = ""
    #: How the file is written, so that a rewriting keeps it.
    newline: str = "\n"
    bom: bool = False
    #: The file's bytes.
    content: bytes | None = None

    def says_the_same(self, rendered: str, note: Standing | None) -> bool:
        """Whether it is the teammate's rendering that *note* was taken from, with nothing to add to it."""
        mark = _MARK.search(rendered)
        taken = note is not None and note.origin and self.ancestors[:1] == (note.origin,)
        return bool(taken and mark and mark[3] == self.fingerprint)


def render(state: State, tree: str = "") -> str:
    """The view of *state*: deterministic, ``\\n`` line endings."""
    note = state.note(tree)
    parts = [texts.clean(note.text).strip("\n")] if note is not None and note.text.strip() else []
    parts += [_rendered_tail(tail) for tail in state.tails(tree)]
    if older := state.older_tails(tree):
        parts.append(f"<!-- {older} older tails: carryover history -->")
    body = "\n\n".join(parts)
    ancestors = [one for one in reversed(state.lineage.get(tree, ())) if note is None or one != note.id]
    after, print_ = ",".join(ancestors[:ANCESTORS]), fingerprint(body)
    hint = "· edit the note above as you like: edits are merged"
    mark = f"<!-- carryover note={note.id if note else ''} after={after} sum={print_} {hint} -->"
    return f"{body}\n\n{mark}\n" if body else f"{mark}\n"


def _rendered_tail(tail: Standing) -> str:
    covers = f"the last {tail.covers[0]} of {tail.covers[1]} messages" if tail.covers else "the last messages"
    title = f"{_TAIL_TITLE}{covers} of a session ({tail.at[:16].replace('T', ' ')}), clues only"
    quoted = "\n".join(f"> {line}" if line else ">" for line in texts.clean(tail.text).split("\n"))
    return f"<!-- carryover tail {tail.id} -->\n{title}\n\n{quoted}\n{_TAIL_CLOSES}"


def read(path: Path, state: State, tree: str = "") -> View:
    """
    What stands in the view file.

    Raises:
        StoreUnavailable: it cannot be read, is a link, is not UTF-8, or is too large. That is never the same as empty.
    """
    try:
        content = files.read(path, LARGEST + 1)
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read ({error.strerror})") from error
    if content is None:
        return View(Kind.MISSING)
    if len(content) > LARGEST:
        raise StoreUnavailable(f"{path} is larger than {LARGEST} bytes, which is no note; it is left alone")
    try:
        decoded = content.removeprefix(_BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        raise StoreUnavailable(f"{path} is not UTF-8 (byte {error.start}); it is left alone") from error
    newline = "\r\n" if "\r\n" in decoded else "\n"
    view = _classify(decoded.replace("\r\n", "\n"), state, tree)
    return replace(view, newline=newline, bom=content.startswith(_BOM), content=content)


def _classify(content: str, state: State, tree: str) -> View:
    def view(kind: Kind, body: str = "", ancestors: tuple[str, ...] = (), raw: bool = False, print_: str = "") -> View:
        text, tails = _note_and_tails(body)
        return View(kind, text, ancestors, tails, raw, print_)

    marks = list(_MARK.finditer(content))
    if not marks:
        return _unmarked(content, state, tree, view)
    mark = marks[-1]
    body = _MARK.sub("", content[: mark.start()]) + content[mark.end() :]
    ancestors = tuple(one for one in (mark[1], *mark[2].split(",")) if one)
    if fingerprint(body) != mark[3]:
        return view(Kind.CONFLICT if _is_conflict(content) else Kind.EDITED, body, ancestors)
    note = state.note(tree)
    if mark[1] in ((note.id, note.origin) if note else ("",)):
        return view(Kind.CURRENT, body, ancestors, print_=mark[3])
    known = mark[1] in state.lineage.get(tree, ())
    return view(Kind.OLDER if known or not mark[1] else Kind.TEAMMATE, body, ancestors, print_=mark[3])


def _unmarked(content: str, state: State, tree: str, view: Callable[..., View]) -> View:
    stripped = content.strip()
    if not stripped or (state.events and _begins(render(state, tree), stripped)):
        return view(Kind.CUT)
    if _is_conflict(content):
        return view(Kind.CONFLICT)
    content, named = _above_cut_mark(content)
    kind = Kind.EDITED if named else Kind.FOREIGN
    return view(kind, legacy.without_header(content), named, legacy.is_raw(content))


def _above_cut_mark(content: str) -> tuple[str, tuple[str, ...]]:
    """What stands above a closing comment that was cut off, which is whole; and the notes that the comment names."""
    above, _, last = content.rstrip().rpartition("\n")
    if last and _MARK_BEGINS.startswith(last):
        return above, ()
    cut = _CUT_MARK.fullmatch(last)
    if cut is None:
        return content, ()
    return above, tuple(one for one in (cut[1], *(cut[2] or "").split(",")) if is_id(one))


def _begins(rendered: str, content: str) -> bool:
    """Whether *content* is what is left of *rendered*, cut off in the closing comment or before the end of the text."""
    return rendered.startswith(content) and rendered.partition("\n\n<!-- carryover note=")[0].strip() != content


def _is_conflict(content: str) -> bool:
    return bool(_OURS.search(content) and _THEIRS.search(content))


def _note_and_tails(body: str) -> tuple[str, frozenset[str]]:
    """The note in a file, and the tails that stand beside it. What somebody wrote into one of them is of the note."""
    kept: list[str] = []
    tails: set[str] = set()
    tail: list[str] = []
    for line in body.split("\n"):
        opens = _TAIL_OPENS.fullmatch(line.rstrip())
        if opens or not tail:
            kept += tail  # it has no end, so it is text
            tail = []
        if tail and line.rstrip() == _TAIL_CLOSES and (name := _TAIL_OPENS.match(tail[0])):
            tails.add(name[1])
            kept += [one for one in tail[1:] if not one.startswith((">", _TAIL_TITLE))]
            tail = []
        elif opens or tail:
            tail.append(line)
        elif not _OLDER.fullmatch(line.rstrip()):
            kept.append(line)
    return "\n".join([*kept, *tail]).strip("\n"), frozenset(tails)


def without_marks(text: str) -> str:
    """A note's text without our comments, for those who copy the whole file into it."""
    if "<!--" not in text:
        return text
    lines = _MARK.sub("", text).split("\n")
    return "\n".join(line for line in lines if not _is_mark(line.strip()))


def _is_mark(line: str) -> bool:
    return line == _TAIL_CLOSES or bool(_TAIL_OPENS.fullmatch(line) or _OLDER.fullmatch(line))


def fingerprint(text: str) -> str:
    """Eight hexadecimal digits that change with any change but white space at the ends of lines."""
    lines = [line.rstrip() for line in text.strip().split("\n")]
    return f"{crc32(chr(10).join(lines).encode('utf-8', 'replace')):08x}"


def encode(rendered: str, view: View) -> bytes:
    """The bytes of a rendering, written the way the file in its place was."""
    if view.newline != "\n":
        rendered = rendered.replace("\n", view.newline)
    return (_BOM if view.bom else b"") + rendered.encode("utf-8")
