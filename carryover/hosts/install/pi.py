"""Register the extension with pi: one entry in ``packages`` of pi's ``settings.json``.

The entry names the extension's file, not its folder. Measured with pi 0.73.1 and 1.6.0: an entry whose
file is gone is passed over without a word, so pi still starts after ``pip uninstall``; but a folder that
is left behind without an extension in it stops pi at its start.

Uninstalling gives the settings back byte for byte while they are what we wrote. When somebody has written
to them since, as pi does on every change of a setting, only our entry is taken out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import carryover
from carryover import jsonc
from carryover.errors import InstallError
from carryover.hosts.install import files, packages
from carryover.hosts.install.base import Change, Plan
from carryover.hosts.install.memory import Memory, Record
from carryover.settings import agent_dir, state_dir

PACKAGED = Path(carryover.__file__).parent / "hosts" / "pi" / "extension" / "index.ts"

_TRACE = re.compile(rb"carryover[/\\]+hosts[/\\]+pi[/\\]+extension")
_FIRST_GENERATION = re.compile(r"npm:pi-carryover(?:@.*)?|.*\bFeng-H/pi-carryover\b.*")


@dataclass(frozen=True, slots=True)
class Pi:
    """The pi coding agent, under both of its package names."""

    extension: Path = PACKAGED
    python: str = sys.executable
    name: ClassVar[str] = "pi"

    def install(self, environ: Mapping[str, str]) -> Plan:
        """Add our entry, or bring an older one up to date."""
        if not self.extension.is_file():
            raise InstallError(f"cannot find pi's extension at {self.extension}; install carryover again")
        path, state = _places(environ)
        memory = _memory(state)
        entry = self.extension.as_posix()
        by_hand = f'add to "packages" in it: "{entry}"'
        with _refusing(path, by_hand):
            settings = _Settings.read(path)
            notes = list(_notes(settings))
            after, record = settings.data, memory.records.get(str(path))
            if source := _loaded_already(settings):
                notes.append(f"pi loads carryover from {source} already; to change that, `pi remove` it first")
            else:
                after, record = _with_entry(settings, entry, record)
            edit = settings.change(after, by_hand)
        kept = Memory(self.python, str(self.extension), memory.remember(path, record))
        return Plan(self.name, (*_keep(state, kept), *edit), tuple(notes))

    def uninstall(self, environ: Mapping[str, str]) -> Plan:
        """Take our entry out, and forget what was remembered for it."""
        path, state = _places(environ)
        memory = _memory(state)
        by_hand = f'take the entry with {packages.EXTENSION} out of "packages" in it'
        with _refusing(path, by_hand):
            settings = _Settings.read(path)
            edit = settings.change(_without_entry(settings, memory.records.get(str(path))), by_hand)
        others = memory.remember(path, None)
        kept = Memory(memory.python, memory.extension, others) if others else None
        return Plan(self.name, (*edit, *_keep(state, kept)))


@dataclass(frozen=True, slots=True)
class _Settings:
    """pi's settings file as it is now. No data: no file."""

    path: Path
    data: bytes | None
    text: str

    @classmethod
    def read(cls, path: Path) -> _Settings:
        data = files.read(path)
        return cls(path, data, (data or b"").decode())

    def change(self, after: bytes | None, by_hand: str) -> tuple[Change, ...]:
        if after == self.data:
            return ()
        files.check_replaceable(self.path)
        return (Change(self.path, self.data, after, by_hand),)


def _places(environ: Mapping[str, str]) -> tuple[Path, Path]:
    """pi's settings file, and our memory of it."""
    agent, state = agent_dir(environ), state_dir(environ)
    if not agent or not state:
        raise InstallError("cannot find pi's settings: there is no home folder; set HOME and run this again")
    return agent / "settings.json", state / "pi.json"


@contextmanager
def _refusing(path: Path, by_hand: str) -> Iterator[None]:
    """Whatever stands in the way of an edit is a refusal that says what to do instead."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InstallError(f"cannot edit {path}: {reason}; {by_hand}") from error


def _with_entry(settings: _Settings, entry: str, record: Record | None) -> tuple[bytes, Record | None]:
    """The settings with our entry, and what is to be remembered of how they were without."""
    after = packages.add(settings.text, entry).encode()
    if after == settings.data:
        return after, record
    if record and settings.data is not None and record.fits(settings.data):
        return after, Record.of(record.before(settings.data), after)
    had_ours = any(map(packages.is_ours, packages.sources(settings.text)))
    return after, None if had_ours else Record.of(settings.data, after)


def _without_entry(settings: _Settings, record: Record | None) -> bytes | None:
    if settings.data is None or not _TRACE.search(settings.data):
        return settings.data
    if record and record.fits(settings.data):
        return record.before(settings.data)
    list_was_ours = record is not None and '"packages"' in record.edit.new
    text = packages.remove(settings.text, and_list=list_was_ours)
    return None if record and record.created and packages.is_empty(text) else text.encode()


def _memory(path: Path) -> Memory:
    try:
        return Memory.load(files.read(path))
    except (OSError, ValueError) as error:
        raise InstallError(f"cannot read our own {path}: {error}; remove it and run this again") from error


def _keep(path: Path, memory: Memory | None) -> tuple[Change, ...]:
    before, after = files.read(path), memory.dump() if memory else None
    return () if before == after else (Change(path, before, after, private=True),)


def _loaded_already(settings: _Settings) -> str | None:
    """The source by which ``pi install`` has registered a copy of this package, if it has."""
    for source in packages.sources(settings.text):
        folder = packages.folder_of(source, settings.path.parent)
        if folder and not packages.is_ours(source) and _holds_extension(folder):
            return source
    return None


def _holds_extension(folder: Path) -> bool:
    try:
        return (folder / packages.EXTENSION / "index.ts").is_file()
    except (OSError, ValueError):  # no path at all
        return False


def _notes(settings: _Settings) -> Iterator[str]:
    path, text = settings.path, settings.text
    if not path.parent.is_dir():
        yield f"{path.parent} does not exist yet: pi has not been started by this user"
    if text.strip("\ufeff \t\r\n") and not jsonc.is_plain(text.removeprefix("\ufeff")):
        yield (
            f"pi itself reads no comments and no trailing commas, and passes over all of {path} while "
            "there are any; take them out, or carryover will not be loaded"
        )
    if text.startswith("\ufeff"):
        yield f"pi before 0.84.3 passes over {path}, because it starts with a byte order mark"
    for source in filter(_FIRST_GENERATION.fullmatch, packages.sources(text)):
        yield f"{source} puts a note before the agent as well; `pi remove {source}` leaves only this one"
