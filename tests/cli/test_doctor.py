from __future__ import annotations

import os
from pathlib import Path

import pytest

from carryover.cli.stage import Stage
from carryover.store.codec import encode
from tests.cli.conftest import Call


def faults(call: Call) -> list[str]:
    return [finding["text"] for finding in call("doctor", "--json").json if finding["level"] == "fault"]


def notes(call: Call) -> list[str]:
    return [finding["text"] for finding in call("doctor", "--json").json if finding["level"] == "note"]


def test_where_all_is_well_nothing_is_at_fault(call: Call, project: Path) -> None:
    told = call("doctor")

    assert told.status == 0
    assert str(project) in told.out
    assert (faults(call), notes(call)) == ([], [])


def test_it_writes_nothing_where_nothing_was_ever_written(call: Call, project: Path) -> None:
    call("doctor")

    assert list(project.iterdir()) == []


def test_damaged_lines_are_named_with_their_place(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] first\n")
    with (project / ".pi" / "carryover.log").open("ab") as log:
        log.write(b"\0\0\0\n")

    told = call("doctor")

    assert told.status == 1
    assert "1:2 (NUL bytes)" in told.out


def test_a_log_that_cannot_be_read_is_a_fault(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] first\n")
    log = project / ".pi" / "carryover.log"
    log.unlink()
    log.mkdir()

    assert any("carryover.log" in fault for fault in faults(call))


def test_conflict_markers_are_a_fault(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] first\n")
    (project / ".pi" / "CARRYOVER.md").write_text("<<<<<<< a\n- x\n=======\n- y\n>>>>>>> b\n", "utf-8")

    assert any("conflict markers" in fault for fault in faults(call))


def test_a_folder_that_cannot_be_written_to_is_a_fault(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    assert any("cannot be written to" in fault for fault in faults(call))


def test_without_a_home_folder_events_are_unsigned_and_starts_slower(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name)

    assert [text.partition(":")[0] for text in notes(call)] == [
        "events are not signed",
        "there is no cache folder, so a start reads the whole log",
    ]


def test_settings_are_told_with_where_they_came_from(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARRYOVER_SUMMARY_SECONDS", "9")
    monkeypatch.setenv("CARRYOVER_SUMMARY_WORDS", "many")
    monkeypatch.setenv("CARRYOVER_SECRETS", "off")

    told = call("doctor")

    assert "setting summary.seconds: from environment" in told.out
    assert told.err == ""
    assert ["CARRYOVER_SUMMARY_WORDS" in fault for fault in faults(call)] == [True]
    assert [note.partition(":")[0] for note in notes(call)] == ["secrets are written as they are"]


def at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the played sessions have their home, and their key."""
    for name in ("HOME", "USERPROFILE", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(folder / "home"))
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_sessions_that_ended_without_saving_are_counted(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Stage(tmp_path).session("first") as session:
        session.hear("user", "mend the parser")
        session.settle()
        session.kill()
    at_home(tmp_path, monkeypatch)

    told = call("--project", str(tmp_path / "app"), "doctor")

    assert told.status == 0
    assert "sessions that ended without saving: 1" in told.out


def test_a_session_whose_file_is_gone_is_a_fault(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Stage(tmp_path).session("first") as session:
        session.hear("user", "mend the parser")
        session.settle()
        session.kill()
    session.file.unlink()
    at_home(tmp_path, monkeypatch)

    told = call("--project", str(tmp_path / "app"), "doctor")

    assert told.status == 1
    assert "its file is gone" in told.out


def test_summaries_say_who_makes_them(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    by_host = call("doctor").out
    monkeypatch.setenv("CARRYOVER_SUMMARY_MODE", "off")

    assert "summaries: by the host's own model" in by_host
    assert notes(call) == ["no summaries: the setting summary.mode is off"]


def test_lines_of_a_later_version_are_noted(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] first\n")
    later = call("--json").json["note"]["id"][:-1] + "Z"
    with (project / ".pi" / "carryover.log").open("ab") as log:
        log.write(encode({"v": 99, "id": later, "op": "dream"}, None))

    assert [note.partition(":")[0] for note in notes(call)] == ["lines that a later version wrote"]


def test_a_view_that_was_cut_off_is_noted(call: Call, project: Path) -> None:
    call("note", "--set", "-", feed="- [ ] first\n- [ ] second\n")
    view = project / ".pi" / "CARRYOVER.md"
    view.write_bytes(view.read_bytes()[:-20])

    assert [note.partition(" was ")[0] for note in notes(call)] == [str(view)]


def test_a_log_that_is_kept_elsewhere_is_told(call: Call, project: Path, tmp_path: Path) -> None:
    git = tmp_path / "elsewhere"
    for folder in ("objects", "refs"):
        (git / folder).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (project / ".git").write_text(f"gitdir: {git}\n", "utf-8")

    assert f"the log is kept for all work trees in {git / 'carryover'}" in call("doctor").out


def test_without_watchfiles_edits_are_noticed_later_only(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carryover.cli.doctor.find_spec", lambda name: None)

    assert [note.partition(":")[0] for note in notes(call)] == [
        "edits of CARRYOVER.md are noticed at the next start only"
    ]
