"""When a model is given the note, and that it is given once, and the same bytes until there is a reason."""

from __future__ import annotations

import pytest

from tests.hosts.fake_model import Asked
from tests.hosts.place import SECOND_EXTENSION, Place, blocks, tool_call, until
from tests.hosts.sessions import Rpc, rpc, tui

pytestmark = pytest.mark.hosts

NOTE = "- [ ] teach the cache to expire"
NEW = "- [ ] teach the cache to forget"
LONG = "and another thing " * 60  # more than pi keeps of a conversation it compacts


@pytest.fixture(autouse=True)
def saved(place: Place) -> None:
    place.save(NOTE)
    place.model.asked.clear()


def assert_carries_once(asked: Asked, note: str) -> None:
    assert [note in block for block in blocks(asked.text)] == [True]
    assert len(blocks(asked.system)) == 1


def last_turn(session: Rpc, message: str) -> Asked:
    session.prompt(message)
    return session.place.model.turns[-1]


def test_a_new_session_is_given_the_note_once(place: Place) -> None:
    with rpc(place) as session:
        session.prompt("one")
        session.command("new_session")

        turn = last_turn(session, "two")

    assert_carries_once(turn, NOTE)


def test_a_resumed_session_is_given_the_note_once(place: Place) -> None:
    with rpc(place) as session:
        session.prompt("one")
        first = session.command("get_state")["sessionFile"]
        session.command("new_session")
        session.prompt("two")
        session.command("switch_session", sessionPath=first)

        turn = last_turn(session, "three")

    assert "echo: one" in turn.text
    assert_carries_once(turn, NOTE)


def test_a_forked_session_is_given_the_note_once(place: Place) -> None:
    with rpc(place) as session:
        session.prompt("one")
        session.prompt("two")
        entry = session.command("get_fork_messages")["messages"][-1]["entryId"]
        session.command("fork", entryId=entry)

        turn = last_turn(session, "three")

    assert "echo: one" in turn.text
    assert_carries_once(turn, NOTE)


def test_a_reloaded_session_is_given_the_note_once(place: Place) -> None:
    with rpc(place, "-e", str(SECOND_EXTENSION)) as session:
        session.prompt("one")
        session.command("prompt", message="/again")

        turn = last_turn(session, "two")

    assert_carries_once(turn, NOTE)


def test_one_child_serves_all_sessions_of_a_pi(place: Place) -> None:
    with rpc(place, "-e", str(SECOND_EXTENSION)) as session:
        session.prompt("one")
        before = place.processes()

        session.command("new_session")
        session.prompt("two")
        session.command("prompt", message="/again")
        session.prompt("three")

        assert place.processes() == before


def test_the_system_prompt_stays_the_same_bytes_while_notes_are_saved(place: Place) -> None:
    with rpc(place) as session:
        session.prompt("one")
        session.prompt(tool_call(NEW))
        session.prompt("two")

    assert len({turn.system for turn in place.model.turns}) == 1


def test_after_a_save_and_a_compaction_the_next_request_carries_the_new_note(place: Place) -> None:
    with rpc(place) as session:
        session.prompt(LONG)
        session.prompt(tool_call(NEW))
        session.prompt(LONG)
        session.command("compact")

        turn = last_turn(session, "go on")

    assert_carries_once(turn, NEW)
    assert NOTE not in turn.system


def test_after_a_compaction_by_itself_the_next_request_carries_the_new_note(place: Place) -> None:
    with rpc(place) as session:
        session.prompt(LONG)
        session.prompt(tool_call(NEW))
        session.prompt(f"usage:30000 {LONG}")
        until(lambda: "compaction_end" in session.kinds, "pi compacts by itself")

        turn = last_turn(session, "go on")

    assert_carries_once(turn, NEW)


def test_a_run_that_goes_on_after_a_compaction_is_given_the_new_note_once(place: Place) -> None:
    with rpc(place) as session:
        session.prompt(LONG)
        session.prompt(tool_call(NEW))
        session.prompt(LONG)
        session.send_prompt("overflow:99999 go on")
        until(lambda: "compacted" in place.model.turns[-1].text, "the run goes on after its compaction")

    turn = place.model.turns[-1]
    assert [block for block in blocks(turn.text) if NEW in block] == blocks(turn.text)[1:]
    assert len(blocks(turn.text)) == 2


def test_the_terminal_is_given_the_note_once(place: Place) -> None:
    with tui(place) as session:
        session.prompt("good morning")

    assert_carries_once(place.model.turns[0], NOTE)
