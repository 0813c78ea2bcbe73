from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from carryover.cli.wording import source
from tests.cli.conftest import Call

Offered = Callable[[str], list[str]]


@pytest.fixture(autouse=True)
def _two_notes(call: Call) -> None:
    call("note", "--set", "-", feed="- [ ] first\n\nwith a reason\n")
    call("note", "--set", "-", feed="- [ ] second\n- [ ] third\n")


def test_history_lists_notes_newest_first(call: Call) -> None:
    lines = call("history").out.splitlines()

    assert [line.rpartition("  ")[2] for line in lines] == ["- [ ] second", "- [ ] first"]
    assert "by command" in lines[0]


def test_history_of_an_id_is_that_note_whole(call: Call) -> None:
    oldest = call("history").out.splitlines()[1].split()[0]

    assert call("history", oldest).out == "- [ ] first\n\nwith a reason\n"
    assert call("history", oldest, "--json").json[0]["text"] == "- [ ] first\n\nwith a reason"


def test_history_is_no_longer_than_asked_for(call: Call) -> None:
    assert len(call("history", "--limit", "1").out.splitlines()) == 1
    assert call("history", "--limit", "0").status == 2


def test_log_shows_the_newest_events_oldest_first(call: Call) -> None:
    call("clear")

    lines = call("log", "--tail", "2").out.splitlines()

    assert [line.split()[2] for line in lines] == ["note/command", "clear"]


def test_log_gives_events_as_they_stand(call: Call) -> None:
    events = call("log", "--json").json

    assert [event["text"] for event in events] == ["- [ ] first\n\nwith a reason", "- [ ] second\n- [ ] third"]
    assert events[1]["base"] == [events[0]["id"]]


@pytest.fixture
def offered(call: Call, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Offered:
    """What the shell offers after these words."""

    def ask(words: str) -> list[str]:
        monkeypatch.setenv("_CARRYOVER_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", f"carryover {words}")
        monkeypatch.setenv("COMP_CWORD", "2")
        with pytest.raises(SystemExit):
            call()
        return capsys.readouterr().out.split()

    return ask


def test_the_shell_is_offered_the_ids_of_notes(call: Call, offered: Offered) -> None:
    newest = call("history").out.split()[0]

    assert offered(f"restore {newest[:3].lower()}") == [f"plain,{newest}"]


def test_the_shell_is_offered_nothing_where_there_is_no_project(
    offered: Offered, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project))

    assert offered("restore 0") == []


def test_a_source_of_a_later_version_is_shown_as_it_is() -> None:
    assert source("dream", "en") == "dream"
    assert source("agent", "zh") == "Agent 写入"
