"""Sessions whose end nobody saw: found by their checkpoints, saved by whoever starts next, once each."""

from __future__ import annotations

from dataclasses import replace

from carryover.errors import TranscriptError
from carryover.process import lives
from carryover.session import saver
from carryover.session.run import Run
from carryover.store.checkpoints import Checkpoint
from carryover.store.store import Writer


def ended_unseen(run: Run) -> list[Checkpoint]:
    """Checkpoints of sessions whose host no longer runs, and of those that were left for a later one."""
    return [
        one
        for one in run.checkpoints.all()
        if one.session != run.session.id and (one.owner is None or lives(one.owner) is False)
    ]


def recover(run: Run, writer: Writer, checkpoint: Checkpoint) -> bool:
    """
    Save one of them, under the lock; whether there was a tail to keep. It is owed a summary then.

    Raises:
        StoreError: it cannot be saved now; it is tried again at the next start.
    """
    if not run.checkpoints.path(checkpoint.session).exists():
        return False  # another session was faster
    try:
        saved = saver.save_tail(writer, checkpoint)
    except TranscriptError as error:
        run.unreadable.append(str(error))
        run.checkpoints.drop(checkpoint.session)
        return False
    if saved.event and run.settings.summary_mode == "on":
        leave_for_later(run, checkpoint, saved.event)
    else:
        run.checkpoints.drop(checkpoint.session)
    if saved.kind != "nothing":
        run.last_session = checkpoint.file
        run.point(checkpoint.file)
    return saved.kind == "tail"


def leave_for_later(run: Run, checkpoint: Checkpoint, tail: str) -> None:
    """Its tail is saved; the summary is left to the next session that can ask a model."""
    left = replace(checkpoint, raw=tail, owner=None)
    run.checkpoints.keep(left)
    run.owed.append(left)


def claim(run: Run) -> Checkpoint | None:
    """
    The next session that is owed a summary; None where somebody else is asking for it.

    Its checkpoint goes before anybody asks, so that a model that always fails is not asked for ever.

    Raises:
        StoreUnavailable: its checkpoint cannot go, so it is not asked for.
    """
    checkpoint = run.owed.pop(0)
    return checkpoint if run.checkpoints.drop(checkpoint.session) else None
