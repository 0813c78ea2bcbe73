from __future__ import annotations

from pathlib import Path

import pytest

from tests.session.play import Place


@pytest.fixture
def place(project: Path, tmp_path: Path) -> Place:
    """A project in which nothing was ever said."""
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    return Place(project, sessions)
