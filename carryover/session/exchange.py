"""What a host and the lifecycle say to each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Mode = Literal["tui", "rpc", "print", "json", "command"]
Level = Literal["info", "warning", "error"]

#: Modes in which somebody works on, and the end of a session is saved by itself.
INTERACTIVE: frozenset[Mode] = frozenset(("tui", "rpc"))


@dataclass(frozen=True, slots=True)
class Session:
    """A session, as its host describes it."""

    id: str
    #: Its transcript; None for one that is kept in memory only.
    file: Path | None
    mode: Mode
    cwd: Path
    host: str = "pi"
    #: Messages that were already in it when it started.
    messages: int = 0
    #: A sub-agent: it may read, and saves nothing.
    nested: bool = False
    #: Whether the user trusts this project, where the host has asked.
    trusted: bool | None = None
    #: The host's process.
    owner: int | None = None

    @property
    def saves_itself(self) -> bool:
        """
        Whether it is saved without being told to. One-shots, sub-agents and what is kept in memory only change nothing
        unless they say so.
        """
        return self.mode in INTERACTIVE and not self.nested and self.file is not None


@dataclass(frozen=True, slots=True)
class Notice:
    """One line for the user."""

    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A completion that the host is asked to run; it calls `Carryover.answer` with what came of it."""

    id: str
    system: str
    prompt: str
    max_tokens: int
    seconds: float
    #: A model to use instead of the session's.
    model: str | None
    #: What to tell the user meanwhile.
    line: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a moment brought: things to say, and perhaps something to ask a model."""

    notices: tuple[Notice, ...] = ()
    ask: Ask | None = None
    #: The answer to a command.
    text: str = ""
    level: Level = "info"
    #: For the status bar; empty where nothing is to be shown.
    status: str = ""
    #: For the terminal, once the host's screen is gone.
    farewell: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What the model is given: *system* is the same bytes until the next boundary, *message* goes to the tail, once."""

    system: str
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What may be typed next."""

    value: str
    label: str
    description: str
