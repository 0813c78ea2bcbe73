from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call


def test_a_new_project_has_no_note_and_is_told_how_to_get_one(call: Call, project: Path) -> None:
    told = call()

    assert told.status == 1
    assert told.out.startswith("No note yet.")
    assert list(project.iterdir()) == []


def test_show_gives_the_note_where_it_is_and_how_much_is_open(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] finish the parser\n- [ ] then the printer\n")

    told = call("show")

    assert told.status == 0
    assert str(project / ".pi" / "CARRYOVER.md") in told.out
    assert "open items: 2" in told.out
    assert "- [ ] finish the parser\n- [ ] then the printer\n" in told.out


def test_without_a_command_the_note_is_shown(call: Call) -> None:
    call("note", "--set", "-", feed="- [ ] finish the parser\n")

    assert call() == call("show")


def test_a_long_note_is_cut_and_says_by_how_much(call: Call) -> None:
    call("note", "--set", "-", feed="- [ ] " + "long " * 400)

    told = call()

    assert "characters more: carryover note" in told.out
    assert len(told.out) < 1200


def test_show_answers_in_json(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] 解析器\n")

    told = call("--json").json

    assert told["project"] == str(project)
    assert (told["note"]["text"], told["note"]["open"], told["note"]["source"]) == ("- [ ] 解析器", 1, "command")
    assert (told["tails"], told["events"], told["damaged"]) == ([], 1, 0)


def test_an_edit_of_the_file_is_shown_at_once(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] finish the parser\n")
    view = project / ".pi" / "CARRYOVER.md"
    view.write_text(view.read_text("utf-8").replace("parser", "printer"), "utf-8")

    assert "- [ ] finish the printer" in call().out
    assert call("note").out == "- [ ] finish the printer\n"


def test_conflict_markers_are_named_and_the_note_on_record_is_shown(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] finish the parser\n")
    (project / ".pi" / "CARRYOVER.md").write_text("<<<<<<< a\n- x\n=======\n- y\n>>>>>>> b\n", "utf-8")

    told = call()

    assert "conflict markers" in told.err
    assert "- [ ] finish the parser" in told.out


def test_a_file_that_cannot_be_read_is_said_and_hides_nothing(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] finish the parser\n")
    (project / ".pi" / "CARRYOVER.md").write_bytes(b"\xff\xfe")

    told = call()

    assert "is not UTF-8" in told.err
    assert "- [ ] finish the parser" in told.out


def test_a_damaged_line_is_counted(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] finish the parser\n")
    with (project / ".pi" / "carryover.log").open("ab") as log:
        log.write(b"garbage\n")

    assert "lines that could not be read: 1 (carryover doctor)" in call().out
    assert call("--json").json["damaged"] == 1


def test_another_project_is_named_before_or_after_the_command(call: Call, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    call("note", "--set", "-", "--project", str(other), feed="- [ ] over there\n")

    assert "- [ ] over there" in call("--project", str(other)).out
    assert call("--project", str(other), "note").out == call("note", "--project", str(other)).out


def test_messages_are_in_the_users_language(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")

    assert call().out.startswith("还没有笔记")


def test_a_setting_that_cannot_be_used_is_said_and_stops_nothing(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    call("note", "--set", "-", feed="- [ ] finish the parser\n")
    monkeypatch.setenv("CARRYOVER_SUMMARY_WORDS", "many")

    told = call()

    assert "CARRYOVER_SUMMARY_WORDS" in told.err
    assert "- [ ] finish the parser" in told.out


def test_brief_prints_the_block_of_a_session(call: Call) -> None:
    call("note", "--set", "-", feed="- [ ] finish the parser\n")

    told = call("brief")

    assert told.status == 0
    assert told.out.startswith("<carryover")
    assert "- [ ] finish the parser" in told.out


def test_a_block_keeps_its_budget(call: Call) -> None:
    call("note", "--set", "-", feed="\n".join(f"- [ ] item {number}" for number in range(500)))

    told = call("brief", "--budget", "200", "--json").json

    assert told["tokens"] <= 200
    assert told["fingerprint"]
