"""The process is killed at any call of a save: the next one finds every acknowledged save and a whole view."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from carryover import settings as configuration
from carryover.project import Project
from carryover.store import log
from carryover.store.files import FileSystem
from carryover.store.store import Store
from carryover.store.views import Kind

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills a fork of this process")

LONG = "x" * 60


class Doomed(FileSystem):
    """Kills its process at the call of that number; a write is half done then."""

    def __init__(self, at: int) -> None:
        self.left = at

    def count(self) -> bool:
        self.left -= 1
        return self.left == 0

    def die_if_due(self) -> None:
        if self.count():
            os.kill(os.getpid(), signal.SIGKILL)

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        self.die_if_due()
        return super().open(path, flags, mode)

    def write(self, descriptor: int, data: bytes) -> int:
        if self.count():
            super().write(descriptor, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        self.die_if_due()
        super().sync(descriptor)

    def close(self, descriptor: int) -> None:
        self.die_if_due()
        super().close(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        self.die_if_due()
        super().replace(source, target)

    def make_folder(self, path: Path) -> None:
        self.die_if_due()
        super().make_folder(path)

    def sync_folder(self, path: Path) -> None:
        self.die_if_due()
        super().sync_folder(path)

    def try_lock(self, descriptor: int) -> bool:
        self.die_if_due()
        return super().try_lock(descriptor)


def open_store(root: Path, system: FileSystem) -> Store:
    where = Project(root, "folder", root / ".pi", root / ".pi", "", "main", None)
    return Store(where, configuration.load(root, os.environ), os.environ, system)


def save(root: Path, text: str, system: FileSystem, acknowledge: Callable[[str], object] = str) -> None:
    with open_store(root, system).writing() as writer:
        writer.append("note", by="agent", source="agent", base=writer.base, text=text)
        acknowledge(text)


def save_and_be_killed(root: Path, text: str, at: int) -> tuple[bool, bool]:
    """Save in a process that is killed at call *at*: whether it was killed, and whether the save was acknowledged."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            save(root, text, Doomed(at), lambda said: os.write(tell, said.encode()))
        finally:
            os._exit(0)
    os.close(tell)
    with os.fdopen(told, "rb") as pipe:
        acknowledged = pipe.read() == text.encode()
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status), acknowledged


@pytest.mark.parametrize("earlier", [0, 1, 2], ids=["first save", "later save", "save that rotates"])
def test_a_process_killed_at_any_call_of_a_save_loses_nothing_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, earlier: int, subtests: pytest.Subtests
) -> None:
    monkeypatch.setattr(log, "ROTATE_AT", 900)
    before = [f"- [ ] note {number} {LONG}" for number in range(earlier)]
    killed, at = True, 0

    while killed:
        at += 1
        root = tmp_path / str(at)
        root.mkdir()
        for text in before:
            save(root, text, FileSystem())
        killed, acknowledged = save_and_be_killed(root, f"- [ ] killed {LONG}", at)
        with subtests.test(at=at):
            _check(root, before, acknowledged)

    assert at > 12
    rotated = (root / ".pi" / "carryover.0001.log").exists()
    assert rotated == (earlier == 2)


def _check(root: Path, before: list[str], acknowledged: bool) -> None:
    store = open_store(root, FileSystem())
    known = store.known()
    texts = [event.text for event in store.log.read().events]
    saved = [*before, f"- [ ] killed {LONG}"]
    assert texts in ([saved] if acknowledged else [before, saved])

    view = store.view(known.state)
    kinds = {Kind.CURRENT, Kind.OLDER} if before else {Kind.CURRENT, Kind.MISSING}
    assert view.kind in kinds
    if view.kind is not Kind.MISSING:
        assert view.text in saved[-2:]

    save(root, "- [ ] next", FileSystem())
    again = open_store(root, FileSystem())
    assert [event.text for event in again.log.read().events] == [*texts, "- [ ] next"]
    assert again.view(again.known().state).kind is Kind.CURRENT
    assert again.known().damaged <= 1


def test_a_killed_save_leaves_no_rest_behind_for_ever(tmp_path: Path) -> None:
    at = 0
    killed = True
    while killed:
        at += 1
        killed, _ = save_and_be_killed(tmp_path, f"- [ ] note {at}", at)

    folder = tmp_path / ".pi"
    drafts = list(folder.glob(".carryover.*.tmp"))
    for path in drafts:
        os.utime(path, (0, 0))
    (folder / ".carryover.in-use.tmp").touch()
    save(tmp_path, "- [ ] next", FileSystem())

    assert drafts
    assert sorted(path.name for path in folder.iterdir()) == [
        ".carryover.in-use.tmp",
        ".gitignore",
        "CARRYOVER.md",
        "carryover.lock",
        "carryover.lock.next",
        "carryover.log",
    ]
