"""The Python child of pi on its own, started with the very arguments that the extension has for it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import carryover

PACKAGE = Path(carryover.__file__).parent
SOURCE = PACKAGE / "hosts" / "pi" / "extension" / "child.ts"
#: A child that answers any line at once.
ECHO = """\
import json, sys
for line in sys.stdin.buffer:
    sys.stdout.write(json.dumps({"id": json.loads(line)["id"], "ok": True}) + "\\n")
    sys.stdout.flush()
"""

Json = dict[str, Any]


def arguments() -> list[str]:
    """
    What follows the name of the Python, read from the extension's source.

    Raises:
        ValueError: the source no longer says it in the way that this reads.
    """
    source = SOURCE.read_text(encoding="utf-8")
    launch = re.search(r"const LAUNCH =(.*?)\nconst ARGUMENTS = \[(.*?), LAUNCH, ROOT\]", source, re.S)
    status = re.search(r"const TOO_OLD = (\d+)", source)
    if launch is None or status is None:
        raise ValueError(f"{SOURCE} does not say any more how the child is started")
    script = "".join(re.findall(r"`(.*?)`", launch[1])).replace("\\n", "\n").replace("${TOO_OLD}", status[1])
    return [*re.findall(r'"(.*?)"', launch[2]), script, str(PACKAGE.parent)]


class Child:
    """Started at once, spoken to in JSON lines."""

    def __init__(self, environ: Mapping[str, str], cwd: Path, command: list[str] | None = None) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command or [sys.executable, *arguments()],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            cwd=cwd,
        )
        self._asked = 0

    def ask(self, verb: str, **fields: object) -> Json:
        """Send a request and wait for its reply; what is said unasked in between is passed over."""
        assert self.process.stdin
        assert self.process.stdout
        self._asked += 1
        self.process.stdin.write(json.dumps({"id": self._asked, "do": verb} | fields).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"the child ended before it answered {verb!r}")
            reply: Json = json.loads(line)
            if reply.get("id") == self._asked:
                if not reply.get("ok"):
                    raise RuntimeError(f"{verb!r}: {reply.get('error')}")
                return reply

    def start(self, project: Path, session: str = "measured", file: Path | None = None) -> Json:
        return self.ask(
            "start",
            mode="rpc",
            reason="startup",
            cwd=str(project),
            session={"id": session, "file": str(file) if file else None, "messages": 0},
            host="pi",
            hostVersion="1.6.0",
            trusted=None,
            nested=False,
            pid=os.getpid(),
        )

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()
