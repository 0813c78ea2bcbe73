"""``/carryover`` and its sub-commands, for every host that has commands."""

from __future__ import annotations

from carryover.errors import StoreError
from carryover.messages import say
from carryover.session import notes
from carryover.session.exchange import Completion, Notice, Outcome
from carryover.session.run import Run
from carryover.store import history
from carryover.store.store import Writer
from carryover.text import clean, truncate

#: Sub-commands, in the order in which they are offered.
NAMES = ("show", "save", "clear", "restore")
#: Characters of a note that are shown.
PREVIEW = 800
#: Notes that are offered to go back to.
OFFERED = 20


def show(run: Run, language: str) -> Outcome:
    """The note, the tails beside it, and where the last session is."""
    state, problems = run.delivered()
    note, tails = state.note(run.tree), state.tails(run.tree)
    if note is None and not tails:
        text = "\n\n".join(problems) or say("note.none", language)
        return Outcome(text=text, level="warning" if problems else "info")
    parts = [str(run.store.view_path)]
    parts.append(truncate(note.text, PREVIEW) if note and note.text else say("note.empty", language))
    parts += [truncate(tail.text, PREVIEW) for tail in tails]
    if run.last_session:
        parts.append(say("note.last_session", language, path=run.last_session))
    return Outcome(text="\n\n".join([*parts, *problems]), status=run.status(language))


def clear(run: Run, language: str) -> Outcome:
    """Clear the note; `restore` undoes it. The model is told with the next prompt."""
    if not run.store.delivered()[0].trees():
        return Outcome(text=say("note.none", language))
    with run.store.writing() as writer:
        cleared = notes.clear(writer, run.author("human", "command"))
    if not cleared:
        return Outcome(text=say("note.none", language))
    return _done(run, writer, language, say("note.cleared", language, undo="/carryover restore"))


def restore(run: Run, language: str, name: str) -> Outcome:
    """Go back to the note that *name* means; without a name, to the one before."""
    past, writer = notes.go_back(run.store, name, run.author("human", "restore"))
    return _done(run, writer, language, say("note.restored", language, time=_minute(past.at)))


def _done(run: Run, writer: Writer, language: str, text: str) -> Outcome:
    """It is on record; that CARRYOVER.md does not show it is said."""
    notices = (Notice("warning", writer.problem),) if writer.problem else ()
    return Outcome(notices, text=text, status=run.status(language))


def complete(run: Run, name: str, prefix: str) -> list[Completion]:
    """What may follow ``/carryover NAME``: for ``restore``, the notes there were."""
    if name != "restore":
        return []
    try:
        past = history.notes(run.store.log, run.tree, OFFERED)
    except (OSError, StoreError):
        return []  # what cannot be offered can still be typed
    found = []
    for event in filter(run.store.believes, past):
        short = event.id[-8:]
        if short.startswith(prefix.upper()):
            first = next((line for line in clean(event.text).splitlines() if line.strip()), "")
            found.append(Completion(short, f"{short}  {clean(_minute(event.at))}", truncate(first, 60)))
    return found


def _minute(at: str) -> str:
    return at[:16].replace("T", " ")
