"""Every test starts on a machine of its own: no settings, no agent, no state of the person who runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

HOSTS = os.environ.get("CARRYOVER_PI_HOSTS", "")

# What the test run itself is told; everything else of these families belongs to the developer's own sessions.
OURS = ("CARRYOVER_PI_HOSTS", "CARRYOVER_REQUIRE_HOSTS", "CARRYOVER_EVAL_DATA", "CARRYOVER_TEST_WHEEL")
FOREIGN = (
    *("AI_AGENT", "CLAUDE", "CLINE_", "CODEX_", "CURSOR_", "GEMINI_", "OPENAI_", "OPENCODE", "PI_"),
    *("CARRYOVER_", "GIT_", "LANG", "LC_", "XDG_"),
)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("hosts") is None or HOSTS:
        return
    if os.environ.get("CARRYOVER_REQUIRE_HOSTS") == "1":
        pytest.fail("the real hosts are required and CARRYOVER_PI_HOSTS names none", pytrace=False)
    pytest.skip("no real pi here: `make hosts` installs two")


@pytest.fixture(autouse=True)
def _own_machine(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(FOREIGN) and name not in OURS:
            monkeypatch.delenv(name)

    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("LOCALAPPDATA", str(home / "AppData" / "Local"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local" / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local" / "share"))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(home / ".pi" / "agent"))
    monkeypatch.setenv("LANG", "C.UTF-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty folder without git: a project as on the first day."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def pi_hosts() -> Path:
    """The folder of `make hosts`: ``node22`` and ``node_modules`` with both versions of pi."""
    return Path(HOSTS)
