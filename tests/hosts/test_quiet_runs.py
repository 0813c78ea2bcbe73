"""Runs that have nothing to say leave note and log as they were, byte for byte."""

from __future__ import annotations

import os

import pytest

from tests.hosts.place import Place, blocks, tool_call
from tests.hosts.sessions import rpc, tui

pytestmark = pytest.mark.hosts

NOTE = "- [ ] sign the release"


@pytest.fixture(autouse=True)
def stored(place: Place) -> dict[str, bytes]:
    """Note and log after somebody saved a note."""
    place.save(NOTE)
    place.wait_for_quiet()
    place.model.asked.clear()
    return place.stored


def test_a_one_shot_question_changes_nothing(place: Place, stored: dict[str, bytes]) -> None:
    finished = place.run("-p", "--no-session", "what is 2+2")

    place.wait_for_quiet()
    assert finished.out == "echo: what is 2+2\n"
    assert place.stored == stored


def test_a_one_shot_question_in_json_changes_nothing(place: Place, stored: dict[str, bytes]) -> None:
    place.run("--mode", "json", "what is 2+2")

    place.wait_for_quiet()
    assert place.stored == stored
    assert place.model.summaries == []


def test_empty_sessions_change_nothing(place: Place, stored: dict[str, bytes]) -> None:
    for _ in range(5):
        with rpc(place) as session:
            session.command("get_state")
            session.end()

    place.wait_for_quiet()
    assert place.stored == stored
    assert place.model.asked == []


def test_an_empty_session_in_the_terminal_changes_nothing(place: Place, stored: dict[str, bytes]) -> None:
    with tui(place) as session:
        session.type("\x04")
        session.wait()

    place.wait_for_quiet()
    assert place.stored == stored
    assert place.model.asked == []


def test_a_session_that_only_looked_at_the_note_changes_nothing(place: Place, stored: dict[str, bytes]) -> None:
    with rpc(place) as session:
        session.command("prompt", message="/carryover")
        session.end()

        assert any(NOTE in notice for notice in session.notices)
    place.wait_for_quiet()
    assert place.stored == stored


@pytest.mark.parametrize("marked_by", ["PI_SUBAGENT_CHILD", "CARRYOVER_PI"])
def test_a_sub_agent_is_given_no_tool_and_changes_nothing(
    place: Place, stored: dict[str, bytes], marked_by: str
) -> None:
    place.extra[marked_by] = "1" if marked_by == "PI_SUBAGENT_CHILD" else str(os.getpid())

    place.print(tool_call("- [ ] overwrite it"))

    place.wait_for_quiet()
    assert "save_carryover" not in place.model.turns[0].tools
    assert place.stored == stored


def test_a_marker_of_a_pi_that_is_gone_does_not_make_a_sub_agent(place: Place) -> None:
    place.extra["CARRYOVER_PI"] = "999999999"

    place.print("hello")

    assert "save_carryover" in place.model.turns[0].tools


def test_the_host_of_somebodys_summary_is_left_alone(place: Place, stored: dict[str, bytes]) -> None:
    place.extra["CARRYOVER_NESTED"] = "1"

    place.print("hello")

    assert place.stored == stored
    assert blocks(place.model.turns[0].text) == []
    assert "save_carryover" not in place.model.turns[0].tools
