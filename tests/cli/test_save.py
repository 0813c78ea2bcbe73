from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from carryover import Memory
from carryover.cli.stage import Stage
from carryover.settings import Settings
from carryover.store.checkpoints import Checkpoint
from tests.cli.conftest import Call


def entry(number: int, role: str, *content: dict[str, Any]) -> dict[str, Any]:
    above = f"{number - 1:08x}" if number > 1 else None
    message = {"role": role, "content": list(content)}
    return {"type": "message", "id": f"{number:08x}", "parentId": above, "timestamp": "", "message": message}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session of two questions and an answer, as pi writes it."""
    lines = [
        {"type": "session", "version": 3, "id": "0193-abcd", "timestamp": "", "cwd": "/x"},
        entry(1, "user", text("mend the parser")),
        entry(2, "assistant", text("it is mended, the tests are not")),
        entry(3, "user", text("then the tests")),
    ]
    file = tmp_path / "2026-11-30T09-00-00-000Z_0193-abcd.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return file


def configure(monkeypatch: pytest.MonkeyPatch, **values: Any) -> None:
    monkeypatch.setattr("carryover.settings.load", lambda *given: Settings(**values))


def answering(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", f"import sys; sys.stdin.read(); print({text!r})")


def test_without_a_model_the_last_messages_stand_beside_the_note(call: Call, session: Path) -> None:
    call("note", "--set", "-", feed="- [ ] first\n")

    told = call("save", "--session", str(session))

    shown = call("--json").json
    assert told.status == 0
    assert told.out.startswith("Kept the last 3 of 3 messages")
    assert "no model is set up" in told.out
    assert shown["note"]["text"] == "- [ ] first"
    assert [(tail["session"], tail["covers"]) for tail in shown["tails"]] == [("0193-abcd", [3, 3])]
    assert "then the tests" in shown["tails"][0]["text"]


def test_saving_twice_keeps_one_tail(call: Call, session: Path) -> None:
    call("save", "--session", str(session))
    call("save", "--session", str(session))

    assert call("--json").json["events"] == 1


def test_a_summary_by_the_command_of_the_settings_replaces_the_tail(
    call: Call, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, summary_command=answering("- [ ] the tests of the parser still fail"))

    told = call("save", "--session", str(session))

    shown = call("--json").json
    assert told.out.splitlines()[-1].startswith("Session summed up.")
    assert (shown["note"]["text"], shown["note"]["source"]) == ("- [ ] the tests of the parser still fail", "summary")
    assert shown["tails"] == []


def test_a_summary_that_is_no_good_leaves_the_tail_and_says_why(
    call: Call, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, summary_command=answering(""))

    told = call("save", "--session", str(session))

    assert told.status == 0
    assert "the model's answer was empty" in told.out
    assert len(call("--json").json["tails"]) == 1


def test_with_summaries_off_no_model_is_mentioned(call: Call, session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(monkeypatch, summary_mode="off", summary_command=answering("- [ ] x"))

    told = call("save", "--session", str(session))

    assert told.out.splitlines() == ["Kept the last 3 of 3 messages beside the note, as clues only."]


def test_ctrl_c_skips_the_summary_and_loses_nothing(call: Call, session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    configure(monkeypatch, summary_command=answering("- [ ] x"))
    monkeypatch.setattr("carryover.completion.complete", interrupted)

    told = call("save", "--session", str(session))

    assert told.status == 0
    assert told.out.splitlines()[-1].startswith("Summary skipped.")
    assert len(call("--json").json["tails"]) == 1


def test_an_agent_saves_the_session_it_runs_in(call: Call, session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_SESSION_FILE", str(session))

    assert call("save").status == 0
    assert len(call("--json").json["tails"]) == 1


def test_where_no_session_is_known_its_file_is_asked_for(call: Call, project: Path) -> None:
    told = call("save")

    assert told.status == 1
    assert "carryover save --session FILE" in told.out
    assert list(project.iterdir()) == []


def test_without_a_file_the_last_session_is_saved(call: Call, tmp_path: Path) -> None:
    with Stage(tmp_path).session("first") as played:
        played.save("- [ ] first")
        played.hear("user", "one thing more")
        played.kill()

    told = call("save", "--project", str(tmp_path / "app"))

    assert told.status == 0
    assert told.out.startswith("Kept the last 1 of")


def test_a_session_that_still_runs_is_saved_under_its_own_name(call: Call, project: Path, session: Path) -> None:
    size = session.stat().st_size
    running = Checkpoint("its-own-name", str(session), 0, 40, 2, 3, "pi", "tui", "", "en", None, counted=size)
    (project / ".pi").mkdir()
    Memory(project).store.checkpoints().keep(running)

    call("save", "--session", str(session))

    assert [(tail["session"], tail["covers"]) for tail in call("--json").json["tails"]] == [("its-own-name", [3, 43])]


def test_of_a_session_in_which_nothing_was_said_nothing_is_kept(call: Call, session: Path) -> None:
    session.write_text(session.read_text("utf-8").partition("\n")[0] + "\n", "utf-8")

    told = call("save", "--session", str(session))

    assert (told.status, told.out) == (0, "Nothing new to save; the note stands as it was.\n")


@pytest.mark.parametrize("content", [None, b"no session at all\n"])
def test_a_file_that_is_no_session_is_refused(call: Call, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "x.jsonl"
    if content is not None:
        file.write_bytes(content)

    told = call("save", "--session", str(file))

    assert told.status == 1
    assert str(file) in told.err
