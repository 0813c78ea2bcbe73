"""Saving a session, in three tiers.

1. The agent's own note stands when nothing was asked and nothing was changed after the turn that wrote it.
2. A summary by a model takes the old note and the end of the conversation; `carryover.session.summary` judges it.
3. The raw tail needs nothing but the session's file. It is on disk before a model is asked, and stands beside the
   note, never in its place.

A session is described by its `Checkpoint`, so that one that ended unseen is saved by the same code as one that did not.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from carryover.memory.merge import merge
from carryover.memory.note import finish
from carryover.settings import Settings
from carryover.store.checkpoints import Checkpoint
from carryover.store.store import Store, Writer
from carryover.text import truncate

# A start should not wait for what reads session files and judges summaries: those modules are imported when they are
# needed.
if TYPE_CHECKING:
    from carryover.completion import Answer, Prompt
    from carryover.session.transcripts.base import Tail

#: What a raw tail holds at the most: user messages, characters of each, characters of the last answer, files.
USERS = 8
USER_LENGTH = 400
ANSWER_LENGTH = 1500
FILES = 12
#: Messages that a summary may be made from; `summary.request` bounds the characters.
MESSAGES = 80


@dataclass(frozen=True, slots=True)
class Saved:
    """How a session was saved without a model."""

    #: ``stands`` (the agent's note does), ``tail`` (a raw tail was kept), ``nothing`` (there was nothing to keep).
    kind: str
    #: The raw tail's event.
    event: str = ""
    kept: int = 0
    messages: int = 0


@dataclass(frozen=True, slots=True)
class Owed:
    """A summary that was asked for and has not come."""

    id: str
    checkpoint: Checkpoint
    #: Words that it may have.
    words: int
    #: The note it is to replace: its text, and the ids that were known when it was asked for.
    note: str
    base: tuple[str, ...]
    transcript: str
    through: int


def save_tail(writer: Writer, checkpoint: Checkpoint) -> Saved:
    """
    Tiers 1 and 3: see whether the agent's note stands, else keep the raw tail. Saving twice keeps it once.

    Raises:
        TranscriptError: the session's file cannot be used.
        StoreError: the tail cannot be written.
    """
    from carryover.session.transcripts import pi

    tail = pi.tail(Path(checkpoint.file), limit_messages=4 * USERS, since=checkpoint.since)
    if tail.saved:
        return Saved("stands")
    text, kept = raw_text(tail)
    if not any(message.role == "user" for message in tail.messages):
        return Saved("nothing")
    messages = checkpoint.before + max(checkpoint.messages, tail.count)
    if writer.state.saved.get(checkpoint.session, -1) >= tail.end:
        return Saved("tail", _tail_of(writer, checkpoint), kept, messages)
    event = writer.append(
        "note",
        by="hook",
        source="raw",
        host=checkpoint.host,
        session=checkpoint.session,
        tree=checkpoint.tree,
        text=text,
        covers=[kept, messages],
        through=tail.end,
    )
    return Saved("tail", event.id, kept, messages)


def raw_text(tail: Tail) -> tuple[str, int]:
    """The last messages as Markdown, bounded, and how many of them that is."""
    users = [message for message in tail.messages if message.role == "user"][-USERS:]
    lines = ["- " + truncate(" ".join(message.text.split()), USER_LENGTH) for message in users]
    kept = len(users)
    answers = [message for message in tail.messages if message.role == "assistant" and message.text]
    if answers:
        lines += ["", "Last answer:", "", truncate(answers[-1].text.strip(), ANSWER_LENGTH)]
        kept += 1
    if tail.files:
        lines += ["", "Files changed: " + ", ".join(truncate(name, 120) for name in tail.files[-FILES:])]
    if tail.last_error:
        lines += ["", "Last error: " + truncate(tail.last_error, 200)]
    return "\n".join(lines), kept


def _tail_of(writer: Writer, checkpoint: Checkpoint) -> str:
    tails = writer.state.tails(checkpoint.tree)
    return next((tail.id for tail in tails if tail.session == checkpoint.session), "")


# ---------------------------------------------------------------- tier 2


def ask(store: Store, settings: Settings, checkpoint: Checkpoint) -> tuple[Owed, Prompt]:
    """
    What to ask a model for a summary of this session, and what is owed then.

    Raises:
        TranscriptError: the session's file cannot be used.
        StoreError: the note on record cannot be read.
    """
    from carryover.session import summary
    from carryover.session.transcripts import pi

    state, _ = store.delivered()
    note = state.note(checkpoint.tree)
    tail = pi.tail(Path(checkpoint.file), limit_messages=MESSAGES)
    prompt = summary.request(
        note.text if note else "", tail, settings.summary_words, checkpoint.language, settings.summary_seconds
    )
    owed = Owed(
        os.urandom(8).hex(),
        checkpoint,
        settings.summary_words,
        note.text if note else "",
        tuple(state.base(checkpoint.tree)),
        prompt.text,
        tail.end,
    )
    return owed, prompt


def take(store: Store, owed: Owed, answer: Answer) -> str:
    """
    Judge an answer and, if it is good, put it on record; why it was not, else (empty when it was).

    Raises:
        StoreError: it is good and cannot be written.
    """
    from carryover.session import summary

    checkpoint = owed.checkpoint
    verdict = summary.judge(answer, owed.note, owed.words, checkpoint.language, owed.transcript)
    if verdict.text is None:
        return verdict.reason
    with store.writing() as writer:
        state = writer.state
        current = state.note(checkpoint.tree)
        text = verdict.text
        if current is not None and current.id not in owed.base:  # another session saved while the model was thinking
            text = merge(finish(owed.note), current.text, text)
        heads = [head.id for head in state.heads.get(checkpoint.tree, ())]
        seen = [tail.id for tail in state.tails(checkpoint.tree) if tail.id in owed.base]
        writer.append(
            "note",
            by="agent",
            source="summary",
            host=checkpoint.host,
            session=checkpoint.session,
            tree=checkpoint.tree,
            base=heads + seen,
            text=text,
            through=owed.through,
        )
    return ""
