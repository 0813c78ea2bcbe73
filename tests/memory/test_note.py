from __future__ import annotations

import time
from collections.abc import Iterable
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carryover.memory.note import _MAYBE_FINISHED, _finished, finish, items, merge
from carryover.memory.outline import parse, render


def text(block: str) -> str:
    return dedent(block).lstrip("\n")


# --- finished work ---


@pytest.mark.parametrize(
    "finished",
    [
        "- [x] done",
        "* [X] done",
        "+ [✓] done",
        "1. [x] done",
        "12) [x] done",
        "1、[x] 完成了",
        "- 【x】 完成了",
        "[x] done without a bullet",
        "- ~~done~~",
        "- [ ] ~~done~~",
        "~~a whole paragraph\nis done~~",
        "- [x] done\n  on two lines",
        "- [x] done\n\n  with a paragraph\n\n  ```\n  - [ ] and code\n  ```",
        "- [x] done\n  - with a child\n    - and its child",
        "1. [x] done\n  - with a child that is not quite in line",
    ],
)
def test_a_finished_item_goes_with_all_that_is_nested_in_it(finished: str) -> None:
    assert finish(f"- before\n{finished}\n- after\n") == "- before\n- after\n"


@pytest.mark.parametrize(
    "kept",
    [
        "- [ ] open",
        "- [-] given up?",
        "- [x](https://example.org) is a link",
        "- ~~half~~ of it",
        "- ~~one~~ and ~~the other~~",
        "- xmas",
        "```\n- [x] in code\n```",
        "~~~\n- [x] in code without an end",
        "> - [x] quoted",
        "- [ ] open\n  - with a child",
        "- a\n - [ ] hardly nested",
        "## Done when\n\n- all is green",
        "## Not done\n\n- that",
        "## 未完成\n\n- 那个",
        "## 完成标准\n\n- 全绿",
        "## Done (not tested)\n\n- that",
        "#done\n- a tag, no heading",
    ],
)
def test_what_is_not_finished_keeps_its_bytes(kept: str) -> None:
    assert finish(f"- before\n\n{kept}\n") == f"- before\n\n{kept}\n"


@pytest.mark.parametrize(
    "heading",
    [
        "# Done",
        "## Done:",
        "### ✅ Completed (3)",
        "## **Finished** ##",
        "## Done 2026-11-30",
        "## Completed tasks",
        "## 已完成",
        "##完成",
        "## 已完成的工作",
        "## ✅ 已完成 / Done",
    ],
)
def test_what_stands_under_done_is_finished_up_to_the_next_heading(heading: str) -> None:
    level = "#" * (len(heading) - len(heading.lstrip("#")))
    note = f"- before\n\n{heading}\n\nAll this:\n\n- a\n{level}# Details\n- b\n\n{level} Next\n\n- after\n"

    assert finish(note) == f"- before\n\n{level} Next\n\n- after\n"


def test_an_empty_box_is_open_work_wherever_it_stands() -> None:
    note = text("""
        ## Done
        - shipped
        - [ ] announce it

        ## Next
        - [x] release
          - [x] build
          - [ ] upload
    """)

    assert finish(note) == text("""
        ## Done
        - [ ] announce it

        ## Next
        - [x] release
          - [ ] upload
    """)


def test_a_heading_left_empty_goes_and_one_that_was_empty_stays() -> None:
    note = text("""
        # Project

        ## Empty

        ## Parser

        - [x] errors

        ---

        ### Lexer
        - [x] strings

        ## Store
        Keep it small.

        - [x] lock
    """)

    assert finish(note) == text("""
        # Project

        ## Empty

        ## Store
        Keep it small.
    """)


def test_a_note_of_finished_work_alone_becomes_empty() -> None:
    assert finish("# Work\n\n- [x] a\n- [x] b\n") == ""


def test_fenced_code_without_an_end_does_not_swallow_the_next_item() -> None:
    assert finish("- [x] run\n  ```\n  make\n- [ ] next\n") == "- [ ] next\n"


def test_an_item_indented_by_one_column_is_not_nested() -> None:
    assert finish("- [x] a\n - b\n") == " - b\n"


def test_two_paragraphs_do_not_become_one_when_what_stood_between_them_goes() -> None:
    assert finish("~~one\n- [x] a\nother~~\n") == "~~one\n\nother~~\n"


def test_windows_line_ends_become_line_feeds() -> None:
    assert finish("- a\r\n- [x] b\r\n\r\n- c\r\n") == "- a\n- c\n"


LINES = [
    "- a",
    "- [ ] open",
    "- [x] ticked",
    "  - child",
    "  - [x] ticked child",
    "  - [ ] open child",
    "  continued",
    "text",
    "~~struck~~",
    "- ~~struck item~~",
    "# Top",
    "## Done",
    "## Next",
    "##完成",
    "",
    " ",
    "---",
    "```",
    "  ```",
    "1. one",
    "2) [x] two",
    "\t- by tab",
]
notes = st.lists(st.sampled_from(LINES), max_size=14).map("\n".join)


@given(notes | st.text("-*# []x~`\n\t1.a"))
def test_an_outline_keeps_every_byte(note: str) -> None:
    assert render(parse(note)) == note


@given(notes)
def test_finishing_twice_is_finishing_once(note: str) -> None:
    assert finish(finish(note)) == finish(note)


@given(notes)
def test_finishing_only_takes_lines_away_and_ends_code_that_had_no_end(note: str) -> None:
    left = iter(note.split("\n"))

    assert all(line in left for line in finish(note).split("\n") if line.strip(" `"))


@given(notes)
def test_no_open_box_is_ever_dropped(note: str) -> None:
    def boxes(of: str) -> list[str]:
        return [block.content for block in parse(of).blocks if block.box == " "]

    assert boxes(finish(note)) == boxes(note)


# --- open items ---


def test_open_items_are_listed_with_keys_that_ignore_how_they_are_written() -> None:
    note = text("""
        ## Next
        - [ ] Fix the **parser**.
          - In `jsonc.py`
        - [x] Lock
        提交之前先跑测试。
        ```
        - code
        ```

        ## Done
        - all this
    """)

    found = [(item.text, item.key) for item in items(note)]

    assert found == [
        ("Fix the **parser**.", "fix the parser"),
        ("In `jsonc.py`", "in jsonc.py"),
        ("提交之前先跑测试。", "提交之前先跑测试"),
    ]
    assert [item.key for item in items("* fix  the parser\n")] == ["fix the parser"]


# --- two writers ---

BASE = text("""
    # Plan

    ## Next

    - [ ] parser
      - [ ] strings
    - [ ] store

    ## Later

    - [ ] docs
""")


def test_what_one_side_deleted_goes_and_what_either_added_stays_in_its_section() -> None:
    ours = BASE.replace("- [ ] store\n", "- [ ] lock\n")
    theirs = BASE.replace("- [ ] docs\n", "- [ ] docs\n- [ ] demo\n").replace("# Plan", "# The plan")

    assert merge(BASE, ours, theirs) == text("""
        # The plan

        ## Next

        - [ ] parser
          - [ ] strings
        - [ ] lock

        ## Later

        - [ ] docs
        - [ ] demo
    """)


def test_what_one_side_changed_and_the_other_deleted_stays_changed() -> None:
    ours = BASE.replace("- [ ] store", "- [ ] store, with fsync")
    theirs = BASE.replace("- [ ] store\n", "").replace("docs", "handbook")

    assert merge(BASE, ours, theirs) == text("""
        # Plan

        ## Next

        - [ ] parser
          - [ ] strings
        - [ ] store, with fsync

        ## Later

        - [ ] handbook
    """)


def test_what_both_changed_stands_in_both_versions() -> None:
    ours = BASE.replace("store", "store for us")
    theirs = BASE.replace("store", "store for them")

    merged = merge(BASE, ours, theirs)

    assert merged == BASE.replace("- [ ] store", "- [ ] store for us\n- [ ] store for them")


def test_a_tick_on_one_side_counts_though_the_other_wrote_the_note_anew() -> None:
    ours = BASE.replace("- [ ] store", "- [x] store")
    theirs = "## Next\n* [ ] docs\n* [ ] store\n* [ ] parser\n    * [ ] strings\n"

    assert finish(merge(BASE, ours, theirs)) == "## Next\n* [ ] docs\n* [ ] parser\n    * [ ] strings\n"


def test_a_parent_stays_for_the_child_that_the_other_side_gave_it() -> None:
    ours = BASE.replace("  - [ ] strings\n", "  - [ ] strings\n  - [ ] numbers\n")
    theirs = BASE.replace("- [ ] parser\n  - [ ] strings\n", "").replace("docs", "handbook")

    assert merge(BASE, ours, theirs) == text("""
        # Plan

        ## Next

        - [ ] parser
          - [ ] numbers
        - [ ] store

        ## Later

        - [ ] handbook
    """)


def test_an_added_child_goes_in_line_with_the_children_that_are_there() -> None:
    base = "- a\n  - b\n- z\n"
    ours = "- a\n  - b\n  - c\n    text\n- z\n"
    theirs = "* a\n    * b\n* y\n"

    assert merge(base, ours, theirs) == "* a\n    * b\n    - c\n      text\n* y\n"


def test_an_item_that_only_we_moved_is_moved() -> None:
    ours = BASE.replace("- [ ] store\n", "").replace("- [ ] docs\n", "- [ ] docs\n- [ ] store\n")
    theirs = BASE.replace("strings", "text")

    assert merge(BASE, ours, theirs) == text("""
        # Plan

        ## Next

        - [ ] parser
          - [ ] text

        ## Later

        - [ ] docs
        - [ ] store
    """)


def test_two_items_moved_into_each_other_both_stay() -> None:
    merged = merge("- a\n- b\n", "- b\n  - a\n", "- a\n  - b\n- c\n")

    assert sorted(item.key for item in items(merged)) == ["a", "b", "c"]


def test_an_item_that_one_side_moved_and_the_other_ticked_is_ticked() -> None:
    ours = BASE.replace("- [ ] store\n", "").replace("- [ ] docs\n", "- [ ] docs\n- [ ] store\n")
    theirs = BASE.replace("- [ ] store", "- [x] store")

    assert "store" not in finish(merge(BASE, ours, theirs))


def test_another_bullet_on_one_side_is_kept() -> None:
    merged = merge(BASE, BASE.replace("- [ ] store", "* [ ]  store"), BASE.replace("docs", "handbook"))

    assert merged == BASE.replace("- [ ] store", "* [ ]  store").replace("docs", "handbook")


def test_what_both_added_stands_once() -> None:
    assert merge("- a\n", "- a\n- new\n- b\n", "- a\n- c\n- new\n") == "- a\n- c\n- new\n- b\n"


def test_what_precedes_the_headings_of_a_section_still_does() -> None:
    merged = merge("# A\n- a\n", "# A\n- a\n## B\n- b\n", "# A\n- a\n- c\n")

    assert merged == "# A\n- a\n- c\n## B\n- b\n"


def test_a_ragged_paragraph_stays_one_where_it_is_indented_anew() -> None:
    ours = "- a\n\n    para\n  graph\n  - x\n- z\n"

    assert merge("- a\n  - x\n- z\n", ours, "- a\n  - x\n- y\n") == "- a\n\n  para\n  graph\n  - x\n- y\n"


def test_equal_items_under_different_parents_are_different_items() -> None:
    base = "- api\n  - tests\n- ui\n  - tests\n"
    ours = "- api\n- ui\n  - tests\n"

    assert merge(base, ours, base + "- docs\n") == "- api\n- ui\n  - tests\n- docs\n"
    assert merge(base, ours, base.replace("ui\n  - tests", "ui\n  - all")) == "- api\n- ui\n  - all\n"


def test_fenced_code_without_an_end_is_ended_before_what_comes_after_it() -> None:
    merged = merge("- a\n", "- a\n- b\n", "- a\n```\ncode\n")

    assert [item.key for item in items(merged)] == ["a", "b"]
    assert merge("", "```\ncode", "- a\n") == "```\ncode\n```\n- a\n"


def test_notes_written_without_a_common_base_are_joined() -> None:
    assert merge("", "# A\n- a\n", "# B\n- b\n") == "# A\n- a\n# B\n- b\n"


@given(notes, notes)
def test_a_side_that_changed_nothing_gives_way(base: str, other: str) -> None:
    assert merge(base, other, base) == other
    assert merge(base, base, other) == other
    assert merge(base, other, other) == other


Tree = tuple[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]], ...]
words = st.sampled_from([f"{box}{word}" for word in "abcdefgh" for box in ("", "[ ] ", "[x] ")])
trees: st.SearchStrategy[Tree] = st.lists(
    st.tuples(
        st.sampled_from(["# A", "# B", "## C"]),
        st.lists(st.tuples(words, st.lists(words, max_size=2).map(tuple)), max_size=4).map(tuple),
    ),
    max_size=3,
).map(tuple)


def written(tree: Tree) -> str:
    lines = []
    for heading, entries in tree:
        lines.append(f"{heading}\n")
        for entry, children in entries:
            lines += [f"- {entry}", *(f"  - {child}" for child in children)]
        lines.append("")
    return "\n".join(lines)


def contents(note: str) -> set[tuple[str, str | None, str]]:
    return {(block.kind, block.box, block.content) for block in parse(note).blocks}


@given(trees.map(written), trees.map(written), trees.map(written))
def test_which_side_is_ours_does_not_matter_to_the_items(base: str, ours: str, theirs: str) -> None:
    assert contents(merge(base, ours, theirs)) == contents(merge(base, theirs, ours))


@given(trees.map(written), trees.map(written), trees.map(written))
def test_a_merge_keeps_what_is_new_and_makes_nothing_up(base: str, ours: str, theirs: str) -> None:
    merged = contents(merge(base, ours, theirs))

    assert merged >= (contents(ours) | contents(theirs)) - contents(base)
    assert merged <= contents(ours) | contents(theirs)


# --- size ---


def big(lines: Iterable[str]) -> str:
    return "\n".join(lines)


@pytest.mark.parametrize(
    "note",
    [
        big(f"## {n}\n\n- [{' x'[n % 2]}] item {n} of a long note\n  - a detail of {n}\n" for n in range(7_000)),
        big("  " * depth + f"- {depth}" for depth in range(640)),
        "# Done\n- [ ] a\n" * 10_000,
        "x" * 420_000,
        "- " * 210_000,
        "```a\n" * 80_000,
    ],
    ids=["ordinary", "deep", "headings", "line", "rule", "fences"],
)
def test_a_huge_note_takes_time_in_proportion(note: str) -> None:
    started = time.process_time()

    finish(note)
    merge(note, f"{note}\n- ours", f"- theirs\n{note}")

    assert time.process_time() - started < 5


PIECES = [
    "- ", "1. ", "[ ] ", "[x] ", "[X]", "[]", "［ ］", "［x］", "【✓】", "# ", "## ", "Done", "DONE", "ﬁnished", "完成",
    "~~", "a", "word", "\n", "\n\n", "\r\n", "  ", "\t", "```", "d\u200bone", "[link](x)",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_a_note_that_is_not_looked_through_has_nothing_finished(text: str) -> None:
    looked_through = _MAYBE_FINISHED.search(text.casefold())

    assert looked_through or not _finished(parse(text))


@pytest.mark.parametrize("heading", ["60% done", "0/5 completed", "Done?", "已完成 40%", "完成 1／3？"])
def test_a_heading_that_says_how_much_is_done_does_not_say_that_all_is(heading: str) -> None:
    text = f"## {heading}\n- port the parser"

    assert finish(text) == text


@pytest.mark.parametrize("heading", ["100% done", "Completed 3/3", "Done (2)"])
def test_a_heading_that_says_that_all_is_done_is_believed(heading: str) -> None:
    assert finish(f"## {heading}\n- port the parser").strip() == ""
