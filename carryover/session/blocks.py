"""What a block is asked for with, whoever asks: the project, its budget, its work trees, its last session."""

from __future__ import annotations

from carryover import project as projects
from carryover.memory.brief import Request
from carryover.store.store import Store


def request(store: Store, *, tools: bool, last_session: str, tokens: int | None = None) -> Request:
    """
    A request for the block of *store*'s project.

    Args:
        tools: whether the reader can save.
        last_session: the file of the session before, or nothing.
        tokens: the budget, where it is not the setting ``block.tokens``.
    """
    project = store.project
    return Request(
        project=project.root.name,
        tree=project.tree,
        tokens=store.settings.block_tokens if tokens is None else tokens,
        tools=tools,
        last_session=_name(last_session) or None,
        live_trees=projects.live_trees(project),
    )


def _name(session: str) -> str:
    """A session by the end of its file's name: pi's is a time and an id, and its ``--session`` takes the id alone."""
    return session.replace("\\", "/").rpartition("/")[2].removesuffix(".jsonl").rpartition("_")[2]
