"""/carryover and its sub-commands."""

from __future__ import annotations

import pytest

from tests.session.play import Place, Played, notices

FIRST = "- [ ] the parser"
SECOND = "- [ ] the printer"
THIRD = "- [ ] the profiler"
WORDS = "the lexer drops the last newline of a heredoc"


@pytest.fixture
def session(place: Place) -> Played:
    return place.session("one").start()


@pytest.fixture
def three_notes(place: Place) -> list[str]:
    """Three notes, an hour between them; their ids, oldest first."""
    for note in (FIRST, SECOND, THIRD):
        place.memory().save(note)
        place.clock.pass_by(hours=1)
    return [event["id"] for event in place.events]


# ---------------------------------------------------------------- show


def test_without_a_note_it_is_said_that_there_is_none(session: Played) -> None:
    assert session.command("show").text.startswith("No note yet.")


def test_note_and_tails_are_shown_and_where_the_last_session_is(place: Place, session: Played) -> None:
    place.memory().save(FIRST)
    session.turn(WORDS)
    session.end()

    shown = place.session("two").start().command("", "")

    assert str(place.view) in shown.text
    assert FIRST in shown.text
    assert WORDS in shown.text
    assert str(session.file) in shown.text
    assert shown.status == "carryover: 1 open"


def test_what_is_shown_is_in_the_users_language(session: Played) -> None:
    session.turn("请修复词法分析器丢掉最后一个换行符的问题")

    assert session.command("show").text.startswith("还没有笔记")


def test_a_log_that_cannot_be_read_is_not_shown_as_no_note(place: Place, session: Played) -> None:
    place.log.mkdir(parents=True)

    shown = session.command("show")

    assert "No note yet" not in shown.text
    assert str(place.log) in shown.text
    assert shown.level != "info"


def test_a_view_that_cannot_be_read_is_told_below_the_note_on_record(place: Place, session: Played) -> None:
    place.memory().save(FIRST)
    place.view.write_bytes(b"\xff")

    shown = session.command("show")

    assert FIRST in shown.text
    assert "is not UTF-8" in shown.text


def test_an_unknown_command_names_the_known_ones(session: Played) -> None:
    outcome = session.command("dance")

    assert outcome.level == "warning"
    assert "/carryover restore" in outcome.text


# ---------------------------------------------------------------- save


def test_save_keeps_the_tail_first_and_then_asks(place: Place, session: Played) -> None:
    session.turn(WORDS)

    session.command("save")

    assert session.asked.line == "Summing up this session (30 s at most) ..."
    assert place.sources == ["raw"]


def test_after_a_save_that_went_well_the_end_saves_nothing_more(place: Place, session: Played) -> None:
    session.turn(WORDS)
    session.command("save")
    told = session.answer(FIRST)

    outcome = session.end()

    assert notices(told) == ["Session summed up. The next one will be given the summary."]
    assert place.sources == ["raw", "summary"]
    assert outcome.ask is None
    assert outcome.farewell == ""


def test_after_a_summary_that_failed_the_tail_stands_and_the_end_does_not_ask_again(
    place: Place, session: Played
) -> None:
    session.turn(WORDS)
    session.command("save")
    told = session.answer(stop="timeout")

    outcome = session.end()

    assert notices(told)[0].endswith("the last messages stand beside it.")
    assert WORDS in place.tails[0]
    assert outcome.ask is None
    assert place.sources == ["raw"]


def test_what_is_said_after_a_save_is_saved_at_the_end(place: Place, session: Played) -> None:
    session.turn(WORDS)
    session.command("save")
    session.answer(stop="timeout")
    session.turn("and one more thing")

    outcome = session.end()

    assert outcome.ask is not None
    assert place.tails[0].startswith(f"- {WORDS}\n- and one more thing")


def test_who_asks_for_a_summary_again_is_given_another_try(session: Played) -> None:
    session.turn(WORDS)
    session.command("save")
    session.answer(stop="timeout")

    assert session.command("save").ask is not None


def test_the_agent_is_told_of_a_summary_of_its_own_session(session: Played) -> None:
    session.turn(WORDS)
    session.command("save")
    session.answer(FIRST)

    assert f"> {FIRST}" in str(session.turn("go on").message)


def test_a_session_that_was_saved_by_command_is_the_last_one(place: Place, session: Played) -> None:
    session.turn(WORDS)
    session.command("save")

    pointer = place.project / ".pi" / ".carryover-session"
    assert pointer.read_text("utf-8") == f"{session.file}\n"


def test_with_nothing_said_there_is_nothing_to_save(place: Place, session: Played) -> None:
    outcome = session.command("save")

    assert outcome.text.startswith("Nothing new to save")
    assert outcome.ask is None
    assert list(place.project.iterdir()) == []


def test_with_summaries_off_save_keeps_the_tail(place: Place) -> None:
    place.set(summary={"mode": "off"})
    session = place.session("one").start()
    session.turn(WORDS)

    outcome = session.command("save")

    assert outcome.ask is None
    assert outcome.text.startswith("Kept the last 2 of 2 messages")


# ---------------------------------------------------------------- clear


def test_a_note_is_cleared_and_brought_back(place: Place, session: Played) -> None:
    place.memory().save(FIRST)

    cleared = session.command("clear")
    gone = place.note
    session.command("restore")

    assert cleared.text == "Note cleared. Undo: /carryover restore"
    assert cleared.status == "carryover: nothing open"
    assert gone == ""
    assert place.note == FIRST


def test_the_agent_does_not_bring_back_what_was_cleared_behind_its_back(place: Place, session: Played) -> None:
    place.memory().save(FIRST)
    session.turn("hello")
    session.command("clear")

    session.save(f"{FIRST}\n{SECOND}")

    assert place.note == SECOND


def test_tails_are_cleared_with_the_note(place: Place, session: Played) -> None:
    session.turn(WORDS)
    session.end()

    place.session("two").start().command("clear")

    assert place.tails == []
    assert WORDS not in place.view.read_text("utf-8")


def test_where_there_is_no_note_nothing_is_cleared(place: Place, session: Played) -> None:
    assert session.command("clear").text.startswith("No note yet.")
    assert list(place.project.iterdir()) == []


# ---------------------------------------------------------------- restore


def test_without_a_name_the_note_before_comes_back(place: Place, session: Played, three_notes: list[str]) -> None:
    outcome = session.command("restore")

    assert outcome.text == "The note is again the one of 2026-11-30 10:00."
    assert outcome.status == "carryover: 1 open"
    assert place.note == SECOND
    assert SECOND in place.view.read_text("utf-8")


def test_restoring_twice_undoes_the_undoing(place: Place, session: Played, three_notes: list[str]) -> None:
    session.command("restore")
    session.command("restore")

    assert place.note == THIRD


def test_restoring_after_a_clear_brings_the_note_back(place: Place, session: Played, three_notes: list[str]) -> None:
    session.command("clear")
    session.command("restore")

    assert place.note == THIRD


@pytest.mark.parametrize("characters", [6, 8, 26])
def test_a_note_is_named_by_the_end_of_its_id(
    place: Place, session: Played, three_notes: list[str], characters: int
) -> None:
    session.command("restore", f" {three_notes[0][-characters:].lower()} ")

    assert place.note == FIRST


@pytest.mark.parametrize(
    ("time", "note"),
    [
        ("2026-11-30T09:30+08:00", FIRST),
        ("2026-11-30T01:30Z", FIRST),
        ("2026-11-30T10:00+08:00", SECOND),
        ("2026-12-01", THIRD),
    ],
)
def test_a_note_is_named_by_a_time(place: Place, session: Played, three_notes: list[str], time: str, note: str) -> None:
    session.command("restore", time)

    assert place.note == note


@pytest.mark.parametrize("name", ["2026-11-29", "000000", "yesterday", "<!-- -->", "2026-11-30T25:00"])
def test_what_names_no_note_changes_nothing(place: Place, session: Played, three_notes: list[str], name: str) -> None:
    before = place.stored

    outcome = session.command("restore", name)

    assert outcome.level == "error"
    assert place.stored == before


def test_with_one_note_only_there_is_nothing_to_go_back_to(place: Place, session: Played) -> None:
    place.memory().save(FIRST)

    outcome = session.command("restore")

    assert (outcome.level, place.note) == ("error", FIRST)


def test_an_edit_that_is_not_on_record_yet_is_what_restore_undoes(place: Place, session: Played) -> None:
    place.memory().save(FIRST)
    place.memory().save(SECOND)
    place.view.write_text(place.view.read_text("utf-8").replace(SECOND, THIRD), "utf-8")

    session.command("restore")

    assert place.note == SECOND
    assert THIRD in [event["text"] for event in place.events]


def test_a_note_that_shows_the_same_is_no_earlier_one(place: Place, session: Played) -> None:
    place.memory().save(FIRST)
    place.memory().save(f"{SECOND}\n- [x] read the grammar")
    place.memory().save(SECOND)

    session.command("restore")

    assert place.note == FIRST


def test_the_agent_is_told_what_was_restored(place: Place, session: Played, three_notes: list[str]) -> None:
    session.turn("hello")
    session.command("restore")

    assert f"> {SECOND}" in str(session.turn("go on").message)


def test_restore_leaves_the_tails_beside_the_note(place: Place, session: Played, three_notes: list[str]) -> None:
    session.turn(WORDS)
    session.end()

    place.session("two").start().command("restore")

    assert WORDS in place.tails[0]


# ---------------------------------------------------------------- completion


def test_the_notes_there_were_are_offered_newest_first(session: Played, three_notes: list[str]) -> None:
    offered = session.host.complete("restore", "")

    assert [one.value for one in offered] == [name[-8:] for name in reversed(three_notes)]
    assert [one.description for one in offered] == [THIRD, SECOND, FIRST]
    assert offered[0].label.endswith("2026-11-30 11:00")


def test_what_is_offered_begins_as_what_was_typed(session: Played, three_notes: list[str]) -> None:
    wanted = three_notes[1][-8:]

    assert [one.value for one in session.host.complete("restore", wanted[:5].lower())] == [wanted]
    assert session.host.complete("clear", "") == []


def test_what_is_offered_can_be_restored(place: Place, session: Played, three_notes: list[str]) -> None:
    session.command("restore", session.host.complete("restore", "")[-1].value)

    assert place.note == FIRST


def test_where_the_log_cannot_be_read_nothing_is_offered(place: Place, session: Played) -> None:
    place.log.mkdir(parents=True)

    assert session.host.complete("restore", "") == []
