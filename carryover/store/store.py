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
from typing import Any

from carryover.errors import SecretFound, StoreError, StoreUnavailable
from carryover.memory.events import Event
from carryover.memory.state import OutOfOrder, Standing, State, fold
from carryover.project import Project
from carryover.settings import Settings, cache_dir, state_dir
from carryover.store import edits, files, history, snapshot, views
from carryover.store.codec import VERSION, encode, next_id, signed_with
from carryover.store.files import SYSTEM, FileSystem
from carryover.store.log import Log
from carryover.store.snapshot import Known
from carryover.store.views import Kind, View
from carryover.text import clean

#: Fields that hold ids, paths, numbers and words of ours; everything else that is text is redacted.
PLAIN_FIELDS = frozenset(
    ("v", "id", "at", "op", "by", "host", "session", "tree", "branch", "source", "base", "origin", "covers", "through")
)
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

Check = Callable[[State, Mapping[str, Any]], None]


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
        self._known: Known | None = None

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
            fields = {"id": next_id(state.last, 0), "op": "note", "by": "hook", "tree": self.project.tree, **draft}
            state = fold([Event({"at": state.newest, **fields})], state)
        return state, self.objection(view)

    def trustworthy(self, state: State) -> tuple[State, int]:
        """What of *state* may be used, and how many notes and tails may not: those not signed by this user."""
        if self.trusted or not state.trees():
            return state, 0
        key = self.key()

        def ours(standing: Standing) -> bool:
            event = self.log.find(standing.id)
            return key is not None and event is not None and signed_with(event, key)

        heads = {tree: some for tree, all_ in state.heads.items() if (some := tuple(filter(ours, all_)))}
        raw = {tree: some for tree, all_ in state.raw.items() if (some := tuple(filter(ours, all_)))}
        before = sum(map(len, (*state.heads.values(), *state.raw.values())))
        withheld = before - sum(map(len, (*heads.values(), *raw.values())))
        return replace(state, heads=heads, raw=raw), withheld

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
        if view.kind is Kind.TEAMMATE and self.log.find(view.ancestors[0]) is not None:
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

    def key(self) -> bytes | None:
        """The user's signing key, made when first needed; None where there is no place for one."""
        path = self._key_path
        if path is None:
            return None
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
        return key

    def prepare(self) -> None:
        """
        Make our folders, and keep our own files out of ``git status``.

        Raises:
            (OSError, StoreUnavailable): a folder cannot be made, or is a link.
        """
        for folder in {self.project.folder, self.project.log_folder}:
            files.make_folder(self.system, folder)
            files.sweep(self.system, folder)
            if folder.name == ".pi":
                with suppress(StoreUnavailable):  # a link, or no file: theirs to keep, and no reason not to save
                    self._ignore(folder / ".gitignore")

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


class Writer:
    """What may be done while the lock is held."""

    def __init__(self, store: Store, known: Known) -> None:
        self.store = store
        self.known = known
        self.appended: list[Event] = []
        #: Why the view is not written, where it is not.
        self.problem = ""
        self.view: View | None = None
        self._seen: tuple[int, ...] | None = None
        self._trusted: tuple[Known, State] | None = None

    @property
    def state(self) -> State:
        """What is on record; in a project that is not trusted, what of it this user wrote."""
        if self._trusted is None or self._trusted[0] is not self.known:
            self._trusted = self.known, self.store.trustworthy(self.known.state)[0]
        return self._trusted[1]

    @property
    def tree(self) -> str:
        return self.store.project.tree

    @property
    def base(self) -> list[str]:
        """The ids that a note written now replaces: all that stands."""
        return self.state.base(self.tree)

    def append(self, op: str, *, by: str, check: Check | None = None, **fields: Any) -> Event:
        """
        Put one event on record. When this returns, it is on disk.

        Raises:
            EventRefused: *check* refuses it.
            SecretFound: it holds a secret, and ``secrets`` is ``reject``.
        """
        store = self.store
        now = store.now()
        if op == "note" and fields.get("source") != "raw":
            fields["text"] = views.without_marks(fields["text"])
        event = {
            "v": VERSION,
            "id": next_id(self.state.last, int(now.timestamp() * 1000)),
            "at": now.isoformat(timespec="milliseconds"),
            "op": op,
            "by": by,
            "host": fields.pop("host", ""),
            "session": fields.pop("session", ""),
            "tree": fields.pop("tree", self.tree),
            "branch": store.project.branch,
            **fields,
        }
        event = {name: self._safe(name, value) for name, value in event.items()}
        if check is not None:
            check(self.state, event)
        line = encode(event, store.key())
        store.log.append(line)
        self.known = self._advanced()
        self.appended.append(Event(event, line[:-1]))
        return self.appended[-1]

    def _safe(self, name: str, value: Any) -> Any:
        """A field's value without lone surrogates, control characters and, where it is free text, secrets."""
        if isinstance(value, list):
            return [self._safe(name, one) for one in value]
        if isinstance(value, dict):
            return {clean(key): self._safe(name, one) for key, one in value.items()}
        if not isinstance(value, str):
            return value
        value = clean(value)
        if name in PLAIN_FIELDS or self.store.settings.secrets == "off":
            return value
        from carryover.store.redact import redact  # its expressions are compiled on the first write only

        redacted = redact(value)
        if redacted.findings and self.store.settings.secrets == "reject":
            found = ", ".join(dict.fromkeys(redacted.findings))
            raise SecretFound(f"not saved: the text holds a secret ({found}), and the setting `secrets` is `reject`")
        return redacted.text

    def _advanced(self) -> Known:
        try:
            return snapshot.advance(self.store.log, self.known)
        except OutOfOrder:
            return snapshot.everything(self.store.log)

    # ------------------------------------------------------------ the view

    def absorb(self) -> None:
        """Merge what was done to the view since it was rendered; join notes that stand beside each other."""
        self.problem, self._seen = "", self._stamp()
        try:
            self.view = self.store.view(self.state)
            self.problem = self.store.objection(self.view)
        except StoreUnavailable as error:
            self.view, self.problem = None, str(error)
        try:
            for draft in self.store.edits(self.state, self.view):
                self.append("note", by="hook", **draft)
        except SecretFound as error:
            self.problem = f"{self.store.view_path} is left alone: {error}"

    def render(self) -> None:
        """Write the views. The log is the truth: a view that cannot be written is said, and loses nothing."""
        for _ in range(3):  # somebody may save an edit at this very moment; it is merged, not overwritten
            if self._stamp() == self._seen:
                break
            self.absorb()
        if not self.problem:
            try:
                self._write_view()
            except (OSError, StoreError) as error:
                reason = error.strerror if isinstance(error, OSError) else error
                self.problem = f"{self.store.view_path} could not be written: {reason}"

    def _write_view(self) -> None:
        rendered = views.render(self.state, self.tree)
        if self.view is not None and self.view.says_the_same(rendered, self.state.note(self.tree)):
            return  # a teammate's file, taken whole: to rewrite its last line would only dirty the work tree
        content = views.encode(rendered, self.view or View(Kind.MISSING))
        if len(content) > views.LARGEST:
            raise StoreUnavailable(f"the note has more than {views.LARGEST} bytes")
        if content != files.read(self.store.view_path, views.LARGEST + 1):
            files.replace(self.store.system, self.store.view_path, content, mode=0o644)

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            status = os.lstat(self.store.view_path)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino
