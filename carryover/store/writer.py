"""What may be done to a store while its lock is held: put events on record, merge edits of the view, render it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from carryover.errors import SecretFound, StoreError, StoreUnavailable
from carryover.memory.events import Event
from carryover.memory.state import OutOfOrder, State
from carryover.store import files, snapshot, views
from carryover.store.codec import VERSION, encode, next_id
from carryover.store.log import Changed
from carryover.store.snapshot import Known
from carryover.store.views import Kind, View
from carryover.text import clean

if TYPE_CHECKING:
    from carryover.store.store import Store

#: Fields that hold ids, paths, numbers and words of ours; everything else that is text is redacted.
PLAIN_FIELDS = frozenset(
    ("v", "id", "at", "op", "by", "host", "session", "tree", "branch", "source", "base", "origin", "covers", "through")
)
Check = Callable[[State, Mapping[str, Any]], None]


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
        except (OutOfOrder, Changed):
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
        if self.view is None or content != self.view.content:
            files.replace(self.store.system, self.store.view_path, content, mode=0o644)

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            status = os.lstat(self.store.view_path)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino
