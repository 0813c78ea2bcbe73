"""Stores on the file system of this machine, in projects without git."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from carryover import settings as configuration
from carryover.memory.events import Event
from carryover.project import Project
from carryover.store.codec import encode, next_id
from carryover.store.files import SYSTEM, FileSystem
from carryover.store.store import Store, Writer

START = datetime(2026, 11, 30, 9, 0, tzinfo=timezone(timedelta(hours=8)))


class Clock:
    """A clock that goes on by a second at each look, and can be set."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stores(project: Path, clock: Clock) -> Callable[..., Store]:
    """Opens the project's store, each time as a program that has just started does."""

    def store(
        root: Path | None = None,
        *,
        system: FileSystem = SYSTEM,
        trusted: bool = True,
        secrets: str = "redact",
        tree: str = "",
        log_folder: Path | None = None,
    ) -> Store:
        root = root or project
        where = Project(root, "folder", root / ".pi", log_folder or root / ".pi", tree, "main", None)
        settings = replace(configuration.load(root, os.environ), secrets=secrets)
        return Store(where, settings, os.environ, system=system, now=clock, trusted=trusted)

    return store


@pytest.fixture
def store(stores: Callable[..., Store]) -> Store:
    return stores()


@pytest.fixture
def save() -> Callable[..., Event]:
    """Saves a note as an agent does that was shown everything."""

    def save(store: Store, text: str, **more: Any) -> Event:
        with store.writing() as writer:
            return note(writer, text, **more)

    return save


def note(writer: Writer, text: str, **more: Any) -> Event:
    return writer.append("note", **{"by": "agent", "source": "agent", "base": writer.base, "text": text, **more})


@pytest.fixture
def lines() -> Callable[..., list[bytes]]:
    """Makes lines of a log, each event made from the one before it."""

    def lines(*texts: str, after: str = "") -> list[bytes]:
        found, last = [], after
        for text in texts:
            base = [last] if last else []
            last = next_id(last, 1_764_500_000_000)
            fields = {"v": 1, "id": last, "at": START.isoformat(), "op": "note", "source": "agent", "base": base}
            found.append(encode({**fields, "tree": "", "text": text}, None))
        return found

    return lines
