"""What every host's session file is read into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """What a person or the model said, cleaned; without calls, thinking, images and a host's wrappers."""

    role: Role
    text: str
    at: str = ""
    """When, in ISO 8601 as the host wrote it; empty where it wrote nothing."""


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a session's active branch, as far back as the limits let it be read."""

    messages: tuple[Message, ...]
    """Oldest first."""
    count: int
    """Messages met in the part that was read; more than ``messages`` holds when its limit was smaller."""
    complete: bool
    """Every message was met, back to the branch's start or to ``since``. False where a limit or a compaction
    stopped the reading: there are, or may be, older ones."""
    summary: str | None
    """The host's own summary of what is not told: of a compaction, of a branch that was left, or of both."""
    saved: bool
    """A save by the tool stands: no user's word and no changing tool call came after the turn of it."""
    files: tuple[str, ...]
    """Files that the agent's edits and writes changed, the latest last."""
    last_error: str | None
    """The newest failure of a tool or of the model, on one line."""
    damaged: int
    """Lines that could not be read and were skipped."""
    end: int
    """The offset read to, in bytes: what to give as ``since`` to see only what comes later."""


@dataclass(frozen=True, slots=True)
class Count:
    """Messages in a stretch of a session file, on whatever branch."""

    users: int
    assistants: int
    offset: int
    """The end of the last whole line, in bytes: where the next count starts."""
