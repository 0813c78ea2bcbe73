"""The list of commands. Each stands in a module of its own group, loaded when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from carryover import __version__
from carryover.cli.options import with_json, with_project

#: Command -> the module in this folder that holds it, in the order of the help text.
MODULES = {
    "show": "reading",
    "brief": "reading",
    "save": "save",
    "note": "writing",
    "clear": "writing",
    "restore": "writing",
    "history": "past",
    "log": "past",
    "doctor": "doctor",
    "install": "install",
    "uninstall": "install",
    "demo": "demo",
    "completion": "shell",
}


class Commands(click.Group):
    """Commands that are imported one at a time: who asks for the note does not wait for the installer."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in MODULES:
            return None
        command = getattr(import_module(f"carryover.cli.{MODULES[cmd_name]}"), cmd_name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="carryover %(version)s")
@with_project
@with_json
@click.pass_context
def carryover(context: click.Context) -> int:
    """What a coding agent must not forget, kept in the project, in files people can read.

    Without a command: show.
    """
    if context.invoked_subcommand is not None:
        return 0
    from carryover.cli.reading import show

    return int(context.invoke(show))
