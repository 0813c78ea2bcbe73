from __future__ import annotations

import os
from pathlib import Path

import pytest

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
