"""Where a command runs, for whom, and how it answers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from carryover import project as projects
from carryover import settings as configuration
from carryover.errors import StoreUnavailable
from carryover.memory.state import State
from carryover.messages import locale_language, say
from carryover.settings import Settings
from carryover.store.store import Store, Writer
from carryover.store.views import Kind

if TYPE_CHECKING:
    from carryover.session.notes import Author

#: What coding agents put into the environment of the commands they run.
AGENT_MARKS = ("AI_AGENT", "CLAUDECODE", "CLINE_ACTIVE", "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE", "PI_CODING_AGENT")
AGENT_MARK_FAMILIES = ("CODEX_SANDBOX", "CODEX_THREAD", "CODEX_MANAGED")


@dataclass(frozen=True, slots=True)
class Here:
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
        click.echo(say(key, self.language, **values))

    def warn(self, text: str) -> None:
        click.echo(f"carryover: {text}", err=True)

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


def here() -> Here:
    """
    The place that this command was called in; settings that cannot be used are said.

    Raises:
        ProjectError: it is in no project.
    """
    place = find_here()
    for problem in place.settings.problems:
        place.warn(problem)
    return place


def find_here() -> Here:
    """As `here`, without a word."""
    options = click.get_current_context().meta
    environ = os.environ
    project = projects.find(Path(), environ, options.get("carryover.project"))
    return Here(
        store=Store(project, configuration.load(project.root, environ), environ),
        environ=environ,
        language=locale_language(environ),
        by=caller(environ),
        as_json=bool(options.get("carryover.json")),
    )


def caller(environ: Mapping[str, str]) -> str:
    """``human`` only with a terminal on the input and no agent's mark in the environment.

    This guards against mistakes, not against a hostile shell.
    """
    marked = any(environ.get(name) for name in AGENT_MARKS) or any(
        name.startswith(AGENT_MARK_FAMILIES) for name in environ
    )
    return "human" if not marked and sys.stdin is not None and sys.stdin.isatty() else "agent"


def show_json(value: object) -> None:
    """Print *value* for programs. Where the output is not Unicode, everything but ASCII is escaped."""
    unicode = "utf" in (sys.stdout.encoding or "").lower()
    click.echo(json.dumps(value, ensure_ascii=not unicode, indent=2))


def _remember(context: click.Context, option: click.Parameter, value: object) -> None:
    """Options that stand before the command, or after it, mean the same."""
    if value:
        context.meta[f"carryover.{option.name}"] = value


with_project = click.option(
    "--project",
    metavar="DIR",
    type=click.Path(path_type=Path),
    expose_value=False,
    callback=_remember,
    help="The project's folder, where it is not the one around the working directory.",
)
with_json = click.option(
    "--json", is_flag=True, expose_value=False, callback=_remember, help="Answer in JSON, for programs."
)
