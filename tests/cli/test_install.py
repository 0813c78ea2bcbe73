from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Call

BEFORE = b'{\r\n  "theme": "dark" \r\n}'


@pytest.fixture
def settings() -> Path:
    """The settings of a pi that was started before."""
    file = Path(os.environ["PI_CODING_AGENT_DIR"]) / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(BEFORE)
    return file


def test_uninstall_gives_the_file_back_byte_for_byte(call: Call, settings: Path) -> None:
    installed = call("install")
    entries = settings.read_bytes().count(b"extension/index.ts")
    removed = call("uninstall")

    assert (installed.status, entries, removed.status) == (0, 1, 0)
    assert settings.read_bytes() == BEFORE


def test_installing_twice_changes_nothing_and_says_so(call: Call, settings: Path) -> None:
    call("install", "pi")
    once = settings.read_bytes()

    told = call("install", "pi")

    assert (told.status, told.out) == (0, "Registered with pi already; nothing was changed.\n")
    assert settings.read_bytes() == once


def test_uninstalling_what_is_not_there_changes_nothing_and_says_so(call: Call, settings: Path) -> None:
    assert call("uninstall").out == "Not registered with pi; nothing was changed.\n"


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_dry_run_shows_the_change_and_makes_none(call: Call, settings: Path, command: str) -> None:
    if command == "uninstall":
        call("install")
    before = settings.read_bytes()

    told = call(command, "--dry-run")

    assert told.status == 0
    assert str(settings) in told.out
    assert "index.ts" in told.out
    assert settings.read_bytes() == before


def test_settings_that_cannot_be_edited_are_left_alone_with_the_text_to_paste(call: Call, settings: Path) -> None:
    settings.write_bytes(b'{"packages": 3')

    told = call("install")

    assert told.status == 1
    assert 'add to "packages"' in told.err
    assert settings.read_bytes() == b'{"packages": 3'


def test_an_unknown_host_is_wrong_use(call: Call) -> None:
    assert call("install", "emacs").status == 2


def test_the_doctor_tells_whether_pi_knows_us(call: Call, settings: Path) -> None:
    before = call("doctor").out
    call("install")
    after = call("doctor").out
    settings.write_bytes(b"{")
    broken = call("doctor").out

    assert "not registered with pi\n       Run: carryover install" in before
    assert "ok     registered with pi" in after
    assert f"note   cannot edit {settings}" in broken


def test_another_python_than_at_the_installation_is_registered_all_the_same(call: Call, settings: Path) -> None:
    call("install")
    memory = Path(os.environ["XDG_STATE_HOME"]) / "carryover" / "pi.json"
    memory.write_text(memory.read_text("utf-8").replace(sys.executable, "/old/python"), "utf-8")

    assert "ok     registered with pi" in call("doctor").out


def test_the_doctor_says_that_two_generations_should_not_stand_side_by_side(call: Call, settings: Path) -> None:
    settings.write_bytes(b'{"packages": ["npm:pi-carryover@1.2.1"]}')

    assert "npm:pi-carryover@1.2.1" in call("doctor").out
    assert "npm:pi-carryover@1.2.1" in call("install").err
