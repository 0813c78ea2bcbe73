from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call


def test_a_note_is_set_from_a_file_and_printed_whole(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "note.md"
    file.write_bytes("\ufeff- [ ] finish the parser\r\n- [ ] 然后打印\r\n".encode())

    assert call("note", "--set", str(file)).status == 0
    assert call("note").out == "- [ ] finish the parser\n- [ ] 然后打印\n"
    assert call("note", "--json").json == {"text": "- [ ] finish the parser\n- [ ] 然后打印"}


@pytest.mark.parametrize(
    ("feed", "reason"),
    [(b"", "the note is empty"), (b"\xff\xfe- x", "is not UTF-8"), (b"x" * 1_000_000, "a note has at most")],
)
def test_what_is_no_note_is_refused_and_the_old_one_stands(call: Call, feed: bytes, reason: str) -> None:
    call("note", "--set", "-", feed="- [ ] finish the parser\n")

    told = call("note", "--set", "-", feed=feed)

    assert told.status == 1
    assert reason in told.err
    assert call("note").out == "- [ ] finish the parser\n"


def test_a_cleared_note_comes_back_with_restore(call: Call) -> None:
    call("note", "--set", "-", feed="- [ ] finish the parser\n")

    cleared = call("clear")
    empty = call("note")
    restored = call("restore")

    assert (cleared.status, cleared.out) == (0, "Note cleared. Undo: carryover restore\n")
    assert (empty.status, restored.status) == (1, 0)
    assert call("note").out == "- [ ] finish the parser\n"


def test_what_is_clear_is_not_cleared_again(call: Call) -> None:
    call("note", "--set", "-", feed="- [ ] first\n")
    call("clear")

    assert call("clear").status == 1
    assert len(call("log", "--json").json) == 2


@pytest.mark.parametrize("command", ["clear", "restore", "history", "log", "note", "show"])
def test_where_nothing_is_on_record_a_command_says_so_and_writes_nothing(
    call: Call, project: Path, command: str
) -> None:
    told = call(command)

    assert told.status == 1
    assert told.out or told.err
    assert list(project.iterdir()) == []


def test_restore_goes_back_to_a_note_by_the_end_of_its_id(call: Call) -> None:
    for item in ("first", "second", "third"):
        call("note", "--set", "-", feed=f"- [ ] {item}\n")
    oldest = call("history", "--json").json[-1]["id"]

    told = call("restore", oldest[-8:])

    assert told.status == 0
    assert call("note").out == "- [ ] first\n"


def test_restore_of_an_unknown_id_is_refused_and_changes_nothing(call: Call) -> None:
    call("note", "--set", "-", feed="- [ ] first\n")

    told = call("restore", "ZZZZZZZZ")

    assert told.status == 1
    assert "ZZZZZZZZ" in told.err
    assert len(call("log", "--json").json) == 1


def test_what_a_command_writes_without_a_terminal_is_not_by_a_human(call: Call) -> None:
    call("note", "--set", "-", feed="- [ ] first\n")

    assert call("--json").json["note"]["by"] == "agent"


def test_a_view_that_cannot_be_written_is_said(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] first\n")
    (project / ".pi" / "CARRYOVER.md").write_bytes(b"\xff\xfe")

    told = call("note", "--set", "-", feed="- [ ] second\n")

    assert told.status == 0
    assert "is not UTF-8" in told.err
    assert call("note").out == "- [ ] second\n"


@pytest.mark.parametrize("when", ["0001-01-01", "9999-12-31T23:59:59-14:00", "nope12"])
def test_a_time_that_no_clock_can_show_is_answered_in_a_sentence(call: Call, when: str) -> None:
    call("note", "--set", "-", feed="- [ ] one")

    told = call("restore", when)

    assert told.status == 1
    assert told.err.count("\n") == 1


def test_a_note_cannot_command_the_terminal(call: Call, project: Path) -> None:
    (project / ".pi").mkdir()
    (project / ".pi" / "CARRYOVER.md").write_text("- [ ] \033]0;owned\007\033[2J done\n", encoding="utf-8")

    for words in (["show"], ["note"], ["brief"], ["doctor"]):
        assert "\033" not in call(*words).out


def test_going_back_takes_an_edit_of_the_file_back_first(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] one")
    call("note", "--set", "-", feed="- [ ] two")
    view = project / ".pi" / "CARRYOVER.md"
    view.write_text(view.read_text("utf-8").replace("two", "two edited"), "utf-8")

    call("restore")

    assert call("note").out == "- [ ] two\n"
