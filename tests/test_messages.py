from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import carryover
from carryover.messages import MESSAGES, locale_language, say

PACKAGE = Path(carryover.__file__).parent


def values_of(message: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(message) if name is not None}


def said() -> Iterator[tuple[str, set[str]]]:
    """Every ``say("key", language, value=…)`` in the package that names its key outright."""
    for module in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_bytes())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "say":
                continue
            if isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value), {word.arg or "**" for word in node.keywords}


@pytest.mark.parametrize("key", MESSAGES)
def test_both_languages_take_the_same_values(key: str) -> None:
    english, chinese = MESSAGES[key]

    assert values_of(english) == values_of(chinese)


@pytest.mark.parametrize("key", MESSAGES)
def test_a_message_is_one_trimmed_line_in_its_own_language(key: str) -> None:
    english, chinese = MESSAGES[key]

    assert [english, chinese] == [" ".join(english.split()), " ".join(chinese.split())]
    assert english.isascii()
    assert re.search("[\u4e00-\u9fff]", chinese)


def test_every_message_said_exists_and_is_given_its_values() -> None:
    wrong = [(key, given) for key, given in said() if values_of(MESSAGES[key][0]) != given]

    assert wrong == []


def test_values_are_filled_in_and_never_read_as_placeholders() -> None:
    assert say("save.cannot", "en", reason="{disk} is full") == "cannot save: {disk} is full"
    assert say("save.cannot", "zh", reason="磁盘已满") == "无法保存：磁盘已满"


def test_a_text_without_a_language_is_answered_in_english() -> None:
    assert say("save.done", "") == say("save.done", "en")


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LANG": "C"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "de_DE"}, "en"),
        ({"LANG": "en_US", "LC_MESSAGES": "de_DE", "LC_ALL": "zh_CN"}, "zh"),
        ({"LANG": "zh_CN", "LC_ALL": ""}, "zh"),
    ],
)
def test_the_locale_decides_the_language(environ: dict[str, str], language: str) -> None:
    assert locale_language(environ) == language
