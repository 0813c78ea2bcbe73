"""Saving a session, in three tiers.

1. The agent's own note stands when nothing was asked and nothing was changed after the turn that wrote it.
2. A summary by a model takes the old note and the end of the conversation; `carryover.session.summary` judges it.
3. The raw tail needs nothing but the session's file. It is on disk before a model is asked, and stands beside the
   note, never in its place.

A session is described by its `Checkpoint`, so that one that ended unseen is saved by the same code as one that did not.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from carryover.memory.merge import merge
from carryover.memory.note import finish
from carryover.settings import Settings
from carryover.store.checkpoints import Checkpoint
from carryover.store.store import Store, Writer
from carryover.text import truncate

# Every start imports this module and waits for it; what reads sessions and judges summaries is imported when there is
# one to save.
if TYPE_CHECKING:
    from carryover.completion import Answer, Prompt
    from carryover.session.transcripts.base import Message, Tail

#: What a raw tail holds at the most: user messages, characters of each, characters of the last answer, files.
USERS = 8
USER_LENGTH = 400
ANSWER_LENGTH = 1500
FILES = 12
#: Messages that are read for it, and how many are when the user has said nothing in those: an agent may work alone
#: for hours.
NEAR, FAR = 32, 4000
#: Messages that a summary may be made from; `summary.request` bounds the characters.
MESSAGES = 80
#: Characters at either end of a message in which secrets are looked for; what is between them is dropped. Only the ends
#: are ever kept, and much less of them.
SEARCHED = 25_000


@dataclass(frozen=True, slots=True)
class Saved:
    """How a session was saved without a model."""

    #: ``stands`` (the agent's note does), ``tail`` (a raw tail was kept), ``nothing`` (there was nothing to keep).
    kind: str
    #: The raw tail's event.
    event: str = ""
    kept: int = 0
    messages: int = 0
    #: The byte of the session's file up to which it was read.
    through: int = 0


@dataclass(frozen=True, slots=True)
class Owed:
    """A summary that was asked for and has not come."""

    id: str
    checkpoint: Checkpoint
    #: Words that it may have.
    words: int
    #: The note it is to replace: its text, and the ids of what stood when it was asked for.
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
    standing = _tail_of(writer, checkpoint)
    # A new tail takes the place of the session's own older one, so it has to hold what that one held.
    tail = _end_of(Path(checkpoint.file), 0 if standing else checkpoint.since)
    if tail.saved:
        return Saved("stands")
    if (tail.complete and not _users(tail)) or not (tail.messages or tail.summary):
        return Saved("nothing")
    text, kept = raw_text(_without_secrets(tail, writer.store.settings.secrets))
    messages = max(_messages(checkpoint), tail.count, kept)
    if writer.state.saved.get(checkpoint.session, -1) >= tail.end:
        return Saved("tail", standing, kept, messages, tail.end) if standing else Saved("stands")
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
    return Saved("tail", event.id, kept, messages, tail.end)


def _end_of(file: Path, since: int) -> Tail:
    """The end of a session, far enough back to hold something that the user said, if anything is in reach."""
    from carryover.session.transcripts import pi

    tail = pi.tail(file, limit_messages=NEAR, since=since)
    if tail.complete or _users(tail):
        return tail
    return pi.tail(file, limit_messages=FAR, since=since)


def _messages(checkpoint: Checkpoint) -> int:
    """Messages in the whole session: what was counted while it ran, and what came after that."""
    from carryover.session.transcripts import pi

    since = pi.count(Path(checkpoint.file), checkpoint.counted)
    return checkpoint.before + checkpoint.messages + since.users + since.assistants


def _users(tail: Tail) -> list[Message]:
    return [message for message in tail.messages if message.role == "user"]


def _without_secrets(tail: Tail, secrets: str) -> Tail:
    """
    The tail without secrets, before anything is cut: half a secret would not be known for one any more.

    With ``reject`` a message that holds one is left out, and that is said in its place.
    """
    if secrets == "off":
        return tail
    from carryover.store.redact import redact

    def safe(text: str) -> str:
        redacted = redact(text if len(text) <= 2 * SEARCHED else f"{text[:SEARCHED]}\n{text[-SEARCHED:]}")
        if redacted.findings and secrets == "reject":
            return f"[left out: it holds a secret ({', '.join(dict.fromkeys(redacted.findings))})]"
        return redacted.text

    return replace(
        tail,
        messages=tuple(replace(message, text=safe(message.text)) for message in tail.messages),
        summary=safe(tail.summary) if tail.summary else None,
        files=tuple(map(safe, tail.files)),
        last_error=safe(tail.last_error) if tail.last_error else None,
    )


def raw_text(tail: Tail) -> tuple[str, int]:
    """The last messages as Markdown, bounded, and how many of them that is."""
    users = _users(tail)[-USERS:]
    lines = ["- " + truncate(" ".join(message.text.split()), USER_LENGTH) for message in users]
    kept = len(users)
    if tail.summary and not users:
        lines += ["The host's summary of what went before:", "", truncate(tail.summary.strip(), ANSWER_LENGTH)]
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
    tail = _without_secrets(pi.tail(Path(checkpoint.file), limit_messages=MESSAGES), settings.secrets)
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
        if current is not None and current.id not in owed.base:  # somebody saved while the model was thinking
            text = merge(finish(owed.note), current.text, text)
        # Of the tails it replaces its own session's alone, as every later note does: no other was in the request.
        heads = [head.id for head in state.heads.get(checkpoint.tree, ())]
        writer.append(
            "note",
            by="agent",
            source="summary",
            host=checkpoint.host,
            session=checkpoint.session,
            tree=checkpoint.tree,
            base=heads,
            text=text,
            through=owed.through,
        )
    return ""
