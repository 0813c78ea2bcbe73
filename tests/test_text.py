from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carryover.text import clean, fit, language, quote, strip_blocks, tokens, truncate

FAMILY = "👨‍👩‍👧‍👦"
CHARACTERS = [
    FAMILY,
    "🏽",
    "👩🏽‍💻",
    "❤️",
    "🇩🇪",
    "🇨🇳",
    "e\u0301",
    "한",
    "各",
    "नि",
    "a",
    " ",
    "\n",
    "中",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
]

anything = st.text(st.characters(codec=None) | st.sampled_from("\ud83d\ude00\r\n\ufeff\u200d\u0301🇩<>"))
characters = st.lists(st.sampled_from(CHARACTERS)).map("".join)


# --- cleaning ---


@pytest.mark.parametrize(
    ("dirty", "cleaned"),
    [
        ("half \ud83d emoji", "half \ufffd emoji"),
        ("two halves \ud83d\ude00", "two halves 😀"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("\ufeffstart", "start"),
        ("nul\x00 bell\x07 next\x85 tab\t", "nul bell next tab\t"),
        ("\u202eevil\u202c \u2066x\u2069", "evil x"),
        ("seen\U000e0068\U000e0069", "seen"),
        (f"{FAMILY} e\u0301 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿", f"{FAMILY} e\u0301 ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿"),
    ],
)
def test_cleaning_drops_what_deceives_and_keeps_what_is_written(dirty: str, cleaned: str) -> None:
    assert clean(dirty) == cleaned


@given(anything)
def test_clean_text_encodes_strictly_and_stays_clean(text: str) -> None:
    cleaned = clean(text)

    cleaned.encode("utf-8", "strict")
    assert clean(cleaned) == cleaned


# --- cutting ---


@given(anything, st.integers(-2, 60), st.sampled_from(["…", "", " [cut]"]))
def test_truncated_text_is_within_its_limit_and_a_beginning(text: str, limit: int, mark: str) -> None:
    cut = truncate(text, limit, mark)

    assert len(cut) <= max(limit, 0)
    assert cut == text or cut == mark[: max(limit, 0)] or text.startswith(cut.removesuffix(mark))


@pytest.mark.parametrize("character", [one for one in CHARACTERS if one != "🏽"])
def test_no_character_is_split(character: str) -> None:
    text = f"a{character}{character}b"

    cuts = {truncate(text, limit, "") for limit in range(len(text) + 1)}

    assert cuts == {"", "a", f"a{character}", f"a{character}{character}", text}


@given(characters, st.integers(1, 40))
def test_a_cut_takes_as_many_characters_as_there_is_room_for(text: str, limit: int) -> None:
    longest_character = max(len(one) for one in CHARACTERS) + 1  # and a skin tone

    assert len(truncate(text, limit)) >= min(len(text), limit - longest_character)


@pytest.mark.parametrize("text", ["\u0301" * 50_000, "🇩" * 50_000, FAMILY * 7_000, "\u200d" * 50_000])
def test_cutting_endless_characters_takes_no_time(text: str) -> None:
    started = time.process_time()

    truncate(text, 40_000)
    fit(text, 10_000)

    assert time.process_time() - started < 1


# --- cost ---


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        (
            "The delivery worker retries three times with a growing pause, then parks the batch. Nothing may "
            "be removed from the public API before version 2.0, because two teams still call it.",
            38,
            38,
        ),
        (
            "## Next\n\n- [ ] Fix the parser (`carryover/jsonc.py`)\n- [ ] Ask Anna about **rotation**\n"
            "- [ ] 3 tests are red: a, b, c\n",
            40,
            40,
        ),
        (
            "def fit(text: str, budget: int) -> str:\n    return text[:bisect_right(range(len(text)), "
            "budget, key=lambda n: tokens(text[:n]))]\n",
            36,
            36,
        ),
        (
            "carryover/session/transcripts/pi.py:118 tests/store/test_log.py /home/anna/.pi/agent/settings.json",
            24,
            24,
        ),
        (
            "修复解析器里的错误，然后把测试跑一遍。不要删除公共接口，因为还有两个团队在调用它。已完成的事项不再保留。",
            34,
            54,
        ),
        ("Исправить ошибку в разборщике, затем запустить тесты ещё раз.", 19, 28),
        ("😀🎉🚀✅🔥💡🐛📦", 13, 21),
    ],
)
def test_the_estimate_errs_high_beside_real_vocabularies(text: str, o200k: int, cl100k: int) -> None:
    assert tokens(text) >= o200k
    assert 0.95 * cl100k <= tokens(text) <= 1.5 * cl100k


@given(anything, anything)
def test_a_whole_costs_at_most_the_sum_of_its_parts(one: str, other: str) -> None:
    assert max(tokens(one), tokens(other)) <= tokens(one + other) <= tokens(one) + tokens(other)


@given(anything, st.integers(-1, 30))
def test_fitted_text_costs_at_most_its_budget(text: str, budget: int) -> None:
    cut = fit(text, budget)

    assert tokens(cut) <= max(budget, 0)
    assert cut == text or text.startswith(cut.removesuffix("…"))


@given(st.text("ab 中"), st.integers(0, 10))
def test_a_longer_beginning_would_not_fit(text: str, budget: int) -> None:
    cut = fit(text, budget)

    assert cut in ("", text) or tokens(text[: len(cut)] + "…") > budget


# --- language ---


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("fix the tests", "en"),
        ("don't do it", "en"),
        ("继续", "zh"),
        ("请run tests然后commit", "zh"),
        ("看下 carryover/text.py 的 language 函数", "zh"),
        ("translate 完成 as done in the header please now", "en"),
        ("/carryover save", ""),
        ("see carryover/memory/note.py and https://example.org/a/b", "en"),
        ("```\nwhile True: pass and so on\n```", ""),
        ("テストを実行 してください", ""),
        ("테스트 실행", ""),
        ("ok", ""),
        ("42", ""),
        ("", ""),
    ],
)
def test_the_language_is_that_of_the_prose(text: str, spoken: str) -> None:
    assert language(text) == spoken


# --- our own block ---

BLOCK = '<carryover project="demo">\nRecorded earlier.\n> - [ ] a\n</carryover 1a2b3c4d>'


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (BLOCK, ""),
        (f"before\n{BLOCK}\nafter", "before\n\n\nafter"),
        (f"one {BLOCK} two {BLOCK} three", "one \n two \n three"),
        (f"before\n{BLOCK[:40]}", "before\n"),
        (f"<carry{BLOCK}over x>", "<carry\nover x>"),
        (f"<carryover{BLOCK} x>", "<carryover\n x>"),
        (
            "the <carryover> tag and `carryover note` stay\n",
            "the <carryover> tag and `carryover note` stay\n",
        ),
    ],
)
def test_our_own_block_is_no_memory(text: str, kept: str) -> None:
    assert strip_blocks(text).strip("\n") == kept.strip("\n")


@given(st.lists(st.sampled_from([BLOCK, BLOCK[:30], "<carryover", " x>", "</carryover", "\n", "a", ">"])))
def test_stripping_leaves_nothing_to_strip(parts: list[str]) -> None:
    stripped = strip_blocks("".join(parts))

    assert strip_blocks(stripped) == stripped


@pytest.mark.parametrize(
    "marker",
    [
        "<carryover",
        "</carryover",
        "<CarryOver",
        "< / carryover",
        "<\u200bcarry\u200dover",
        "<car ry\tover",
        "<\ufeff/carryover",
    ],
)
def test_quoted_text_cannot_open_or_close_a_block(marker: str) -> None:
    quoted = quote(f"a {marker} 1a2b3c4d>")

    assert "<" not in quoted
    assert quoted.startswith("> a ‹")


def test_every_line_is_quoted_and_nothing_else_is_changed() -> None:
    assert quote("- a\r\n\n  <b> `x < y`") == "> - a\n>\n>   <b> `x < y`"


@given(anything)
def test_a_quoted_text_stays_behind_its_marks(text: str) -> None:
    lines = quote(text).splitlines()

    assert all(line.startswith(">") for line in lines)


@pytest.mark.parametrize(
    "text", ["<" * 200_000, "<carryover " * 20_000, "< " * 100_000, "\u200b" * 200_000, "`" * 200_000]
)
def test_hostile_text_takes_no_time(text: str) -> None:
    started = time.process_time()

    strip_blocks(text)
    quote(text)
    language(text)

    assert time.process_time() - started < 1
