"""``packages`` in pi's settings: the list of what pi loads, and our entry in it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from carryover.hosts.install.edits import append, drop, replace
from carryover.jsonc import Container, Part, container, loads

#: Where the extension lies below the folder that holds the package, whatever that is.
EXTENSION = "carryover/hosts/pi/extension"

_OURS = re.compile(rf"(?:.*/)?{re.escape(EXTENSION)}(?:/index\.ts)?/*")
_REMOTE = re.compile(
    r"(?:git:|(?=https?:|ssh:))(?:\w+://)?(?:[^@/]*@)?(?P<host>[^:/]+)[:/](?P<path>.+?)(?:\.git)?(?:@[^@/]*)?"
)
_BLANK = "\ufeff \t\r\n"


def add(text: str, entry: str) -> str:
    """*text* with *entry* in ``packages``, in place of any other entry of ours.

    Raises ValueError, with a reason for people, when the text cannot be edited.
    """
    value = json.dumps(entry, ensure_ascii=False)
    if not text.strip(_BLANK):
        return text.rstrip(_BLANK[1:]) + f'{{\n  "packages": [\n    {value}\n  ]\n}}\n'
    listed = _find(text)
    if listed is None:
        return append(text, _root(text), f'"packages": [{value}]')
    if not listed.ours:
        return append(text, listed.holder, value)
    for index in reversed(listed.ours[1:]):
        text = drop(text, container(text, listed.holder.open), index)
    return replace(text, _source_part(text, listed.holder.parts[listed.ours[0]]), value)


def remove(text: str, and_list: bool) -> str:
    """*text* without our entries and, if *and_list*, without a ``packages`` that is then empty.

    Raises ValueError, with a reason for people, when the text cannot be edited.
    """
    listed = _find(text)
    if listed is None:
        return text
    if and_list and len(listed.ours) == len(listed.holder.parts):
        return drop(text, _root(text), listed.index)
    for index in reversed(listed.ours):
        text = drop(text, container(text, listed.holder.open), index)
    return text


def sources(text: str) -> tuple[str, ...]:
    """What pi loads, ours included. Raises ValueError as ``add`` does."""
    listed = _find(text)
    found = [_source(part.value) for part in listed.holder.parts] if listed else []
    return tuple(source for source in found if source)


def is_empty(text: str) -> bool:
    """Does *text* hold nothing but an empty object? Raises ValueError when it holds no object."""
    return not text.strip(_BLANK) or not _root(text).parts


def is_ours(entry: object) -> bool:
    """Is this the extension of some installation of this package?"""
    source = _source(entry)
    return source is not None and _OURS.fullmatch(source.replace("\\", "/")) is not None


def folder_of(source: str, agent: Path) -> Path | None:
    """The folder below which pi finds *source*, for what is a folder or comes from git."""
    if source.startswith("npm:"):
        return None
    remote = _REMOTE.fullmatch(source)
    return agent / "git" / remote["host"] / remote["path"] if remote else agent / source


def _source(entry: object) -> str | None:
    """An entry is a source, or an object that holds one and filters what it brings."""
    source = entry.get("source") if isinstance(entry, dict) else entry
    return source if isinstance(source, str) else None


def _source_part(text: str, part: Part) -> Part:
    if not isinstance(part.value, dict):
        return part
    return next(inner for inner in reversed(container(text, part.value_start).parts) if inner.key == "source")


def _root(text: str) -> Container:
    if not isinstance(loads(text), dict):
        raise ValueError("it holds no object")
    return container(text)


@dataclass(frozen=True, slots=True)
class _Listed:
    """``packages``: the how manyth member it is, the list itself, and which of its elements are ours."""

    index: int
    holder: Container
    ours: tuple[int, ...]


def _find(text: str) -> _Listed | None:
    """Of members with the same name, the last counts, as in JavaScript."""
    members = _root(text).parts if text.strip(_BLANK) else ()
    index = max((index for index, member in enumerate(members) if member.key == "packages"), default=None)
    if index is None:
        return None
    if not isinstance(members[index].value, list):
        raise ValueError('its "packages" is no list')
    holder = container(text, members[index].value_start)
    return _Listed(index, holder, tuple(i for i, part in enumerate(holder.parts) if is_ours(part.value)))
