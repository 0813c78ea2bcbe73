"""Completion for the shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash:  eval "$(carryover completion bash)"
    zsh:   eval "$(carryover completion zsh)"
    fish:  carryover completion fish | source
    """
    made = get_completion_class(shell)
    assert made is not None  # click brings these three along
    root = click.get_current_context().find_root().command
    print(made(root, {}, "carryover", "_CARRYOVER_COMPLETE").source())
