"""Text: cleaning what came from outside, cutting it between characters, guessing its cost and its language.

Standard library only and cheap to import, because every session start goes through here. All functions take
any ``str``, also one with lone surrogates, take time linear in its length, and are pure.
"""

from __future__ import annotations

import re
from bisect import bisect_right

ELLIPSIS = "…"

_SURROGATE = re.compile("[\ud800-\udfff]")
# Line and paragraph separators show as line ends, so they become line ends: no line may hide a second one.
_LINE_END = re.compile("\r\n|[\r\u2028\u2029]")
# C0 and C1 controls, and the bidi embeddings, overrides and isolates that show a text in another order.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")
# Tag characters are invisible ASCII: a way to hide a sentence from the person but not from the model. Only
# the flags of England, Scotland, Wales and their like need them.
_HIDDEN = re.compile("(\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f)|[\U000e0000-\U000e007f]")


def clean(text: str) -> str:
    """The text as it may be stored and shown: encodes strictly, has only line feeds, hides nothing.

    Lone surrogates become U+FFFD, CRLF and CR become LF; a BOM at the start, NUL and the other control
    characters but tab, bidi overrides and invisible tag characters are dropped. Joiners, variation selectors
    and combining marks are kept. Cleaning twice is cleaning once.
    """
    if text.replace("\n", "").isprintable():  # then there is none of all that, and it is nearly always so
        return text
    if _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = _CONTROL.sub("", _LINE_END.sub("\n", text))
    if not text.isascii():
        text = _HIDDEN.sub(r"\1", text)
    return text.lstrip("\ufeff")


def truncate(text: str, limit: int, mark: str = ELLIPSIS) -> str:
    """At most ``limit`` code points of the text, the mark of a cut included. No character is split."""
    if len(text) <= limit:
        return text
    if limit < len(mark):
        return mark[: max(limit, 0)]
    return text[: _boundary(text, limit - len(mark))] + mark


def fit(text: str, budget: int, mark: str = ELLIPSIS) -> str:
    """The longest beginning of the text that costs at most ``budget`` tokens, the mark of a cut included."""
    if tokens(text) <= budget:
        return text
    reach = range(4 * max(budget, 0) + 1)  # no character costs less than a quarter
    length = bisect_right(reach, budget, key=lambda n: tokens(text[:n] + mark)) - 1
    return "" if length < 0 else text[: _boundary(text, length)] + mark


# --- cost ---

#: Quarter tokens for each kind of character; the kinds are taken out of the text in this order.
_COSTS = (
    (1, re.compile("[a-z ]+")),
    (2, re.compile("[A-Z]+")),
    (3, re.compile("[\x00-\u04ff]+")),  # digits, punctuation, line ends; other Latin letters, Greek, Cyrillic
    # Chinese, Japanese, Korean, Arabic, Indic …; symbols, joiners. Said by what it is not: a range of 60 000
    # characters takes more than a millisecond to compile, and every start would wait for it.
    (4, re.compile("[^\U00010000-\U0010ffff]+")),
)
_COST_ASTRAL = 12  # emoji and rare ideographs


def tokens(text: str) -> int:
    """An estimate of what the text costs a model, in tokens; it errs high.

    A sum over characters, rounded up: a quarter for a small ASCII letter or a space, a half for a capital,
    three quarters for any other character below U+0500, one for the rest of the basic plane, three beyond it.
    Measured beside the o200k and cl100k vocabularies: 1.1 to 1.5 times the real count for English, code and
    Markdown, 0.95 to 1.5 for Chinese, never under 0.85 for the other languages tried. What is no prose is
    dearer than it looks here: base64, hexadecimal, random letters, stacked accents and rare scripts up to
    three times the estimate.
    """
    quarters = 0
    for cost, kind in _COSTS:
        rest = kind.sub("", text)
        quarters += cost * (len(text) - len(rest))
        text = rest
    return -(-(quarters + _COST_ASTRAL * len(text)) // 4)


# --- language ---

# Not compiled before they are needed: together that takes longer than the rest of this module.
_CODE = "(?s:```.*?(?:```|\\Z)|`[^`\n]*`)"
_HAN = "[\u3400-\u4dbf\u4e00-\u9fff]"
_KANA_OR_HANGUL = "[\u3041-\u30ff\uac00-\ud7a3]"
# Words of prose only: a path, an address, an identifier or an option says nothing about its writer.
_WORD = r"(?<![^\s(\"'“‘\u2e80-\uffff])[A-Za-z]{2,}(?=[,;:!?)\"'’”.]*(?:\s|\Z|[\u2e80-\uffff])|['’][a-z])"


def language(text: str) -> str:
    """Which of our two message languages the text speaks for: ``"zh"``, ``"en"``, or ``""`` for neither.

    Code, paths and addresses have no vote. Chinese text may be half English words and is still Chinese;
    Japanese and Korean, single Latin words and numbers say nothing.
    """
    text = re.sub(_CODE, " ", text)
    if re.search(_KANA_OR_HANGUL, text):
        return ""
    han, words = len(re.findall(_HAN, text)), len(re.findall(_WORD, text))
    if han and 2 * han >= words:
        return "zh"
    return "en" if words >= 2 else ""


# --- our own block ---

_BLOCK = re.compile(
    r"<carryover[ \t][^>\n]{0,400}>.*?(?:</carryover[^>\n]{0,80}>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_GAP = "[\\s\u00ad\u034f\u061c\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]*+"
_MARKER = f"(?i:<(?={_GAP}(?:/{_GAP})?{_GAP.join('carryover')}))"  # compiled when there is a "<"


def strip_blocks(text: str) -> str:
    """The text without our own blocks, so that memory never eats its own echo.

    A block without an end reaches to the end of the text. A block leaves a line end between its neighbours,
    which therefore cannot join to a new one.
    """
    kept = _BLOCK.sub("\n", text)
    return text if kept == text else kept.strip("\n")


def defuse(text: str) -> str:
    """The text with every ``<carryover`` and ``</carryover`` broken, whatever its case and the gaps in it."""
    return re.sub(_MARKER, "‹", text) if "<" in text else text


def quote(text: str) -> str:
    """Stored text as it may stand inside our block: clean, defused, every line behind ``"> "``."""
    return "\n".join(f"> {line}" if line else ">" for line in defuse(clean(text)).split("\n"))


# --- characters as readers see them ---


def _boundary(text: str, at: int) -> int:
    """The last place at or before ``at`` that is not inside a character."""
    while 0 < at < len(text) and _joined(text[at - 1], text[at], text, at):
        at -= 1
    return at


def _joined(before: str, after: str, text: str, at: int) -> bool:
    if _is_flag_half(before) and _is_flag_half(after):
        halves = 1
        while halves < at and _is_flag_half(text[at - 1 - halves]):
            halves += 1
        return halves % 2 == 1
    return before == "\u200d" or (before == "\r" and after == "\n") or _extends(after)


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _extends(char: str) -> bool:
    """Whether the code point continues the character before it."""
    if char < "\u0300":
        return False
    from unicodedata import category  # only needed where a text is cut, which a session start seldom does

    return (
        category(char).startswith("M")  # combining marks, variation selectors
        or char in "\u200c\u200d\uff9e\uff9f"  # joiners; half-width sound marks
        or "\u1160" <= char <= "\u11ff"  # Hangul vowels and finals
        or "\ud7b0" <= char <= "\ud7ff"
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags of a flag
    )
