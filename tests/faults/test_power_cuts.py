"""The power is cut after any call of a save, and the disk has kept as little as it may.

The calls of some saves are recorded, then replayed on a model of a disk on which nothing is safe but what was synced:
content by a sync of its file, names by a sync of their folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePath

import pytest

from carryover import settings as configuration
from carryover.process import Owner
from carryover.project import Project
from carryover.store import log
from carryover.store.checkpoints import Checkpoint, Checkpoints
from carryover.store.files import FileSystem
from carryover.store.store import Store
from carryover.store.views import Kind

NOTES = tuple(f"- [ ] note {number} {'x' * 40 * number}" for number in range(1, 5))

# ---------------------------------------------------------------- the disk


@dataclass
class Node:
    """A file or folder: as programs see it, and as the disk is sure to have it."""

    content: bytes = b""
    synced: bytes = b""
    names: dict[str, Node] = field(default_factory=dict)
    synced_names: dict[str, Node] = field(default_factory=dict)
    is_folder: bool = False


#: One call, or a promise given to the caller: its name, and what it was called with.
Call = tuple[str, tuple[object, ...]]


class Disk:
    """A model of a disk with the folders *below*, which are safe on it."""

    def __init__(self, below: tuple[str, ...]) -> None:
        self.top = Node(is_folder=True)
        self.open: dict[int, Node] = {}
        for name in below:
            self.top.names[name] = self.top.synced_names[name] = Node(is_folder=True)

    def node(self, path: PurePath) -> Node:
        node = self.top
        for part in path.parts:
            node = node.names[part]
        return node

    def replay(self, call: Call) -> None:
        name, arguments = call
        getattr(self, f"do_{name}", lambda *_: None)(*arguments)

    def do_open(self, descriptor: int, path: PurePath) -> None:
        self.open[descriptor] = self.node(path.parent).names.setdefault(path.name, Node())

    def do_write(self, descriptor: int, data: bytes) -> None:
        self.open[descriptor].content += data

    def do_sync(self, descriptor: int) -> None:
        self.open[descriptor].synced = self.open[descriptor].content

    def do_replace(self, source: PurePath, target: PurePath) -> None:
        self.node(target.parent).names[target.name] = self.node(source.parent).names.pop(source.name)

    def do_unlink(self, path: PurePath) -> None:
        del self.node(path.parent).names[path.name]

    def do_make_folder(self, path: PurePath) -> None:
        self.node(path.parent).names[path.name] = Node(is_folder=True)

    def do_sync_folder(self, path: PurePath) -> None:
        folder = self.node(path)
        folder.synced_names = dict(folder.names)

    def cut(self, where: Path, *, names_kept: bool, content_kept: float) -> None:
        """Write to *where* what is left: of what was not synced all the names or none, and a part of the content."""
        _leave(self.top, where, names_kept, content_kept)


def _leave(node: Node, where: Path, names_kept: bool, content_kept: float) -> None:
    if not node.is_folder:
        unsynced = node.content[len(node.synced) :]
        where.write_bytes(node.synced + unsynced[: int(len(unsynced) * content_kept)])
        return
    where.mkdir()
    for name, inner in (node.names if names_kept else node.synced_names).items():
        _leave(inner, where / name, names_kept, content_kept)


class Recorder(FileSystem):
    """The real system calls, written down with paths from *root*."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.calls: list[Call] = []
        self._handles: dict[int, int] = {}

    def record(self, name: str, *arguments: object) -> None:
        relative = (one.relative_to(self.root) if isinstance(one, Path) else one for one in arguments)
        self.calls.append((name, tuple(relative)))

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        descriptor = super().open(path, flags, mode)
        self._handles[descriptor] = len(self.calls)  # descriptors are used again, these are not
        self.record("open", self._handles[descriptor], path)
        return descriptor

    def write(self, descriptor: int, data: bytes) -> int:
        self.record("write", self._handles[descriptor], data)
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        self.record("sync", self._handles[descriptor])

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        self.record("replace", source, target)

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        self.record("unlink", path)

    def make_folder(self, path: Path) -> None:
        super().make_folder(path)
        self.record("make_folder", path)

    def sync_folder(self, path: Path) -> None:
        super().sync_folder(path)
        self.record("sync_folder", path)


class Hasty(FileSystem):
    """For looking at what is left: no second power cut is to come."""

    def sync(self, descriptor: int) -> None:
        pass

    def sync_folder(self, path: Path) -> None:
        pass


# ---------------------------------------------------------------- what is done, and what must hold


def open_store(root: Path, system: FileSystem, trusted: bool = True) -> Store:
    project = root / "project"
    environ = {"XDG_STATE_HOME": str(root / "home" / "state"), "XDG_CACHE_HOME": str(root / "home" / "cache")}
    where = Project(project, "folder", project / ".pi", project / ".pi", "", "main", None)
    return Store(where, configuration.load(project, environ), environ, system, _now, trusted)


def _now() -> datetime:
    return datetime(2026, 11, 30, 9, tzinfo=UTC)


@pytest.fixture
def record(tmp_path: Path) -> Callable[[Callable[[Path, Recorder], None]], list[Call]]:
    """Records the calls that something makes in a new place with the folders ``project`` and ``home``."""

    def record(act: Callable[[Path, Recorder], None]) -> list[Call]:
        root = tmp_path / "recorded"
        for name in ("project", "home"):
            (root / name).mkdir(parents=True)
        system = Recorder(root)
        act(root, system)
        return system.calls

    return record


def save_notes(root: Path, system: Recorder) -> None:
    """A first save, a later one, one that rotates, and one after that, each by a program that has just started."""
    for text in NOTES:
        store = open_store(root, system)
        with store.writing() as writer:
            writer.append("note", by="agent", source="agent", base=writer.base, text=text)
            system.record("acknowledged", text)
        system.record("returned", text)


def keep_checkpoints(root: Path, system: Recorder) -> None:
    (root / "project" / ".pi").mkdir()
    system.record("make_folder", root / "project" / ".pi")
    system.record("sync_folder", root / "project")
    checkpoints = Checkpoints(root / "project" / ".pi", system, lambda: None)
    for users in range(1, 4):
        checkpoints.keep(checkpoint(users))
        system.record("kept", users)


def checkpoint(users: int) -> Checkpoint:
    owner = Owner(1, "then", "here")
    return Checkpoint("0b9c1c1e-9d1c", "/sessions/a.jsonl", 0, 0, users, 2 * users, "pi", "tui", "", "en", owner)


def after_power_cuts(calls: list[Call], where: Path, points: list[int]) -> Iterator[tuple[int, Path]]:
    """For every one of *points*, all that may be on the disk when the power is cut after so many calls."""
    wanted = frozenset(points)
    disk = Disk(("project", "home"))
    for done in range(len(calls) + 1):
        if done in wanted:
            for names_kept in (False, True):
                for content_kept in (0.0, 0.5, 1.0):
                    root = where / f"{done}-{names_kept}-{content_kept}"
                    disk.cut(root, names_kept=names_kept, content_kept=content_kept)
                    yield done, root
        if done < len(calls):
            disk.replay(calls[done])


def promised(calls: list[Call], name: str) -> list[object]:
    return [arguments[0] for called, arguments in calls if called == name]


def check_notes(root: Path, done: list[Call]) -> None:
    """Every acknowledged save is there and signed, the view is whole and as new as was said, the next save works."""
    acknowledged, returned = promised(done, "acknowledged"), promised(done, "returned")
    store = open_store(root, Hasty())
    known = store.known()
    texts = [event.text for event in store.log.read().events]
    assert texts == list(NOTES[: len(texts)])
    assert len(texts) >= len(acknowledged)

    view = store.view(known.state)
    if returned or view.kind is not Kind.MISSING:
        assert view.kind in (Kind.CURRENT, Kind.OLDER)
        assert view.text in NOTES[max(0, len(returned) - 1) : len(texts)]

    note = open_store(root, Hasty(), trusted=False).delivered()[0].note()
    assert not acknowledged or (note is not None and note.text == texts[-1])

    with store.writing() as writer:
        writer.append("note", by="agent", source="agent", base=writer.base, text="- [ ] after the power cut")
    again = open_store(root, Hasty())
    state = again.known().state
    assert [event.text for event in again.log.read().events] == [*texts, "- [ ] after the power cut"]
    assert again.view(state).kind is Kind.CURRENT


def check_checkpoints(root: Path, done: list[Call]) -> None:
    kept = promised(done, "kept")
    found = (
        Checkpoints(root / "project" / ".pi", Hasty(), lambda: None).all()
        if (root / "project" / ".pi").exists()
        else []
    )
    users = [one.users for one in found]
    latest = kept[-1] if kept else 0
    assert users in ([latest], [int(str(latest)) + 1]) or not kept


Check = Callable[[Path, list[Call]], None]
Scenario = tuple[Callable[[Path, Recorder], None], Check]
SCENARIOS: dict[str, Scenario] = {
    "notes": (save_notes, check_notes),
    "checkpoints": (keep_checkpoints, check_checkpoints),
}
scenarios = pytest.mark.parametrize("scenario", SCENARIOS)


@pytest.fixture(autouse=True)
def _early_rotation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "ROTATE_AT", 700)


@scenarios
def test_whatever_was_promised_is_there_after_a_power_cut_at_any_moment(
    record: Callable[..., list[Call]], tmp_path: Path, scenario: str
) -> None:
    act, check = SCENARIOS[scenario]
    calls = record(act)

    every = list(range(len(calls) + 1))

    (tmp_path / "cuts").mkdir()
    for done, root in after_power_cuts(calls, tmp_path / "cuts", every):
        check(root, calls[:done])


@scenarios
def test_every_single_sync_is_needed(record: Callable[..., list[Call]], tmp_path: Path, scenario: str) -> None:
    """Leave out any one of them, and some power cut breaks a promise: neither is one missing, nor one in vain."""
    act, check = SCENARIOS[scenario]
    calls = record(act)
    syncs = [number for number, (name, _) in enumerate(calls) if name in ("sync", "sync_folder")]
    needless = []

    for number in syncs:
        if scenario == "checkpoints" and number == 1:
            continue  # of the scene, not of the play
        where = tmp_path / f"without-{number}"
        where.mkdir()
        if not _breaks([*calls[:number], ("nothing", ()), *calls[number + 1 :]], where, check):
            needless.append((number, calls[number], calls[number - 1]))

    assert needless == []
    assert len(syncs) >= 8


def _breaks(calls: list[Call], where: Path, check: Check) -> bool:
    promises = [number + 1 for number, (name, _) in enumerate(calls) if name in ("acknowledged", "returned", "kept")]
    for done, root in after_power_cuts(calls, where, promises):
        try:
            check(root, calls[:done])
        except AssertionError:
            return True
    return False


def test_a_save_and_its_rotation_are_recorded_whole(record: Callable[..., list[Call]]) -> None:
    calls = record(save_notes)

    names = [name for name, _ in calls]
    assert names.count("acknowledged") == names.count("returned") == len(NOTES)
    rotations = [arguments for name, arguments in calls if name == "replace" and "carryover.0001.log" in str(arguments)]
    assert len(rotations) == 1
    assert {"open", "write", "sync", "replace", "make_folder", "sync_folder"} <= set(names)
    assert os.sep not in "".join(names)
