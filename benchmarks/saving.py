"""What a save costs beside the same writes done bare, and after 100 000 saves beside the first.

The bare side replays what the product was seen to make durable in a save (each append, sync and replace, with the same
bytes) and nothing else: no lock, no reading, no cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from _measure import benchmark, in_turns, timed
from _scene import Scene, note
from carryover.session import notes
from carryover.session.notes import Author
from carryover.store.files import FileSystem
from carryover.store.store import Store

FEW, MANY = 10, 100_000


def main() -> None:
    with benchmark(__doc__, rounds=60) as (table, options):
        scene = Scene(options.folder)
        root = scene.project("bare")
        scene.record(root, FEW)
        writes = durable_writes(scene, root)
        save = partial(timed, saving(scene.store(root)))
        bare = partial(timed, partial(replay, writes, bare_folder(scene)))
        table.ratio("save", in_turns(options.rounds, save, bare), "same writes, bare", 2)

        few, many = scene.project("few"), scene.project("many")
        scene.record(few, FEW)
        scene.record(many, MANY)
        scene.store(many).known()  # the first reading leaves the snapshot that every later one starts from
        name = f"after {FEW}"
        running = [partial(timed, saving(scene.store(root))) for root in (many, few)]
        table.ratio(f"save after {MANY:,} saves", in_turns(options.rounds, *running), name, 1.2)
        fresh = [partial(fresh_save, scene, root) for root in (many, few)]
        table.ratio(f"save after {MANY:,} saves, by a new process", in_turns(options.rounds, *fresh), name, 1.2)
        table.notes.append("A save: " + ", ".join(str(write) for write in writes) + ".")


def saving(store: Store) -> Callable[[], None]:
    """Saves another note each time, as the agent's tool does."""
    numbers = count()

    def save() -> None:
        with store.writing() as writer:
            notes.write(writer, note(next(numbers)), Author("agent", "agent", "pi", "a-session"))

    return save


def fresh_save(scene: Scene, root: Path) -> float:
    """Without what a running session still knows; imports are not in it, `starting.py` has those."""
    return timed(lambda: saving(scene.store(root))())


# ---------------------------------------------------------------- the bare side


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes that were written to a file and synced."""

    name: str
    flags: int
    data: bytes

    def __str__(self) -> str:
        return f"{len(self.data)} bytes {'appended' if self.flags & os.O_APPEND else 'written'} and synced"

    def again(self, folder: Path) -> None:
        descriptor = os.open(folder / self.name, self.flags, 0o600)
        os.write(descriptor, self.data)
        os.fsync(descriptor)
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Replace:
    source: str
    target: str

    def __str__(self) -> str:
        return "replaced"

    def again(self, folder: Path) -> None:
        os.replace(folder / self.source, folder / self.target)


@dataclass(frozen=True, slots=True)
class SyncFolder:
    def __str__(self) -> str:
        return "folder synced"

    def again(self, folder: Path) -> None:
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


class Recorder(FileSystem):
    """Does what the file system does, and keeps what became durable by it."""

    def __init__(self) -> None:
        self.seen: list[Write | Replace | SyncFolder] = []
        self._open: dict[int, tuple[Path, int, list[bytes]]] = {}

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        descriptor = super().open(path, flags, mode)
        self._open[descriptor] = path, flags, []
        return descriptor

    def write(self, descriptor: int, data: bytes) -> int:
        self._open[descriptor][2].append(data)
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        path, flags, data = self._open[descriptor]
        self.seen.append(Write(path.name, flags, b"".join(data)))

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        if any(isinstance(seen, Write) and seen.name == source.name for seen in self.seen):
            self.seen.append(Replace(source.name, target.name))

    def sync_folder(self, path: Path) -> None:
        super().sync_folder(path)
        self.seen.append(SyncFolder())


def durable_writes(scene: Scene, root: Path) -> list[Write | Replace | SyncFolder]:
    """What one save makes durable, once the first has made the files."""
    recorder = Recorder()
    save = saving(scene.store(root, recorder))
    save()
    recorder.seen.clear()
    save()
    return recorder.seen


def bare_folder(scene: Scene) -> Path:
    """A folder whose log and view are there already, as the product's are."""
    folder = scene.folder / "bare-writes"
    folder.mkdir()
    for name in ("carryover.log", "CARRYOVER.md"):
        (folder / name).write_bytes(b"")
    return folder


def replay(writes: list[Write | Replace | SyncFolder], folder: Path) -> None:
    for write in writes:
        write.again(folder)


if __name__ == "__main__":
    main()
