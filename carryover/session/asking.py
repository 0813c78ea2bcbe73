"""Summaries that were asked for and have not come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from carryover.messages import say
from carryover.session import recovery, saver
from carryover.session.exchange import Ask, Notice
from carryover.session.run import Run
from carryover.session.saver import Owed
from carryover.store.checkpoints import Checkpoint
from carryover.store.store import Store
from carryover.text import truncate

if TYPE_CHECKING:
    from carryover.completion import Answer


#: Characters of a model's error that the user is told.
ERROR_LENGTH = 120


class Asking:
    """What is asked of models, and for which store: an answer may come after its session's end."""

    def __init__(self) -> None:
        self._owed: dict[str, tuple[Store, Owed, bool]] = {}

    def ask(self, run: Run, checkpoint: Checkpoint, line: str, language: str) -> Ask:
        """
        Ask for a summary of that session; *line* is the message that the user reads meanwhile.

        Raises:
            (TranscriptError, StoreError): its file, or the note, cannot be read.
        """
        owed, prompt = saver.ask(run.store, run.settings, checkpoint)
        own = checkpoint.session == run.session.id
        self._owed[owed.id] = run.store, owed, own
        if own:
            run.summed_up = owed.through
        said = say(line, language, seconds=prompt.seconds)
        model = run.settings.summary_model
        return Ask(owed.id, prompt.system, prompt.text, prompt.max_tokens, prompt.seconds, model, said)

    def ask_for_unseen(self, run: Run, language: str) -> Ask | None:
        """As `ask`, for a session that ended unseen: once for each, and one at a time."""
        for checkpoint in recovery.claims(run):
            return self.ask(run, checkpoint, "summary.catching_up", language)
        return None

    def take(self, ask: str, answer: Answer, language: str) -> Notice | None:
        """
        What the user is told came of it; None where nobody asked.

        Raises:
            (OSError, StoreError): the summary is good and cannot be written.
        """
        if ask not in self._owed:
            return None
        store, owed, own = self._owed.pop(ask)
        if answer.stop == "aborted":
            return Notice("info", say("summary.skipped", language))
        if reason := saver.take(store, owed, answer):
            why = truncate(" ".join((answer.error or "").split()), ERROR_LENGTH)
            return Notice("warning", say(f"summary.rejected.{reason}", language, why=f" ({why})" if why else ""))
        return Notice("info", say("summary.saved" if own else "summary.caught_up", language))

    def forget(self) -> None:
        """Nobody is left to answer."""
        self._owed.clear()
