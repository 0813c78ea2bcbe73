"""What a user sees and types: `/carryover`, the status, notices, and summaries that can be skipped."""

from __future__ import annotations

import os
import signal

import pytest

from tests.hosts.fake_model import HANG_SECONDS, Answer
from tests.hosts.place import Place, tool_call, until
from tests.hosts.sessions import rpc, tui

pytestmark = pytest.mark.hosts

NOTE = "- [ ] write the changelog"
WORDS = "the release waits for its signature"


def test_the_commands_are_completed_with_what_they_do(place: Place) -> None:
    with tui(place) as session:
        session.prompt("hello")
        session.type("/carryover ")

        session.wait_for("what the next session will know")
        session.wait_for("restore")


def test_a_note_that_was_cleared_can_be_restored(place: Place) -> None:
    place.save(NOTE)
    with rpc(place) as session:
        session.command("prompt", message="/carryover clear")
        assert NOTE not in place.note.read_text(encoding="utf-8")

        session.command("prompt", message="/carryover restore")

    assert NOTE in place.note.read_text(encoding="utf-8")


def test_an_unknown_command_names_those_there_are(place: Place) -> None:
    with rpc(place) as session:
        session.command("prompt", message="/carryover explode")

    assert "/carryover restore" in session.notices[-1]


def test_the_status_counts_open_items(place: Place) -> None:
    with rpc(place) as session:
        session.prompt(tool_call(f"{NOTE}\n- [ ] tag it"))
        session.prompt("hello")

        until(lambda: "carryover: 2 open" in session.statuses, "two items are open")


def test_messages_follow_the_users_own_language(place: Place) -> None:
    with rpc(place) as session:
        session.prompt("请把解析器改成新的语法")

        session.command("prompt", message="/carryover explode")

    assert "没有 `/carryover explode`" in session.notices[-1]


def test_escape_skips_a_summary_that_was_asked_for(place: Place) -> None:
    place.save(NOTE)
    place.model.summary = Answer("never", seconds=HANG_SECONDS)
    with tui(place) as session:
        session.prompt(WORDS)
        session.submit("/carryover save")
        place.model.wait(lambda model: bool(model.summaries))

        session.type("\x1b")

        session.wait_for("Summary skipped")
    assert place.notes("summary") == []


def test_a_session_that_was_killed_is_summed_up_in_the_background_by_the_next(place: Place) -> None:
    place.model.summary = Answer(f"- [ ] {WORDS}")
    with rpc(place) as session:
        session.prompt(WORDS)
        until(place.checkpoints, "the session has written down where it stands")
        for process in place.processes():
            os.kill(process, signal.SIGKILL)

    with rpc(place) as session:
        session.prompt("hello")

        until(lambda: place.notes("summary"), "the summary is on record")
        assert len(place.model.summaries) == 1
