"""What is remembered: for a person, and as the block that a session is given."""

from __future__ import annotations

from dataclasses import asdict

import click

from carryover.cli import preview
from carryover.cli.options import here, with_json, with_project
from carryover.cli.place import Place, show_json
from carryover.memory.brief import Brief, Request
from carryover.memory.brief import brief as render
from carryover.project import live_trees
from carryover.store.pointer import read_pointer
from carryover.text import tokens


@click.command()
@with_project
@with_json
def show() -> int:
    """Show the note, the last session, and what is on record."""
    return preview.show(here())


@click.command()
@click.option("--host", type=click.Choice(["pi"]), help="As a session of this host is given it, with its tool named.")
@click.option(
    "--budget", type=click.IntRange(min=1), help="Tokens that it may have, where not the setting block.tokens."
)
@with_project
@with_json
def brief(host: str | None, budget: int | None) -> int:
    """Print the block that a session started now would be given."""
    place = here()
    block = _block(place, budget or place.settings.block_tokens, tools=host is not None)
    if place.as_json:
        show_json(asdict(block) | {"tokens": tokens(block.text)})
    else:
        print(block.text)
    return 0


def _block(place: Place, budget: int, *, tools: bool) -> Brief:
    project = place.store.project
    state, withheld = place.delivered()
    request = Request(
        project=project.root.name,
        tree=project.tree,
        tokens=budget,
        tools=tools,
        last_session=read_pointer(project.folder) or None,
        live_trees=live_trees(project),
        unreadable=(withheld,) if withheld else (),
    )
    return render(state, request)
