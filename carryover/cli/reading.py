"""What is remembered: for a person, and as the block that a session is given."""

from __future__ import annotations

from dataclasses import asdict, replace

import click

from carryover.cli import REFUSED, preview
from carryover.cli.options import here, with_json, with_project
from carryover.cli.place import Place, show_json
from carryover.memory.brief import Brief
from carryover.memory.brief import brief as render
from carryover.session import blocks
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
    "--budget", type=click.IntRange(150, 2000), help="Tokens that it may have, where not the setting block.tokens."
)
@with_project
@with_json
def brief(host: str | None, budget: int | None) -> int:
    """Print the block that a session started now would be given."""
    place = here()
    block = _block(place, budget, tools=host is not None)
    if place.as_json:
        show_json(asdict(block) | {"tokens": tokens(block.text)})
    elif block.text:
        print(block.text)
    return 0 if block.text else REFUSED


def _block(place: Place, budget: int | None, *, tools: bool) -> Brief:
    state, withheld = place.delivered()
    last = read_pointer(place.store.project.folder)
    request = blocks.request(place.store, tools=tools, last_session=last, tokens=budget)
    return render(state, replace(request, unreadable=(withheld,) if withheld else ()))
