"""The command line, called as a person calls it, from the project's folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from carryover.cli import main


@dataclass(frozen=True, slots=True)
class Told:
    """What a command answered."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Call = Callable[..., Told]


@pytest.fixture
def call(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """``call("note", "--set", "-", feed="…")`` in the project's folder."""
    monkeypatch.chdir(project)

    def called(*words: str, feed: str | bytes = b"") -> Told:
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdin", _input(feed))
            status = main(words)
        shown = capsys.readouterr()
        return Told(status, shown.out, shown.err)

    return called


def _input(feed: str | bytes) -> TextIOWrapper:
    return TextIOWrapper(BytesIO(feed.encode() if isinstance(feed, str) else feed), encoding="utf-8")
