"""The options that commands share."""

from __future__ import annotations

from pathlib import Path

import click

from carryover.cli import place
from carryover.cli.place import Place


def here() -> Place:
    """
    The place that this command was called in; settings that cannot be used are said.

    Raises:
        ProjectError: it is in no project.
    """
    found = here_quietly()
    found.warn_of_settings()
    return found


def here_quietly() -> Place:
    """As `here`, for who tells of the settings by itself."""
    given = click.get_current_context().meta
    return place.find(given.get("carryover.project"), as_json=bool(given.get("carryover.json")))


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
