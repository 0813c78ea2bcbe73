"""Sessions played against the lifecycle: the transcript grows as pi would write it, and each moment is told."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from carryover import Memory
from carryover.completion import Answer
from carryover.session.lifecycle import Ask, Carryover, Delivery, Mode, Outcome, Session
from tests.session import pi_session

Json = dict[str, Any]
BLOCK = re.compile(r"<carryover .*?</carryover \w+>", re.DOTALL)


class Clock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 9, 0, tzinfo=timezone(timedelta(hours=8)))

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **time: float) -> None:
        self.now += timedelta(**time)


@dataclass
class Place:
    """A project, the folder of its sessions' files, and the clock of everybody who works there."""

    project: Path
    sessions: Path
    clock: Clock = field(default_factory=Clock)

    def host(self) -> Carryover:
        """Our part of a pi that was started now."""
        return Carryover(os.environ, self.clock)

    def session(self, name: str, host: Carryover | None = None, **about: Any) -> Played:
        return Played(self, host or self.host(), name, **about)

    def memory(self) -> Memory:
        memory = Memory(self.project)
        memory.store.now = self.clock
        return memory

    def next_block(self) -> str:
        """What a session that starts now is given. It is not in a file of its own, and leaves nothing."""
        host = self.host()
        host.start(Session("next", None, "tui", self.project, trusted=True), "startup")
        return host.prompt("go on").system

    @property
    def view(self) -> Path:
        return self.project / ".pi" / "CARRYOVER.md"

    @property
    def log(self) -> Path:
        return self.project / ".pi" / "carryover.log"

    @property
    def events(self) -> list[Json]:
        lines = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]

    @property
    def sources(self) -> list[str]:
        return [str(event.get("source", event["op"])) for event in self.events]

    @property
    def stored(self) -> dict[str, bytes]:
        """Note and log, byte for byte."""
        files = [path for path in (self.view, *self.project.glob(".pi/carryover*.log*")) if path.exists()]
        return {path.name: path.read_bytes() for path in files}

    @property
    def note(self) -> str:
        return self.memory().note()

    @property
    def tails(self) -> list[str]:
        return [tail.text for tail in self.memory().state().tails()]

    @property
    def checkpoints(self) -> list[str]:
        """The sessions that have one."""
        files = self.project.glob(".pi/carryover.sessions/*.json")
        return sorted(json.loads(path.read_bytes())["session"] for path in files)

    def set(self, **values: Any) -> None:
        """Write the user's settings."""
        path = Path(os.environ["PI_CODING_AGENT_DIR"]) / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"carryover": values}), "utf-8")


class Played:
    """One session in one host. ``outcome`` is what its last moment brought."""

    def __init__(
        self, place: Place, host: Carryover, name: str, mode: Mode = "tui", *, in_memory: bool = False, **about: Any
    ) -> None:
        self.place = place
        self.host = host
        self.name = name
        self.file = place.sessions / f"2026-11-30T01-00-00-000Z_{name}.jsonl"
        self.written = pi_session.Session()
        self.outcome = Outcome()
        self.about = Session(
            **{
                "id": name,
                "file": None if in_memory else self.file,
                "mode": mode,
                "cwd": place.project,
                "trusted": True,
                "owner": os.getpid(),
                **about,
            }
        )

    def start(self, reason: str = "startup") -> Played:
        entries = self.written.entries
        messages = sum(1 for entry in entries if entry.get("message", {}).get("role") in ("user", "assistant"))
        self.about = replace(self.about, messages=messages)
        self.outcome = self.host.start(self.about, reason)
        return self

    def again(self, host: Carryover | None = None, reason: str = "resume", **about: Any) -> Played:
        """The same session in another run of it."""
        other = Played(self.place, host or self.place.host(), self.name)
        other.written, other.about = self.written, replace(self.about, **about)
        return other.start(reason)

    def fork(self, name: str) -> Played:
        """A session whose file begins with a copy of this one's history."""
        self.host.end("fork")
        other = Played(self.place, self.host, name)
        other.written.entries += self.written.entries[1:]
        other.written.leaf = self.written.leaf
        other.write()
        return other.start("fork")

    def write(self) -> None:
        if self.about.file is not None:
            self.written.write(self.file)

    def ask(self, words: str) -> Delivery:
        """The user speaks; the turn is not over yet."""
        delivery = self.host.prompt(words)
        self.written.user(words)
        self.write()
        return delivery

    def settle(self, answer: str = "I see.") -> Outcome:
        self.written.agent(answer)
        self.write()
        self.outcome = self.host.settled(self.about.file)
        return self.outcome

    def turn(self, words: str, answer: str = "I see.") -> Delivery:
        delivery = self.ask(words)
        self.settle(answer)
        return delivery

    def tool(self, name: str, **arguments: Any) -> None:
        self.written.tool(name, **arguments)
        self.write()

    def save(self, note: str) -> str:
        """The agent calls the tool; the call and its result are in the transcript."""
        told = self.host.save(note)
        self.tool("save_carryover", content=note)
        return told

    def command(self, name: str, args: str = "") -> Outcome:
        self.outcome = self.host.command(name, args)
        return self.outcome

    def end(self, reason: str = "quit") -> Outcome:
        self.outcome = self.host.end(reason)
        return self.outcome

    @property
    def asked(self) -> Ask:
        """What the last moment asks a model."""
        assert self.outcome.ask is not None
        return self.outcome.ask

    def answer(self, text: str = "", **how: Any) -> Outcome:
        self.outcome = self.host.answer(self.asked.id, Answer(text, **how))
        return self.outcome


@contextmanager
def living() -> Iterator[subprocess.Popen[bytes]]:
    """Another process, until it is killed or the test is over."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def notices(outcome: Outcome) -> list[str]:
    return [notice.text for notice in outcome.notices]


def git(folder: Path, *arguments: str) -> None:
    someone = {f"GIT_{who}_{what}": "someone@example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    someone |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", folder, *arguments], check=True, env=os.environ | someone, capture_output=True)
