"""Saving a session from outside it, as its host would have done at the end."""

from __future__ import annotations

from pathlib import Path

import click

from carryover.cli import REFUSED
from carryover.cli.options import here, with_project
from carryover.cli.place import Place
from carryover.session import saver
from carryover.store.checkpoints import Checkpoint
from carryover.store.pointer import read_pointer


@click.command()
@click.option(
    "--session",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The session's file, where it is not the one this command runs in, or else the last one.",
)
@with_project
def save(session: Path | None) -> int:
    """Save a session now: its last messages, and a summary where a model for it is set up."""
    place = here()
    file = session or _nearest_session(place)
    if file is None:
        place.say("save.no_session")
        return REFUSED
    checkpoint = _checkpoint(place, file.absolute())
    with place.store.writing() as writer:
        saved = saver.save_tail(writer, checkpoint)
    place.warn_unless_rendered(writer)
    if saved.kind != "tail":
        place.say("save.kept")
        return 0
    place.say("tail.kept", kept=saved.kept, messages=saved.messages)
    _sum_up(place, checkpoint)
    return 0


def _nearest_session(place: Place) -> Path | None:
    """The session whose agent called us, as pi tells its commands; else the project's last one."""
    name = place.environ.get("PI_SESSION_FILE") or read_pointer(place.store.project.folder)
    return Path(name) if name else None


def _checkpoint(place: Place, file: Path) -> Checkpoint:
    """Where that session stands: as it says itself while it runs, else all of it."""
    project = place.store.project
    known = place.store.checkpoints().all()
    return next((one for one in known if one.file == str(file)), None) or Checkpoint(
        session=file.stem.rpartition("_")[2],  # pi names its files TIME_ID.jsonl
        file=str(file),
        since=0,
        before=0,
        users=0,
        messages=0,
        host="pi",
        mode="command",
        tree=project.tree,
        language=place.language,
        owner=None,
    )


def _sum_up(place: Place, checkpoint: Checkpoint) -> None:
    """Tier 2. The last messages are on disk: whatever happens here loses nothing."""
    from carryover.completion import available, complete

    if place.settings.summary_mode != "on":
        return
    if not available(place.settings):
        place.say("summary.no_model")
        return
    owed, prompt = saver.ask(place.store, place.settings, checkpoint)
    place.say("summary.saving", seconds=round(prompt.seconds))
    try:
        answer = complete(prompt, place.settings, place.environ)
    except KeyboardInterrupt:
        place.say("summary.skipped")
        return
    reason = saver.take(place.store, owed, answer)
    place.say(f"summary.rejected.{reason}" if reason else "summary.saved")
