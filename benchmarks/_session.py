"""A pi session's file, as far as it looks real to who reads it."""

from __future__ import annotations

import json
from itertools import count
from random import Random
from typing import Any

WORDS = "the queue forgets its attempts when reload builds a row so the scheduler owns the counts".split()  # noqa: SIM905


def header() -> bytes:
    return line(
        {"type": "session", "version": 3, "id": "0199", "timestamp": "2026-06-01T08:00:00.000Z", "cwd": "/project"}
    )


def line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False).encode() + b"\n"


def lines(size: int) -> bytes:
    """Turns as pi writes them: a question, calls with their results, some of them long, and an answer."""
    chance, ids = Random(1), (f"{number:08x}" for number in count(1))
    parent: str | None = None
    pieces: list[bytes] = []
    written = 0
    while written < size:
        for message in turn(chance):
            entry = {"type": "message", "id": next(ids), "parentId": parent, "timestamp": "2026-06-01T08:00:00.000Z"}
            pieces.append(line(entry | {"message": message}))
            parent = str(entry["id"])
            written += len(pieces[-1])
    return b"".join(pieces)


def turn(chance: Random) -> list[dict[str, Any]]:
    def words(least: int, most: int) -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(least, most)))

    said: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": words(5, 60)}]}]
    for _ in range(chance.randint(1, 4)):
        call = f"call_{chance.getrandbits(64):016x}"
        arguments = {"path": f"jobs/{words(1, 1)}.py", "oldText": words(5, 40), "newText": words(5, 40)}
        called = {"type": "toolCall", "id": call, "name": "edit", "arguments": arguments}
        said.append(
            {"role": "assistant", "content": [{"type": "text", "text": words(3, 20)}, called], "stopReason": "toolUse"}
        )
        result = [{"type": "text", "text": words(20, 800)}]
        said.append({"role": "toolResult", "toolCallId": call, "toolName": "edit", "content": result, "isError": False})
    said.append({"role": "assistant", "content": [{"type": "text", "text": words(30, 200)}], "stopReason": "stop"})
    return said
