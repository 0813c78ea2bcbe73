"""The exit summary by the session's own model, and what is kept when it is no good."""

from __future__ import annotations

import sys

import pytest

from tests.hosts.fake_model import HANG_SECONDS, Answer
from tests.hosts.place import Place
from tests.hosts.sessions import Rpc, rpc, tui

pytestmark = pytest.mark.hosts

NOTE = "- [ ] move the parser to the new grammar"
WORDS = "the lexer drops the last newline of a heredoc"
GOOD = f"## Next\n{NOTE}\n- [ ] the lexer drops the last newline of a heredoc: fix it in read_heredoc"

FAULTS = {
    "empty": Answer(""),
    "refusal": Answer("I'm sorry, but I can't help with that."),
    "cut off": Answer(GOOD, finish="length"),
    "too long": Answer(f"{NOTE}\n" + "the lexer and the heredoc and the newline " * 100),
    "wrong language": Answer(f"{NOTE}\n- [ ] 词法分析器丢掉了最后一个换行符，需要在读取函数里修复这个问题。"),
    "HTTP 500": Answer("broken", status=500),
    "hang": Answer("never", seconds=HANG_SECONDS),
    "drops an open item": Answer("- [ ] fix the heredoc in read_heredoc"),
}


@pytest.fixture(autouse=True)
def settings(place: Place) -> None:
    place.set(summary={"seconds": 2})
    place.save(NOTE)


def end_with(place: Place, summary: Answer) -> Rpc:
    place.model.summary = summary
    with rpc(place) as session:
        session.prompt(WORDS)
        session.end()
    place.wait_for_quiet()
    return session


def test_a_good_summary_takes_the_place_of_note_and_tail(place: Place) -> None:
    end_with(place, Answer(GOOD))

    block = place.next_block()
    assert [note["text"].strip() for note in place.notes("summary")] == [GOOD]
    assert "fix it in read_heredoc" in block
    assert NOTE in block


def test_a_command_of_the_settings_is_asked_in_place_of_the_sessions_model(place: Place) -> None:
    place.set(summary={"command": [sys.executable, "-c", f"print({GOOD!r})"]})

    end_with(place, Answer("nobody asked the model"))

    assert [note["text"].strip() for note in place.notes("summary")] == [GOOD]
    assert place.model.summaries == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_summary_that_is_no_good_leaves_the_note_and_the_tail_beside_it(place: Place, fault: str) -> None:
    session = end_with(place, FAULTS[fault])

    block = place.next_block()
    assert place.notes("summary") == []
    assert NOTE in block
    assert WORDS in block
    assert len(session.notices[1:]) == 1, session.notices


def test_ctrl_c_during_the_summary_loses_nothing(place: Place) -> None:
    place.set(summary={"seconds": 30})
    place.model.summary = FAULTS["hang"]
    with tui(place) as session:
        session.prompt(WORDS)
        session.submit("/quit")
        place.model.wait(lambda model: bool(model.summaries))

        session.type("\x03")
        status = session.wait(seconds=10)

    place.wait_for_quiet()
    block = place.next_block()
    assert status == 0
    assert NOTE in block
    assert WORDS in block
