"""The store of one project: the log and its views, under one lock.

    with store.writing() as writer:
        writer.append("note", by="agent", source="agent", text=text, base=writer.base)

Inside ``writing`` the lock is held, edits of the view have been merged, and ``writer.state`` is what is on record now.
An ``append`` that returns is on disk. When the block ends, the views are rendered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carryover.errors import StoreUnavailable
from carryover.memory.events import Event
from carryover.memory.state import Standing, State, fold
from carryover.project import Project
from carryover.settings import Settings, cache_dir, state_dir
from carryover.store import edits, files, history, legacy, snapshot, views
from carryover.store.codec import next_id, signed_with
from carryover.store.files import SYSTEM, FileSystem
from carryover.store.log import Log
from carryover.store.snapshot import Known
from carryover.store.views import Kind, View
from carryover.store.writer import Writer as Writer

if TYPE_CHECKING:
    from carryover.store.checkpoints import Checkpoints

#: Our own files in ``.pi/``; the first line is for people.
IGNORED = (
    "# carryover: of its files only CARRYOVER.md is for committing",
    "/carryover.log",
    "/carryover.log.1",
    "/carryover.[0-9]*.log",
    "/carryover.lock",
    "/carryover.lock.next",
    "/carryover.sessions/",
    "/carryover.trace",
    "/.carryover-session",
    f"/{files.DRAFT}*.tmp",
)

#: Bytes of the signing key.
KEY_BYTES = 32
#: Earlier notes that a view without a name is held against.
PAST = 50


def local_now() -> datetime:
    return datetime.now().astimezone()


class Store:
    """Reads and writes what is remembered of one project."""

    def __init__(
        self,
        project: Project,
        settings: Settings,
        environ: Mapping[str, str],
        system: FileSystem = SYSTEM,
        now: Callable[[], datetime] = local_now,
        trusted: bool = True,
    ) -> None:
        self.project = project
        self.settings = settings
        self.system = system
        self.now = now
        #: False where the user does not trust the project: nothing is delivered then but what was written here.
        self.trusted = trusted
        self.log = Log(project.log_folder, system)
        self.view_path = project.folder / views.NAME
        self.snapshot_path = snapshot.path_for(cache_dir(environ), project.log_folder)
        self._key_path = path / "key" if (path := state_dir(environ)) else None
        self._key: bytes | None = None
        self._known: Known | None = None
        self._prepared = False

    # ------------------------------------------------------------ reading

    def known(self) -> Known:
        """
        What is on record, without the lock: from the snapshot and what came since.

        Raises:
            StoreUnavailable: the log cannot be read.
        """
        with files.explained("read", self.log.path), suppress(FileNotFoundError):
            files.refuse_unless_folder(self.log.folder)
        known = snapshot.known(self.log, self._known or self.snapshot_path)
        if known.fresh > snapshot.WORTH:
            self.keep_snapshot(known)
            known = replace(known, fresh=0)
        self._known = known
        return known

    def delivered(self) -> tuple[State, str]:
        """
        What may be given to a model, and a sentence about what may not, or could not be read.

        Edits of the view are in it, before they are on record. Of a project that the user does not trust there is
        nothing in it but what carries this user's own signature.

        Raises:
            StoreUnavailable: the log cannot be read.
        """
        state, withheld = self.trustworthy(self.known().state)
        if withheld:
            return state, f"{withheld} held back: this project is not trusted, and they were not written here"
        try:
            view = self.view(state)
        except StoreUnavailable as error:
            return state, str(error)
        for draft in self.edits(state, view):
            draft["text"] = self.without_secrets(draft["text"])
            fields = {"id": next_id(state.last, 0), "op": "note", "by": "hook", "tree": self.project.tree, **draft}
            state = fold([Event({"at": self._edited_at(), **fields})], state)
        return state, self.objection(view)

    def without_secrets(self, text: str) -> str:
        """
        Text that was not redacted when it was written: an edit of the view, a log of pi-carryover's. It is shown and
        rendered without its secrets, whatever ``secrets`` says of writing them.
        """
        if self.settings.secrets == "off":
            return text
        from carryover.store.redact import redact  # its expressions are compiled when there is such a text

        return redact(text).text

    def _redacted(self, state: State) -> State:
        """The state with the notes and tails of pi-carryover's log redacted; ours were when they were written."""

        def safe(one: Standing) -> Standing:
            return replace(one, text=self.without_secrets(one.text)) if one.origin == legacy.NAME else one

        standing = (*state.heads.values(), *state.raw.values())
        if not any(one.origin == legacy.NAME for some in standing for one in some):
            return state
        heads = {tree: tuple(map(safe, some)) for tree, some in state.heads.items()}
        return replace(state, heads=heads, raw={tree: tuple(map(safe, some)) for tree, some in state.raw.items()})

    def trustworthy(self, state: State) -> tuple[State, int]:
        """What of *state* may be used, and how many notes and tails may not: those not signed by this user."""
        if self.trusted or not state.trees():
            return self._redacted(state), 0

        def ours(standing: Standing) -> bool:
            event = self.log.find(standing.id)
            return event is not None and self.believes(event)

        heads = {tree: some for tree, all_ in state.heads.items() if (some := tuple(filter(ours, all_)))}
        raw = {tree: some for tree, all_ in state.raw.items() if (some := tuple(filter(ours, all_)))}
        before = sum(map(len, (*state.heads.values(), *state.raw.values())))
        withheld = before - sum(map(len, (*heads.values(), *raw.values())))
        return replace(state, heads=heads, raw=raw), withheld

    def believes(self, event: Event) -> bool:
        """Whether an event may be used: of a project that is not trusted, only one that this user signed."""
        if self.trusted:
            return True
        key = self.key()
        return key is not None and signed_with(event, key)

    def edits(self, state: State, view: View | None) -> list[dict[str, Any]]:
        """The note events that are owed to the view as it stands. An untrusted project's file is not believed."""
        find = lambda name, value: self.log.find(value, name)  # noqa: E731
        return edits.drafts(state, self.project.tree, view if self.trusted else None, find)

    def objection(self, view: View) -> str:
        """Why the view must be left as it is; empty where it may be rendered."""
        if view.kind is Kind.CONFLICT:
            return f"{self.view_path} holds conflict markers; resolve them, and the note is merged"
        if not self.trusted and view.kind in (Kind.EDITED, Kind.TEAMMATE, Kind.FOREIGN):
            return f"{self.view_path} is left alone: this project is not trusted, and it was not written here"
        return ""

    def view(self, state: State) -> View:
        """What stands in CARRYOVER.md. Raises `StoreUnavailable` where that cannot be known."""
        view = views.read(self.view_path, state, self.project.tree)
        if view.kind is Kind.TEAMMATE:
            known = self.log.find(view.ancestors[0])
            if known is not None and known.tree == self.project.tree:  # another tree's came here by git
                return replace(view, kind=Kind.OLDER)
        if view.kind is Kind.FOREIGN and view.text and state.events:
            return replace(view, kind=self._without_a_name(view, state))
        return view

    def _without_a_name(self, view: View, state: State) -> Kind:
        """Of a view that names no note: whether it is one on record, or where one was cut off."""
        note = state.note(self.project.tree)
        if note is not None and note.text.strip() == view.text:
            return view.kind
        for past in history.notes(self.log, self.project.tree, PAST):
            text = past.text.strip()
            if text == view.text:
                return Kind.OLDER
            if text.startswith(view.text):
                return Kind.CUT
        return view.kind

    def _edited_at(self) -> str:
        """When the view was written: an edit that is not on record yet has no other time."""
        try:
            seconds = self.view_path.lstat().st_mtime
        except OSError:
            return ""
        return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")

    def keep_snapshot(self, known: Known) -> None:
        if self.snapshot_path is not None:
            with suppress(OSError, StoreUnavailable):  # a cache that cannot be written is only slower
                snapshot.store(self.system, self.snapshot_path, known)

    # ------------------------------------------------------------ writing

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """
        Hold the lock, and render the views at the end.

        Raises:
            StoreUnavailable: read-only, full, locked, without locks, or a link; what was appended before it stands.
        """
        with files.explained("write to", self.project.log_folder):
            self.prepare()
            with files.locked(self.system, self.project.log_folder / "carryover.lock"):
                self.log.adopt()
                writer = Writer(self, self.known())
                writer.absorb()
                try:
                    yield writer
                finally:
                    if writer.appended:
                        writer.render()
                    self._known = writer.known

    def checkpoints(self) -> Checkpoints:
        """The sessions that have not been saved yet."""
        from carryover.store.checkpoints import Checkpoints  # who only shows the note needs none

        return Checkpoints(self.project.log_folder, self.system, self.key)

    def key(self) -> bytes | None:
        """The user's signing key, made when first needed; None where there is no place for one."""
        path = self._key_path
        if path is None or self._key is not None:
            return self._key
        try:
            key = files.read(path, KEY_BYTES + 1) or b""
            if len(key) != KEY_BYTES:
                files.make_folder(self.system, path.parent)
                with files.locked(self.system, path.with_name("key.lock")):
                    key = files.read(path, KEY_BYTES + 1) or b""
                    if len(key) != KEY_BYTES:  # one that was cut short has signed nothing
                        key = os.urandom(KEY_BYTES)
                        files.replace(self.system, path, key)
        except (OSError, StoreUnavailable):
            return None  # `doctor` says that events are unsigned
        self._key = key
        return key

    def prepare(self) -> None:
        """
        Make our folders, and keep our own files out of ``git status``.

        Raises:
            (OSError, StoreUnavailable): a folder cannot be made, or is a link.
        """
        folders = {self.project.folder, self.project.log_folder}
        if self._prepared and all(map(_is_ours, folders)):
            return  # once for each store: a save is waited for
        for folder in folders:
            files.make_folder(self.system, folder)
            files.sweep(self.system, folder)
            if folder.name == ".pi":
                with suppress(StoreUnavailable, PermissionError):  # theirs to keep, and no reason not to save
                    self._ignore(folder / ".gitignore")
        self._prepared = True

    def _ignore(self, path: Path) -> None:
        """Name our files in ``.pi/.gitignore``, and the file itself where it is all ours."""
        current = files.read(path, -1)
        if current is None:
            lines = [*IGNORED, "/.gitignore"]
        else:
            present = set(current.decode("utf-8", "replace").splitlines())
            lines = [line for line in IGNORED if line not in present]
            if not lines:
                return
        lead = b"" if not current or current.endswith(b"\n") else b"\n"
        added = lead + "".join(f"{line}\n" for line in lines).encode()
        files.replace(self.system, path, (current or b"") + added, mode=0o644, durable=False)


def _is_ours(folder: Path) -> bool:
    """Whether a folder that was made is still there, and still no link."""
    try:
        files.refuse_unless_folder(folder)
    except (OSError, StoreUnavailable):
        return False
    return True
