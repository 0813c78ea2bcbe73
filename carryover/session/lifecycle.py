"""The plugin: what happens at each moment of a session, whatever the host.

    carryover = Carryover(os.environ)
    carryover.start(session, "startup")
    delivery = carryover.prompt("carry on")     # delivery.system is what the model is given
    carryover.save("- [ ] finish the parser")   # the agent's own note
    carryover.end("quit")

A host translates its events into these calls. None of them raises for a store that cannot be used, but for `save`,
whose error is for the model to read: the first failure is said once, in a `Notice`, and the host goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from carryover import project as projects
from carryover import settings as configuration
from carryover.completion import Answer
from carryover.errors import CarryoverError, ProjectError, StoreError, StoreUnavailable, TranscriptError
from carryover.memory.note import items
from carryover.messages import locale_language, say
from carryover.session import commands, notes, recovery, saver
from carryover.session.exchange import Ask as Ask
from carryover.session.exchange import Completion as Completion
from carryover.session.exchange import Delivery as Delivery
from carryover.session.exchange import Mode as Mode
from carryover.session.exchange import Notice as Notice
from carryover.session.exchange import Outcome as Outcome
from carryover.session.exchange import Session as Session
from carryover.session.run import Run
from carryover.session.saver import Owed
from carryover.store.checkpoints import Checkpoint
from carryover.store.store import Store
from carryover.store.views import Kind
from carryover.text import language

#: Views that hold something the log does not know yet.
_CHANGED = frozenset((Kind.EDITED, Kind.TEAMMATE, Kind.FOREIGN))
#: What may go wrong with a disk or a session's file, and is said instead of raised.
_FAILURES = (OSError, StoreError, TranscriptError)


class Carryover:
    """One host's sessions, one after another."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.language = locale_language(environ)
        self._run: Run | None = None
        #: Summaries that were asked for, with the store they are for: an answer may come after its session's end.
        self._owed: dict[str, tuple[Store, Owed]] = {}
        self._said: set[str] = set()

    # ------------------------------------------------------------ start

    def start(self, session: Session, reason: str) -> Outcome:
        """A session begins, or goes on after a reload. Saying so twice is the same as once."""
        if self._run is not None and self._run.session.id == session.id:
            return Outcome(status=self._status())
        if self._run is not None:
            self.end("lost")  # the host never told how that one ended
        try:
            project = projects.find(session.cwd, self.environ)
        except ProjectError:
            return Outcome()  # the home folder, say: it is left in peace
        settings = configuration.load(project.root, self.environ)
        store = Store(project, settings, self.environ, trusted=session.trusted is not False)
        self._run = Run(session, store, settings)
        notices = [Notice("warning", problem) for problem in settings.problems if self._once(problem)]
        notices += self._take_stock(self._run)
        return Outcome(tuple(notices), status=self._status())

    def _take_stock(self, run: Run) -> list[Notice]:
        """Merge what was done to the view, and save the sessions that ended unseen, if there are any such things."""
        try:
            state = run.store.known().state
            view = run.store.view(state)
            unseen = [] if run.session.nested else recovery.ended_unseen(run)
        except StoreUnavailable as error:
            run.unreadable.append(str(error))
            return [Notice("warning", str(error))] if self._once(str(error)) else []
        if view.kind is Kind.CONFLICT:
            return [Notice("warning", say("start.conflict", self.language, path=run.store.view_path))]
        if run.session.nested:
            return []
        edited = run.session.saves_itself and self._on_record_now(view.kind, bool(state.events))
        run.owed = [one for one in unseen if one.raw]
        unsaved = [one for one in unseen if not one.raw]
        joined = len(state.heads.get(run.tree, ())) > 1
        if not (unsaved or joined or edited):
            return []
        return self._mend(run, unsaved, cut=view.kind is Kind.CUT)

    @staticmethod
    def _on_record_now(kind: Kind, events: bool) -> bool:
        """
        Whether a view is put on record at the start. Its text is delivered in any case; a first note that somebody
        wrote by hand is left as it is until there is something to write.
        """
        return kind in (Kind.EDITED, Kind.TEAMMATE) or (events and kind in (Kind.FOREIGN, Kind.CUT))

    def _mend(self, run: Run, unsaved: list[Checkpoint], *, cut: bool) -> list[Notice]:
        try:
            with run.store.writing() as writer:  # taking the lock merges the view's edits
                recovered = [one for one in unsaved if recovery.recover(run, writer, one)]
                if cut:
                    writer.render()
        except _FAILURES as error:
            return self._cannot(error)
        notices = [Notice("warning", writer.problem)] if writer.problem else []
        if recovered:
            notices.append(Notice("info", say("start.recovered", self.language, n=len(recovered))))
        return notices

    # ------------------------------------------------------------ while it runs

    def prompt(self, text: str) -> Delivery:
        """The user has spoken: what the model is given with it."""
        self.language = language(text) or self.language
        run = self._run
        if run is None:
            return Delivery("")
        if run.block is None:
            return Delivery(run.render_block())
        return Delivery(run.block, run.news())

    def settled(self, file: Path | None) -> Outcome:
        """A turn has settled: where the session stands is written down. A summary that is owed is asked for now."""
        run = self._run
        if run is None:
            return Outcome()
        if file is not None:
            run.session = replace(run.session, file=file)
        if not run.session.saves_itself:
            return Outcome()
        try:
            run.keep_checkpoint(self.language)
        except _FAILURES as error:
            return Outcome(tuple(self._cannot(error)))
        ask = self._ask_for_unseen(run) if run.checkpoint is not None else None
        return Outcome(ask=ask, status=self._status())

    def compacting(self) -> None:
        """The host is about to compact: where the session stands is written down."""
        run = self._run
        if run is None or not run.session.saves_itself:
            return
        try:
            run.keep_checkpoint(self.language)
        except _FAILURES as error:
            self._cannot(error)

    def compacted(self) -> str:
        """The host has compacted: the block, rendered afresh, for the very next request."""
        return self._run.render_block() if self._run is not None else ""

    def edited(self) -> Outcome:
        """CARRYOVER.md has changed on disk: an edit becomes an event at once."""
        run = self._run
        if run is None or run.session.nested:
            return Outcome()
        try:
            if run.store.view(run.store.known().state).kind in _CHANGED:
                with run.store.writing():
                    pass  # taking the lock merges it
        except StoreError as error:
            return Outcome(tuple(self._cannot(error)))
        return Outcome(status=self._status())

    def save(self, content: str) -> str:
        """
        The agent's own note. What another session saved since this one was shown the note is merged in, not lost.

        Returns:
            What to tell the model.

        Raises:
            CarryoverError: it was not saved; the text says why and what to do.
        """
        run = self._run
        if run is None:
            raise ProjectError("not saved: this folder is no project (the home folder is never one)")
        if run.session.nested:
            raise CarryoverError("not saved: a sub-agent may read the note; only the main session writes it")
        with run.store.writing() as writer:
            written = notes.write(writer, content, run.author("agent", "agent"), run.shown)
        run.shown = written.shown
        if run.session.file is not None:
            run.point(str(run.session.file))
        words = [f"Saved: {len(items(written.shown.text))} open items for the next session."]
        if written.dropped:
            words.append("Finished items were dropped.")
        if written.merged:
            words.append("Another session had saved a note meanwhile; its open items were kept beside yours.")
        if writer.problem:
            words.append(f"It is in the log, but {writer.problem}.")
        return " ".join(words)

    # ------------------------------------------------------------ end

    def end(self, reason: str) -> Outcome:
        """
        The session ends, and is saved in three tiers. With ``quit`` a summary may be asked for; every other end leaves
        that to the session that follows, and ``reload`` is no end at all.
        """
        run, self._run = self._run, None
        if run is None or not run.session.saves_itself:
            return Outcome()
        try:
            run.keep_checkpoint(self.language)
            if reason == "reload" or run.checkpoint is None:
                return Outcome()
            return self._save(run, run.checkpoint, ask=reason == "quit")
        except _FAILURES as error:
            notices = self._cannot(error)
            return Outcome(tuple(notices), farewell=notices[0].text if notices else "")

    def lost(self) -> None:
        """The host is gone without a word: what it leaves is saved without it."""
        self._owed.clear()
        self.end("lost")

    def _save(self, run: Run, checkpoint: Checkpoint, *, ask: bool) -> Outcome:
        with run.store.writing() as writer:
            saved = saver.save_tail(writer, checkpoint)
        if saved.kind != "nothing":
            run.point(checkpoint.file)
        summary = saved.kind == "tail" and run.settings.summary_mode == "on"
        if summary and not ask:
            recovery.leave_for_later(run, checkpoint, saved.event)
        else:
            run.checkpoints.drop(checkpoint.session)
        if saved.kind == "nothing":
            return Outcome()
        if saved.kind == "stands":
            return Outcome(farewell=say("save.kept", self.language))
        kept = say("tail.kept", self.language, kept=saved.kept, messages=saved.messages)
        return Outcome(ask=self._ask(run, checkpoint, "summary.saving") if summary and ask else None, farewell=kept)

    # ------------------------------------------------------------ tier 2

    def _ask(self, run: Run, checkpoint: Checkpoint, line: str) -> Ask:
        owed, prompt = saver.ask(run.store, run.settings, checkpoint)
        self._owed[owed.id] = run.store, owed
        said = say(line, self.language, seconds=prompt.seconds)
        model = run.settings.summary_model
        return Ask(owed.id, prompt.system, prompt.text, prompt.max_tokens, prompt.seconds, model, said)

    def _ask_for_unseen(self, run: Run) -> Ask | None:
        """The summary of a session that ended unseen: asked for once, and one at a time."""
        while run.owed:
            try:
                if (checkpoint := recovery.claim(run)) is not None:
                    return self._ask(run, checkpoint, "summary.catching_up")
            except (TranscriptError, StoreError) as error:
                run.unreadable.append(str(error))
        return None

    def answer(self, ask: str, answer: Answer) -> Outcome:
        """What came of an `Ask`. A bad answer changes nothing, and one line says which tier was used and why."""
        if ask not in self._owed:
            return Outcome()
        store, owed = self._owed.pop(ask)
        if answer.stop == "aborted":
            text = say("summary.skipped", self.language)
            return Outcome((Notice("info", text),), text=text, farewell=text)
        try:
            reason = saver.take(store, owed, answer)
        except StoreError as error:
            notices = self._cannot(error)
            return Outcome(tuple(notices), farewell=notices[0].text if notices else "")
        text = say(f"summary.rejected.{reason}" if reason else "summary.saved", self.language)
        notice = Notice("warning" if reason else "info", text)
        return Outcome((notice,), text=text, level=notice.level, status=self._status(), farewell=text)

    # ------------------------------------------------------------ commands

    def command(self, name: str, args: str) -> Outcome:
        """``/carryover NAME ARGS``, in the user's language."""
        run, name = self._run, name or "show"
        if run is None:
            return Outcome(text=say("project.none", self.language), level="warning")
        try:
            if name == "show":
                return commands.show(run, self.language)
            if name == "save":
                return self._summarise_now(run)
            if name == "clear":
                return commands.clear(run, self.language)
            if name == "restore":
                return commands.restore(run, self.language, args.strip())
        except CarryoverError as error:
            return Outcome(text=str(error), level="error")
        known = ", ".join(f"/carryover {one}" for one in commands.NAMES)
        return Outcome(text=say("command.unknown", self.language, name=name, known=known), level="warning")

    def complete(self, name: str, prefix: str) -> list[Completion]:
        """What may be typed after ``/carryover NAME``."""
        return commands.complete(self._run, name, prefix) if self._run is not None else []

    def _summarise_now(self, run: Run) -> Outcome:
        """A summary because the user wants one; the session goes on, so nothing is put beside the note."""
        file = run.session.file
        if file is None or not file.exists():
            return Outcome(text=say("save.kept", self.language))
        checkpoint = run.checkpoint or run.first_checkpoint(file, self.language)
        return Outcome(ask=self._ask(run, checkpoint, "summary.saving_now"))

    # ------------------------------------------------------------ what is said

    def _status(self) -> str:
        if self._run is None:
            return ""
        try:
            return self._run.status(self.language)
        except StoreError:
            return say("status.broken", self.language)

    def _once(self, what: str) -> bool:
        fresh = what not in self._said
        self._said.add(what)
        return fresh

    def _cannot(self, error: Exception) -> list[Notice]:
        """What went wrong, the first time that it does."""
        text = say("save.cannot", self.language, reason=error)
        return [Notice("error", text)] if self._once(text) else []
