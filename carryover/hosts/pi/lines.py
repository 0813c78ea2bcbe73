"""JSON lines with the pi extension: who may write them, what a request is, and what its members must be."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

LONGEST = 32 * 1024 * 1024  # bytes of one line; a longer one is dropped unread

T = TypeVar("T")


class BadRequest(Exception):
    """What came is not a request; the text says why."""


@dataclass(frozen=True, slots=True)
class Request:
    id: int
    verb: str
    fields: Fields


class Fields:
    """The members of a request, each with the type it must have."""

    def __init__(self, members: Mapping[str, object]) -> None:
        self._members = members

    def get(self, name: str, kind: type[T]) -> T:
        """The member `name`. BadRequest when it is missing or of another type."""
        value = self._members.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise BadRequest(f"`{name}` must be of type {kind.__name__}, not {type(value).__name__}.")
        return value

    def maybe(self, name: str, kind: type[T]) -> T | None:
        """The member `name`, or None when it is null or missing."""
        return None if self._members.get(name) is None else self.get(name, kind)

    def path(self, name: str) -> Path | None:
        text = self.maybe(name, str)
        return Path(text) if text else None

    def inner(self, name: str) -> Fields:
        return Fields(self.get(name, dict))


class Output:
    """Standard output, kept for the protocol: what anything else prints goes to standard error."""

    def __init__(self) -> None:
        self._file = os.dup(1)
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Write one line. When nobody reads any more the line is lost, and the end of stdin will follow."""
        line = memoryview(json.dumps(message).encode("ascii") + b"\n")
        with self._lock:
            try:
                while line:
                    line = line[os.write(self._file, line) :]
            except OSError:
                pass


def lines(stream: BinaryIO) -> Iterator[bytes]:
    """Whole lines up to the end of `stream`: neither what is too long, nor a last line that was cut off."""
    while line := stream.readline(LONGEST):
        if line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(LONGEST)


def parse(line: bytes) -> Request:
    """The request a line holds. BadRequest when it holds none that could be answered."""
    try:
        members = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"not JSON: {type(error).__name__}") from None
    if not isinstance(members, dict):
        raise BadRequest("not an object")
    fields = Fields(members)
    return Request(fields.get("id", int), fields.get("do", str), fields)
