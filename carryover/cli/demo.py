"""Two sessions with a crash between them, in a throw-away project, offline."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import click

from carryover.cli import REFUSED
from carryover.cli.stage import Stage
from carryover.messages import locale_language, say

#: What is said and kept in the first session, and must be in the block of the second.
KEPT = ("demo.script.first_item", "demo.script.second_item", "demo.script.afterthought")


@click.command()
def demo() -> int:
    """Play two sessions with a crash between them, and show what the second one is given."""
    language, began = locale_language(os.environ), time.monotonic()

    def tell(key: str, **values: object) -> None:
        click.secho(say(key, language, **values), bold=True)

    first_item, second_item, afterthought = (say(key, language) for key in KEPT)
    with tempfile.TemporaryDirectory(prefix="carryover-demo-") as folder:
        stage = Stage(Path(folder))

        tell("demo.first", folder=stage.project)
        with stage.session("first") as session:
            session.hear("user", say("demo.script.question", language))
            note = f"- [ ] {first_item}\n- [ ] {second_item}"
            session.save(note)
            tell("demo.saved")
            click.echo(f"{note}\n")

            session.hear("user", afterthought)
            session.hear("assistant", say("demo.script.answer", language))
            session.settle()
            tell("demo.afterthought")
            click.echo(f"{afterthought}\n")

            session.kill()
            tell("demo.killed")

        with stage.session("second") as session:
            block = session.prompt(say("demo.script.go_on", language))
        tell("demo.second")
        click.echo(f"{block}\n")

    if not all(kept in block for kept in (first_item, second_item, afterthought)):
        tell("demo.failed")
        return REFUSED
    tell("demo.done", seconds=f"{time.monotonic() - began:.1f}")
    return 0
