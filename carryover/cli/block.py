"""What is remembered, as a session is given it."""

from __future__ import annotations

from dataclasses import asdict

import click

from carryover.cli.here import Here, here, show_json, with_json, with_project
from carryover.memory.brief import Brief, Request
from carryover.memory.brief import brief as render
from carryover.project import live_trees
from carryover.store.pointer import read_pointer
from carryover.text import tokens


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
        click.echo(block.text)
    return 0


def _block(place: Here, budget: int, *, tools: bool) -> Brief:
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
