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

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from carryover import project as projects
from carryover import settings as configuration
from carryover.errors import CarryoverError, ProjectError, StoreError, StoreUnavailable, TranscriptError
from carryover.messages import locale_language, say
from carryover.session import commands, notes, recovery, saver
from carryover.session.asking import Asking
from carryover.session.exchange import Ask as Ask
from carryover.session.exchange import Completion as Completion
from carryover.session.exchange import Delivery as Delivery
from carryover.session.exchange import Mode as Mode
from carryover.session.exchange import Notice as Notice
from carryover.session.exchange import Outcome as Outcome
from carryover.session.exchange import Session as Session
from carryover.session.run import Run
from carryover.store.checkpoints import Checkpoint
from carryover.store.store import Store, local_now
from carryover.store.views import Kind
from carryover.text import language

if TYPE_CHECKING:
    from carryover.completion import Answer

#: What may go wrong with a disk or a session's file, and is said instead of raised.
_FAILURES = (OSError, StoreError, TranscriptError)


class Carryover:
    """One host's sessions, one after another."""

    def __init__(self, environ: Mapping[str, str], now: Callable[[], datetime] = local_now) -> None:
        self.environ = environ
        self.language = locale_language(environ)
        self._now = now
        self._run: Run | None = None
        self._asking = Asking()
        self._said: set[str] = set()
        #: Why the store cannot be used, as it was said; empty while it can.
        self._broken = ""

    # ------------------------------------------------------------ start

    def start(self, session: Session, reason: str) -> Outcome:
        """A session begins, or goes on after a reload. Saying so twice is the same as once."""
        if self._run is not None and self._run.session.id == session.id:
            return Outcome(status=self._status())
        notices = list(self.end("lost").notices)  # the host may never have told how the one before ended
        try:
            project = projects.find(session.cwd, self.environ)
        except ProjectError:
            return Outcome(tuple(notices))  # the home folder, say: it is left in peace
        settings = configuration.load(project.root, self.environ)
        store = Store(project, settings, self.environ, now=self._now, trusted=session.trusted is not False)
        self._run = run = Run(session, store, settings)
        notices += self._warnings([*settings.problems, *self._unreadable(run)])
        if not session.nested:
            notices += self._recover(run)
        return Outcome(tuple(notices), status=self._status())

    def _unreadable(self, run: Run) -> list[str]:
        """Why not all that is on record, or in the view, can be told."""
        problems = run.delivered()[1]
        if problems and run.view_kind() is Kind.CONFLICT:
            return [say("start.conflict", self.language, path=run.store.view_path)]
        return problems

    def _recover(self, run: Run) -> list[Notice]:
        """Save the sessions that ended unseen, and go on where this one stood when its own end was unseen."""
        try:
            notices = self._recover_others(run)
            run.owed = [one for one in recovery.ended_unseen(run) if one.raw]
            if run.session.saves_itself and run.progress.take_over():
                run.keep(self.language)
        except _FAILURES as error:
            return self._cannot(error)
        return notices

    def _recover_others(self, run: Run) -> list[Notice]:
        if all(one.raw for one in recovery.ended_unseen(run)):
            return []
        with run.store.writing() as writer:
            recovered = recovery.recover(run, writer)
        run.unreadable += recovered.problems
        notices = self._warnings([*recovered.problems, writer.problem])
        if recovered.tails:
            notices.append(Notice("info", say("start.recovered", self.language, n=recovered.tails)))
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
        """
        A turn has settled: where the session stands is written down. With the first of them, what was done to the
        view before is put on record, and a summary that is owed is asked for.
        """
        run = self._run
        if run is None:
            return Outcome()
        run.stand_at(file)
        if not run.session.saves_itself:
            return Outcome()
        notices = self._keep(run)
        if run.progress.unsaved is None:
            return Outcome(tuple(notices), status=self._status())
        if not run.merged:
            run.merged = True
            notices += self._merge_view(run)
        ask = self._ask_for_unseen(run, notices)
        return Outcome(tuple(notices), ask=ask, status=self._status())

    def compacting(self) -> None:
        """The host is about to compact: where the session stands is written down."""
        run = self._run
        if run is not None and run.session.saves_itself:
            try:
                run.keep(self.language)
            except _FAILURES:
                return  # the turn that settles next meets the same failure, and there it can be said

    def compacted(self) -> str:
        """The host has compacted: the block, rendered afresh, for the very next request."""
        return self._run.render_block() if self._run is not None else ""

    def edited(self) -> Outcome:
        """CARRYOVER.md has changed on disk: an edit becomes an event at once."""
        run = self._run
        if run is None or not run.session.saves_itself:
            return Outcome()
        notices = self._warnings(self._unreadable(run)) or self._merge_view(run)
        return Outcome(tuple(notices), status=self._status())

    def _merge_view(self, run: Run) -> list[Notice]:
        """Put on record what was done to the view, and join what stands beside each other."""
        try:
            kind = run.view_kind()
            if not run.differs(kind):
                return []
            with run.store.writing() as writer:  # taking the lock merges it
                if kind is Kind.CUT:
                    writer.render()
        except _FAILURES as error:
            return self._cannot(error)
        return self._warnings([writer.problem])

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
            raise ProjectError("not saved: no session is open in a project here (the home folder is never one)")
        if run.session.nested:
            raise CarryoverError("not saved: a sub-agent may read the note; only the main session writes it")
        with run.store.writing() as writer:
            written = notes.write(writer, content, run.author("agent", "agent"), run.shown)
        run.shown = written.shown
        if run.session.file is not None:
            run.point(str(run.session.file), run.tree)
        return written.told(writer.problem)

    # ------------------------------------------------------------ end

    def end(self, reason: str) -> Outcome:
        """
        The session ends, and is saved in three tiers. With ``quit`` a summary may be asked for; every other end leaves
        that to the session that follows, and ``reload`` is no end at all.
        """
        run, self._run = self._run, None
        if run is None or not run.session.saves_itself:
            return Outcome()
        notices = self._keep(run)
        checkpoint = run.progress.unsaved
        if reason == "reload" or checkpoint is None:
            return Outcome(tuple(notices))
        try:
            outcome = self._save(run, checkpoint, ask=reason == "quit")
        except _FAILURES as error:
            if recovery.hopeless(error):
                run.checkpoints.drop(checkpoint.session)
            return Outcome((*notices, *self._cannot(error)))
        return replace(outcome, notices=(*notices, *outcome.notices))

    def lost(self) -> None:
        """The host is gone without a word: what it leaves is saved without it."""
        self._asking.forget()
        self.end("lost")

    def _keep(self, run: Run) -> list[Notice]:
        try:
            run.keep(self.language)
        except _FAILURES as error:
            return self._cannot(error)
        self._said.discard(self._broken)  # all is well again: should it end, that is worth another word
        self._broken = ""
        return []

    def _save(self, run: Run, checkpoint: Checkpoint, *, ask: bool) -> Outcome:
        with run.store.writing() as writer:
            saved = saver.save_tail(writer, checkpoint)
        notices = tuple(self._warnings([writer.problem]))
        if saved.kind != "nothing":
            run.point(checkpoint.file, checkpoint.tree)
        summary = saved.kind == "tail" and run.settings.summary_mode == "on" and saved.through > run.summed_up
        if summary and not ask:
            recovery.leave_for_later(run, checkpoint, saved.event)
        else:
            run.checkpoints.drop(checkpoint.session)
        if saved.kind != "tail":
            return Outcome(notices)
        kept = say("tail.kept", self.language, kept=saved.kept, messages=saved.messages)
        asked = self._asking.ask(run, checkpoint, "summary.saving", self.language) if summary and ask else None
        return Outcome(notices, ask=asked, farewell=kept)

    # ------------------------------------------------------------ tier 2

    def _ask_for_unseen(self, run: Run, notices: list[Notice]) -> Ask | None:
        try:
            return self._asking.ask_for_unseen(run, self.language)
        except _FAILURES as error:
            notices += self._warnings([str(error)])
            return None

    def answer(self, ask: str, answer: Answer) -> Outcome:
        """What came of an `Ask`. A bad answer changes nothing, and one line says which tier was used and why."""
        try:
            notice = self._asking.take(ask, answer, self.language)
        except _FAILURES as error:
            return Outcome(tuple(self._cannot(error)))
        if notice is None:
            return Outcome()
        told = notice.text
        return Outcome((notice,), text=told, level=notice.level, status=self._status(), farewell=told)

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
                return self._save_now(run)
            if name == "clear":
                return commands.clear(run, self.language)
            if name == "restore":
                return commands.restore(run, self.language, args.strip())
        except CarryoverError as error:
            return Outcome(text=str(error), level="error")
        except OSError as error:
            return Outcome(text=say("save.cannot", self.language, reason=error), level="error")
        known = ", ".join(f"/carryover {one}" for one in commands.NAMES)
        return Outcome(text=say("command.unknown", self.language, name=name, known=known), level="warning")

    def complete(self, name: str, prefix: str) -> list[Completion]:
        """What may be typed after ``/carryover NAME``."""
        return commands.complete(self._run, name, prefix) if self._run is not None else []

    def _save_now(self, run: Run) -> Outcome:
        """As at an end, but the session goes on; who asks for a summary in so many words gets it tried again."""
        run.keep(self.language)
        if run.progress.unsaved is None and not run.tail_stands():
            return Outcome(text=say("save.kept", self.language))
        checkpoint = run.progress.now
        with run.store.writing() as writer:
            saved = saver.save_tail(writer, checkpoint)
        notices = tuple(self._warnings([writer.problem]))
        if saved.kind != "tail":
            return Outcome(notices, text=say("save.kept", self.language))
        run.point(checkpoint.file, checkpoint.tree)
        if run.settings.summary_mode == "on":
            return Outcome(notices, ask=self._asking.ask(run, checkpoint, "summary.saving_now", self.language))
        kept = say("tail.kept", self.language, kept=saved.kept, messages=saved.messages)
        return Outcome(notices, text=kept)

    # ------------------------------------------------------------ what is said

    def _status(self) -> str:
        if self._run is None:
            return ""
        try:
            return self._run.status(self.language)
        except StoreError:
            return say("status.broken", self.language)

    def _warnings(self, sentences: list[str]) -> list[Notice]:
        return [Notice("warning", one) for one in sentences if one and self._once(one)]

    def _once(self, what: str) -> bool:
        fresh = what not in self._said
        self._said.add(what)
        return fresh

    def _cannot(self, error: Exception) -> list[Notice]:
        """What went wrong, the first time that it does. A disk that fails in many ways is said to fail once."""
        text, disk = str(error), isinstance(error, (OSError, StoreUnavailable))
        if (disk and self._broken) or not self._once(text):
            return []
        if disk:
            self._broken = text
        reason = text.removeprefix("not saved: ")
        return [Notice("error", say("save.cannot", self.language, reason=reason))]
