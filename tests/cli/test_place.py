from __future__ import annotations

import pytest

from carryover.cli.place import caller


class Input:
    def __init__(self, *, terminal: bool) -> None:
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("environ", "terminal", "by"),
    [
        ({}, True, "human"),
        ({}, False, "agent"),
        ({"PI_CODING_AGENT": "true"}, True, "agent"),
        ({"CLAUDECODE": "1"}, True, "agent"),
        ({"CODEX_SANDBOX_NETWORK_DISABLED": "1"}, True, "agent"),
        ({"AI_AGENT": ""}, True, "human"),
        ({"PI_CODING_AGENT_DIR": "/x", "CODEX_HOME": "/y"}, True, "human"),
    ],
)
def test_a_human_has_a_terminal_and_no_agent_around(
    environ: dict[str, str], terminal: bool, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Input(terminal=terminal))

    assert caller(environ) == by


def test_without_an_input_nobody_is_human(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)

    assert caller({}) == "agent"
