"""What was done to the view since it was rendered, as events.

A view is merged three ways: against the text that was rendered at the event it names, or at the newest ancestor that
is on record here too. An unchanged older view changes nothing, and nothing that a file says removes what its writer
cannot have seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from carryover.memory.events import Event
from carryover.memory.merge import merge
from carryover.memory.note import finish
from carryover.memory.state import State
from carryover.store.views import Kind, View

#: Finds an event by the value of a field.
Find = Callable[[str, str], Event | None]


def drafts(state: State, tree: str, view: View | None, find: Find) -> list[dict[str, Any]]:
    """The note events owed to *view* and to notes that stand beside each other; none where nothing changed."""
    found = []
    heads = [head.id for head in state.heads.get(tree, ())]
    note = state.note(tree)
    if len(heads) > 1 and note is not None:
        found.append({"source": "import", "base": heads, "text": note.text})
    if view is not None and view.kind in (Kind.EDITED, Kind.TEAMMATE, Kind.FOREIGN):
        draft = _raw(state, tree, view) if view.raw else _note(state, tree, view, find)
        if draft is not None:
            found.append(draft)
    return found


def _raw(state: State, tree: str, view: View) -> dict[str, Any] | None:
    """The raw fallback that pi-carryover 1.x put in the note's place: kept beside the note, as ours would be."""
    if any(tail.text.strip() == view.text.strip() for tail in state.tails(tree)):
        return None
    return {"source": "raw", "text": view.text, "origin": "pi-carryover"}


def _note(state: State, tree: str, view: View, find: Find) -> dict[str, Any] | None:
    note = state.note(tree)
    current = note.text if note is not None else ""
    of_current = view.ancestors[:1] == ((note.id,) if note is not None else ())
    if note is None or view.kind is Kind.FOREIGN or of_current:
        text = view.text
    else:
        text = merge(finish(_ancestor(view, tree, find)), current, finish(view.text))
    dismissed = []
    if view.kind is Kind.EDITED and of_current:  # a tail that somebody deleted from the file
        dismissed = [tail.id for tail in state.tails(tree) if tail.id not in view.tails]
    if finish(text).strip() == current.strip() and not dismissed:
        return None
    heads = [head.id for head in state.heads.get(tree, ())]
    draft = {"base": heads + dismissed, "text": text, **_provenance(state, tree, view, find)}
    if "origin" in draft and text != view.text:
        draft["taken"] = view.text
    return draft


def _ancestor(view: View, tree: str, find: Find) -> str:
    """
    The newest text that both the view and our note were made from; empty where there is none, so nothing goes.

    Of a teammate's note that is their text, not what came of it here: they have never seen ours.
    """
    for one in view.ancestors:
        event = find("id", one)
        if event is not None and event.tree == tree:
            return event.text
        event = find("origin", one)
        if event is not None and event.tree == tree:
            return event.taken
    return ""


def _provenance(state: State, tree: str, view: View, find: Find) -> dict[str, str]:
    if view.kind is Kind.FOREIGN:
        return {"source": "edit" if state.events else "import"}
    named = view.ancestors[0] if view.ancestors else ""
    if not named or named in state.lineage.get(tree, ()):
        return {"source": "edit"}
    known = find("id", named)
    if known is not None and known.tree == tree:
        return {"source": "edit"}
    if view.kind is Kind.EDITED:
        return {"source": "teammate"}  # what stood in the teammate's own is not known
    return {"source": "teammate", "origin": named}
