"""The second tier of saving: what a model is asked for, and whether its answer may become the note.

Both are deterministic. The request is bounded whatever comes in. An answer is taken only if it is whole,
short, in the right language and has lost no open item, for it replaces a note that somebody relies on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from carryover.completion import Answer, Prompt
from carryover.memory.note import Item, items
from carryover.session.transcripts.base import Message, Tail
from carryover.session.wording import CHINESE, ENGLISH, Wording
from carryover.text import clean, strip_blocks, truncate
from carryover.text import language as language_of

Reason = Literal["", "empty", "refusal", "cut", "long", "language", "dropped", "error", "timeout"]

#: What a whole request may hold, and what its parts may, in characters.
REQUEST_LENGTH = 24_000
_NOTE_LENGTH = 8_000
_SUMMARY_LENGTH = 3_000
_MESSAGE_LENGTH = 2_000
_FILES_LENGTH = 1_000

#: Room for an answer, in tokens. Generous, because a model that thinks first pays for its thoughts from it.
_ANSWER_TOKENS = 4_096

#: Chinese says in 1.7 characters, about, what English says in a word.
_CHARACTERS_PER_WORD = 1.7
#: What is longer than this without a space is more than a word.
_WORD_LENGTH = 24


@dataclass(frozen=True, slots=True)
class Verdict:
    """The note that an answer holds, empty when nothing is open; or no text, and why not."""

    text: str | None
    reason: Reason = ""


def word_count(text: str) -> int:
    """How long a text is, in words: English ones, or 1.7 Chinese characters each.

    Punctuation alone is no word, and a word counts once for every 24 characters of it.
    """
    rest, characters = _CJK.subn(" ", text)
    chunks = (chunk for chunk in rest.split() if any(map(str.isalnum, chunk)))
    return sum(1 + (len(chunk) - 1) // _WORD_LENGTH for chunk in chunks) + round(characters / _CHARACTERS_PER_WORD)


# ---------------------------------------------------------------- asking


def request(note: str, tail: Tail, words: int, language: str, seconds: float = 30.0) -> Prompt:
    """Ask for the note as it is after a conversation, in at most ``words`` words.

    ``language`` is the conversation's: ``"zh"``, ``"en"``, or empty for whatever the user writes. System
    prompt and text together have at most ``REQUEST_LENGTH`` characters; where something was cut, they say so.
    """
    wording = CHINESE if language == "zh" else ENGLISH
    system = wording.system.format(
        length=wording.length.format(words=words, characters=int(words * _CHARACTERS_PER_WORD)),
        language=wording.language if language else "in the language in which the user writes",
        nothing=wording.nothing,
    )
    before = [
        "<old-note>",
        _excerpt(note, _NOTE_LENGTH, wording) or wording.none,
        "</old-note>",
        "<conversation>",
    ]
    if tail.summary:
        before.append(wording.before + _excerpt(tail.summary, _SUMMARY_LENGTH, wording))
    after = [*_work(tail, wording), "</conversation>", wording.task]
    room = REQUEST_LENGTH - sum(len(part) + 1 for part in (system, *before, *after))
    text = "\n".join([*before, *_newest(tail, room, wording), *after])
    return Prompt(system, text, max(_ANSWER_TOKENS, 8 * words), seconds)


def _work(tail: Tail, wording: Wording) -> Iterator[str]:
    if tail.files:
        yield wording.files + _excerpt(", ".join(tail.files), _FILES_LENGTH, wording)
    if tail.last_error:
        yield wording.failure + _excerpt(tail.last_error, _FILES_LENGTH, wording)


def _newest(tail: Tail, room: int, wording: Wording) -> list[str]:
    """The newest messages that fit, oldest first."""
    lines: list[str] = []
    room -= len(wording.older) + 1
    for message in reversed(tail.messages):
        line = _line(message, wording)
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    if len(lines) < tail.count or not tail.complete:
        lines.append(wording.older)
    return lines[::-1]


def _line(message: Message, wording: Wording) -> str:
    speaker = wording.user if message.role == "user" else wording.agent
    return speaker + _excerpt(message.text, _MESSAGE_LENGTH, wording)


def _excerpt(text: str, limit: int, wording: Wording) -> str:
    """Stored text for the request: its beginning and its end, unable to close the element it stands in."""
    text = text.strip()
    if len(text) > limit:
        mark = wording.left_out.format(count=len(text) - limit)
        end = (limit - len(mark)) // 3
        text = truncate(text, limit - end, mark) + text[-end:]
    return _TAG.sub("‹", clean(text))


# ---------------------------------------------------------------- judging


def judge(answer: Answer, note: str, words: int, language: str, transcript: str) -> Verdict:
    """Whether an answer may replace ``note``, and as what.

    ``language`` is the one that was asked for; when it is empty, the ``transcript`` says which one the answer
    must have. The old note's is good as well, because its items stay in their own words.
    """
    if answer.stop in ("error", "timeout"):
        return Verdict(None, "timeout" if answer.stop == "timeout" else "error")
    text = _spoken(strip_blocks(clean(answer.text)))
    if answer.stop != "stop" or text is None or _has_open_fence(text):
        return Verdict(None, "cut")
    body = _body(text)
    if reason := _objection(body, words, language or language_of(transcript), language_of(note)):
        return Verdict(None, reason)
    if lost(note, text):
        return Verdict(None, "dropped")
    return Verdict("" if _says_nothing(body) else body)


def lost(note: str, answer: str) -> tuple[Item, ...]:
    """The open items of a note that an answer does not speak of, be it as open or as finished.

    It speaks of an item when a line of it, with or without the one indented below, holds most of the words
    that set the item apart: a word counts the less, the more items of the note have it.
    """
    wanted = [(item, _features(item.text)) for item in items(note) if not _is_label(item)]
    shared = Counter(feature for _, features in wanted for feature in features)
    lines = [line for line in answer.split("\n") if line.strip()]
    said = [_features(line) for line in lines]
    said += [_features(above + below) for above, below in pairwise(lines) if below[0].isspace()]
    folded = answer.casefold()

    def is_said(item: Item, features: frozenset[str]) -> bool:
        if not features:  # signs and rare letters only, with or without the markup that a key lacks
            return item.text.casefold() in folded or item.key in folded
        whole = sum(1 / shared[feature] for feature in features)
        return any(2 * sum(1 / shared[one] for one in features & line) > whole for line in said)

    return tuple(item for item, features in wanted if not is_said(item, features))


def _objection(body: str, words: int, language: str, old_language: str) -> Reason:
    lines = [line.strip(" *_>\"'“") for line in body.split("\n") if not line.lstrip().startswith("#")]
    lines = [line for line in lines if any(map(str.isalnum, line))]
    if not lines:
        return "empty"
    if _REFUSAL.match(lines[0]):
        return "refusal"
    if _says_nothing(body):
        return ""
    if word_count(body) > words:
        return "long"
    if language and language_of(body) not in ("", language, old_language):
        return "language"
    return ""


def _spoken(text: str) -> str | None:
    """The text without the thoughts that some models begin with; None when it ends within them."""
    if not text.lstrip().startswith("<think>"):
        return text
    _, closing, rest = text.partition("</think>")
    return rest if closing else None


def _body(text: str) -> str:
    """The note alone: without a fence around it, a word before it and the list of what is finished."""
    body = _unwrapped(_without_trailer(_unwrapped(text)))
    return _PREFACE.sub("", body).strip()


def _unwrapped(text: str) -> str:
    lines = text.strip().split("\n")
    if len(lines) > 1 and _WRAPPER.fullmatch(lines[0]) and lines[-1].strip() == "```":
        inner = lines[1:-1]
        if lines[0].strip() != "```" or not any(map(_FENCE.match, inner)):
            return "\n".join(inner)
    return text


def _without_trailer(text: str) -> str:
    """Only what ends the text is the trailer: list items and blank lines, up to "Finished:"."""
    lines = text.rstrip().split("\n")
    for at in reversed(range(len(lines))):
        if _FINISHED.match(lines[at]):
            return "\n".join(lines[:at])
        if lines[at].strip() and not _LISTED.match(lines[at]):
            break
    return text


def _has_open_fence(text: str) -> bool:
    return sum(1 for line in text.split("\n") if _FENCE.match(line)) % 2 == 1


def _says_nothing(body: str) -> bool:
    return body.strip(" *_.。").casefold() in _NOTHING


def _is_label(item: Item) -> bool:
    """A line that only introduces what follows, which is judged by itself."""
    return item.text.endswith((":", "："))


def _features(text: str) -> frozenset[str]:
    """What tells an item from others: the stems of its words, and the pairs of its Chinese characters."""
    return frozenset(_words(text))


def _words(text: str) -> Iterator[str]:
    for run in _RUN.findall(text.casefold()):
        if _COMMON.fullmatch(run):
            continue
        if not _CJK.match(run):
            yield _stem(run)
        elif len(run) == 1:
            yield run
        else:
            yield from map("".join, pairwise(run))


def _stem(word: str) -> str:
    """Enough of a word to find it in another form; names with digits or underscores have no other form."""
    return _ENDING.sub("", word)[:5] if word.isalpha() else word


_CJK_RANGES = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CJK = re.compile(f"[{_CJK_RANGES}]")
_RUN = re.compile(f"[{_CJK_RANGES}]+|[^\\W{_CJK_RANGES}]+")
_COMMON = re.compile("an?|and|are|as|at|be|been|by|for|from|in|is|its?|of|on|or|that|the|then|this|to|was|with")
_ENDING = re.compile("(?<=...)(?:ing|ed|er|es|s|e)$")
_TAG = re.compile(r"<(?=\s*/?\s*(?:old-note|conversation)\b)", re.IGNORECASE)
_FENCE = re.compile(r"\s*(?:```|~~~)")
_WRAPPER = re.compile(r"\s*```(?:markdown|md|text)?\s*")
_FINISHED = re.compile(r"(?:#{1,6}\s+)?[*_]{0,2}(?:Finished|已完成)[*_]{0,2}\s*[:：]", re.IGNORECASE)
# Not what has an open box: should a model go on with the note behind the trailer, then all of it is the note.
_LISTED = re.compile(r"(?!.*\[ ?\])(?:\s*(?:[-*+•]|\d+[.)])\s|\s+\S)")
_PREFACE = re.compile(r"\A\s*(?:here(?:'s|’s| is)|below is|以下是|下面是)[^\n]{0,120}[:：]\s*\n", re.IGNORECASE)
_NOTHING = frozenset(wording.nothing.strip(".。").casefold() for wording in (ENGLISH, CHINESE))
_REFUSAL = re.compile(
    r"i(?:['’]?m| am) (?:sorry|unable|not able)|i (?:can['’]?t|cannot|can not|won['’]?t|apologi[sz]e)\b"
    r"|sorry[,.!]|as an? (?:ai|language model)\b|unfortunately,? i\b"
    r"|(?:could you )?please (?:provide|share|paste)\b"
    r"|(?:非常|很)?抱歉|对不起|我(?:无法|不能|没法|没有办法)|作为(?:一个|一名)?(?:ai|人工智能|语言模型)|请您?提供",
    re.IGNORECASE,
)
