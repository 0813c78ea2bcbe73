"""Sessions whose end nobody saw: found by their checkpoints, saved by whoever starts next, once each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from carryover.errors import SecretFound, TranscriptError, TranscriptUnreadable
from carryover.session import saver
from carryover.session.run import Run
from carryover.store.checkpoints import Checkpoint
from carryover.store.store import Writer


@dataclass(slots=True)
class Recovered:
    """What came of looking for them."""

    #: Tails that were kept.
    tails: int = 0
    #: Why a session could not be saved, each in a sentence.
    problems: list[str] = field(default_factory=list)


def ended_unseen(run: Run) -> list[Checkpoint]:
    """Checkpoints of sessions whose host no longer runs, and of those that were left for a later one."""
    return [one for one in run.checkpoints.ended() if one.session != run.session.id]


def recover(run: Run, writer: Writer) -> Recovered:
    """
    Save them all, under the lock: who waited for it finds them saved already.

    Raises:
        StoreError: nothing can be saved now; it is tried again at the next start.
    """
    recovered = Recovered()
    for checkpoint in ended_unseen(run):
        if checkpoint.raw:
            continue
        try:
            recovered.tails += _save(run, writer, checkpoint)
        except (TranscriptError, SecretFound) as error:
            recovered.problems.append(str(error))
            if hopeless(error):
                run.checkpoints.drop(checkpoint.session)
    return recovered


def hopeless(error: Exception) -> bool:
    """Whether a session that could not be saved never will be. What cannot be read today may be readable tomorrow."""
    return isinstance(error, (TranscriptError, SecretFound)) and not isinstance(error, TranscriptUnreadable)


def _save(run: Run, writer: Writer, checkpoint: Checkpoint) -> bool:
    """Save one; whether there was a tail to keep. It is owed a summary then."""
    saved = saver.save_tail(writer, checkpoint)
    if saved.event and run.settings.summary_mode == "on":
        leave_for_later(run, checkpoint, saved.event)
    else:
        run.checkpoints.drop(checkpoint.session)
    if saved.kind != "nothing":
        run.last_session = checkpoint.file
        run.point(checkpoint.file, checkpoint.tree)
    return saved.kind == "tail"


def leave_for_later(run: Run, checkpoint: Checkpoint, tail: str) -> None:
    """Its tail is saved; the summary is left to the next session that can ask a model."""
    run.checkpoints.keep(replace(checkpoint, raw=tail, owner=None))


def claims(run: Run) -> Iterator[Checkpoint]:
    """
    The sessions that are owed a summary, each given to one asker only. It is owed while its tail stands: who cleared
    that, or wrote a note after reading it, wants none.

    Its checkpoint goes before anybody asks, so that a model that always fails is not asked for ever.
    """
    while run.owed:
        checkpoint = run.owed.pop(0)
        still_owed = run.checkpoints.find(checkpoint.session) == checkpoint  # else it goes on somewhere
        if still_owed and run.checkpoints.drop(checkpoint.session) and _stands(run, checkpoint):
            yield checkpoint


def _stands(run: Run, checkpoint: Checkpoint) -> bool:
    return any(tail.id == checkpoint.raw for tail in run.delivered()[0].tails(checkpoint.tree))
