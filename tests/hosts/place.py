"""A project of its own, a home of its own, and a real pi that runs in them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import carryover
from tests.hosts.fake_model import FakeModel

EXTENSION = Path(carryover.__file__).parent / "hosts" / "pi" / "extension"
SECOND_EXTENSION = Path(__file__).with_name("second.ts")
MAIN = "from carryover.hosts.pi.bridge import main\nmain()"
MARK = "CARRYOVER_TEST_PLACE"  # in the environment of everything that a place starts
FOREIGN_KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENROUTER_API_KEY",
)

Json = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Host:
    """One installed version of pi."""

    version: str
    node: Path
    cli: Path

    @property
    def is_old(self) -> bool:
        return self.version.startswith("0.")

    @property
    def settles(self) -> str:
        """The event that comes last in a run."""
        return "agent_end" if self.is_old else "agent_settled"


@dataclass(frozen=True, slots=True)
class Finished:
    status: int
    out: str
    err: str


@dataclass(slots=True)
class Place:
    """A project folder with the home, the settings and the model of the person who works in it."""

    root: Path
    host: Host
    model: FakeModel
    extra: dict[str, str] = field(default_factory=dict)
    extension: Path = EXTENSION
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        for folder in (self.project, self.home, self.agent):
            folder.mkdir(parents=True, exist_ok=True)
        models = [{"id": "fake-1", "name": "Fake One", "contextWindow": 32_000, "maxTokens": 4096}]
        provider = {
            "baseUrl": self.model.url,
            "api": "openai-completions",
            "apiKey": "none",
            "models": models,
        }
        self._write("models.json", {"providers": {"fake": provider}})
        self.set()

    def set(self, **carryover: Json) -> None:
        """Write pi's settings, with these of ours among them."""
        compaction = {"enabled": True, "reserveTokens": 4000, "keepRecentTokens": 200}
        settings = {"defaultProvider": "fake", "defaultModel": "fake-1", "quietStartup": True}
        more = {"enableInstallTelemetry": False, "retry": {"enabled": False}, "compaction": compaction}
        self._write("settings.json", settings | more | {"carryover": carryover})

    def _write(self, name: str, data: Json) -> None:
        (self.agent / name).write_text(json.dumps(data), encoding="utf-8")

    # ---------------------------------------------------------------- where things are

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def agent(self) -> Path:
        return self.root / "agent"

    @property
    def note(self) -> Path:
        return self.project / ".pi" / "CARRYOVER.md"

    @property
    def stored(self) -> dict[str, bytes]:
        """Note and log, byte for byte: what a session that has nothing to say must leave alone."""
        files = [*self.project.glob(".pi/CARRYOVER.md"), *self.project.glob(".pi/carryover*.log")]
        return {file.name: file.read_bytes() for file in files}

    @property
    def events(self) -> list[Json]:
        log = self.project / ".pi" / "carryover.log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [json.loads(line) for line in lines]

    def notes(self, source: str) -> list[Json]:
        return [e for e in self.events if e["op"] == "note" and e.get("source") == source]

    def checkpoints(self) -> list[Path]:
        return list(self.project.glob(".pi/carryover.sessions/*.json"))

    def session_files(self) -> list[Path]:
        return sorted(self.agent.glob("sessions/*/*.jsonl"))

    # ---------------------------------------------------------------- running pi

    @property
    def environment(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if k not in FOREIGN_KEYS and not k.startswith("CARRYOVER_")}
        folders = {f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
        return (
            inherited
            | folders
            | {
                "HOME": str(self.home),
                "PI_CODING_AGENT_DIR": str(self.agent),
                "PI_OFFLINE": "1",
                "PI_SKIP_VERSION_CHECK": "1",
                "PI_TELEMETRY": "0",
                "CARRYOVER_PYTHON": sys.executable,
                "LANG": "C.UTF-8",
                "LC_ALL": "C.UTF-8",
                "TERM": "xterm-256color",
                MARK: self.mark,
            }
            | self.extra
        )

    def command(self, *arguments: str) -> list[str]:
        return [str(self.host.node), str(self.host.cli), "-e", str(self.extension), *arguments]

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.command(*arguments), cwd=self.project, env=self.environment, **options)

    def run(self, *arguments: str, seconds: float = 40.0) -> Finished:
        """Run pi to its end with nothing on its standard input."""
        pipe = subprocess.PIPE
        process = self.start(*arguments, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return Finished(process.returncode, out.decode(), err.decode())

    def print(self, *prompts: str) -> Finished:
        return self.run("-p", *prompts)

    def save(self, note: str) -> None:
        """Let the agent of a one-shot run save a note."""
        finished = self.print(tool_call(note))
        assert finished.status == 0, finished.err

    # ---------------------------------------------------------------- what is left

    def processes(self) -> list[int]:
        """Everything this place started that still runs."""
        wanted = f"{MARK}={self.mark}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
            except OSError:
                continue  # it ended meanwhile, or is somebody else's
        return found

    def wait_for_quiet(self, seconds: float = 10.0) -> None:
        """Wait until nothing this place started runs any more."""
        until(lambda: not self.processes(), "no process is left", seconds)

    def wait_for_turn(self, words: str) -> None:
        """Wait until a finished answer with these words is in a session file."""

        def written() -> bool:
            return any(words in file.read_text(encoding="utf-8") for file in self.session_files())

        until(written, f"{words!r} is in a session file")

    def next_block(self) -> str:
        """What a session that started now would be given, asked of the child without a pi around it."""
        with Child(self.environment) as child:
            child.ask("start", **opening(self.project))
            system: str = child.ask("prompt", text="hello")["system"]
            return system


def blocks(text: str) -> list[str]:
    """The whole blocks of ours in what a model was given."""
    return re.findall(r"<carryover project=.*?</carryover[^>]*>", text, re.DOTALL)


def tool_call(note: str) -> str:
    return "tool:save_carryover " + json.dumps({"content": note})


def opening(project: Path, mode: str = "rpc", file: Path | None = None) -> Json:
    """The fields of `start`; without a file, for a session that only looks on."""
    return {
        "mode": mode,
        "reason": "startup",
        "cwd": str(project),
        "session": {"id": "by-hand", "file": str(file) if file else None, "messages": 0},
        "trusted": None,
        "nested": False,
        "pid": os.getpid(),
    }


class Child:
    """The Python child on its own, as the extension starts it."""

    def __init__(self, environment: Mapping[str, str], then: str = MAIN, *options: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed with the child; a pipe nobody reads would stop it
        root = Path(carryover.__file__).parent.parent
        launch = f"import sys\nsys.path.append(sys.argv[1])\n{then}"
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", *options, "-c", launch, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
        )
        self._asked = 0

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def receive(self) -> Json:
        assert self.process.stdout
        message: Json = json.loads(self.process.stdout.readline())
        return message

    def ask(self, verb: str, **fields: object) -> Json:
        """Send a request and wait for its reply; what is said unasked in between is passed over."""
        self._asked += 1
        self.send(json.dumps({"id": self._asked, "do": verb} | fields).encode() + b"\n")
        while (reply := self.receive()).get("id") != self._asked:
            pass
        return reply

    def close(self) -> str:
        """End its input and wait for it to end; what it wrote to standard error."""
        self.process.communicate(timeout=10)
        with self._errors as errors:
            errors.seek(0)
            return errors.read().decode()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.returncode is None:
            self.close()


def until(holds: Callable[[], T], what: str, seconds: float = 20.0) -> T:
    """Wait for a state of files or processes, which nobody reports: by looking, fifty times a second."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, f"it never came to be that {what}"
        time.sleep(0.02)
    return found
