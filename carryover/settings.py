"""The settings: one typed object, and where each of its values came from.

Later wins: built in, ``carryover`` in pi's ``settings.json``, choices made by command (``settings.json``
in our state folder), the environment (``CARRYOVER_SUMMARY_MODE`` for ``summary.mode``), the command line.
Then the project's own ``.pi/settings.json`` may switch off or tighten, never loosen, and never name a
model, an endpoint or a command: it comes with a clone, and a clone is not the user.

A file that cannot be read and a value that cannot be used are left out and said in ``Settings.problems``.
Only the command line is answered with an error, because there somebody is waiting for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from carryover.errors import SettingsError

#: Bytes. A settings file larger than this is a mistake, and would delay every start of a session.
SIZE_LIMIT = 1_000_000

_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting, with its value. The field of the key ``summary.mode`` is ``summary_mode``, and so on."""

    summary_mode: str = "on"
    """``on`` or ``off``: may a model be asked for a summary at the end of a session?"""
    summary_model: str | None = None
    """The model to ask; None is the session's own."""
    summary_seconds: int = 30
    summary_words: int = 300
    summary_endpoint: str | None = None
    """An OpenAI-compatible endpoint, for when the host offers no model."""
    summary_command: tuple[str, ...] | None = None
    """A command that reads a prompt and prints a completion, likewise."""
    block_tokens: int = 600
    secrets: str = "redact"
    """What is done with a secret in a text to be stored: ``redact``, ``reject`` the text, or ``off``."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where each value came from, by key: "built in", a file's path, "environment" or "command line"."""
    problems: tuple[str, ...] = ()
    """A sentence for everything that could not be read or used."""


def load(project: Path | None, environ: Mapping[str, str], overrides: Mapping[str, object] = _NOTHING) -> Settings:
    """The settings for a session in the project folder *project*; *overrides* are the command line's, by key.

    Raises SettingsError for an override that is unknown or cannot be used, and for nothing else.
    """
    draft = _Draft()
    if agent := agent_dir(environ):
        draft.take_file(agent / "settings.json", within="carryover")
    if state := state_dir(environ):
        draft.take_file(state / "settings.json")
    draft.take_environment(environ)
    draft.take_overrides(overrides)
    if project:
        draft.tighten_by_file(project / ".pi" / "settings.json", within="carryover")
    return draft.settings()


# ----------------------------------------------------------------------------------------- folders


def home_dir(environ: Mapping[str, str]) -> Path | None:
    """The home folder; None when it is unset or ``/``, as it is in some containers and services."""
    text = environ.get("USERPROFILE" if sys.platform == "win32" else "HOME", "")
    home = Path(text)
    return home if home.is_absolute() and home != home.parent else None


def agent_dir(environ: Mapping[str, str]) -> Path | None:
    """pi's own folder: ``$PI_CODING_AGENT_DIR``, or ``~/.pi/agent``; None when there is no home folder."""
    home, named = home_dir(environ), environ.get("PI_CODING_AGENT_DIR", "")
    if named == "~" or named.startswith("~/"):
        return home and home / named[2:]
    return Path(named).absolute() if named else home and home / ".pi" / "agent"


def state_dir(environ: Mapping[str, str]) -> Path | None:
    """Our per-user folder for what must last; None when there is no home folder."""
    return _platform_dir(environ, "XDG_STATE_HOME", ".local/state", "Application Support", "state")


def cache_dir(environ: Mapping[str, str]) -> Path | None:
    """Our per-user folder for what can be made again; None when there is no home folder."""
    return _platform_dir(environ, "XDG_CACHE_HOME", ".cache", "Caches", "cache")


def _platform_dir(environ: Mapping[str, str], variable: str, below_home: str, library: str, leaf: str) -> Path | None:
    home = home_dir(environ)
    if sys.platform == "win32":
        local = Path(environ.get("LOCALAPPDATA", ""))
        base = local if local.is_absolute() else home and home / "AppData" / "Local"
        return base and base / "carryover" / leaf
    named = Path(environ.get(variable, ""))
    if named.is_absolute():  # a relative one is to be ignored, says the XDG specification
        return named / "carryover"
    if sys.platform == "darwin":
        return home and home / "Library" / library / "carryover"
    return home and home / below_home / "carryover"


# ----------------------------------------------------------------------------------------- keys


def _one_of(*choices: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if isinstance(value, str) and value in choices:
            return value
        raise ValueError(f"one of {', '.join(choices)}")

    return read


def _whole(least: int, most: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        raise ValueError(f"a whole number from {least} to {most}")

    return read


def _text(value: object) -> str:
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value.strip()
    raise ValueError("a text without control characters")


def _address(value: object) -> str:
    if isinstance(value, str) and value.startswith(("http://", "https://")) and value.isprintable():
        return value
    raise ValueError("an address that begins with http:// or https://")


def _command(value: object) -> tuple[str, ...]:
    """A command: a list of its words, or one line that is split as a shell would."""
    words = _split(value) if isinstance(value, str) else value
    if isinstance(words, list) and words and words[0] and all(map(_is_argument, words)):
        return tuple(words)
    raise ValueError("a command, as a list of words")


def _is_argument(word: object) -> bool:
    return isinstance(word, str) and "\0" not in word


def _split(line: str) -> list[str] | None:
    import shlex

    try:
        return shlex.split(line)
    except ValueError:  # an open quote
        return None


@dataclass(frozen=True, slots=True)
class _Key:
    name: str
    read: Callable[[object], Any]
    #: Which of two values is the stricter; None when a project's file may not set the key at all.
    strictness: Callable[[Any], int] | None = None
    #: What a text from the environment stands for.
    from_text: Callable[[str], object] = str

    @property
    def field(self) -> str:
        return self.name.replace(".", "_")

    @property
    def variable(self) -> str:
        return f"CARRYOVER_{self.field.upper()}"


def _number(text: str) -> object:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


def _smaller(value: int) -> int:
    return -value


_KEYS = {
    key.name: key
    for key in (
        _Key("summary.mode", _one_of("on", "off"), ("on", "off").index),
        _Key("summary.model", _text),
        _Key("summary.seconds", _whole(1, 600), _smaller, _number),
        _Key("summary.words", _whole(20, 1000), _smaller, _number),
        _Key("summary.endpoint", _address),
        _Key("summary.command", _command),
        _Key("block.tokens", _whole(150, 2000), _smaller, _number),
        _Key("secrets", _one_of("redact", "reject", "off"), ("off", "redact", "reject").index),
    )
}

#: Groups of keys that belong to other features, and to pi-carryover 1.x: not ours to judge.
_FOREIGN = ("topicCompact",)


def _flatten(group: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Keys with dots, whether the file nests them (``"summary": {"mode": …}``) or writes the dots itself."""
    for name, value in group.items():
        if name.partition(".")[0] in _FOREIGN:
            continue
        if isinstance(value, dict) and name not in _KEYS:
            yield from ((f"{name}.{leaf}", inner) for leaf, inner in value.items())
        else:
            yield name, value


# ----------------------------------------------------------------------------------------- layers


class _Draft:
    """The settings while their layers are laid over each other."""

    def __init__(self) -> None:
        built_in = Settings()
        self.values: dict[str, Any] = {name: getattr(built_in, key.field) for name, key in _KEYS.items()}
        self.sources = dict.fromkeys(_KEYS, "built in")
        self.problems: list[str] = []

    def settings(self) -> Settings:
        values = {_KEYS[name].field: value for name, value in self.values.items()}
        return Settings(**values, sources=MappingProxyType(self.sources), problems=tuple(self.problems))

    def take_file(self, path: Path, within: str = "") -> None:
        for name, value in self._usable(path, within):
            self._set(name, value, str(path))

    def tighten_by_file(self, path: Path, within: str) -> None:
        for name, value in self._usable(path, within):
            strictness = _KEYS[name].strictness
            if strictness is None:
                self.problems.append(f"{path} may not set {name}: a project can only switch off or tighten")
            elif strictness(value) > strictness(self.values[name]):
                self._set(name, value, str(path))
            elif value != self.values[name]:
                self.problems.append(f"{path} may not loosen {name}: it stays {self.values[name]}")

    def take_environment(self, environ: Mapping[str, str]) -> None:
        for key in _KEYS.values():
            if not (text := environ.get(key.variable)):
                continue
            try:
                self._set(key.name, key.read(key.from_text(text)), "environment")
            except ValueError as expected:
                self.problems.append(f"{key.variable} in the environment is ignored: it must be {expected}")
        known = {key.variable for key in _KEYS.values()}
        ours = {name for name in environ if name.startswith(("CARRYOVER_SUMMARY_", "CARRYOVER_BLOCK_"))}
        self._unknown("the environment", sorted(ours - known))

    def take_overrides(self, overrides: Mapping[str, object]) -> None:
        for name, value in overrides.items():
            if name not in _KEYS:
                raise SettingsError(f"there is no setting {name}; the settings are {', '.join(_KEYS)}")
            try:
                self._set(name, _KEYS[name].read(value), "command line")
            except ValueError as expected:
                raise SettingsError(f"cannot set {name} to {value!r}: it must be {expected}") from None

    def _set(self, name: str, value: object, source: str) -> None:
        self.values[name] = value
        self.sources[name] = source

    def _usable(self, path: Path, within: str) -> Iterator[tuple[str, Any]]:
        """The keys and values of a file that are ours and can be used."""
        try:
            group = _read_group(path, within)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            self.problems.append(f"cannot read the settings in {path}: {reason}; they are left out")
            return
        found = list(_flatten(group))
        self._unknown(str(path), [name for name, _ in found if name not in _KEYS])
        for name, value in found:
            if name not in _KEYS:
                continue
            try:
                yield name, _KEYS[name].read(value)
            except ValueError as expected:
                self.problems.append(f"{name} in {path} is ignored: it must be {expected}")

    def _unknown(self, source: str, names: list[str]) -> None:
        """One sentence a source, of bounded length: the names are anyone's."""
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            shown = ", ".join(ascii(name[:40]) for name in names[:3])
            self.problems.append(f"{source} sets {shown}{more}: there is no such setting")


def _read_group(path: Path, within: str) -> Mapping[str, object]:
    """The object *within* a settings file. Raises OSError, or ValueError with a reason for people."""
    try:
        size = path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return _NOTHING
    if not path.is_file():
        raise ValueError("it is no file")  # opening a pipe would wait for ever
    if size > SIZE_LIMIT:
        raise ValueError(f"it is larger than {SIZE_LIMIT} bytes")
    from carryover import jsonc  # most starts find no settings file, and need not wait for this

    text = path.read_text(encoding="utf-8")
    content = jsonc.loads(text) if text.strip("\ufeff \t\r\n") else {}
    group = content.get(within, {}) if within and isinstance(content, dict) else content
    if not isinstance(group, dict):
        raise ValueError(f"{within or 'the whole'} is no object")
    return group
