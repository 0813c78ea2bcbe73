"""The tolerant reader of JSON, and the offsets it gives."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carryover import jsonc

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('// first\n{"a": 1} // last', {"a": 1}),
        ('{"a": /* in\nside */ 1}', {"a": 1}),
        ("{/**/}", {}),
        ("[1 /* *** */]", [1]),
        ("[1, 2,]", [1, 2]),
        ("[1, // one\n 2, // two\n]", [1, 2]),
        ('{"a": {"b": [1,],},}', {"a": {"b": [1]}}),
        ('{"url": "http://x/*y*/", "c": ",]"}', {"url": "http://x/*y*/", "c": ",]"}),
        ('{"quote": "\\"// not a comment", "back": "\\\\"}', {"quote": '"// not a comment', "back": "\\"}),
        ('{"a": 1 // old mac\r}', {"a": 1}),
        ('{"键": "值",}', {"键": "值"}),
        (" \t\r\n 5 ", 5),
    ],
)
def test_what_people_write_is_read(text: str, value: object) -> None:
    assert jsonc.loads(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "\ufeff",
            "// nothing",
            "[,]",
            "{,}",
            "[1,,]",
            '{"a":,}',
            "[1 2]",
            "{'a': 1}",
            "{a: 1}",
            "[1] 2",
        ),
        *(
            "/* no end",
            "/*/",
            "[1] /*",
            "[1] /*/",
            '"open',
            '["open\\"',
            "[1,",
            '{"a"',
            "NaN",
            "[Infinity]",
            "/",
            "]",
        ),
        *("9" * 5000, "\x00", "[1/**/2]"),
    ],
)
def test_what_has_no_value_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        jsonc.loads(text)


def test_an_error_says_where_in_the_text_as_it_was_written() -> None:
    with pytest.raises(ValueError, match="line 4 column 3"):
        jsonc.loads('{ /* one\ntwo */ "a": 1, // three\n\n  nonsense }')


def test_hostile_nesting_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(ValueError, match="Nested too deeply"):
        jsonc.loads("[" * 200_000)
    with pytest.raises(ValueError, match="Nested too deeply"):
        jsonc.container('{"a":' * 200_000)


@pytest.mark.parametrize("unit", ['"', '\\"', "/*", "//", "/", "*", ",", ", ", "[ ", "[,", "/*/", '"\\', "{ ", " "])
def test_hostile_text_takes_time_in_proportion_to_its_length(unit: str) -> None:
    def seconds(count: int) -> float:
        start = time.process_time()
        with pytest.raises(ValueError, match=r".+"):
            jsonc.loads('"' * (unit == '\\"') + unit * count)
        return time.process_time() - start

    seconds(1_000)

    assert min(seconds(100_000) for _ in range(3)) < 0.5  # quadratic would be minutes


@given(VALUES)
def test_all_json_reads_as_json_reads_it(value: object) -> None:
    assert jsonc.loads(json.dumps(value)) == value


@given(VALUES, st.sampled_from(["/* x */", "// ]}\n", " ", "/*\n\n*/"]))
def test_comments_and_commas_change_nothing(value: object, comment: str) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    lines = text.split("\n")
    ends = [line if line.endswith(("{", "[", ",")) else f"{line}," for line in lines[:-1]]

    commented = "\n".join(f"{line} {comment}" for line in [*ends, lines[-1]])

    assert jsonc.loads(commented) == value


@pytest.mark.parametrize(
    ("text", "plain"),
    [('{"a": 1}', True), ("{}//", False), ("[1,]", False), ("\ufeff{}", False), ("", False)],
)
def test_a_strict_reader_accepts_only_plain_json(text: str, plain: bool) -> None:
    assert jsonc.is_plain(text) is plain


def test_a_container_knows_where_its_parts_are() -> None:
    text = '\ufeff// x\n{ "a" /* k */ : [1, "two", ], "b": {} }'

    outer = jsonc.container(text)
    inner = jsonc.container(text, outer.parts[0].value_start)

    assert (text[outer.open], text[outer.close]) == ("{", "}")
    assert [(part.key, text[part.value_start : part.end]) for part in outer.parts] == [
        ("a", '[1, "two", ]'),
        ("b", "{}"),
    ]
    assert [part.value for part in inner.parts] == [1, "two"]
    assert text[inner.parts[1].start : inner.parts[1].end] == '"two"'
    assert text[outer.parts[0].start :].startswith('"a"')


@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_the_parts_of_an_object_are_its_members(value: dict[str, object]) -> None:
    text = json.dumps(value, indent=2)

    parts = jsonc.container(text).parts

    assert {part.key: part.value for part in parts} == value
    assert {part.key: json.loads(text[part.value_start : part.end]) for part in parts} == value


@pytest.mark.parametrize("text", ["", "5", '"text"', "null", "[1", '{"a" 1}'])
def test_what_is_no_container_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        jsonc.container(text)
