"""The stage of the demo: pi and the model are played, everything else is real.

The child process, its protocol, the log, the recovery after the crash and the block are those of every day.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from carryover.errors import CarryoverError

#: The child, as pi's extension starts it: nothing of the project or of an environment takes part.
CHILD = (
    *("-I", "-S", "-X", "utf8", "-c"),
    "import sys; sys.path.append(sys.argv[1]); from carryover.hosts.pi.bridge import main; main()",
    str(Path(__file__).parents[2]),
)
#: A host that does nothing but live until its input ends.
HOST = ("-I", "-S", "-c", "import sys; sys.stdin.read()")
#: Seconds that a process of ours has to end by itself.
PATIENCE = 10.0

Process = subprocess.Popen[bytes]


class Stage:
    """A project, and a home folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "app"
        self.home = folder / "home"
        self.project.mkdir()
        self.home.mkdir()

    @contextmanager
    def session(self, name: str) -> Iterator[PlayedSession]:
        """A session from its start until its host is gone, one way or the other."""
        with self._process(HOST) as host, self._process(CHILD) as child:
            session = PlayedSession(name, self, host, child)
            session.start()
            yield session

    @contextmanager
    def _process(self, arguments: tuple[str, ...]) -> Iterator[Process]:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.project,
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield process
        finally:
            process.communicate(timeout=PATIENCE)  # closes its input, and it ends

    def _environment(self) -> dict[str, str]:
        """Ours, without the user's own folders and settings."""
        foreign = ("CARRYOVER_", "PI_", "XDG_")
        ours = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return ours | dict.fromkeys(("HOME", "USERPROFILE", "LOCALAPPDATA"), str(self.home))


class PlayedSession:
    """What pi and its extension do in a session, as far as carryover sees it."""

    def __init__(self, name: str, stage: Stage, host: Process, child: Process) -> None:
        self._id = f"demo-{name}"
        self.file = stage.home / f"{self._id}.jsonl"
        self._project = stage.project
        self.processes = (host, child)
        self._requests = 0
        self._messages = 0

    def start(self) -> None:
        self._record({"type": "session", "version": 3, "id": self._id, "cwd": str(self._project)})
        self._ask(
            "start",
            mode="tui",
            reason="startup",
            cwd=str(self._project),
            session={"id": self._id, "file": str(self.file), "messages": 0},
            host="pi",
            hostVersion="demo",
            trusted=True,
            nested=False,
            pid=self.processes[0].pid,
        )

    def prompt(self, text: str) -> str:
        """The user speaks; what the model is given with it."""
        return str(self._ask("prompt", text=text)["system"])

    def hear(self, role: str, text: str) -> None:
        """Somebody has spoken, and the host keeps it in the session's file."""
        self._keep({"role": role, "content": [{"type": "text", "text": text}]})

    def save(self, content: str) -> None:
        """The agent calls the tool, and the host keeps call and result."""
        call = {"type": "toolCall", "id": "call", "name": "save_carryover", "arguments": {"content": content}}
        self._keep({"role": "assistant", "content": [call]})
        result = [{"type": "text", "text": self._ask("save", content=content)["text"]}]
        self._keep({"role": "toolResult", "toolCallId": "call", "toolName": "save_carryover", "content": result})

    def settle(self) -> None:
        """The turn is over."""
        self._ask("settled", file=str(self.file))

    def kill(self) -> None:
        """Power is lost: neither the host nor the child has a last word."""
        for process in self.processes:
            process.kill()
            process.wait()

    def _keep(self, message: Mapping[str, Any]) -> None:
        self._messages += 1
        above = f"{self._messages - 1:08x}" if self._messages > 1 else None
        self._record({"type": "message", "id": f"{self._messages:08x}", "parentId": above, "message": message})

    def _record(self, entry: Mapping[str, Any]) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**entry, "timestamp": datetime.now(UTC).isoformat()}) + "\n")

    def _ask(self, verb: str, **fields: object) -> dict[str, Any]:
        self._requests += 1
        request = {"id": self._requests, "do": verb, **fields}
        child = self.processes[1]
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.flush()
        for line in child.stdout:
            reply: dict[str, Any] = json.loads(line)
            if reply.get("id") == self._requests:  # else it is something said unasked
                break
        else:
            raise CarryoverError(f"the demo stopped: the child process ended at `{verb}`")
        if not reply["ok"]:
            raise CarryoverError(f"the demo stopped at `{verb}`: {reply['error']}")
        return reply
