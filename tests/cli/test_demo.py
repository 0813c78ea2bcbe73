from __future__ import annotations

from pathlib import Path

import pytest

from carryover.cli.stage import Stage
from tests.cli.conftest import Call


def test_the_demo_delivers_the_note_and_what_was_said_after_it(call: Call, project: Path) -> None:
    told = call("demo")

    block = told.out.partition("this is what its model is given:\n")[2]
    assert told.status == 0
    assert "- [ ] parser.py: offsets of half an hour" in block
    assert "keep the old CSV export" in block


def test_the_demo_leaves_nothing_behind(
    call: Call, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))

    call("demo")

    assert list(temporary.iterdir()) == []
    assert list(project.iterdir()) == []


def test_the_demo_speaks_chinese(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")

    told = call("demo")

    assert told.status == 0
    assert "- [ ] parser.py：半小时的时区偏移" in told.out


def test_the_demo_fails_when_the_second_session_is_not_given_all_of_it(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carryover.cli.stage.PlayedSession.prompt", lambda session, text: "<carryover/>")

    assert call("demo").status == 1


def test_settings_of_the_user_do_not_reach_the_stage(
    call: Call, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARRYOVER_PROJECT", str(project))

    assert call("demo").status == 0
    assert list(project.iterdir()) == []


@pytest.mark.parametrize("killed", [True, False])
def test_no_process_of_a_session_outlives_it(tmp_path: Path, killed: bool) -> None:
    with Stage(tmp_path).session("first") as session:
        if killed:
            session.kill()

    assert [process.returncode == 0 for process in session.processes] == [not killed, not killed]
