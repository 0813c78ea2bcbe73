"""The plugin: what happens at each moment of a session, whatever the host.

    carryover = Carryover(os.environ)
    carryover.start(session, "startup")
    delivery = carryover.prompt("carry on")     # delivery.system is what the model is given
    carryover.save("- [ ] finish the parser")   # the agent's own note
    carryover.end("quit")

A host translates its events into these calls. None of them raises for a store that cannot be used, but for `save`,
whose error is for the model to read: the first failure is said once in a `Notice`, and the host goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from carryover import project as projects
from carryover import settings as configuration
from carryover.completion import Answer
from carryover.errors import CarryoverError, ProjectError, StoreError, StoreUnavailable, TranscriptError
from carryover.memory.brief import Brief, Request, brief
from carryover.memory.note import finish, items, merge
from carryover.memory.state import EMPTY
from carryover.messages import locale_language, say
from carryover.process import lives, owner
from carryover.session import saver
from carryover.session.saver import Owed
from carryover.session.transcripts import pi
from carryover.store import history, trace
from carryover.store.checkpoints import Checkpoint, Checkpoints
from carryover.store.pointer import read_pointer, write_pointer
from carryover.store.store import Store, Writer
from carryover.store.views import Kind
from carryover.text import clean, language, tokens, truncate

#: Characters of a note that the agent may save.
LARGEST_NOTE = 200_000
#: Characters of the note that `/carryover` shows.
PREVIEW = 800
Mode = Literal["tui", "rpc", "print", "json", "command"]
#: Modes in which a person is there, and the end of a session is saved.
INTERACTIVE: frozenset[str] = frozenset(("tui", "rpc"))


@dataclass(frozen=True, slots=True)
class Session:
    """A session, as its host describes it."""

    id: str
    file: Path | None
    mode: Mode
    cwd: Path
    host: str = "pi"
    #: Messages that were already in it when it started.
    messages: int = 0
    #: A sub-agent: it may read, and saves nothing.
    nested: bool = False
    #: Whether the user trusts this project, where the host has asked.
    trusted: bool | None = None
    #: The host's process.
    owner: int | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A completion that the host is asked to run; it calls `Carryover.answer` with what came of it."""

    id: str
    system: str
    prompt: str
    max_tokens: int
    seconds: int
    model: str | None
    #: What to tell the user meanwhile.
    line: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a moment brought: things to say, and perhaps something to ask a model."""

    notices: tuple[Notice, ...] = ()
    ask: Ask | None = None
    text: str = ""
    level: str = "info"
    status: str = ""
    farewell: str = ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What the model is given: *system* is the same bytes until the next boundary, *message* goes to the tail, once."""

    system: str
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    value: str
    label: str
    description: str


class Carryover:
    """One host's sessions, one after another."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.language = locale_language(environ)
        self.settings = configuration.load(None, environ)
        self.session: Session | None = None
        self.store: Store | None = None
        self._checkpoints: Checkpoints | None = None
        self._checkpoint: Checkpoint | None = None
        self._counted = 0
        self._block: Brief | None = None
        self._shown: tuple[str, ...] = ()
        self._shown_text = ""
        self._own: set[str] = set()
        self._owed: dict[str, Owed] = {}
        self._pending: list[Checkpoint] = []
        self._said: set[str] = set()
        self._unreadable: list[str] = []
        self._last_session = ""

    # ------------------------------------------------------------ start

    def start(self, session: Session, reason: str) -> Outcome:
        """A session begins, or goes on after a reload. Saying so twice is the same as once."""
        if self.session is not None and self.session.id == session.id:
            return Outcome(status=self._status())
        if self.session is not None:
            self.lost()  # its end was never told
        self._begin(session)
        notices = self._open(session)
        if self.store is None:
            return Outcome(tuple(notices))
        notices += self._take_stock(self.store)
        return Outcome(tuple(notices), status=self._status())

    def _begin(self, session: Session) -> None:
        self.session, self.store = session, None
        self._block, self._shown, self._shown_text = None, (), ""
        self._checkpoint, self._own, self._pending = None, set(), []
        self._unreadable = []
        self._counted = _size(session.file)

    def _open(self, session: Session) -> list[Notice]:
        """Find the project and its store. A folder that is none (the home folder, say) is left in peace."""
        try:
            project = projects.find(session.cwd, self.environ)
        except ProjectError:
            return []
        self.settings = configuration.load(project.root, self.environ)
        self.store = Store(project, self.settings, self.environ, trusted=session.trusted is not False)
        self._checkpoints = Checkpoints(project.log_folder, self.store.system)
        self._last_session = read_pointer(project.folder)
        return [Notice("warning", problem) for problem in self.settings.problems if self._once(problem)]

    def _take_stock(self, store: Store) -> list[Notice]:
        """Merge edits of the view and save the sessions that ended unseen, if there is anything of the kind."""
        try:
            state = store.known().state
            view = store.view(state)
        except StoreUnavailable as error:
            self._unreadable.append(str(error))
            return self._cannot(error)
        if view.kind is Kind.CONFLICT:
            return [Notice("warning", say("start.conflict", self.language, path=store.view_path))]
        assert self.session is not None
        dead = [] if self.session.nested else self._dead()
        stale = view.kind in (Kind.EDITED, Kind.TEAMMATE, Kind.FOREIGN, Kind.CUT) or len(state.heads.get(store.project.tree, ())) > 1
        if self.session.nested or not (dead or stale):
            return []
        try:
            with store.writing() as writer:
                recovered = [one for one in dead if self._recover(writer, one)]
                if view.kind is Kind.CUT and writer.state.events:
                    writer.render()
        except StoreError as error:
            return self._cannot(error)
        said = [Notice("warning", writer.problem)] if writer.problem else []
        if recovered:
            said.append(Notice("info", say("start.recovered", self.language, n=len(recovered))))
        return said

    # ------------------------------------------------------------ sessions that ended unseen

    def _dead(self) -> list[Checkpoint]:
        """Checkpoints of sessions whose host no longer runs."""
        assert self._checkpoints is not None
        return [
            one
            for one in self._checkpoints.all()
            if one.session != self._id() and (one.owner is None or lives(one.owner) is False)
        ]

    def _recover(self, writer: Writer, checkpoint: Checkpoint) -> bool:
        """Save one that ended unseen; whether there was something to keep. A summary of it is owed, once."""
        assert self._checkpoints is not None
        if checkpoint.raw:
            self._pending.append(checkpoint)
            return False
        if not self._checkpoints.path(checkpoint.session).exists():
            return False  # another session was faster
        try:
            saved = saver.save_tail(writer, checkpoint)
        except TranscriptError as error:
            self._unreadable.append(str(error))
            self._checkpoints.drop(checkpoint.session)
            return False
        if saved.kind == "tail" and saved.event and self.settings.summary_mode == "on":
            left = replace(checkpoint, raw=saved.event, owner=None)
            self._checkpoints.keep(left)
            self._pending.append(left)
        else:
            self._checkpoints.drop(checkpoint.session)
        if saved.kind != "nothing" and checkpoint.file:
            self._point(checkpoint.file)
        return saved.kind == "tail"

    def _owed_summary(self) -> Ask | None:
        """Ask for the summary of a session that ended unseen: once for each, and one at a time."""
        assert self.store is not None and self._checkpoints is not None
        while self._pending:
            checkpoint = self._pending.pop(0)
            if not self._checkpoints.path(checkpoint.session).exists():
                continue
            self._checkpoints.drop(checkpoint.session)  # before it is asked for, so that a failure is not tried for ever
            try:
                return self._ask(checkpoint, "summary.catching_up")
            except (TranscriptError, StoreError) as error:
                self._unreadable.append(str(error))
        return None

    # ------------------------------------------------------------ the block

    def prompt(self, text: str) -> Delivery:
        """The user has spoken: what the model is given with it."""
        self.language = language(text) or self.language
        if self.store is None or self.session is None:
            return Delivery("")
        if self._block is None:
            return Delivery(self._render_block().text)
        return Delivery(self._block.text, self._news())

    def _render_block(self) -> Brief:
        """The block for the boundary that has just been crossed."""
        assert self.store is not None and self.session is not None
        store, unreadable = self.store, list(self._unreadable)
        request = self._request(unreadable)
        try:
            state, withheld = store.delivered()
        except StoreUnavailable as error:
            state, withheld = EMPTY, str(error)
        if withheld:
            request = replace(request, unreadable=(*request.unreadable, withheld))
        self._block = brief(state, request)
        tree = store.project.tree
        note = state.note(tree)
        self._shown, self._shown_text = tuple(state.base(tree)), note.text if note else ""
        if store.project.folder.is_dir():
            trace.delivered(
                store.system,
                store.project.folder,
                at=store.now(),
                session=self._id(),
                ids=list(self._shown),
                tokens=tokens(self._block.text),
                fingerprint=self._block.fingerprint,
            )
        return self._block

    def _request(self, unreadable: list[str]) -> Request:
        assert self.store is not None and self.session is not None
        project = self.store.project
        last = self._last_session if self._last_session != str(self.session.file or "") else ""
        return Request(
            project=project.root.name,
            tree=project.tree,
            tokens=self.settings.block_tokens,
            tools=not self.session.nested,
            last_session=last or None,
            live_trees=projects.live_trees(project),
            unreadable=tuple(unreadable),
        )

    def _news(self) -> str | None:
        """The note, if somebody else has changed it since it was shown; the frame of the block stays as it is."""
        assert self.store is not None
        try:
            state, _ = self.store.delivered()
        except StoreUnavailable:
            return None  # the block has what could be read; the next boundary says what could not
        tree = self.store.project.tree
        base = tuple(state.base(tree))
        if base == self._shown or set(base) <= {*self._shown, *self._own}:
            return None
        note = state.note(tree)
        self._shown, self._shown_text = base, note.text if note else ""
        return brief(state, replace(self._request([]), last_session=None, tools=False)).text or None

    # ------------------------------------------------------------ while it runs

    def settled(self, file: Path | None) -> Outcome:
        """A turn has settled: where the session stands is written down."""
        if self.session is None or self.store is None:
            return Outcome()
        if file is not None and file != self.session.file:
            self.session = replace(self.session, file=file)
        if not self._saves_itself():
            return Outcome()
        try:
            self._keep_checkpoint()
        except (OSError, StoreError, TranscriptError) as error:
            return Outcome(tuple(self._cannot(error)))
        ask = self._owed_summary() if self._checkpoint is not None else None
        return Outcome(ask=ask, status=self._status())

    def compacting(self) -> None:
        """The host is about to compact: where the session stands is written down."""
        if self.session is not None:
            self.settled(self.session.file)

    def compacted(self) -> str:
        """The host has compacted: the block, rendered afresh, for the very next request."""
        if self.store is None or self.session is None:
            return ""
        return self._render_block().text

    def edited(self) -> Outcome:
        """CARRYOVER.md has changed on disk: an edit becomes an event at once."""
        if self.store is None or self.session is None or self.session.nested:
            return Outcome()
        try:
            if self.store.view(self.store.known().state).kind in (Kind.EDITED, Kind.TEAMMATE, Kind.FOREIGN):
                with self.store.writing():
                    pass  # taking the lock merges what was edited
        except StoreError as error:
            return Outcome(tuple(self._cannot(error)))
        return Outcome(status=self._status())

    def _keep_checkpoint(self) -> None:
        """Count what is new in the session's file; without a user's message there is nothing to keep."""
        assert self.session is not None and self._checkpoints is not None and self.store is not None
        session = self.session
        if session.file is None or not session.file.exists():
            return
        before = self._checkpoint or self._first_checkpoint(session)
        count = pi.count(session.file, self._counted)
        self._counted = count.offset
        checkpoint = replace(
            before,
            file=str(session.file),
            users=before.users + count.users,
            messages=before.messages + count.users + count.assistants,
            language=self.language,
        )
        if checkpoint.users and checkpoint != self._checkpoint:
            self.store.prepare()
            self._checkpoints.keep(checkpoint)
        if checkpoint.users:
            self._checkpoint = checkpoint

    def _first_checkpoint(self, session: Session) -> Checkpoint:
        assert self.store is not None
        return Checkpoint(
            session=session.id,
            file=str(session.file),
            since=self._counted,
            before=session.messages,
            users=0,
            messages=0,
            host=session.host,
            mode=session.mode,
            tree=self.store.project.tree,
            language=self.language,
            owner=owner(session.owner) if session.owner else None,
        )

    # ------------------------------------------------------------ tier 1

    def save(self, content: str) -> str:
        """
        The agent's own note. What another session saved since this one was shown the note is merged in, not lost.

        Returns:
            What to tell the model.

        Raises:
            CarryoverError: it was not saved; the text says why and what to do.
        """
        if self.store is None or self.session is None:
            raise ProjectError("not saved: this folder is no project (the home folder is never one)")
        if self.session.nested:
            raise CarryoverError("not saved: a sub-agent may read the note; only the main session writes it")
        text = clean(content).strip()
        if not text:
            raise CarryoverError("not saved: the note is empty; if nothing is open, write one line that says so")
        if len(text) > LARGEST_NOTE:
            raise CarryoverError(f"not saved: {len(text)} characters; a note has at most {LARGEST_NOTE}")
        with self.store.writing() as writer:
            merged = self._write_note(writer, text)
        if self.session.file is not None:
            self._point(str(self.session.file))
        return _saved_words(text, merged, writer.problem)

    def _write_note(self, writer: Writer, text: str) -> bool:
        """Append the note; whether it had to be merged with one that its author was not shown."""
        assert self.session is not None
        current = writer.state.note(writer.tree)
        unseen = current is not None and current.id not in self._shown
        if unseen and current is not None:
            text = merge(finish(self._shown_text), current.text, finish(text))
        heads = [head.id for head in writer.state.heads.get(writer.tree, ())]
        tails = [tail.id for tail in writer.state.tails(writer.tree) if tail.id in self._shown]
        event = writer.append(
            "note",
            by="agent",
            source="agent",
            host=self.session.host,
            session=self.session.id,
            base=heads + tails,
            text=text,
        )
        self._own.add(event.id)
        self._shown, self._shown_text = tuple(writer.state.base(writer.tree)), finish(text)
        return unseen

    # ------------------------------------------------------------ end

    def end(self, reason: str) -> Outcome:
        """
        The session ends, in three tiers. With ``quit`` a summary may be asked for; every other end leaves that to the
        session that follows, and ``reload`` is no end at all.
        """
        session, checkpoint = self.session, None
        if session is None or self.store is None or not self._saves_itself():
            self.session = None
            return Outcome()
        try:
            self._keep_checkpoint()
            checkpoint = self._checkpoint
            if reason == "reload" or checkpoint is None:
                return Outcome()
            return self._save(checkpoint, ask=reason == "quit")
        except (OSError, StoreError, TranscriptError) as error:
            notices = self._cannot(error)
            return Outcome(tuple(notices), farewell=notices[0].text if notices else "")
        finally:
            self.session = None

    def lost(self) -> None:
        """The host is gone without a word: what it leaves is saved without it."""
        self._owed.clear()
        if self.session is not None:
            self.end("lost")

    def _save(self, checkpoint: Checkpoint, *, ask: bool) -> Outcome:
        assert self.store is not None and self._checkpoints is not None
        with self.store.writing() as writer:
            saved = saver.save_tail(writer, checkpoint)
        if saved.kind != "nothing":
            self._point(checkpoint.file)
        if saved.kind != "tail":
            self._checkpoints.drop(checkpoint.session)
            return Outcome(farewell=say("save.kept", self.language)) if saved.kind == "stands" else Outcome()
        kept = say("tail.kept", self.language, kept=saved.kept, messages=saved.messages)
        if self.settings.summary_mode != "on":
            self._checkpoints.drop(checkpoint.session)
            return Outcome(farewell=kept)
        if not ask:
            self._checkpoints.keep(replace(checkpoint, raw=saved.event, owner=None))
            return Outcome(farewell=kept)
        self._checkpoints.drop(checkpoint.session)  # the summary is asked for here and now, once
        return Outcome(ask=self._ask(checkpoint, "summary.saving"), farewell=kept)

    # ------------------------------------------------------------ tier 2

    def _ask(self, checkpoint: Checkpoint, line: str) -> Ask:
        assert self.store is not None
        owed, prompt = saver.ask(self.store, self.settings, checkpoint)
        self._owed[owed.id] = owed
        seconds = self.settings.summary_seconds
        return Ask(
            owed.id,
            prompt.system,
            prompt.text,
            prompt.max_tokens,
            seconds,
            self.settings.summary_model,
            say(line, self.language, seconds=seconds),
        )

    def answer(self, ask: str, answer: Answer) -> Outcome:
        """What came of an `Ask`. A bad answer changes nothing, and one line says which tier was used and why."""
        owed = self._owed.pop(ask, None)
        if owed is None or self.store is None:
            return Outcome()
        if answer.stop == "aborted":
            text = say("summary.skipped", self.language)
            return Outcome((Notice("info", text),), farewell=text)
        try:
            reason = saver.take(self.store, self.settings, owed, answer)
        except StoreError as error:
            notices = self._cannot(error)
            return Outcome(tuple(notices), farewell=notices[0].text if notices else "")
        text = say(f"summary.rejected.{reason}" if reason else "summary.saved", self.language)
        level = "warning" if reason else "info"
        return Outcome((Notice(level, text),), text=text, level=level, status=self._status(), farewell=text)

    # ------------------------------------------------------------ commands

    def command(self, name: str, args: str) -> Outcome:
        """``/carryover NAME ARGS``, in the user's language."""
        if self.store is None or self.session is None:
            return Outcome(text=say("project.none", self.language), level="warning")
        commands: dict[str, Callable[[Store, str], Outcome]] = {
            "show": self._show,
            "save": self._command_save,
            "clear": self._clear,
            "restore": self._restore,
        }
        chosen = commands.get(name or "show")
        if chosen is None:
            known = ", ".join(f"/carryover {one}" for one in commands)
            return Outcome(text=say("command.unknown", self.language, name=name, known=known), level="warning")
        try:
            return chosen(self.store, args.strip())
        except CarryoverError as error:
            return Outcome(text=str(error), level="error")

    def _show(self, store: Store, args: str) -> Outcome:
        state = store.known().state
        note = state.note(store.project.tree)
        if note is None and not state.tails(store.project.tree):
            return Outcome(text=say("note.none", self.language))
        text = note.text if note else ""
        parts = [f"{store.view_path}", "", truncate(text, PREVIEW)] if text else [say("note.empty", self.language)]
        for tail in state.tails(store.project.tree):
            parts += ["", truncate(tail.text, PREVIEW)]
        if self._last_session:
            parts += ["", say("note.last_session", self.language, path=self._last_session)]
        return Outcome(text="\n".join(parts), status=self._status())

    def _command_save(self, store: Store, args: str) -> Outcome:
        assert self.session is not None
        self._keep_checkpoint()
        checkpoint = self._checkpoint
        if checkpoint is None:
            if self.session.file is None or not self.session.file.exists():
                return Outcome(text=say("save.kept", self.language))
            checkpoint = replace(self._first_checkpoint(self.session), language=self.language)
        return Outcome(ask=self._ask(checkpoint, "summary.saving_now"))

    def _clear(self, store: Store, args: str) -> Outcome:
        assert self.session is not None
        with store.writing() as writer:
            base = writer.base
            if not base:
                return Outcome(text=say("note.none", self.language))
            writer.append("clear", by="human", host=self.session.host, session=self.session.id, base=base)
            self._shown, self._shown_text = tuple(writer.state.base(writer.tree)), ""
        return Outcome(text=say("note.cleared", self.language, undo="/carryover restore"), status=self._status())

    def _restore(self, store: Store, args: str) -> Outcome:
        assert self.session is not None
        tree = store.project.tree
        past = history.note_named(store.log, tree, args) if args else history.previous(store.log, tree)
        with store.writing() as writer:
            writer.append(
                "note",
                by="human",
                source="restore",
                host=self.session.host,
                session=self.session.id,
                base=[head.id for head in writer.state.heads.get(tree, ())],
                origin=past.id,
                text=past.text,
            )
        time = past.at[:16].replace("T", " ")
        return Outcome(text=say("note.restored", self.language, time=time), status=self._status())

    def complete(self, name: str, prefix: str) -> list[Completion]:
        """What may follow ``/carryover NAME``: for ``restore`` the notes there were."""
        if name != "restore" or self.store is None:
            return []
        try:
            past = history.notes(self.store.log, self.store.project.tree, 20)
        except (OSError, StoreError):
            return []  # a completion that cannot be offered is no error
        found = []
        for event in past:
            short = event.id[-8:]
            if short.startswith(prefix.upper()):
                first = next((line for line in event.text.splitlines() if line.strip()), "")
                found.append(Completion(short, f"{short}  {event.at[:16].replace('T', ' ')}", truncate(first, 60)))
        return found

    # ------------------------------------------------------------ small things

    def _id(self) -> str:
        return self.session.id if self.session is not None else ""

    def _saves_itself(self) -> bool:
        return self.session is not None and self.session.mode in INTERACTIVE and not self.session.nested

    def _point(self, file: str) -> None:
        if self.store is not None:
            write_pointer(self.store.system, self.store.project.folder, file)

    def _status(self) -> str:
        if self.store is None:
            return ""
        try:
            state = self.store.known().state
        except StoreError:
            return say("status.broken", self.language)
        note = state.note(self.store.project.tree)
        if note is None:
            return ""
        count = len(items(note.text))
        return say("status.open", self.language, n=count) if count else say("status.nothing", self.language)

    def _once(self, what: str) -> bool:
        fresh = what not in self._said
        self._said.add(what)
        return fresh

    def _cannot(self, error: Exception) -> list[Notice]:
        """What went wrong, the first time that it does."""
        text = say("save.cannot", self.language, reason=error)
        return [Notice("error", text)] if self._once(text) else []


def _size(file: Path | None) -> int:
    try:
        return os.stat(file).st_size if file is not None else 0
    except OSError:
        return 0  # a session's file is made with its first message


def _saved_words(text: str, merged: bool, problem: str) -> str:
    words = [f"Saved: {len(items(finish(text)))} open items for the next session."]
    if finish(text).strip() != text.strip():
        words.append("Finished items were dropped.")
    if merged:
        words.append("Another session had saved a note meanwhile; its open items were kept beside yours.")
    if problem:
        words.append(f"The log has it; {problem}.")
    return " ".join(words)
