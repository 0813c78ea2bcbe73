"""Where a command runs, for whom, and how it answers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from carryover import project as projects
from carryover import settings as configuration
from carryover.errors import StoreUnavailable
from carryover.memory.state import State
from carryover.messages import locale_language, say
from carryover.settings import Settings
from carryover.store.store import Store, Writer
from carryover.store.views import Kind
from carryover.text import clean

if TYPE_CHECKING:
    from carryover.session.notes import Author

#: What coding agents put into the environment of the commands they run.
AGENT_MARKS = ("AI_AGENT", "CLAUDECODE", "CLINE_ACTIVE", "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE", "PI_CODING_AGENT")
AGENT_MARK_FAMILIES = ("CODEX_SANDBOX", "CODEX_THREAD", "CODEX_MANAGED")


@dataclass(frozen=True, slots=True)
class Place:
    """The project that a command was called in, and the person or agent who called it."""

    store: Store
    environ: Mapping[str, str]
    language: str
    by: str
    as_json: bool

    @property
    def settings(self) -> Settings:
        return self.store.settings

    @property
    def tree(self) -> str:
        return self.store.project.tree

    def author(self, source: str) -> Author:
        from carryover.session.notes import Author

        return Author(self.by, source)

    def say(self, key: str, **values: object) -> None:
        show_text(say(key, self.language, **values))

    def warn(self, text: str) -> None:
        print("carryover:", clean(text), file=sys.stderr)

    def warn_of_settings(self) -> None:
        for problem in self.settings.problems:
            self.warn(problem)

    def warn_unless_rendered(self, writer: Writer) -> None:
        """What was written is in the log; that CARRYOVER.md does not show it is said."""
        if writer.problem:
            self.warn(writer.problem)

    def state(self) -> State:
        """What a session started now would be told, edits of CARRYOVER.md included; what is not is said.

        Raises:
            StoreUnavailable: the log cannot be read.
        """
        state, withheld = self.delivered()
        if withheld:
            self.warn(withheld)
        return state

    def delivered(self) -> tuple[State, str]:
        """What a session started now would be told, and a sentence about what it would not.

        Raises:
            StoreUnavailable: the log cannot be read.
        """
        state = self.store.known().state
        try:
            if self.store.view(state).kind is Kind.CONFLICT:
                return state, say("start.conflict", self.language, path=self.store.view_path)
            return self.store.delivered()
        except StoreUnavailable as error:
            return state, str(error)


def find(named: Path | None = None, *, as_json: bool = False) -> Place:
    """
    The place that we were called in, or the one that is *named*.

    Raises:
        ProjectError: it is in no project.
    """
    environ = os.environ
    project = projects.find(Path(), environ, named)
    return Place(
        store=Store(project, configuration.load(project.root, environ), environ),
        environ=environ,
        language=locale_language(environ),
        by=caller(environ),
        as_json=as_json,
    )


def caller(environ: Mapping[str, str]) -> str:
    """``human`` only with a terminal on the input and no agent's mark in the environment.

    This guards against mistakes, not against a hostile shell.
    """
    marked = any(environ.get(name) for name in AGENT_MARKS) or any(
        name.startswith(AGENT_MARK_FAMILIES) for name in environ
    )
    return "human" if not marked and sys.stdin is not None and sys.stdin.isatty() else "agent"


def show_text(text: str) -> None:
    """Print what came from somewhere else: without the control characters that a terminal would obey."""
    print(clean(text))


def show_json(value: object) -> None:
    """Print *value* for programs. Where the output is not Unicode, everything but ASCII is escaped."""
    unicode = "utf" in (sys.stdout.encoding or "").lower()
    print(json.dumps(value, ensure_ascii=not unicode, indent=2))
