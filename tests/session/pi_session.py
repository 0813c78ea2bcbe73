"""Session files as pi writes them, built entry by entry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]
SECOND = "2026-11-30T09:00:{:02d}.000Z"


def text(words: str) -> Json:
    return {"type": "text", "text": words}


class Session:
    """A session as pi writes it: each entry is a child of the leaf, and the new leaf."""

    def __init__(self) -> None:
        self.entries: list[Json] = [
            {"type": "session", "version": 3, "id": "01a2-uuid", "timestamp": SECOND.format(0), "cwd": "/p"}
        ]
        self.leaf: str | None = None

    def add(self, kind: str, /, **fields: Any) -> str:
        number = len(self.entries)
        entry = {
            "type": kind,
            "id": f"{number:08x}",
            "parentId": self.leaf,
            "timestamp": SECOND.format(number),
        }
        self.entries.append(entry | fields)
        self.leaf = f"{number:08x}"
        return self.leaf

    def message(self, role: str, **fields: Any) -> str:
        return self.add("message", message={"role": role, **fields, "timestamp": 1_796_064_518_346})

    def user(self, words: str) -> str:
        return self.message("user", content=[text(words)])

    def agent(self, words: str = "", *calls: tuple[str, str, Json], **fields: Any) -> str:
        content = [text(words)] if words else []
        content += [{"type": "toolCall", "id": call, "name": name, "arguments": given} for call, name, given in calls]
        return self.message("assistant", content=content, **({"stopReason": "stop"} | fields))

    def result(self, call: str, words: str = "ok", *, failed: bool = False, name: str = "tool") -> str:
        return self.message("toolResult", toolCallId=call, toolName=name, content=[text(words)], isError=failed)

    def tool(self, name: str, *, failed: bool = False, **arguments: Any) -> str:
        call = f"call_{len(self.entries)}"
        self.agent("", (call, name, arguments), stopReason="toolUse")
        return self.result(call, f"{name} said something", failed=failed, name=name)

    def lines(self) -> list[bytes]:
        return [json.dumps(entry, separators=(",", ":")).encode() for entry in self.entries]

    def write(self, path: Path) -> Path:
        path.write_bytes(b"".join(line + b"\n" for line in self.lines()))
        return path
