"""The smallest edit: what is added, what is taken out, and that nothing else moves."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carryover import jsonc
from carryover.hosts.install import packages
from carryover.hosts.install.edits import Edit

ENTRY = "/venv/carryover/hosts/pi/extension/index.ts"
OLD = "/old/lib/carryover/hosts/pi/extension"

#: Before, and with our entry X added.
ADDED = [
    ("", '{\n  "packages": [\n    X\n  ]\n}\n'),
    (" \n", '{\n  "packages": [\n    X\n  ]\n}\n'),
    ("\ufeff", '\ufeff{\n  "packages": [\n    X\n  ]\n}\n'),
    ("{}", '{"packages": [X]}'),
    ("{\n}\n", '{\n  "packages": [X]\n}\n'),
    ("{ // mine\n}", '{\n  "packages": [X] // mine\n}'),
    ('{"a": 1}', '{"a": 1, "packages": [X]}'),
    ('{"a": 1, }', '{"a": 1, "packages": [X] }'),
    ('{\n  "a": 1\n}', '{\n  "a": 1,\n  "packages": [X]\n}'),
    ('{\n  "a": 1 // one\n}', '{\n  "a": 1, // one\n  "packages": [X]\n}'),
    ('{\n\t"a": 1, // one\n}', '{\n\t"a": 1, // one\n\t"packages": [X]\n}'),
    ('{\r\n    "a": 1\r\n}\r\n', '{\r\n    "a": 1,\r\n    "packages": [X]\r\n}\r\n'),
    ('{\n  "a": 1 /* two\n lines */\n}', '{\n  "a": 1, /* two\n lines */\n  "packages": [X]\n}'),
    ('{\n  "a": 1}', '{\n  "a": 1,\n  "packages": [X]}'),
    ('{"packages": []}', '{"packages": [X]}'),
    ('{"packages": [\n  ]}', '{"packages": [\n  X\n  ]}'),
    ('{"packages": ["npm:a"]}', '{"packages": ["npm:a", X]}'),
    (
        '{\n  "packages": [\n    "npm:a" // a\n  ]\n}',
        '{\n  "packages": [\n    "npm:a", // a\n    X\n  ]\n}',
    ),
    ('{"packages": ["npm:a"], "packages": ["npm:b"]}', '{"packages": ["npm:a"], "packages": ["npm:b", X]}'),
]

#: Before, with an entry O of an older version, and after.
RENEWED = [
    ('{"packages": ["npm:a", O, "npm:b"]}', '{"packages": ["npm:a", X, "npm:b"]}'),
    ('{"packages": [{"source": O, "skills": []}]}', '{"packages": [{"source": X, "skills": []}]}'),
    ('{"packages": [O, "npm:a", O]}', '{"packages": [X, "npm:a"]}'),
    ('{"packages": [O,\n {"source": O},\n O], "a": [1, 2]}', '{"packages": [X], "a": [1, 2]}'),
    ('{"packages": [X]}', '{"packages": [X]}'),
]

#: Before, and after our entries are taken out.
REMOVED = [
    ('{"packages": [X]}', '{"packages": []}'),
    ('{"packages": ["npm:a", X]}', '{"packages": ["npm:a"]}'),
    ('{"packages": [X, "npm:a"]}', '{"packages": ["npm:a"]}'),
    ('{"packages": ["npm:a", X,]}', '{"packages": ["npm:a", ]}'),
    ('{"packages": ["npm:a", X, O, "npm:b"]}', '{"packages": ["npm:a", "npm:b"]}'),
    ('{\n  "packages": [\n    X\n  ]\n}', '{\n  "packages": [\n  ]\n}'),
    ('{\n  "packages": [\n    "npm:a", // a\n    X\n  ]\n}', '{\n  "packages": [\n    "npm:a" // a\n  ]\n}'),
    (
        '{\r\n  "packages": [\r\n    X,\r\n    "npm:a"\r\n  ]\r\n}',
        '{\r\n  "packages": [\r\n    "npm:a"\r\n  ]\r\n}',
    ),
    ('{"packages": ["npm:a", {\n "source": X\n}]}', '{"packages": ["npm:a"]}'),
    ('{"a": 1}', '{"a": 1}'),
]


def filled(text: str) -> str:
    return text.replace("X", json.dumps(ENTRY)).replace("O", json.dumps(OLD))


@pytest.mark.parametrize(("before", "after"), ADDED)
def test_an_entry_is_added_where_its_neighbours_are(before: str, after: str) -> None:
    assert packages.add(before, ENTRY) == filled(after)


@pytest.mark.parametrize(("before", "after"), RENEWED)
def test_an_entry_of_another_version_is_renewed_in_its_place(before: str, after: str) -> None:
    assert packages.add(filled(before), ENTRY) == filled(after)


@pytest.mark.parametrize(("before", "after"), REMOVED)
def test_our_entries_are_taken_out_with_their_commas_and_lines(before: str, after: str) -> None:
    assert packages.remove(filled(before), and_list=False) == filled(after)


@pytest.mark.parametrize("text", [before for before, _ in ADDED])
def test_adding_twice_is_adding_once(text: str) -> None:
    once = packages.add(text, ENTRY)

    assert packages.add(once, ENTRY) == once


@pytest.mark.parametrize(
    "text",
    ["[]", '"packages"', '{"packages": "npm:a"}', '{"packages": null}', '{"packages": {}}', '{"a": 1', "//"],
)
def test_a_text_that_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        packages.add(text, ENTRY)


@pytest.mark.parametrize(
    ("entry", "ours"),
    [
        (ENTRY, True),
        (OLD, True),
        (f"{OLD}/", True),
        ("carryover/hosts/pi/extension", True),
        ("../../venv/carryover/hosts/pi/extension", True),
        ("C:\\venv\\Lib\\site-packages\\carryover\\hosts\\pi\\extension\\index.ts", True),
        ({"source": OLD, "extensions": []}, True),
        ("/src/notcarryover/hosts/pi/extension", False),
        ("/src/carryover/hosts/pi/extension/other.ts", False),
        ("/src/carryover", False),
        ("npm:pi-carryover", False),
        ({"source": 5}, False),
        (5, False),
    ],
)
def test_an_entry_is_ours_by_the_end_of_its_path(entry: object, ours: bool) -> None:
    assert packages.is_ours(entry) is ours


NAMES = st.text(st.characters(codec="utf-8"), max_size=8)
SOURCES = NAMES | st.builds(lambda name: {"source": name}, NAMES) | st.integers()
MORE = st.dictionaries(NAMES.filter(lambda name: name != "packages"), NAMES | st.lists(NAMES), max_size=3)


@given(
    more=MORE,
    entries=st.none() | st.lists(SOURCES | st.just(ENTRY) | st.just(OLD), max_size=4),
    indent=st.sampled_from([None, 0, 1, "\t"]),
    newline=st.sampled_from(["\n", "\r\n", " // note ]}\n", ",\n", " /* , */\n"]),
)
def test_an_edit_changes_the_list_and_nothing_else(
    more: dict[str, object], entries: list[object] | None, indent: int | str | None, newline: str
) -> None:
    content = more | ({} if entries is None else {"packages": entries})
    text = relaxed(json.dumps(content, indent=indent, ensure_ascii=False), newline)
    others = [entry for entry in entries or [] if not packages.is_ours(entry)]

    added = packages.add(text, ENTRY)
    removed = packages.remove(added, and_list=True)

    assert listed(added, others=False) == [ENTRY]
    assert listed(removed) == listed(added, ours=False) == others
    assert {**read(added), "packages": 0} == {**content, "packages": 0}
    assert Edit.between(text, added).undo(added) == text


def relaxed(text: str, newline: str) -> str:
    """*text* with other line ends, and commas there only where they are allowed."""
    lines = text.split("\n")
    ends = [newline.removeprefix(",") if line.endswith(("{", "[", ",")) else newline for line in lines[:-1]]
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True))


def read(text: str) -> dict[str, object]:
    content = jsonc.loads(text)
    assert isinstance(content, dict)
    return content


def listed(text: str, ours: bool = True, others: bool = True) -> list[object]:
    found = read(text).get("packages", [])
    assert isinstance(found, list)
    return [entry for entry in found if (ours if packages.is_ours(entry) else others)]
